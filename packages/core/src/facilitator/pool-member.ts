/**
 * One facilitator of a pool: whom it serves, what it supports, and calls that end in a value.
 *
 * @module
 */
import { FacilitatorError } from "../errors.js";
import { matchesNetwork } from "../network/caip2.js";
import type { PaymentRequirements } from "../protocol/payment-requirements.js";
import type { SettlementResponse } from "../protocol/settlement-response.js";
import type { SupportedKind, SupportedResponse } from "../protocol/supported-response.js";
import type { VerifyResponse } from "../protocol/verify-response.js";
import type { Clock } from "./clock.js";
import type { CallOptions, Facilitator, FacilitatorRequest } from "./facilitator.js";
import { createFacilitatorStatus, type FacilitatorHealth, type FacilitatorStatus } from "./facilitator-status.js";
import { unreadable } from "./http-failures.js";
import { readSettlementResponse, readVerifyResponse } from "./read-response.js";
import { createSupportedCache } from "./supported-cache.js";
import { findKind, ownsAnyAddress, type Support, spelledAs } from "./supported-kinds.js";

/** How a call to one facilitator ended. */
export type Attempt<T> =
  | { readonly kind: "answered"; readonly answer: T }
  | { readonly kind: "failed"; readonly error: FacilitatorError }
  /** It is being left alone. Nothing was sent. */
  | { readonly kind: "skipped"; readonly retryAfterSeconds: number };

/** One facilitator of a pool. */
export interface PoolMember {
  readonly name: string;
  supports(scheme: string, network: string): Support;
  kind(scheme: string, network: string): SupportedKind | undefined;
  /** Identifiers of the extensions that it lists; none as long as it has said nothing. */
  extensions(): readonly string[];
  /** Whether one of the addresses is known to be its own. */
  owns(addresses: readonly string[], requirements: PaymentRequirements): boolean;
  /** What it supports of the networks it serves, as far as is known. */
  supported(): SupportedResponse | undefined;
  /** Never rejects. */
  verify(request: FacilitatorRequest, options: CallOptions): Promise<Attempt<VerifyResponse>>;
  /** Never rejects. */
  settle(request: FacilitatorRequest, options: CallOptions): Promise<Attempt<SettlementResponse>>;
  health(): FacilitatorHealth;
  /** Begins to ask what it supports. */
  start(): void;
  /** Resolves once it was asked that, whatever came of it. Never rejects. */
  readonly asked: Promise<void>;
  close(): void;
}

/** What a member is made of. */
export interface MemberOptions {
  readonly name: string;
  /** With deadlines. */
  readonly facilitator: Facilitator;
  /** Networks and patterns it serves; `undefined`: all. */
  readonly networks: readonly string[] | undefined;
  readonly clock: Clock;
  /** Told when what can be offered may have changed: what it supports, or whether it works. */
  onChange(change: "supported" | "state"): void;
}

/** Creates a member that asks nothing until it is started or used. */
export function createPoolMember(options: MemberOptions): PoolMember {
  const { name, facilitator, clock } = options;
  const status = createFacilitatorStatus(name, clock, () => options.onChange("state"));
  const cache = createSupportedCache({
    fetch: (signal) => facilitator.supported({ signal }),
    clock,
    onAnswer(changed) {
      status.told();
      if (changed) options.onChange("supported");
    },
    onFailure: status.silent,
  });
  const kindOf = createKindFinder(cache.latest);
  const parts = { facilitator, status, kindOf };
  const serves = (network: string) => options.networks?.some((pattern) => matchesNetwork(pattern, network)) ?? true;

  return {
    name,
    supports(scheme, network) {
      if (!serves(network)) return "no";
      if (cache.latest() === undefined) return "unknown";
      return kindOf(scheme, network) === undefined ? "no" : "yes";
    },
    kind: (scheme, network) => (serves(network) ? kindOf(scheme, network) : undefined),
    extensions: () => cache.latest()?.extensions ?? [],
    owns(addresses, requirements) {
      const latest = cache.latest();
      return latest !== undefined && ownsAnyAddress(latest, addresses, requirements);
    },
    supported() {
      const latest = cache.latest();
      return latest && { ...latest, kinds: latest.kinds.filter(({ network }) => serves(network)) };
    },
    verify: (request, more) => attempt(parts, { operation: "verify", request, read: readVerifyResponse, more }),
    settle: (request, more) => attempt(parts, { operation: "settle", request, read: readSettlementResponse, more }),
    health: () => ({ ...status.health(), supportedFetchedAtMs: cache.fetchedAtMs() }),
    start: cache.start,
    asked: cache.asked,
    close: cache.close,
  };
}

type KindFinder = (scheme: string, network: string) => SupportedKind | undefined;

/** Looked for once in each answer: a seller has few offers, and each payment asks several times. */
function createKindFinder(latest: () => SupportedResponse | undefined): KindFinder {
  let response: SupportedResponse | undefined;
  const found = new Map<string, Map<string, SupportedKind | undefined>>();
  return (scheme, network) => {
    if (response !== latest()) {
      response = latest();
      found.clear();
    }
    if (response === undefined) return undefined;
    const known = found.get(network) ?? new Map<string, SupportedKind | undefined>();
    if (known.has(scheme)) return known.get(scheme);
    const kind = findKind(response, scheme, network);
    found.set(network, known.set(scheme, kind));
    return kind;
  };
}

/** The network of a request in the spelling of whom it goes to; an offer may have been made in another one's. */
function respell(request: FacilitatorRequest, kindOf: KindFinder): FacilitatorRequest {
  const { paymentRequirements: terms, paymentPayload } = request;
  const network = spelledAs(kindOf(terms.scheme, terms.network), terms.network);
  if (network === terms.network) return request;
  const accepted = { ...paymentPayload.accepted, network };
  return {
    ...request,
    paymentPayload: { ...paymentPayload, accepted },
    paymentRequirements: { ...terms, network },
  };
}

interface Parts {
  /** With deadlines. */
  readonly facilitator: Facilitator;
  readonly status: FacilitatorStatus;
  readonly kindOf: KindFinder;
}

/** What a facilitator is asked. */
interface Call<T> {
  readonly operation: "verify" | "settle";
  readonly request: FacilitatorRequest;
  /** Yields `undefined` for an answer that cannot be read. */
  readonly read: (answer: unknown, network: string) => T | undefined;
  readonly more: CallOptions;
}

/** Makes a call, unless the facilitator is being left alone, and notes how it ended. Never rejects. */
async function attempt<T>(
  { facilitator, status, kindOf }: Parts,
  { operation, request, read, more }: Call<T>,
): Promise<Attempt<T>> {
  const begun = status.begin(operation);
  if (begun.kind === "refused") return { kind: "skipped", retryAfterSeconds: begun.retryAfterSeconds };
  try {
    const said = await facilitator[operation](respell(request, kindOf), more);
    const answer = read(said, request.paymentRequirements.network);
    if (answer === undefined) throw unreadable(operation);
    status.answered(begun.permit);
    return { kind: "answered", answer };
  } catch (cause) {
    // A facilitator in this process may throw anything; what that means for the money, it does not say.
    const error = cause instanceof FacilitatorError ? cause : unreadable(operation, cause);
    status.failed(begun.permit, error, more.signal?.aborted ?? false);
    return { kind: "failed", error };
  }
}
