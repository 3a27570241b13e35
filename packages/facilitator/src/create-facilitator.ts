/**
 * A facilitator: finds the scheme that a payment is for, and lets it verify or settle.
 *
 * @see x402 v2 §7 "Facilitator Interface"
 * @module
 */
import {
  ConfigError,
  type ConfigIssue,
  type Facilitator,
  type FacilitatorRequest,
  type FacilitatorScheme,
  isReason,
  type Logger,
  type SettlementResponse,
  type SupportedResponse,
  type VerifyResponse,
} from "@farebox/core";

/** What a facilitator is made of. */
export interface FacilitatorOptions {
  /** What it can verify and settle; one scheme per name and network. */
  readonly schemes: readonly FacilitatorScheme[];
  /** Identifiers of extensions it understands, for `/supported`. Default none. */
  readonly extensions?: readonly string[];
  /** Takes a line per call; never a signature, never a URL. Default: nobody. */
  readonly logger?: Logger;
}

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
  /** Asks every scheme how it is. Never rejects. */
  health(): Promise<FacilitatorHealth>;
}

/**
 * Creates a facilitator. Its calls never reject: what goes wrong is in the answer.
 *
 * @throws ConfigError when there is no scheme, or two for the same network.
 */
export function createFacilitator(options: FacilitatorOptions): LocalFacilitator {
  const schemes = indexSchemes(options.schemes);
  const { logger } = options;
  const supported = Object.freeze(describe(options));

  return {
    async verify(request) {
      const answer = await verify(findScheme(schemes, request), request);
      logger?.info("verify", {
        ...subject(request),
        isValid: answer.isValid,
        ...why(answer.invalidReason, answer.invalidMessage),
      });
      return answer;
    },
    async settle(request) {
      const answer = await settle(findScheme(schemes, request), request);
      const { success, transaction, payer, errorReason, errorMessage } = answer;
      logger?.info("settle", { ...subject(request), success, transaction, payer, ...why(errorReason, errorMessage) });
      return answer;
    },
    supported: async () => supported,
    health: () => askHealth(options.schemes),
  };
}

type Found =
  | { readonly ok: true; readonly scheme: FacilitatorScheme }
  | { readonly ok: false; readonly reason: "unsupported_scheme" | "invalid_network" };

function indexSchemes(schemes: readonly FacilitatorScheme[]): ReadonlyMap<string, FacilitatorScheme> {
  const issues: ConfigIssue[] = [];
  const index = new Map<string, FacilitatorScheme>();
  for (const [at, scheme] of (schemes ?? []).entries()) {
    const key = keyOf(scheme.scheme, scheme.network);
    if (index.has(key)) {
      issues.push({ path: `options.schemes[${at}]`, expected: "one scheme per name and network", received: key });
    }
    index.set(key, scheme);
  }
  if (index.size === 0) issues.push({ path: "options.schemes", expected: "at least one scheme", received: "none" });
  if (issues.length > 0) throw new ConfigError(issues);
  return index;
}

function keyOf(scheme: string, network: string): string {
  return `${scheme} on ${network}`;
}

function findScheme(schemes: ReadonlyMap<string, FacilitatorScheme>, request: FacilitatorRequest): Found {
  const { scheme: name, network } = request.paymentRequirements;
  const scheme = schemes.get(keyOf(name, network));
  if (scheme !== undefined) return { ok: true, scheme };
  const known = [...schemes.values()].some((candidate) => candidate.scheme === name);
  return { ok: false, reason: known ? "invalid_network" : "unsupported_scheme" };
}

async function verify(found: Found, request: FacilitatorRequest): Promise<VerifyResponse> {
  if (!found.ok) return { isValid: false, invalidReason: found.reason };
  try {
    return await found.scheme.verify(request);
  } catch (error) {
    return { isValid: false, invalidReason: "unexpected_verify_error", invalidMessage: nameOf(error) };
  }
}

async function settle(found: Found, request: FacilitatorRequest): Promise<SettlementResponse> {
  const { network } = request.paymentRequirements;
  if (!found.ok) return { success: false, errorReason: found.reason, transaction: "", network };
  try {
    return await found.scheme.settle(request);
  } catch (error) {
    // Says neither that the money moved nor that it did not.
    const errorReason = "unexpected_settle_error";
    return { success: false, errorReason, errorMessage: nameOf(error), transaction: "", network };
  }
}

function describe({ schemes, extensions = [] }: FacilitatorOptions): SupportedResponse {
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
  return { kinds, extensions, signers };
}

async function askHealth(schemes: readonly FacilitatorScheme[]): Promise<FacilitatorHealth> {
  const asked = await Promise.all(
    schemes.map(async (scheme) => ({ scheme: scheme.scheme, network: scheme.network, ...(await scheme.health()) })),
  );
  return { ok: asked.every(({ ok }) => ok), schemes: asked };
}

/** What a log line is about. The texts are a stranger's: only what has a known form is passed on. */
function subject({ paymentRequirements: { scheme, network, amount, payTo } }: FacilitatorRequest) {
  return { scheme: plain(scheme), network: plain(network), amount: plain(amount), payTo: plain(payTo) };
}

function why(
  reason: string | undefined,
  message: string | undefined,
): { readonly reason?: string; readonly message?: string } {
  return { ...(isReason(reason) ? { reason } : {}), ...(message === undefined ? {} : { message }) };
}

function plain(text: unknown): string | undefined {
  return typeof text === "string" && /^[\w:.+/=-]{1,100}$/.test(text) ? text : undefined;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "not an error";
}
