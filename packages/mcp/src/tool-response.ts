/**
 * The result of a call: checked before it is charged for, held by the gate, written from the gate's responses, and watched
 * until it is sent.
 *
 * @see x402 v2, MCP transport
 * @module
 */
import type { GateResponse, HandlerResponse, StreamEnd } from "@farebox/core/adapter";
import { decodePaymentResponse, isJsonObject, PAYMENT_RESPONSE, PAYMENT_RETRY_TOKEN } from "@farebox/core/protocol";
import type { McpServer, RegisteredTool } from "@modelcontextprotocol/sdk/server/mcp.js";
import { getParseErrorMessage, safeParseAsync } from "@modelcontextprotocol/sdk/server/zod-compat.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type CallToolResult, CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import type { CallExtra } from "./tool-config.js";
import { RETRY_TOKEN_KEY } from "./tool-request.js";

/** The key of the receipt in a result's `_meta`. */
export const RECEIPT_KEY = "x402/payment-response";

/** The key of the reason in a result's `_meta`, if a metered output ended early, or has not settled. */
const ERROR_KEY = "x402/payment-error";

/** Marks the results of handlers among the gate's responses, also after they were stored. */
export const RESULT_TYPE = "application/vnd.farebox.tool-result+json";

type Headers = readonly (readonly [name: string, value: string | readonly string[]])[];

/** Checks a handler's result before it is charged for; the SDK checks only afterwards. An invalid one becomes an error. */
export async function checkResult(
  value: unknown,
  outputSchema: RegisteredTool["outputSchema"],
): Promise<CallToolResult> {
  const sent = throughJson(value);
  const read = CallToolResultSchema.safeParse(sent);
  if (!isJsonObject(sent) || !read.success) return invalidResult("the tool did not return a valid result");
  const result = withoutPayments({ ...sent, content: read.data.content });
  if (result.isError === true && hasChallenge(result)) return toErrorResult(FOREIGN);
  if (outputSchema === undefined || read.data.isError === true) return result;
  if (read.data.structuredContent === undefined) return invalidResult("the tool returned no structured content");
  const parsed = await safeParseAsync(outputSchema, read.data.structuredContent);
  return parsed.success ? result : invalidResult(getParseErrorMessage(parsed.error));
}

/** The result without what its tool, or a server behind it, says about payments in `_meta`. */
function withoutPayments(result: CallToolResult): CallToolResult {
  const meta = Object.entries(result._meta ?? {});
  const own = meta.filter(([key]) => !key.startsWith("x402/"));
  return own.length === meta.length ? result : { ...result, _meta: Object.fromEntries(own) };
}

const FOREIGN = "The tool gets its result from a server that asks for a payment.";

/** Whether a result is the challenge of a server behind the tool: a client would pay that server's seller, and send it here. */
export function hasChallenge({ structuredContent, content }: CallToolResult): boolean {
  const [first] = content;
  return isChallenge(structuredContent) || (first?.type === "text" && isChallenge(parseOwn(first.text)));
}

function isChallenge(value: unknown): boolean {
  return isJsonObject(value) && "accepts" in value;
}

/** The same result without the challenge. */
export function withoutChallenge(result: CallToolResult): CallToolResult {
  const { structuredContent: _, ...rest } = result;
  return { ...rest, ...toErrorResult(FOREIGN) };
}

/** What a handler threw, without the challenge of a server behind it. */
export function withoutThrownChallenge(error: unknown): unknown {
  return error instanceof Error && isChallenge(parseOwn(error.message)) ? new Error(FOREIGN, { cause: error }) : error;
}

/** The value as the client will receive it; `undefined` when JSON cannot express it. */
function throughJson(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value) ?? "null");
  } catch {
    return undefined;
  }
}

function invalidResult(problem: string): CallToolResult {
  return toErrorResult(`Output validation error: ${problem}.`);
}

/** The result of a handler that threw, as the SDK writes it. */
export function toErrorResult(error: unknown): CallToolResult {
  const text = error instanceof Error ? error.message : String(error);
  return { content: [{ type: "text", text }], isError: true };
}

/**
 * Writes a result as the response that the gate holds.
 *
 * @param holdBytes - A longer body is not held.
 */
export function toHandlerResponse(result: CallToolResult, holdBytes: number): HandlerResponse {
  const body = Buffer.from(JSON.stringify(result));
  return {
    status: result.isError === true ? 500 : 200,
    headers: [["Content-Type", RESULT_TYPE]],
    body: body.byteLength > holdBytes ? undefined : body,
  };
}

/**
 * Writes a response of the gate as a result: a stored result of the handler, a challenge, or a problem.
 *
 * @param isTextOnly - Whether the tool has an output schema. Clients check `structuredContent` against it, even in errors.
 */
export function toResult({ status, headers, body }: GateResponse, isTextOnly: boolean): CallToolResult {
  const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8");
  const parsed = parseOwn(text);
  // A response that a hook sold is none.
  const isError = status >= 300;
  if (headerOf(headers, "Content-Type") === RESULT_TYPE) return withReceipt(parsed as CallToolResult, headers);
  // A body of the seller's may be of any kind.
  if (!isJsonObject(parsed)) {
    return withReceipt({ content: [{ type: "text", text }], ...(isError ? { isError } : {}) }, headers);
  }
  const retryAfter = headerOf(headers, "Retry-After");
  const document = {
    ...parsed,
    ...(retryAfter === undefined ? {} : { retryAfterSeconds: Number(retryAfter) }),
  };
  const result: CallToolResult = {
    content: [{ type: "text", text: JSON.stringify(document) }],
    ...(isTextOnly && isError ? {} : { structuredContent: document }),
    ...(isError ? { isError } : {}),
  };
  return withReceipt(result, headers);
}

