/**
 * What a seller registered, as options of the engine: facilitators, schemes, money parsers, time limits.
 *
 * @module
 */
import type { Facilitator, PaymentsOptions, Scheme } from "@farebox/core";
import type { Issues } from "@farebox/core/issues";
import { createPayments } from "../index.js";
import { readFacilitators } from "./facilitator-client.js";
import { hostScheme } from "./hosted-scheme.js";
import { findScheme, type Registrations } from "./resource-server.js";
import { entriesOf, optionsOf } from "./routes.js";
import { isStock, moneyParsersOf } from "./schemes.js";
import type { Network, RoutesConfig, SchemeNetworkServer } from "./types.js";

type ReadOptions = Pick<PaymentsOptions, "facilitator" | "schemes" | "priceParsers" | "deadlines">;

/** Reads what was registered, as far as the routes need it. */
export function readOptions(server: Registrations, routes: RoutesConfig, issues: Issues): ReadOptions {
  const { choices, timeoutMs } = readFacilitators(server.facilitatorClients, "server.facilitatorClients", issues);
  const used = usedSchemes(server, routes);
  const hosted = used.filter(({ scheme, network }) => !isStock(scheme, network));
  const schemes = hosted.map(({ scheme, network }) => hostScheme(scheme, network, builtInFor(scheme, network)));
  const priceParsers = used.filter(({ scheme, network }) => isStock(scheme, network)).flatMap(toPriceParsers);
  return {
    facilitator: choices,
    ...(schemes.length === 0 ? {} : { schemes }),
    ...(priceParsers.length === 0 ? {} : { priceParsers }),
    ...(timeoutMs === undefined ? {} : { deadlines: deadlinesFor(timeoutMs) }),
  };
}

interface UsedScheme {
  readonly scheme: SchemeNetworkServer;
  readonly network: Network;
}

/** The schemes of all payment options, each once per network. */
function usedSchemes(server: Registrations, routes: RoutesConfig): readonly UsedScheme[] {
  const used = new Map<string, UsedScheme>();
  for (const [, route] of entriesOf(routes)) {
    for (const { network, scheme: name } of optionsOf(route)) {
      const scheme = findScheme(server.registeredServerSchemes, network, name);
      if (scheme !== undefined) used.set(`${network} ${name}`, { scheme, network });
    }
  }
  return [...used.values()];
}

function toPriceParsers({ scheme, network }: UsedScheme): NonNullable<PaymentsOptions["priceParsers"]> {
  return moneyParsersOf(scheme).map((parse) => ({
    scheme: scheme.scheme,
    network,
    parse: async (amount) => (await parse(amount, network)) ?? undefined,
  }));
}

/** The engine's range. */
const DEADLINE = { least: 100, most: 120_000 };

function deadlinesFor(timeoutMs: number): NonNullable<PaymentsOptions["deadlines"]> {
  const limit = Math.min(Math.max(timeoutMs, DEADLINE.least), DEADLINE.most);
  return { verifyMs: limit, settleMs: limit, supportedMs: limit };
}

/** The engine's own scheme of that name on a network: it can read the payments of a subclass. */
function builtInFor({ scheme }: SchemeNetworkServer, network: string): Scheme | undefined {
  const namespace = network.slice(0, network.indexOf(":"));
  return builtInSchemes().find((one) => one.scheme === scheme && one.networks === `${namespace}:*`);
}

let builtIn: readonly Scheme[] | undefined;

function builtInSchemes(): readonly Scheme[] {
  builtIn ??= createPayments({ facilitator: NOBODY }).engine.schemes;
  return builtIn;
}

/** Never asked: no route uses it. */
const NOBODY: Facilitator = {
  verify: () => Promise.reject(new TypeError("not a facilitator")),
  settle: () => Promise.reject(new TypeError("not a facilitator")),
  supported: () => Promise.reject(new TypeError("not a facilitator")),
};
