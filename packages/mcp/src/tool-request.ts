/**
 * A tool call as a request for the gate.
 *
 * @module
 */
import { createHash, randomUUID } from "node:crypto";
import { type GateRequest, toCanonicalText } from "@farebox/core";
import type { CallExtra } from "./tool-config.js";
import type { PricedTool } from "./tool-price.js";

/** The key of the payment in a call's `_meta`. */
export const PAYMENT_KEY = "x402/payment";

/** Binds the payment to the tool and its arguments: `digestBody` stands for both. */
export function toGateRequest({ name, url }: PricedTool, args: unknown, extra: CallExtra): GateRequest {
  const headers = new Map(Object.entries(extra.requestInfo?.headers ?? {}));
  let digest: string | undefined;
  return {
    method: "tools/call",
    path: `/${name}`,
    mountPath: "",
    search: "",
    origin: undefined,
    accept: undefined,
    userAgent: undefined,
    paymentSignature: undefined,
    payment: extra._meta?.[PAYMENT_KEY],
    header(sought) {
      const value = headers.get(sought.toLowerCase());
      return Array.isArray(value) ? value.join(", ") : value;
    },
    body: args,
    // Only the client knows the id of its session.
    client: extra.sessionId,
    digestBody() {
      digest ??= digestArguments(url, args);
      return digest;
    },
  };
}

/** Arguments that JSON cannot express (a schema may produce such) equal no others, not even those of the same call repeated. */
function digestArguments(url: string, args: unknown): string {
  try {
    const text = JSON.stringify([url, toCanonicalText(args, Number.POSITIVE_INFINITY)]);
    return createHash("sha256").update(text).digest("base64url");
  } catch {
    return randomUUID();
  }
}
