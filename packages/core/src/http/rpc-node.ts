/**
 * Questions to a node over HTTP, in JSON-RPC 2.0 or by GET: one question, one answer, and a bound on everything a node
 * does. Which of the two a node understands is for the scheme of its network to know.
 *
 * @see JSON-RPC 2.0 Specification, §4 and §5
 * @module
 */
import { ConfigError, RpcError } from "../errors.js";
import { isJsonObject, parseJson } from "../protocol/json.js";
import {
  causeCode,
  createHttpClient,
  HEADER_VALUES_EXPECTED,
  type HeaderValues,
  type HttpOutcome,
  isHeaderValues,
  mergeHeaders,
} from "./client.js";

/** Asks one node. Each question is asked once: what is to be asked again is for the caller to know. */
export interface RpcNode {
  /**
   * Yields the `result` of a JSON-RPC method, unchecked.
   *
   * @param params - What JSON has words for; a `bigint` is not among it.
   * @throws {@link RpcError} when there is no result; it quotes neither the URL nor the node
   */
  call(method: string, params: readonly unknown[], options?: AskOptions): Promise<unknown>;
  /**
   * Yields the JSON that a node of a REST interface has at a path, unchecked.
   *
   * @param path - Below the node's URL, from its slash on, with a query if need be: `/v2/status?format=json`. The URL's own
   *   path stands before it, and the URL's own query before its query, so that a key in either of them is sent along.
   * @throws {@link RpcError} when there is no answer; it quotes the path without its query, and neither the URL nor the
   *   node. Where the node says that there is nothing, `problem` is `status` and `status` is 404.
   */
  get(path: string, options?: AskOptions): Promise<unknown>;
}

/** What a question may come with. */
interface AskOptions {
  /** Aborted when nobody waits any longer. */
  readonly signal?: AbortSignal;
}

/** How long to wait, and what to send along. */
export interface RpcNodeOptions {
  /** For the whole answer, head and body, 1 to 120000 ms. Default 5000. */
  readonly deadlineMs?: number;
  /** Most often credentials, e.g. `{ "X-Algo-API-Token": "…" }`. Default: none. */
  readonly headers?: HeaderValues;
}

const DEFAULT_DEADLINE_MS = 5_000;
const MAX_DEADLINE_MS = 120_000;

/** The list of a block's transactions has some hundred kilobytes where blocks are large. */
const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Creates a client for a node. Nothing is asked before the first call, and no redirect is followed.
 *
 * @throws ConfigError when the URL is none that {@link parseRpcUrl} reads, the deadline is out of range, or the headers
 *   are of no form that can be sent; neither URL nor headers are quoted
 */
export function createRpcNode(url: string | URL, options: RpcNodeOptions = {}): RpcNode {
  const { deadlineMs = DEFAULT_DEADLINE_MS, headers = {} } = options;
  const target = parseRpcUrl(url);
  if (target === undefined) throw new ConfigError([{ path: "url", expected: RPC_URL_EXPECTED, received: "another" }]);
  if (!Number.isInteger(deadlineMs) || deadlineMs < 1 || deadlineMs > MAX_DEADLINE_MS) {
    const expected = `a whole number from 1 to ${MAX_DEADLINE_MS}`;
    throw new ConfigError([{ path: "deadlineMs", expected, received: String(deadlineMs) }]);
  }
  if (!isHeaderValues(headers)) {
    throw new ConfigError([{ path: "headers", expected: HEADER_VALUES_EXPECTED, received: "others" }]);
  }
  return createAsker({ target, deadlineMs, headers: mergeHeaders({ accept: "application/json" }, headers) });
}

interface Target {
  /** URL. */
  readonly target: string;
  readonly deadlineMs: number;
  readonly headers: HeaderValues;
}

