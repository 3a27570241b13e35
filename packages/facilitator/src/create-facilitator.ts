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
  SchemeHealth,
  SettlementResponse,
  SupportedResponse,
  VerifyResponse,
} from "@farebox/core";
import { canonicalNetwork, isJsonObject, isNetwork, sameNetwork } from "@farebox/core/protocol";
import { type Admission, type Caller, createAccess, type Seller } from "./access.js";
import { createGasBudgets, type GasBudgets } from "./gas-budget.js";
import { createCallLog, logSearch, nameOf } from "./log.js";
import { type FacilitatorConfig, type FacilitatorOptions, parseFacilitatorOptions } from "./options.js";
import { findRefusal, type Limits, type PolicyRefusal } from "./policy.js";
import { createRegistrar, type Extended } from "./registrar.js";

/** The health of each scheme, and what its signers have left. Nothing in it is secret. */
export interface FacilitatorHealth {
  /** Whether every scheme can settle right now. */
  readonly ok: boolean;
  readonly schemes: readonly {
    readonly scheme: string;
    readonly network: string;
    /** Whether it can settle: the network responds, and its signer has coin and budget left. */
    readonly ok: boolean;
    readonly problem?: string;
  }[];
  /** One entry per network and signer. Amounts are in the smallest unit of the network's coin. */
  readonly signers: readonly SignerHealth[];
}

/** An account that pays for transactions. */
export interface SignerHealth {
  readonly network: string;
  readonly address: string;
  /** Absent if the network did not say. */
  readonly balance?: string;
  /** Absent without a budget. */
  readonly gas?: { readonly perHour: string; readonly left: string };
}

/** The options of a call, and the seller that the router has let in. */
export interface LocalCallOptions extends CallOptions {
  readonly seller?: Seller | undefined;
}

/** How a refusal by policy travels over HTTP. */
export interface PolicyStatus {
  readonly status: 403 | 503;
  readonly retryAfterSeconds?: number;
}

/** A response of this facilitator. */
export type LocalResponse<T> = Extended<T> & { readonly policy?: PolicyStatus };

/** A facilitator in this process. */
export interface LocalFacilitator extends Facilitator {
  /** With a catalog, the response also says how the payment's declaration is listed. */
  verify(request: FacilitatorRequest, options?: LocalCallOptions): Promise<LocalResponse<VerifyResponse>>;
  /** With a catalog, the response also says how the payment's declaration is listed. */
  settle(request: FacilitatorRequest, options?: LocalCallOptions): Promise<LocalResponse<SettlementResponse>>;
  /** Decides whether a call over HTTP is let in. Counts it. */
  admit(caller: Caller): Admission;
  /** Whether its policy keeps strangers from having their payments settled. */
  readonly isClosed: boolean;
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
  void logSearch(config.catalog, config.logger);
  const budgets = createGasBudgets(config.schemes, config.policy.gasPerHour, config.logger);
  const parts = { ...config, budgets };
  return Object.freeze({
    async verify(request, { seller } = {}) {
      const response = await verify(parts, request, seller);
      log.verified(request, response, seller?.name);
      return registrar.verified(request, response);
    },
    async settle(request, { seller } = {}) {
      const response = await settle(parts, request, seller);
      log.settled(request, response, seller?.name);
      return registrar.settled(request, response);
    },
    supported: async () => supported,
    health: () => askHealth(parts),
    catalog: config.catalog,
    admit: createAccess(config.policy),
    isClosed: config.policy.isClosed,
  } satisfies LocalFacilitator);
}

/** The options, and what follows from them. */
interface Parts extends FacilitatorConfig {
  readonly budgets: GasBudgets;
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
  { schemes, policy, budgets }: Parts,
  request: FacilitatorRequest,
  seller: Seller | undefined,
): Promise<LocalResponse<VerifyResponse>> {
  const found = findScheme(schemes, request);
  if (!found.ok) return { isValid: false, invalidReason: found.reason };
  const refusal = await findRefusal(limitsFor(policy.limits, seller), request, seller?.name);
  if (refusal !== undefined) {
    const { reason: invalidReason, message: invalidMessage } = refusal;
    return { isValid: false, invalidReason, invalidMessage, ...statusFor(seller) };
  }
  const retryAfterSeconds = budgets.of(found.scheme)?.exhaustedForSeconds();
  if (retryAfterSeconds !== undefined) {
    // Says nothing about the payment, so a seller does not ask its client for another one.
    const response = { isValid: false, invalidReason: "unexpected_verify_error", invalidMessage: USED_UP.message };
    return { ...response, policy: { status: 503, retryAfterSeconds } };
  }
  try {
    const response = await found.scheme.verify(request);
    if (typeof response.isValid === "boolean") return response;
    return { isValid: false, invalidReason: "unexpected_verify_error", invalidMessage: NO_RESPONSE };
  } catch (error) {
    return { isValid: false, invalidReason: "unexpected_verify_error", invalidMessage: nameOf(error) };
  }
}

