/**
 * A facilitator: finds the scheme that a payment is for, and lets it verify or settle.
 *
 * @see x402 v2 §7 "Facilitator Interface"
 * @module
 */
import { BAZAAR, type Catalog } from "@farebox/bazaar/facilitator";
import {
  type CallOptions,
  type Facilitator,
  type FacilitatorRequest,
  type FacilitatorScheme,
  isJsonObject,
  isNetwork,
  type SettlementResponse,
  type SupportedResponse,
  sameNetwork,
  type VerifyResponse,
} from "@farebox/core";
import { createCallLog } from "./call-log.js";
import { type FacilitatorConfig, type FacilitatorOptions, parseFacilitatorOptions } from "./facilitator-options.js";
import { createRegistrar, type Extended } from "./registrar.js";

/** How each scheme is. */
export interface FacilitatorHealth {
  /** Whether every scheme can work right now. */
  readonly ok: boolean;
  readonly schemes: readonly {
    readonly scheme: string;
    readonly network: string;
    readonly ok: boolean;
    readonly problem?: string;
  }[];
}

/** A facilitator in this process. */
export interface LocalFacilitator extends Facilitator {
  /** With what became of the payment's declaration, where there is a catalog. */
  verify(request: FacilitatorRequest, options?: CallOptions): Promise<Extended<VerifyResponse>>;
  /** With what became of the payment's declaration, where there is a catalog. */
  settle(request: FacilitatorRequest, options?: CallOptions): Promise<Extended<SettlementResponse>>;
  /** Where it lists what is paid for. */
  readonly catalog: Catalog | undefined;
  /** Asks every scheme how it is. Never rejects. */
  health(): Promise<FacilitatorHealth>;
}

/**
 * Creates a facilitator. Its calls never reject: what goes wrong is in the answer.
 *
 * @throws ConfigError with every issue at once.
 */
export function createFacilitator(options: FacilitatorOptions): LocalFacilitator {
  const config = parseFacilitatorOptions(options);
  const supported = describe(config);
  const log = createCallLog(config.logger);
  const registrar = createRegistrar(config.catalog, config.logger);
  return Object.freeze({
    async verify(request) {
      const answer = await verify(config.schemes, request);
      log.verified(request, answer);
      return registrar.verified(request, answer);
    },
    async settle(request) {
      const answer = await settle(config.schemes, request);
      log.settled(request, answer);
      return registrar.settled(request, answer);
    },
    supported: async () => supported,
    health: () => askHealth(config.schemes),
    catalog: config.catalog,
  } satisfies LocalFacilitator);
}

/** The scheme that a request is for. `request` is still what a caller without types made it. */
type Found =
  | { readonly ok: true; readonly scheme: FacilitatorScheme }
  | { readonly ok: false; readonly reason: "invalid_payment_requirements" | "unsupported_scheme" | "invalid_network" };

function findScheme(schemes: readonly FacilitatorScheme[], request: unknown): Found {
  const requirements = isJsonObject(request) ? request["paymentRequirements"] : undefined;
  if (!isJsonObject(requirements)) return { ok: false, reason: "invalid_payment_requirements" };
  const named = schemes.filter(({ scheme }) => scheme === requirements["scheme"]);
  const { network: wanted } = requirements;
  const scheme = named.find(({ network }) => isNetwork(wanted) && sameNetwork(network, wanted));
  if (scheme !== undefined) return { ok: true, scheme };
  return { ok: false, reason: named.length === 0 ? "unsupported_scheme" : "invalid_network" };
}

async function verify(
  schemes: readonly FacilitatorScheme[],
  request: Parameters<FacilitatorScheme["verify"]>[0],
): Promise<VerifyResponse> {
  const found = findScheme(schemes, request);
  if (!found.ok) return { isValid: false, invalidReason: found.reason };
  try {
    const answer = await found.scheme.verify(request);
    if (typeof answer.isValid === "boolean") return answer;
    return { isValid: false, invalidReason: "unexpected_verify_error", invalidMessage: NO_ANSWER };
  } catch (error) {
    return { isValid: false, invalidReason: "unexpected_verify_error", invalidMessage: nameOf(error) };
  }
}

async function settle(
  schemes: readonly FacilitatorScheme[],
  request: Parameters<FacilitatorScheme["settle"]>[0],
): Promise<SettlementResponse> {
  const found = findScheme(schemes, request);
  if (!found.ok) return { success: false, errorReason: found.reason, transaction: "", network: networkOf(request) };
  // Says neither that the money moved nor that it did not.
  const failure = { success: false, errorReason: "unexpected_settle_error", transaction: "" };
  const { network } = found.scheme;
  try {
    const answer = await found.scheme.settle(request);
    return typeof answer.success === "boolean" ? answer : { ...failure, errorMessage: NO_ANSWER, network };
  } catch (error) {
    return { ...failure, errorMessage: nameOf(error), network };
  }
}

const NO_ANSWER = "the scheme gave no answer";

/** The network that was asked for, where it is one; the protocol wants the field in every answer. */
function networkOf(request: unknown): string {
  const requirements = isJsonObject(request) ? request["paymentRequirements"] : undefined;
  const network = isJsonObject(requirements) ? requirements["network"] : undefined;
  return isNetwork(network) ? network : "";
}

function describe({ schemes, extensions, catalog }: FacilitatorConfig): SupportedResponse {
  const signers: Record<string, string[]> = {};
  for (const { network, signers: addresses } of schemes) {
    const pattern = `${network.slice(0, network.indexOf(":"))}:*`;
    signers[pattern] = [...new Set([...(signers[pattern] ?? []), ...addresses])];
  }
  const kinds = schemes.map(({ scheme, network, extra }) => ({
    x402Version: 2,
    scheme,
    network,
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }));
  const own = catalog === undefined ? [] : [BAZAAR];
  const understood = new Set([...extensions, ...schemes.flatMap((scheme) => scheme.extensions ?? []), ...own]);
  return Object.freeze({ kinds, extensions: [...understood], signers });
}

async function askHealth(schemes: readonly FacilitatorScheme[]): Promise<FacilitatorHealth> {
  const asked = await Promise.all(
    schemes.map(async (scheme) => ({ scheme: scheme.scheme, network: scheme.network, ...(await healthOf(scheme)) })),
  );
  return { ok: asked.every(({ ok }) => ok), schemes: asked };
}

async function healthOf(scheme: FacilitatorScheme): ReturnType<FacilitatorScheme["health"]> {
  try {
    return await scheme.health();
  } catch (error) {
    return { ok: false, problem: nameOf(error) };
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "not an error";
}
