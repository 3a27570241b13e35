/**
 * What a wallet gets that signs in: the requests that it has paid for, as a storage remembers them.
 *
 * A storage knows a purchase by a text, its resource. Unless the seller names it, it is the path with its query, for a `GET` request
 * without a body. Any other request may cost something else at the same path, or do something else.
 *
 * @module
 */
import type { DeclarationContext, PricedRequest } from "@farebox/core";
import type { Issues } from "@farebox/core/issues";
import { readSIWxHeader, type SIWxVerifyOptions, validateSIWxMessage, verifySIWxSignature } from "./sign-in-message.js";

/** Who has paid for which resource. */
export interface SIWxStorage {
  /** @param resource - Path and query of a `GET` request, or what `resourceOf` returned. */
  hasPaid(resource: string, address: string): boolean | Promise<boolean>;
  recordPayment(resource: string, address: string): void | Promise<void>;
  /** With {@link SIWxStorage.recordNonce}: each signature counts once. */
  hasUsedNonce?(nonce: string): boolean | Promise<boolean>;
  /** Several processes need one that returns `false` for a nonce that is recorded already: the signature then does not count. */
  // biome-ignore lint/suspicious/noConfusingVoidType: as the reference declares it
  recordNonce?(nonce: string): void | boolean | Promise<void | boolean>;
}

/** What happened to a header or a payment. */
export type SIWxHookEvent =
  | { type: "payment_recorded"; resource: string; address: string }
  | { type: "access_granted"; resource: string; address: string }
  | { type: "validation_failed"; resource: string; error?: string }
  | { type: "nonce_reused"; resource: string; nonce: string };

/** Names the purchase of a request; `undefined`: it grants nothing. */
export type ResourceOf = (request: PricedRequest) => string | undefined;

/** Checks a storage. */
export function checkStorage(storage: unknown, issues: Issues): void {
  const { hasPaid, recordPayment, hasUsedNonce, recordNonce } = (storage ?? {}) as Partial<SIWxStorage>;
  if (typeof hasPaid !== "function" || typeof recordPayment !== "function") {
    issues.add("options.storage", "an object with hasPaid and recordPayment", storage);
  } else if ((typeof hasUsedNonce === "function") !== (typeof recordNonce === "function")) {
    issues.addText("options.storage", "both hasUsedNonce and recordNonce, or neither", "one of them");
  }
}

/** A request, as far as it names a purchase. */
interface Bought {
  readonly method: string;
  /** Path with query. */
  readonly target: string;
  readonly hasBody: boolean;
}

/** The resource of a request, unless the seller names it. The path alone is what `@x402/extensions` records. */
export function resourceOfGet({ method, target, hasBody }: Bought): string | undefined {
  return method === "GET" && !hasBody ? target : undefined;
}

/** Reads a request for {@link resourceOfGet}. */
export function toBought({ method, path, search, header }: PricedRequest): Bought {
  const hasBody = header("transfer-encoding") !== undefined || Number(header("content-length") ?? 0) !== 0;
  return { method, target: path + search, hasBody };
}

/** Why a resource says too little about the purchases of a route; `undefined`: it says enough. */
export function whyUnbound({
  route: { method },
  isAuthOnly,
  isPricedPerRequest,
}: Pick<DeclarationContext, "route" | "isAuthOnly" | "isPricedPerRequest">): string | undefined {
  if (isAuthOnly) return undefined;
  if (isPricedPerRequest) return "a price that is a function";
  return method === undefined || method === "GET" ? undefined : `the method ${method}`;
}

/** The amounts of a payment that has settled. */
interface Charged {
  readonly requirements: { readonly amount: string };
  readonly payload: { readonly accepted?: { readonly amount?: unknown } | undefined };
}

/** Whether all that was offered has moved. A part of it, as `upto` may charge, buys one response. */
export function isPaidInFull({ requirements: { amount }, payload: { accepted } }: Charged): boolean {
  return amount === accepted?.amount && /[1-9]/.test(amount);
}

