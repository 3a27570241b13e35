/**
 * Sends the request with its payment, and the same payment again until its outcome is known. Nothing here signs.
 *
 * @see docs/reference/responses.md
 * @module
 */
import { decodeJson } from "./challenge.js";
import { dropPending, keepPending, type Pending } from "./pending.js";

/** What has become of a payment. */
export type Outcome =
  /** The response of the seller's handler. */
  | { readonly kind: "response"; readonly response: Response; readonly receipt: Receipt | undefined }
  /** Nothing was charged. `error`: the reason of the protocol. */
  | { readonly kind: "refused"; readonly error: string }
  /** Settled, and the response cannot be had. */
  | { readonly kind: "lost"; readonly receipt: Receipt | undefined }
  | { readonly kind: "redirected" };

/** What `PAYMENT-RESPONSE` says. */
export interface Receipt {
  readonly success: boolean;
  readonly transaction: string;
  readonly payer: string | undefined;
  /** Atomic units, if it says so. */
  readonly amount: string | undefined;
}

/** A wait before the same payment is sent again. */
export type OnWait = (seconds: number, tryNow: () => void) => void;

const LONGEST_WAIT_SECONDS = 30;

/** Reasons with a 409 or 429 that no repetition changes. Nothing was charged. */
const FINAL: ReadonlySet<string> = new Set(["payment_identifier_conflict", "too_many_payments"]);

/** Sends a payment until its outcome is known. */
export async function send(pending: Pending, accept: string, onSend: () => void, onWait: OnWait): Promise<Outcome> {
  let current = pending;
  let redirect: RequestRedirect = "follow";
  let wasRedirected = false;
  for (let attempt = 0; ; attempt++) {
    onSend();
    const response = await request(current, accept, redirect);
    if (response === undefined) {
      // A redirect to another origin fails like a network does.
      if (wasRedirected) return end({ kind: "redirected" });
      redirect = "manual";
    } else if (response.type === "opaqueredirect") {
      wasRedirected = true;
      redirect = "follow";
      continue;
    } else {
      const token = response.headers.get("PAYMENT-RETRY-TOKEN");
      if (token !== null) {
        current = { ...current, token };
        keepPending(current);
      }
      const outcome = await outcomeOf(response);
      if (outcome !== undefined) return end(outcome);
    }
    const asked = Number(response?.headers.get("Retry-After"));
    const seconds = asked > 0 ? asked : Math.min(2 ** (attempt + 1), LONGEST_WAIT_SECONDS);
    await wait(Math.min(seconds, LONGEST_WAIT_SECONDS), onWait);
  }
}

function end(outcome: Outcome): Outcome {
  dropPending();
  return outcome;
}

async function request(pending: Pending, accept: string, redirect: RequestRedirect): Promise<Response | undefined> {
  const { payment, method, body, token } = pending;
  const headers: Record<string, string> = { Accept: accept, "PAYMENT-SIGNATURE": payment };
  if (token !== null) headers["PAYMENT-RETRY-TOKEN"] = token;
  if (body !== null) headers["Content-Type"] = "application/x-www-form-urlencoded";
  try {
    return await fetch(location.href, {
      method,
      headers,
      body,
      redirect,
      cache: "no-store",
      credentials: "same-origin",
    });
  } catch {
    return undefined;
  }
}

/** `undefined`: not known yet, so the same payment is sent again. */
async function outcomeOf(response: Response): Promise<Outcome | undefined> {
  const { status } = response;
  const receipt = readReceipt(response.headers.get("PAYMENT-RESPONSE"));
  if (receipt?.success === true)
    return status === 409 ? { kind: "lost", receipt } : { kind: "response", response, receipt };
  const isPaymentsOwn = [400, 402, 409, 412, 413, 429, 503, 504].includes(status);
  if (!isPaymentsOwn) return { kind: "response", response, receipt };
  const error = await errorOf(response);
  if (status === 503) return undefined;
  if (status === 409 || status === 429) {
    if (error === "answer_not_kept") return { kind: "lost", receipt };
    return response.headers.has("Retry-After") && !FINAL.has(error) ? undefined : { kind: "refused", error };
  }
  return { kind: "refused", error };
}

async function errorOf(response: Response): Promise<string> {
  const receipt = decodeJson(response.headers.get("PAYMENT-RESPONSE"));
  if (typeof receipt?.["errorReason"] === "string") return receipt["errorReason"];
  try {
    const body: unknown = await response.clone().json();
    const { error } = (body ?? {}) as { readonly error?: unknown };
    return typeof error === "string" ? error.slice(0, 300) : `${response.status}`;
  } catch {
    return `${response.status}`;
  }
}

function readReceipt(header: string | null): Receipt | undefined {
  const receipt = decodeJson(header);
  if (receipt === undefined) return undefined;
  const { success, transaction, payer, amount } = receipt;
  return {
    success: success === true,
    transaction: typeof transaction === "string" ? transaction : "",
    payer: typeof payer === "string" ? payer : undefined,
    amount: typeof amount === "string" && /^\d+$/.test(amount) ? amount : undefined,
  };
}

function wait(seconds: number, onWait: OnWait): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, seconds * 1000);
    onWait(seconds, () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
