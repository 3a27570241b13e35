/**
 * A tool call, and the request for the gate that is made of it.
 *
 * @module
 */
import { createHash, randomUUID } from "node:crypto";
import { type GateRequest, joinValues, writeCanonicalText } from "@farebox/core/adapter";
import type { McpServer, RegisteredTool } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallExtra } from "./tool-config.js";
import type { PricedTool } from "./tool-price.js";

/** One call of a tool. */
export interface ToolCall {
  readonly server: McpServer;
  readonly outputSchema: RegisteredTool["outputSchema"];
  /** The arguments, parsed by the input schema; `undefined` for a tool without one. */
  readonly args: unknown;
  readonly extra: CallExtra;
}

/** The key of the payment in a call's `_meta`. */
export const PAYMENT_KEY = "x402/payment";

/** The key of the retry token in a call's `_meta`, and in that of the result that it came with. */
export const RETRY_TOKEN_KEY = "x402/payment-retry-token";

/** The retry token of a call; `undefined`: it has none that is a text. */
export function retryTokenOf({ _meta }: CallExtra): string | undefined {
  const token = _meta?.[RETRY_TOKEN_KEY];
  return typeof token === "string" ? token : undefined;
}

/** Binds the payment to the tool and its arguments: `digestBody` stands for both. */
export function toGateRequest({ name, url }: PricedTool, { args, extra }: ToolCall): GateRequest {
  const headers = joinValues(extra.requestInfo?.headers ?? {});
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
    retryToken: retryTokenOf(extra),
    header: (name) => headers[name.toLowerCase()],
    headers,
    native: extra,
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
    const hash = createHash("sha256").update(JSON.stringify(url));
    writeCanonicalText(args, hash);
    return hash.digest("base64url");
  } catch {
    return randomUUID();
  }
}