/** What decides about a header. */
export interface Admittance {
  readonly storage: SIWxStorage;
  readonly verifyOptions?: SIWxVerifyOptions | undefined;
  readonly onEvent?: ((event: SIWxHookEvent) => void) | undefined;
  /** Whether a signature alone is enough. */
  readonly isAuthOnly: boolean;
  /** Networks of wallets. Empty: any. */
  readonly networks?: readonly string[];
}

/** Nonces that are being checked and recorded, by storage: two requests with one signature may arrive at once. */
const checking = new WeakMap<SIWxStorage, Set<string>>();

/** As EIP-4361 has it, and not longer than a storage may like. */
const NONCE = /^[A-Za-z0-9]{8,128}$/;

/** Whether a header lets its wallet pass. A header of a stranger never throws; a storage that throws or is late does. */
export async function admit(
  header: string,
  { origin, resource }: { readonly origin: URL; readonly resource: string },
  admittance: Admittance,
): Promise<boolean> {
  const { storage, verifyOptions, isAuthOnly, networks = [], onEvent } = admittance;
  const failed = (error: string) => {
    onEvent?.({ type: "validation_failed", resource, error });
    return false;
  };
  const payload = readSIWxHeader(header);
  if (payload === undefined) return failed("The header is malformed");
  const { nonce, chainId } = payload;
  if (!NONCE.test(nonce)) return failed("The nonce is not 8 to 128 letters and digits");
  if (networks.length > 0 && !networks.includes(chainId)) return failed("The network is not one of the route's");
  const validity = await validateSIWxMessage(payload, origin);
  if (!validity.isValid) return failed(validity.invalidMessage);
  // Before the signature, which takes some milliseconds to check.
  if (!isAuthOnly && (await inTime(storage.hasPaid(resource, payload.address))) !== true) return false;
  const verification = await verifySIWxSignature(payload, verifyOptions);
  if (!verification.isValid) return failed(verification.invalidMessage);
  if (!(await isFresh(nonce, storage))) {
    onEvent?.({ type: "nonce_reused", resource, nonce });
    return false;
  }
  onEvent?.({ type: "access_granted", resource, address: verification.payer });
  return true;
}

/** Records a nonce. `false`: it was used before, or is being used. */
async function isFresh(nonce: string, storage: SIWxStorage): Promise<boolean> {
  if (storage.hasUsedNonce === undefined) return true;
  const known = checking.get(storage) ?? new Set<string>();
  checking.set(storage, known);
  if (known.has(nonce)) return false;
  known.add(nonce);
  try {
    if ((await inTime(storage.hasUsedNonce(nonce))) === true) return false;
    return (await inTime(storage.recordNonce?.(nonce))) !== false;
  } finally {
    known.delete(nonce);
  }
}

/** How long a request waits for one answer of a storage. */
const STORAGE_MS = 5_000;

async function inTime<T>(answer: T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`the storage took longer than ${STORAGE_MS} milliseconds`)), STORAGE_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Wallets and resources that a storage in memory remembers. */
const MAX_REMEMBERED = 100_000;

/** Remembers in this process who paid: the last 100,000 pairs of a resource and a wallet. A restart forgets them. */
export class InMemorySIWxStorage implements SIWxStorage {
  readonly #paid = new Set<string>();

  hasPaid(resource: string, address: string): boolean {
    return this.#paid.has(keyOf(resource, address));
  }

  recordPayment(resource: string, address: string): void {
    const key = keyOf(resource, address);
    // The most recent is last.
    this.#paid.delete(key);
    this.#paid.add(key);
    const [oldest] = this.#paid;
    if (this.#paid.size > MAX_REMEMBERED && oldest !== undefined) this.#paid.delete(oldest);
  }
}

/** Addresses of EVM networks have no case; those of Solana do. */
function keyOf(resource: string, address: string): string {
  return JSON.stringify([resource, address.startsWith("0x") ? address.toLowerCase() : address]);
}
