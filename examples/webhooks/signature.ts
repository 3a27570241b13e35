/**
 * Signatures of webhooks, in the form of standardwebhooks.com: an HMAC of id, time and body, so that a body cannot be changed, and an old
 * message cannot be sent again.
 *
 * @module
 */
import { createHmac, timingSafeEqual } from "node:crypto";

/** The headers of a webhook. */
export interface WebhookHeaders {
  readonly "webhook-id": string;
  /** Unix seconds. */
  readonly "webhook-timestamp": string;
  /** `v1,` and the signature in base64; several, with spaces between them, while a secret is replaced. */
  readonly "webhook-signature": string;
}

/** Messages that are older, or newer, are refused. */
const TOLERANCE_SECONDS = 300;

/** @param secret - `whsec_` and the key in base64. */
export function sign(secret: string, id: string, body: string, nowMs: number = Date.now()): WebhookHeaders {
  const timestamp = String(Math.floor(nowMs / 1000));
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${digestOf(secret, id, timestamp, body).toString("base64")}`,
  };
}

/** Whether a message was signed with this secret, in the last minutes. */
export function isSigned(
  secret: string,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  body: string,
  nowMs: number = Date.now(),
): boolean {
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    String(headers[name] ?? ""),
  );
  if (!(Math.abs(nowMs / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS)) return false;
  const expected = digestOf(secret, id ?? "", timestamp ?? "", body);
  return (signatures ?? "").split(" ").some((signature) => {
    const [version, encoded = ""] = signature.split(",");
    const given = Buffer.from(encoded, "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

function digestOf(secret: string, id: string, timestamp: string, body: string): Buffer {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  return createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest();
}
