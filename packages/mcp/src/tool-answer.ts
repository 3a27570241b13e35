/**
 * What a client gets: the gate's answers as results of a tool, and results as the gate holds them.
 *
 * @see x402 v2, MCP transport
 * @module
 */
import {
  decodePaymentResponse,
  type GateResponse,
  type HandlerResponse,
  isJsonObject,
  PAYMENT_RESPONSE,
} from "@farebox/core";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";

/** Where in a result's `_meta` the receipt is. */
export const RECEIPT_KEY = "x402/payment-response";

/** Tells the results of handlers from the gate's own answers, also when they come back from a store. */
const RESULT_TYPE = "application/vnd.farebox.tool-result+json";

type Headers = readonly (readonly [name: string, value: string | readonly string[]])[];

/**
 * Holds a handler's result.
 *
 * @param holdBytes - What is longer is not kept.
 */
export function toHandlerResponse(result: CallToolResult, holdBytes: number): HandlerResponse {
  const bytes = Buffer.from(JSON.stringify(result));
  return {
    status: result.isError === true ? 500 : 200,
    headers: [["Content-Type", RESULT_TYPE]],
    body: bytes.byteLength > holdBytes ? undefined : bytes,
  };
}

/** Puts the receipt on a result, beside what the tool has put there. */
export function withReceipt(result: CallToolResult, headers: Headers): CallToolResult {
  const text = headerOf(headers, PAYMENT_RESPONSE);
  const receipt = text === undefined ? undefined : decodePaymentResponse(text);
  return receipt === undefined ? result : { ...result, _meta: { ...result._meta, [RECEIPT_KEY]: receipt } };
}

/**
 * Writes an answer of the gate as a result: a handler's own result again, a challenge, or what else is to be said.
 *
 * @param isTextOnly - Whether the tool has an output schema: clients hold whatever is structured against it, errors too.
 */
export function toResult({ headers, body }: GateResponse, isTextOnly: boolean): CallToolResult {
  const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8");
  const parsed = parse(text);
  if (headerOf(headers, "Content-Type") === RESULT_TYPE) return withReceipt(parsed as CallToolResult, headers);
  const retryAfter = headerOf(headers, "Retry-After");
  const said = retryAfter === undefined ? parsed : { ...parsed, retryAfterSeconds: Number(retryAfter) };
  const result: CallToolResult = {
    content: [{ type: "text", text: JSON.stringify(said) }],
    ...(isTextOnly ? {} : { structuredContent: said }),
    isError: true,
  };
  return withReceipt(result, headers);
}

/** What we have written ourselves. It is deeper than what a stranger may send. */
function parse(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  return isJsonObject(value) ? { ...value } : {};
}

function headerOf(headers: Headers, sought: string): string | undefined {
  const value = headers.find(([name]) => name.toLowerCase() === sought.toLowerCase())?.[1];
  return typeof value === "string" ? value : value?.[0];
}

/** The result of a handler that threw, as the SDK writes it. */
export function toErrorResult(error: unknown): CallToolResult {
  const text = error instanceof Error ? error.message : String(error);
  return { content: [{ type: "text", text }], isError: true };
}
