/**
 * What proves that a duplicate comes from the payer. Once a payment may be seen on chain, anyone can rebuild it from there.
 *
 *   the time of its arrival    before its settlement began, only the payer knew the payment     (again.ts)
 *   the payment's identifier   it is never on chain                                             (again.ts)
 *   a retry token              it went out to the payer, with an earlier response or the progress of a call
 *   its address or session     only while the first request settles, and only if no two clients share it
 *
 * @see `docs/reference/lifecycle.md`, "The same payment again"
 * @module
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { PAYMENT_RETRY_TOKEN } from "../protocol/headers.js";
import type { Headers } from "./answers.js";
import { isSharedAddress } from "./request.js";

/** Tokens by which a payer proves that a duplicate is its own. They are computed, so no record has them. */
export interface RetryTokens {
  /** The header with the token of a payment. Only for responses to requests that proved to be the payer's. */
  headersFor(identity: string): Headers;
  /** Whether a client sent the token of this payment. */
  isGood(token: string | undefined, identity: string): boolean;
}

/** Creates tokens that only the owner of the secret can compute. The secret is final before the first payment. */
export function createRetryTokens(secret: () => Uint8Array): RetryTokens {
  const digestOf = (identity: string) =>
    createHmac("sha256", secret())
      .update(JSON.stringify(["farebox-retry-1", identity]))
      .digest();
  return {
    headersFor: (identity) => [[PAYMENT_RETRY_TOKEN, digestOf(identity).toString("base64url")]],
    isGood(token, identity) {
      if (token === undefined || !TOKEN.test(token)) return false;
      return timingSafeEqual(Buffer.from(token, "base64url"), digestOf(identity));
    },
  };
}

const TOKEN = /^[\w-]{43}$/;

/** Whether two requests come from one client, by what the adapter knows of it: an address, or the id of a session. */
export function isSameClient(client: string | undefined, other: string | undefined): boolean {
  return client !== undefined && client === other && !isSharedAddress(client);
}
