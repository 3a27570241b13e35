/**
 * A client for a node over HTTP, by JSON-RPC 2.0 or by GET, with limits on time and size. The scheme of a network knows which of the
 * two its nodes understand.
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

/** Sends requests to one node. Each request is sent once; the caller decides whether to repeat it. */
export interface RpcNode {
  /**
   * Resolves with the `result` of a JSON-RPC method, unchecked.
   *
   * @param params - JSON values, e.g. `["0x…", "latest"]`. A `bigint` is not JSON.
   * @throws {@link RpcError} when there is no result; it quotes neither the URL nor the node
   */
  call(method: string, params: readonly unknown[], options?: CallOptions): Promise<unknown>;
  /**
   * Resolves with the JSON at a path of a REST interface, unchecked.
   *
   * @param path - Path and query, appended to those of the node's URL, e.g. `/v2/status?format=json`. A key in the URL's path or query
   *   is thus sent, too.
   * @throws {@link RpcError} when there is no valid response; it quotes the path without its query, and neither the URL nor the node.
   *   If the path does not exist, `problem` is `"status"` and `status` is 404.
   */
  get(path: string, options?: CallOptions): Promise<unknown>;
}

/** The options of a request. */
interface CallOptions {
  /** Aborted when the caller gives up. */
  readonly signal?: AbortSignal;
}

/** The options of {@link createRpcNode}. */
export interface RpcNodeOptions {
  /** Deadline for the whole response, 1 to 120000 milliseconds. Default 5000. */
  readonly deadlineMs?: number;
  /** Headers to send, usually credentials, e.g. `{ "X-Algo-API-Token": "…" }`. Default: none. */
  readonly headers?: HeaderValues;
}

const DEFAULT_DEADLINE_MS = 5_000;
const MAX_DEADLINE_MS = 120_000;

/** The list of a large block's transactions has some hundred kilobytes. */
const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Creates a client for a node. It sends nothing before the first call, and follows no redirect.
 *
 * @throws {@link ConfigError} when the URL is not http or https, the deadline is out of range, or the headers cannot be sent; it quotes
 *   neither URL nor headers
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
  return createClient({ target, deadlineMs, headers: mergeHeaders({ accept: "application/json" }, headers) });
}

interface Target {
  readonly target: string;
  readonly deadlineMs: number;
  readonly headers: HeaderValues;
}

function createClient({ target, deadlineMs, headers }: Target): RpcNode {
  const send = createHttpClient({ maxBodyBytes: MAX_BODY_BYTES });
  const posted = mergeHeaders({ "content-type": "application/json" }, headers);
  let lastId = 0;
  return Object.freeze({
    call: (method: string, params: readonly unknown[], { signal }: CallOptions = {}) => {
      const rpcRequest: RpcRequest = { jsonrpc: "2.0", id: ++lastId, method, params };
      const request = { url: new URL(target), headers: posted, body: JSON.stringify(rpcRequest) };
      return within({ name: method, deadlineMs, signal }, async (ending) =>
        readResult(rpcRequest, readText(method, await send({ ...request, signal: ending }))),
      );
    },
    get: (path: string, { signal }: CallOptions = {}) => {
      const name = path.split("?", 1).join();
      return within({ name, deadlineMs, signal }, async (ending) =>
        readJson(name, readText(name, await send({ url: below(target, path), headers, signal: ending }))),
      );
    },
  });
}

/** Describes a valid URL, for error messages. */
export const RPC_URL_EXPECTED = "an http or https URL without credentials and fragment; a query is allowed";

/** Reads the URL of a node; `undefined` if it is invalid. Never throws. A name, password or fragment would not be sent, and is refused. */
export function parseRpcUrl(value: unknown): string | undefined {
  const text = value instanceof URL ? value.href : value;
  if (typeof text !== "string" || !URL.canParse(text)) return undefined;
  const { protocol, username, password, hash, href } = new URL(text);
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  return username + password + hash === "" ? href : undefined;
}

/** Appends path and query to those of a URL. */
function below(target: string, path: string): URL {
  const url = new URL(target);
  const [under = "", ...query] = path.split("?");
  url.pathname = url.pathname.replace(/\/$/, "") + under;
  url.search = [url.search.slice(1), query.join("?")].filter((part) => part !== "").join("&");
  return url;
}

interface RpcRequest {
  readonly jsonrpc: "2.0";
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** @param name - Method or path, for errors. */
function readText(name: string, outcome: HttpOutcome): string {
  if (outcome.kind === "no-response") {
    throw new RpcError(`node could not be reached for ${name} (${causeCode(outcome.cause)})`, "unreachable");
  }
  const { status } = outcome;
  if (status < 200 || status > 299)
    throw new RpcError(`node responded to ${name} with status ${status}`, "status", status);
  if (outcome.kind === "responded") return outcome.text;
  if (!(outcome.cause instanceof RangeError)) throw unreadable(name);
  throw new RpcError(`node's response to ${name} is longer than ${MAX_BODY_BYTES} bytes`, "too_large");
}

function readResult({ id, method }: RpcRequest, text: string): unknown {
  const json = parseJson(text);
  if (!json.ok || !isJsonObject(json.value)) throw unreadable(method);
  const { error } = json.value;
  // Some nodes write `"error": null` beside a result.
  if (error !== undefined && error !== null) throw new RpcError(`node refused ${method}${codeOf(error)}`, "refused");
  const isValid = json.value["jsonrpc"] === "2.0" && json.value["id"] === id && Object.hasOwn(json.value, "result");
  if (!isValid) throw unreadable(method);
  return json.value["result"];
}

function readJson(name: string, text: string): unknown {
  const json = parseJson(text);
  if (!json.ok) throw unreadable(name);
  return json.value;
}

function unreadable(name: string): RpcError {
  return new RpcError(`node sent an invalid response to ${name}`, "unreadable");
}

/** Of a node's error, only its numeric code is quoted. */
function codeOf(error: unknown): string {
  const code = isJsonObject(error) ? error["code"] : undefined;
  return Number.isSafeInteger(code) ? ` with code ${code}` : "";
}

interface Limits {
  /** Method or path, for errors. */
  readonly name: string;
  readonly deadlineMs: number;
  /** The caller's own signal: it may give up earlier. */
  readonly signal: AbortSignal | undefined;
}

/** Runs `work` until the deadline, or until the caller gives up. */
async function within<T>({ name, deadlineMs, signal }: Limits, work: (ending: AbortSignal) => Promise<T>): Promise<T> {
  const givenUp = () => new RpcError(`the caller gave up before the node responded to ${name}`, "given_up");
  if (signal?.aborted) throw givenUp();
  const controller = new AbortController();
  let [giveUp, runOver] = [() => {}, () => {}];
  const ended = new Promise<never>((_, reject) => {
    const endWith = (error: RpcError) => {
      reject(error);
      controller.abort();
    };
    giveUp = () => endWith(givenUp());
    runOver = () => endWith(new RpcError(`node did not respond to ${name} within ${deadlineMs} ms`, "timeout"));
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
