/**
 * What a seller registered, as options of the engine: facilitators, schemes, money parsers, time limits.
 *
 * @module
 */
import type { Extension, ExtensionDeclaration, PaymentsOptions } from "@farebox/core";
import type { Issues } from "@farebox/core/issues";
import { isJsonObject, PAYMENT_IDENTIFIER } from "@farebox/core/protocol";
import { builtInFor } from "../classes/default-prices.js";
import { readFacilitators } from "../classes/facilitator-client.js";
import { isStock, moneyParsersOf } from "../classes/schemes.js";
import type { Network, RoutesConfig, SchemeNetworkServer } from "../types.js";
import { hostScheme } from "./hosted-scheme.js";
import { findScheme, type Registrations } from "./registrations.js";
import { entriesOf, optionsOf } from "./routes.js";

/** Options of the engine that the reference has no word for: a store, a logger, the public URL. */
export type EngineOptions = Partial<Omit<PaymentsOptions, "facilitator" | "hooks" | "schemes" | "payTo" | "networks">>;

type ReadOptions = Pick<PaymentsOptions, "facilitator" | "schemes" | "priceParsers" | "deadlines">;

/**
 * Reads what was registered.
 *
 * @param used - The schemes that are needed.
 */
export function readOptions(server: Registrations, used: readonly UsedScheme[], issues: Issues): ReadOptions {
  const { choices, timeoutMs } = readFacilitators(server.facilitatorClients, "server.facilitatorClients", issues);
  const hosted = used.filter(({ scheme, network }) => !isStock(scheme, network));
  const schemes = hosted.map(({ scheme, network }) => hostScheme(scheme, network, builtInFor(scheme, network)));
  const stock = used.filter(({ scheme, network }) => isStock(scheme, network));
  const priceParsers = stock.flatMap((one) => toPriceParsers(one, server));
  return {
    facilitator: choices,
    ...(schemes.length === 0 ? {} : { schemes }),
    ...(priceParsers.length === 0 ? {} : { priceParsers }),
    deadlines: timeoutMs === undefined ? USUAL_DEADLINES : deadlinesFor(timeoutMs),
  };
}

/** A scheme on a network, or on those of a pattern. */
export interface UsedScheme {
  readonly scheme: SchemeNetworkServer;
  readonly network: Network;
}

/** Every scheme, those for one network first. */
export function registeredSchemes({ registeredServerSchemes }: Registrations): readonly UsedScheme[] {
  const all = [...registeredServerSchemes].flatMap(([network, schemes]) =>
    [...schemes.values()].map((scheme) => ({ scheme, network: network as Network })),
  );
  return [
    ...all.filter(({ network }) => !network.includes("*")),
    ...all.filter(({ network }) => network.includes("*")),
  ];
}

/** The schemes of all payment options, each once per network. */
export function usedSchemes(server: Registrations, routes: RoutesConfig): readonly UsedScheme[] {
  const used = new Map<string, UsedScheme>();
  for (const [, route] of entriesOf(routes)) {
    for (const { network, scheme: name } of optionsOf(route)) {
      const scheme = findScheme(server.registeredServerSchemes, network, name);
      if (scheme !== undefined) used.set(`${network} ${name}`, { scheme, network });
    }
  }
  return [...used.values()];
}

function toPriceParsers(
  { scheme, network }: UsedScheme,
  { registeredServerSchemes }: Registrations,
): NonNullable<PaymentsOptions["priceParsers"]> {
  // A pattern also has networks that another scheme is registered for.
  const isFor = (named: string) => findScheme(registeredServerSchemes, named, scheme.scheme) === scheme;
  return moneyParsersOf(scheme).map((parse) => ({
    scheme: scheme.scheme,
    network,
    // As the reference's: a parser is asked first, whatever token the price names.
    namedTokens: true,
    parse: async (amount, named) => (isFor(named) ? ((await parse(amount, named as Network)) ?? undefined) : undefined),
  }));
}

/** Sends what routes declare for extensions that nobody registered, as it is written. The engine itself takes `{ info, schema }` only. */
export function passExtensions(routes: RoutesConfig, registered: readonly Extension[]): readonly Extension[] {
  const known = new Set(["bazaar", PAYMENT_IDENTIFIER, ...registered.map(({ key }) => key)]);
  const declared = entriesOf(routes).flatMap(([, { extensions = {} }]) => Object.entries(extensions));
  const keys = declared.flatMap(([key, declaration]) => (known.has(key) || isComplete(declaration) ? [] : [key]));
  return [...new Set(keys)].map((key) => ({ key, compile: passDeclaration }));
}

/** Whether a declaration has the engine's own form. */
export function isComplete(declaration: unknown): boolean {
  return isJsonObject(declaration) && isJsonObject(declaration["info"]) && isJsonObject(declaration["schema"]);
}

const passDeclaration: Extension["compile"] = (declaration, { path, issues }) => {
  if (isJsonObject(declaration)) return { at: () => declaration as unknown as ExtensionDeclaration, notices: [] };
  issues.add(path, "an object", declaration);
  return undefined;
};

/** The reference waits 90 seconds for each call. Only a settlement may take so long. */
const USUAL_DEADLINES = { verifyMs: 30_000, settleMs: 90_000 };

/** The engine's range. */
const DEADLINE = { least: 100, most: 120_000 };

function deadlinesFor(timeoutMs: number): NonNullable<PaymentsOptions["deadlines"]> {
  const limit = Math.min(Math.max(timeoutMs, DEADLINE.least), DEADLINE.most);
  return { verifyMs: limit, settleMs: limit, supportedMs: limit };
}
