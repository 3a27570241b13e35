/**
 * A facilitator in this process: finds the scheme of a payment, and lets that scheme verify or settle it.
 *
 * @see x402 v2 §7 "Facilitator Interface"
 * @module
 */
import { BAZAAR, type Catalog } from "@farebox/bazaar/facilitator";
import type {
  CallOptions,
  Facilitator,
  FacilitatorRequest,
  FacilitatorScheme,
  SettlementResponse,
  SupportedResponse,
  VerifyResponse,
} from "@farebox/core";
import { isJsonObject, isNetwork, sameNetwork } from "@farebox/core/protocol";
import { createCallLog, nameOf } from "./log.js";
import { type FacilitatorConfig, type FacilitatorOptions, parseFacilitatorOptions } from "./options.js";
import { createRegistrar, type Extended } from "./registrar.js";

/** The health of each scheme. */
export interface FacilitatorHealth {
  /** Whether every scheme works right now. */
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
  /** With a catalog, the response also says how the payment's declaration is listed. */
  verify(request: FacilitatorRequest, options?: CallOptions): Promise<Extended<VerifyResponse>>;
  /** With a catalog, the response also says how the payment's declaration is listed. */
  settle(request: FacilitatorRequest, options?: CallOptions): Promise<Extended<SettlementResponse>>;
  /** The catalog of services that this facilitator lists. */
  readonly catalog: Catalog | undefined;
  /** Asks every scheme for its health. Never rejects. */
  health(): Promise<FacilitatorHealth>;
}

/**
 * Creates a facilitator. Its calls never reject: the response says what failed.
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
      const response = await verify(config.schemes, request);
      log.verified(request, response);
      return registrar.verified(request, response);
    },
    async settle(request) {
      const response = await settle(config.schemes, request);
      log.settled(request, response);
      return registrar.settled(request, response);
    },
    supported: async () => supported,
    health: () => askHealth(config.schemes),
    catalog: config.catalog,
  } satisfies LocalFacilitator);
}

/** The scheme of a request, or the reason why no scheme takes it. */
type Found =
  | { readonly ok: true; readonly scheme: FacilitatorScheme }
  | { readonly ok: false; readonly reason: "invalid_payment_requirements" | "unsupported_scheme" | "invalid_network" };

/** `request` is unchecked: a caller without types may pass anything. */
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
    const response = await found.scheme.verify(request);
    if (typeof response.isValid === "boolean") return response;
    return { isValid: false, invalidReason: "unexpected_verify_error", invalidMessage: NO_RESPONSE };
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
  // Leaves open whether the money moved: the scheme failed, not the payment.
  const failure = { success: false, errorReason: "unexpected_settle_error", transaction: "" };
  const { network } = found.scheme;
  try {
    const response = await found.scheme.settle(request);
    return typeof response.success === "boolean" ? response : { ...failure, errorMessage: NO_RESPONSE, network };
  } catch (error) {
    return { ...failure, errorMessage: nameOf(error), network };
  }
}

const NO_RESPONSE = "the scheme returned no valid response";

/** The network of the request, if valid: the protocol requires the field in every settlement response. */
function networkOf(request: unknown): string {
  const requirements = isJsonObject(request) ? request["paymentRequirements"] : undefined;
  const network = isJsonObject(requirements) ? requirements["network"] : undefined;
  return isNetwork(network) ? network : "";
}

/** The response to `GET /supported`. */
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
  const health = await Promise.all(
    schemes.map(async (scheme) => ({ scheme: scheme.scheme, network: scheme.network, ...(await healthOf(scheme)) })),
  );
  return { ok: health.every(({ ok }) => ok), schemes: health };
}

async function healthOf(scheme: FacilitatorScheme): ReturnType<FacilitatorScheme["health"]> {
  try {
    return await scheme.health();
  } catch (error) {
    return { ok: false, problem: nameOf(error) };
  }
}
