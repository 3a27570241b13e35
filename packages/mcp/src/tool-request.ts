/**
 * A tool call as the gate sees it.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { type GateRequest, type Place, toCanonicalText } from "@farebox/core";
import type { CallExtra } from "./tool-config.js";

/** Where in a call's `_meta` the payment is. */
export const PAYMENT_KEY = "x402/payment";

/** A call of a paid tool. */
export interface CalledTool {
  readonly name: string;
  /** Absolute URL of the resource. */
  readonly url: string;
}

/** A tool has no path with parameters. */
export const TOOL_PLACE: Place = Object.freeze({ routeTemplate: undefined, pathParams: Object.freeze({}) });

/** Says of a call what the gate needs to know. A payment is bound to the tool and its arguments. */
export function toGateRequest({ name, url }: CalledTool, args: unknown, extra: CallExtra): GateRequest {
  const headers = extra.requestInfo?.headers ?? {};
  const header = (sought: string) => {
    const value = Object.hasOwn(headers, sought.toLowerCase()) ? headers[sought.toLowerCase()] : undefined;
    return Array.isArray(value) ? value.join(", ") : value;
  };
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
    header,
    body: args,
    // Nobody else knows the id of a session, so whoever has it is the same client.
    client: extra.sessionId,
    digestBody: () => {
      digest ??= digestArguments(url, args);
      return digest;
    },
  };
}

/** Arguments of which a schema makes something that cannot be written are like no others, not even the same sent again. */
function digestArguments(url: string, args: unknown): string {
  try {
    const text = JSON.stringify([url, toCanonicalText(args, Number.POSITIVE_INFINITY)]);
    return createHash("sha256").update(text).digest("base64url");
  } catch {
    return crypto.randomUUID();
  }
}