async function settle(
  { schemes, policy, budgets }: Parts,
  request: FacilitatorRequest,
  seller: Seller | undefined,
): Promise<LocalResponse<SettlementResponse>> {
  const found = findScheme(schemes, request);
  if (!found.ok) return { success: false, errorReason: found.reason, transaction: "", network: networkOf(request) };
  const { network } = found.scheme;
  const refusal = await findRefusal(limitsFor(policy.limits, seller), request, seller?.name);
  if (refusal !== undefined) return { ...refused(refusal, network), ...statusFor(seller) };
  // Leaves open whether the money moved: the scheme failed, not the payment.
  const failure = { success: false, errorReason: "unexpected_settle_error", transaction: "" };
  try {
    // The budget is not asked before the scheme: only the chain knows whether the payment was settled before.
    const { result: response, isRefused } = await budgets.settle(() => found.scheme.settle(request));
    if (typeof response.success !== "boolean") return { ...failure, errorMessage: NO_RESPONSE, network };
    if (!isRefused || response.errorReason !== failure.errorReason || response.transaction !== "") return response;
    const retryAfterSeconds = budgets.of(found.scheme)?.exhaustedForSeconds() ?? 60;
    return { ...refused(USED_UP, network), policy: { status: 503, retryAfterSeconds } };
  } catch (error) {
    return { ...failure, errorMessage: nameOf(error), network };
  }
}

const USED_UP: PolicyRefusal = { reason: "gas_budget_used_up", message: "the gas budget of this hour is used up" };

/** The money did not move. */
function refused({ reason, message }: PolicyRefusal, network: string): SettlementResponse {
  return { success: false, errorReason: reason, errorMessage: message, transaction: "", network };
}

/** A seller's own rules take the place of the general ones. */
function limitsFor(general: Limits, seller: Seller | undefined): Limits {
  const { payees, assets } = seller?.limits ?? {};
  return { payees: payees ?? general.payees, assets: assets ?? general.assets };
}

/** A seller that is known was refused something; for anyone else the payment is one that is not served. */
function statusFor(seller: Seller | undefined): { readonly policy?: PolicyStatus } {
  return seller === undefined ? {} : { policy: { status: 403 } };
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

async function askHealth({ schemes, budgets }: Parts): Promise<FacilitatorHealth> {
  const asked = await Promise.all(schemes.map(async (scheme) => ({ scheme, health: await healthOf(scheme) })));
  const signers = new Map<string, SignerHealth>();
  const told = asked.map(({ scheme, health: { ok, problem, balance } }) => {
    const { scheme: name, network } = scheme;
    const budget = budgets.of(scheme);
    for (const address of scheme.signers) {
      const gas = budget && { perHour: budget.perHour.toString(), left: budget.left().toString() };
      const key = `${canonicalNetwork(network)} ${address}`;
      signers.set(key, { network, address, ...(balance && { balance }), ...(gas && { gas }), ...signers.get(key) });
    }
    const isUsedUp = budget?.exhaustedForSeconds() !== undefined;
    if (ok && isUsedUp) return { scheme: name, network, ok: false, problem: USED_UP.message };
    return { scheme: name, network, ok, ...(problem === undefined ? {} : { problem }) };
  });
  return { ok: told.every(({ ok }) => ok), schemes: told, signers: [...signers.values()] };
}

/** Chains of Farebox also tell the signer's balance. */
async function healthOf(scheme: FacilitatorScheme): Promise<SchemeHealth & { readonly balance?: string }> {
  try {
    const health: SchemeHealth & { readonly balance?: unknown } = await scheme.health();
    const { ok, problem, balance } = health;
    return {
      ok: ok === true,
      ...(problem === undefined ? {} : { problem }),
      ...(typeof balance === "string" && /^\d{1,78}$/.test(balance) ? { balance } : {}),
    };
  } catch (error) {
    return { ok: false, problem: nameOf(error) };
  }
}
