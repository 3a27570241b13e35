/**
 * JSON-RPC 2.0 over HTTP: one question, one answer, and a bound on everything a node does.
 *
 * @see JSON-RPC 2.0 Specification, §4 and §5
 * @module
 */
import { ConfigError, JsonRpcError } from "../errors.js";
import { isJsonObject, parseJson } from "../protocol/json.js";
import { readBoundedText } from "./bounded-text.js";
import { causeCode } from "./cause-code.js";

/** Asks one node. */
export interface JsonRpc {
  /**
   * Yields the `result` of a method, unchecked. Asks once: what is to be asked again is for the caller to know.
   *
   * @param params - What JSON has words for; a `bigint` is not among it.
   * @throws {@link JsonRpcError} when there is no result; it quotes neither the URL nor the node
   */
  call(method: string, params: readonly unknown[], options?: { readonly signal?: AbortSignal }): Promise<unknown>;
}

/** How long to wait. */
export interface JsonRpcOptions {
  /** For the whole answer, head and body, 1 to 120000 ms. Default 5000. */
  readonly deadlineMs?: number;
}

const DEFAULT_DEADLINE_MS = 5_000;
const MAX_DEADLINE_MS = 120_000;

/** The list of a block's transactions has some hundred kilobytes where blocks are large. */
const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Creates a client for a node. Nothing is asked before the first call, and no redirect is followed.
 *
 * @throws ConfigError when the URL is none that {@link parseRpcUrl} reads, or the deadline is out of range
 */
export function createJsonRpc(url: string | URL, { deadlineMs = DEFAULT_DEADLINE_MS }: JsonRpcOptions = {}): JsonRpc {
  const target = parseRpcUrl(url);
  if (target === undefined) throw new ConfigError([{ path: "url", expected: RPC_URL_EXPECTED, received: "another" }]);
  if (!Number.isInteger(deadlineMs) || deadlineMs < 1 || deadlineMs > MAX_DEADLINE_MS) {
    const expected = `a whole number from 1 to ${MAX_DEADLINE_MS}`;
    throw new ConfigError([{ path: "deadlineMs", expected, received: String(deadlineMs) }]);
  }
  let lastId = 0;
  return Object.freeze({
    call: (method: string, params: readonly unknown[], { signal }: { readonly signal?: AbortSignal } = {}) => {
      const question: Question = { jsonrpc: "2.0", id: ++lastId, method, params };
      return within({ method, deadlineMs, signal }, (ending) => ask(target, question, ending));
    },
  });
}

/** What a URL of a node has to be, for an error message. */
export const RPC_URL_EXPECTED = "an http or https URL without credentials and fragment; a query is allowed";

/**
 * Reads the URL of a node; `undefined` when it is none. Total. `fetch` sends nothing to a URL with a name and a
 * password, and never sends a fragment, so that whatever stands there would be missing.
 */
export function parseRpcUrl(value: unknown): string | undefined {
  const text = value instanceof URL ? value.href : value;
  if (typeof text !== "string" || !URL.canParse(text)) return undefined;
  const { protocol, username, password, hash, href } = new URL(text);
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  return username + password + hash === "" ? href : undefined;
}

interface Question {
  readonly jsonrpc: "2.0";
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

async function ask(url: string, question: Question, signal: AbortSignal): Promise<unknown> {
  const { method } = question;
  const response = await send(url, JSON.stringify(question), { method, signal });
  if (!response.ok) {
    // Not waited for: what is left of the body, or fails in it, is of no interest.
    response.body?.cancel().catch(() => {});
    throw new JsonRpcError(`node answered ${method} with status ${response.status}`, "status", response.status);
  }
  return readResult(question, await readText(method, response));
}

interface Sending {
  readonly method: string;
  readonly signal: AbortSignal;
}

async function send(url: string, body: string, { method, signal }: Sending): Promise<Response> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  try {
    return await fetch(url, { method: "POST", redirect: "manual", headers, body, signal });
  } catch (error) {
    throw new JsonRpcError(`node could not be reached for ${method} (${causeCode(error)})`, "unreachable");
  }
}

async function readText(method: string, response: Response): Promise<string> {
  try {
    return await readBoundedText(response, MAX_BODY_BYTES);
  } catch (error) {
    if (!(error instanceof RangeError)) throw unreadable(method);
    throw new JsonRpcError(`node's answer to ${method} is longer than ${MAX_BODY_BYTES} bytes`, "too_large");
  }
}

function readResult({ id, method }: Question, text: string): unknown {
  const json = parseJson(text);
  if (!json.ok || !isJsonObject(json.value)) throw unreadable(method);
  const { error } = json.value;
  // Some nodes write `"error": null` beside a result.
  if (error !== undefined && error !== null)
    throw new JsonRpcError(`node refused ${method}${codeOf(error)}`, "refused");
  const answers = json.value["jsonrpc"] === "2.0" && json.value["id"] === id && Object.hasOwn(json.value, "result");
  if (!answers) throw unreadable(method);
  return json.value["result"];
}

function unreadable(method: string): JsonRpcError {
  return new JsonRpcError(`node's answer to ${method} is not one`, "unreadable");
}

/** Of what a node says about an error only a number is repeated. */
function codeOf(error: unknown): string {
  const code = isJsonObject(error) ? error["code"] : undefined;
  return Number.isSafeInteger(code) ? ` with code ${code}` : "";
}

interface Limits {
  readonly method: string;
  readonly deadlineMs: number;
  /** The caller's own: it may give up before. */
  readonly signal: AbortSignal | undefined;
}

/** Ends with the deadline, or when the caller gives up, whatever the node or `fetch` do. */
async function within<T>(
  { method, deadlineMs, signal }: Limits,
  work: (ending: AbortSignal) => Promise<T>,
): Promise<T> {
  const givenUp = () => new JsonRpcError(`nobody waited for the node's answer to ${method}`, "given_up");
  if (signal?.aborted) throw givenUp();
  const controller = new AbortController();
  let [giveUp, runOver] = [() => {}, () => {}];
  const ended = new Promise<never>((_, reject) => {
    const endWith = (error: JsonRpcError) => {
      reject(error);
      controller.abort();
    };
    giveUp = () => endWith(givenUp());
    runOver = () => endWith(new JsonRpcError(`node did not answer ${method} within ${deadlineMs} ms`, "timeout"));
  });
  const timer = setTimeout(runOver, deadlineMs);
  signal?.addEventListener("abort", giveUp);
  try {
    return await Promise.race([work(controller.signal), ended]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}