function createAsker({ target, deadlineMs, headers }: Target): RpcNode {
  const send = createHttpClient({ maxBodyBytes: MAX_BODY_BYTES });
  const posted = mergeHeaders({ "content-type": "application/json" }, headers);
  let lastId = 0;
  return Object.freeze({
    call: (method: string, params: readonly unknown[], { signal }: AskOptions = {}) => {
      const question: Question = { jsonrpc: "2.0", id: ++lastId, method, params };
      const request = { url: new URL(target), headers: posted, body: JSON.stringify(question) };
      return within({ name: method, deadlineMs, signal }, async (ending) =>
        readResult(question, readText(method, await send({ ...request, signal: ending }))),
      );
    },
    get: (path: string, { signal }: AskOptions = {}) => {
      const name = path.split("?", 1).join();
      return within({ name, deadlineMs, signal }, async (ending) =>
        readJson(name, readText(name, await send({ url: below(target, path), headers, signal: ending }))),
      );
    },
  });
}

/** What a URL of a node has to be, for an error message. */
export const RPC_URL_EXPECTED = "an http or https URL without credentials and fragment; a query is allowed";

/**
 * Reads the URL of a node; `undefined` when it is none. Total. A name, a password and a fragment are not sent, so that
 * whatever stands there would be missing.
 */
export function parseRpcUrl(value: unknown): string | undefined {
  const text = value instanceof URL ? value.href : value;
  if (typeof text !== "string" || !URL.canParse(text)) return undefined;
  const { protocol, username, password, hash, href } = new URL(text);
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  return username + password + hash === "" ? href : undefined;
}

/** Puts a path behind a URL's own, and its query behind the URL's own. */
function below(target: string, path: string): URL {
  const url = new URL(target);
  const [under = "", ...query] = path.split("?");
  url.pathname = url.pathname.replace(/\/$/, "") + under;
  url.search = [url.search.slice(1), query.join("?")].filter((part) => part !== "").join("&");
  return url;
}

interface Question {
  readonly jsonrpc: "2.0";
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** @param name - Of the question, for errors. */
function readText(name: string, outcome: HttpOutcome): string {
  if (outcome.kind === "unanswered") {
    throw new RpcError(`node could not be reached for ${name} (${causeCode(outcome.cause)})`, "unreachable");
  }
  const { status } = outcome;
  if (status < 200 || status > 299) throw new RpcError(`node answered ${name} with status ${status}`, "status", status);
  if (outcome.kind === "answered") return outcome.text;
  if (!(outcome.cause instanceof RangeError)) throw unreadable(name);
  throw new RpcError(`node's answer to ${name} is longer than ${MAX_BODY_BYTES} bytes`, "too_large");
}

function readResult({ id, method }: Question, text: string): unknown {
  const json = parseJson(text);
  if (!json.ok || !isJsonObject(json.value)) throw unreadable(method);
  const { error } = json.value;
  // Some nodes write `"error": null` beside a result.
  if (error !== undefined && error !== null) throw new RpcError(`node refused ${method}${codeOf(error)}`, "refused");
  const answers = json.value["jsonrpc"] === "2.0" && json.value["id"] === id && Object.hasOwn(json.value, "result");
  if (!answers) throw unreadable(method);
  return json.value["result"];
}

function readJson(name: string, text: string): unknown {
  const json = parseJson(text);
  if (!json.ok) throw unreadable(name);
  return json.value;
}

function unreadable(name: string): RpcError {
  return new RpcError(`node's answer to ${name} is not one`, "unreadable");
}

/** Of what a node says about an error only a number is repeated. */
function codeOf(error: unknown): string {
  const code = isJsonObject(error) ? error["code"] : undefined;
  return Number.isSafeInteger(code) ? ` with code ${code}` : "";
}

interface Limits {
  /** Of the question, for errors. */
  readonly name: string;
  readonly deadlineMs: number;
  /** The caller's own: it may give up before. */
  readonly signal: AbortSignal | undefined;
}

/** Ends with the deadline, or when the caller gives up, whatever the node does. */
async function within<T>({ name, deadlineMs, signal }: Limits, work: (ending: AbortSignal) => Promise<T>): Promise<T> {
  const givenUp = () => new RpcError(`nobody waited for the node's answer to ${name}`, "given_up");
  if (signal?.aborted) throw givenUp();
  const controller = new AbortController();
  let [giveUp, runOver] = [() => {}, () => {}];
  const ended = new Promise<never>((_, reject) => {
    const endWith = (error: RpcError) => {
      reject(error);
      controller.abort();
    };
    giveUp = () => endWith(givenUp());
    runOver = () => endWith(new RpcError(`node did not answer ${name} within ${deadlineMs} ms`, "timeout"));
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