/** Parsed without limits: the body is our own, and may be nested deeper than a client's. `undefined`: it is no JSON. */
function parseOwn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Adds the receipt and the retry token, if there are any, to the tool's own `_meta`. */
export function withReceipt(result: CallToolResult, headers: Headers): CallToolResult {
  const header = headerOf(headers, PAYMENT_RESPONSE);
  const receipt = header === undefined ? undefined : decodePaymentResponse(header);
  const token = headerOf(headers, PAYMENT_RETRY_TOKEN);
  if (receipt === undefined && token === undefined) return result;
  return withMeta(result, {
    ...(receipt === undefined ? {} : { [RECEIPT_KEY]: receipt }),
    ...(token === undefined ? {} : { [RETRY_TOKEN_KEY]: token }),
  });
}

/** Why a metered output ended early. */
export type EarlyEnd = "payment_limit" | "payment_expired" | "unexpected_settle_error";

const EARLY_ENDS: Readonly<Record<EarlyEnd, string>> = {
  payment_limit:
    "What the payment allows is used up. The output is not complete: it ends here. What you got is charged.",
  payment_expired:
    "The time of the payment is over. The output is not complete: it ends here. What you got is charged.",
  unexpected_settle_error:
    "The server cannot go on. The output is not complete: it ends here. What you got is charged.",
};

/** Reads a reason. `undefined`: it is none for an early end. */
export function toEarlyEnd(reason: string | undefined): EarlyEnd | undefined {
  return reason !== undefined && Object.hasOwn(EARLY_ENDS, reason) ? (reason as EarlyEnd) : undefined;
}

/** Says that the output is not complete: to agents in the last text, to clients in `_meta`. */
export function withEarlyEnd(result: CallToolResult, error: EarlyEnd): CallToolResult {
  return withNotice(result, error, EARLY_ENDS[error]);
}

/** The reason alone, on an error that is not charged. */
export function withReason(result: CallToolResult, error: EarlyEnd): CallToolResult {
  return withMeta(result, { [ERROR_KEY]: error });
}

const PENDING =
  "It is not yet known whether the payment settled. Do not sign a new payment for this output: call with the same one for its receipt.";
const DUE = "The payment did not settle. This output is due: the seller settles it later.";

/** The result of a metered output that was delivered, however it settled. */
export function withEnd(result: CallToolResult, { receipt, proof }: StreamEnd): CallToolResult {
  if (receipt === undefined) return withReceipt(withNotice(result, "settlement_pending", PENDING), proof);
  const { success, errorReason } = receipt;
  const isDue = !success && errorReason !== undefined && errorReason !== "not_charged";
  return withMeta(isDue ? withNotice(result, errorReason, DUE) : result, { [RECEIPT_KEY]: receipt });
}

function withNotice(result: CallToolResult, error: string, message: string): CallToolResult {
  const text = JSON.stringify({ error, message });
  const content: CallToolResult["content"] = [...result.content, { type: "text", text }];
  return withMeta({ ...result, content }, { [ERROR_KEY]: error });
}

function withMeta(result: CallToolResult, added: Readonly<Record<string, unknown>>): CallToolResult {
  return { ...result, _meta: { ...result._meta, ...added } };
}

function headerOf(headers: Headers, sought: string): string | undefined {
  const value = headers.find(([name]) => name.toLowerCase() === sought.toLowerCase())?.[1];
  return typeof value === "string" ? value : value?.[0];
}

type RequestId = CallExtra["requestId"];

/** The listeners to results that are about to be sent, by transport. */
const unsent = new WeakMap<Transport, Map<RequestId, (isSent: boolean) => void>>();

/**
 * Calls the listener once, and says whether the result of a call was sent. It is not if the call was cancelled, or the
 * transport failed. The SDK sends a result after the handler has returned and reports no failure to it, so the transport is
 * watched.
 */
export function onSent(
  { server }: McpServer,
  { requestId, signal }: CallExtra,
  listener: (isSent: boolean) => void,
): void {
  const { transport } = server;
  if (transport === undefined || signal.aborted) {
    listener(false);
    return;
  }
  const listeners = unsent.get(transport) ?? watch(transport);
  listeners.set(requestId, listener);
  const onAbort = () => {
    if (listeners.get(requestId) !== listener) return;
    listeners.delete(requestId);
    listener(false);
  };
  signal.addEventListener("abort", onAbort, { once: true });
}

function watch(transport: Transport): Map<RequestId, (isSent: boolean) => void> {
  const listeners = new Map<RequestId, (isSent: boolean) => void>();
  unsent.set(transport, listeners);
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    const id = "method" in message ? undefined : message.id;
    const listener = id === undefined ? undefined : listeners.get(id);
    if (id !== undefined) listeners.delete(id);
    try {
      await send(message, options);
    } catch (error) {
      listener?.(false);
      throw error;
    }
    listener?.(true);
  };
  return listeners;
}
