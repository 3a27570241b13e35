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
  /** The payment is not taken. `error`: the reason of the protocol; `message`: what the server says besides. */
  | { readonly kind: "refused"; readonly error: string; readonly message: string | undefined }
  /** A response of something between here and the seller's payments. It may have been charged. */
  | { readonly kind: "unclear"; readonly response: Response }
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

/** A wait before the same payment is sent again. `text`: the name of the text that says why. */
export type OnWait = (wait: { readonly text: string; readonly seconds: number; readonly tryNow: () => void }) => void;

const LONGEST_WAIT_SECONDS = 30;

/** Reasons with a 409 or 429 that no repetition changes. Nothing was charged. */
const FINAL: ReadonlySet<string> = new Set(["payment_identifier_conflict", "too_many_payments"]);

/** Sends a payment until its outcome is known. */
export async function send(
  pending: Pending,
  accept: string,
  { onSend, onWait }: { readonly onSend: (attempt: number) => void; readonly onWait: OnWait },
): Promise<Outcome> {
  let current = pending;
  let redirect: RequestRedirect = "follow";
  let wasRedirected = false;
  for (let attempt = 0; ; attempt++) {
    onSend(attempt);
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
      if (outcome?.kind === "unclear") return outcome;
      if (outcome !== undefined) return end(outcome);
    }
    const asked = Number(response?.headers.get("Retry-After"));
    const seconds = asked > 0 ? asked : Math.min(2 ** (attempt + 1), LONGEST_WAIT_SECONDS);
    await wait({ text: textOf(response?.status), seconds: Math.min(seconds, LONGEST_WAIT_SECONDS) }, onWait);
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
  const receipt = readReceipt(decodeJson(response.headers.get("PAYMENT-RESPONSE")));
  if (receipt?.success === true)
    return status === 409 ? { kind: "lost", receipt } : { kind: "response", response, receipt };
  if (!isOfPayments(response)) {
    // A proxy gave up, or somebody else answered.
    if (status >= 500 || status === 429) return undefined;
    return response.ok ? { kind: "response", response, receipt } : { kind: "unclear", response };
  }
  if (![400, 402, 409, 412, 413, 429, 503, 504].includes(status)) return { kind: "response", response, receipt };
  const refused = { kind: "refused", ...(await errorOf(response)) } as const;
  if (status === 503) return undefined;
  if (status === 409 || status === 429) {
    if (refused.error === "answer_not_kept") return { kind: "lost", receipt };
    return response.headers.has("Retry-After") && !FINAL.has(refused.error) ? undefined : refused;
  }
  return refused;
}

/** The seller's payments mark each of their responses. A proxy in front of them does not. */
function isOfPayments({ headers }: Response): boolean {
  return /\bPAYMENT-RESPONSE\b/i.test(headers.get("Access-Control-Expose-Headers") ?? "");
}

async function errorOf(response: Response): Promise<{ readonly error: string; readonly message: string | undefined }> {
  const body = (await response
    .clone()
    .json()
    .catch(() => undefined)) as { readonly error?: unknown; readonly message?: unknown } | undefined;
  const reason = decodeJson(response.headers.get("PAYMENT-RESPONSE"))?.["errorReason"] ?? body?.error;
  const message = body?.message;
  return {
    error: typeof reason === "string" ? reason.slice(0, 300) : `${response.status}`,
    message: typeof message === "string" ? message.slice(0, 300) : undefined,
  };
}

/** Reads a receipt; `undefined` if it is none. */
export function readReceipt(receipt: unknown): Receipt | undefined {
  if (typeof receipt !== "object" || receipt === null) return undefined;
  const { success, transaction, payer, amount } = receipt as Readonly<Record<string, unknown>>;
  return {
    success: success === true,
    transaction: typeof transaction === "string" ? transaction : "",
    payer: typeof payer === "string" ? payer : undefined,
    amount: typeof amount === "string" && /^\d+$/.test(amount) ? amount : undefined,
  };
}

/** Why the same payment is sent again. */
function textOf(status: number | undefined): string {
  if (status === undefined) return "waitOffline";
  return status === 409 ? "waitServed" : status === 429 ? "waitBusy" : "waitAgain";
}

function wait(why: { readonly text: string; readonly seconds: number }, onWait: OnWait): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, why.seconds * 1000);
    const tryNow = () => {
      clearTimeout(timer);
      resolve();
    };
    onWait({ ...why, tryNow });
  });
}
