/**
 * The head of a response: status and headers, read and restored as one value; and the gate's own responses, written as a whole.
 *
 * Methods are replaced by `Reflect.set`, never by `res.method = () => …`: V8 puts a function that is written there into the
 * old generation, where it keeps the response and its request until the next full collection.
 *
 * @module
 */
import { IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from "node:http";
import { Socket } from "node:net";
import {
  asksForPayment,
  EXPOSE_HEADERS,
  EXPOSED_HEADERS,
  exposeHeaders,
  type GateResponse,
  isOfPayments,
  isSettlementOverrides,
  mentionsPayments,
  privateCacheControl,
} from "@farebox/core/adapter";

/** The methods of a response that are replaced: Node's own, or those of earlier middleware. */
export type Originals = Pick<
  ServerResponse,
  "writeHead" | "flushHeaders" | "write" | "end" | "addTrailers" | "destroy"
>;

type Headers = readonly (readonly [name: string, value: string | readonly string[]])[];

/** Status and headers at one moment. */
export interface ResponseHead {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: Headers;
}

/** The head that a response had. */
export interface TakenHead extends ResponseHead {
  /** Whether a header says something about a payment. */
  readonly hasPayments: boolean;
}

/** Names in lower case, and each as it was set, with its value. */
type NodeHeaders = Readonly<Record<string, readonly [name: string, value: OutgoingHttpHeader]>>;

/** A response, by the symbols of Node's. */
type Keeping = object & { readonly [key: symbol]: NodeHeaders | undefined };

/** Under which Node keeps the headers of a response. To ask for each by its name takes several times as long. */
const KEPT: symbol = findKeyOfHeaders() ?? Symbol("none");

function findKeyOfHeaders(): symbol | undefined {
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  res.setHeader("X-A", "1");
  return Object.getOwnPropertySymbols(res).find((key) => {
    const [name, value] = (res as object as Keeping)[key]?.["x-a"] ?? [];
    return name === "X-A" && value === "1";
  });
}

/** Node has this method on every outgoing message; its types have it on client requests only. */
type RawNames = ServerResponse & { readonly getRawHeaderNames?: () => string[] };

/** The same, from a response that keeps them elsewhere, or has none. */
function readHeaders(res: RawNames): NodeHeaders {
  const names = res.getRawHeaderNames?.() ?? res.getHeaderNames();
  return Object.fromEntries(names.map((name) => [name.toLowerCase(), [name, res.getHeader(name) ?? ""]]));
}

/** Reads the head as it is now. Names keep their case. */
export function takeHead(res: ServerResponse): TakenHead {
  const kept = (res as object as Keeping)[KEPT] ?? readHeaders(res);
  const headers: [name: string, value: string | readonly string[]][] = [];
  for (const key of Object.keys(kept)) {
    const [name, value] = kept[key] as NodeHeaders[string];
    headers.push([name, Array.isArray(value) ? value.map(String) : String(value)]);
  }
  const { statusCode: status, statusMessage } = res;
  return { status, statusMessage: statusMessage ?? "", headers, hasPayments: mentionsPayments(headers) };
}

/** Replaces the whole head. */
export function putHead(res: ServerResponse, head: ResponseHead): void {
  res.statusCode = head.status;
  res.statusMessage = head.statusMessage;
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  copyHeaders(res, head.headers);
}

/** Sets headers of the handler's, and replaces those of the same names. */
function copyHeaders(res: ServerResponse, headers: Headers): void {
  for (const [name, value] of headers) res.setHeader(name, typeof value === "string" ? value : [...value]);
}

/** Of responses whose headers of payments are locked: how we set ours. */
const UNLOCKED = new WeakMap<ServerResponse, (name: string, value: string | readonly string[]) => unknown>();

/**
 * Sets headers of ours, and replaces those of the same names. Scripts of other origins may read those of payments; names that are exposed
 * already stay exposed.
 *
 * @param but - Lower-case names of those to leave out.
 */
export function setHeaders(res: ServerResponse, headers: Headers, but?: ReadonlySet<string>): void {
  const set = UNLOCKED.get(res) ?? res.setHeader;
  for (const [name, value] of headers) {
    if (but?.has(name.toLowerCase()) !== true) set.call(res, name, typeof value === "string" ? value : [...value]);
  }
  const exposed = res.getHeader(EXPOSE_HEADERS);
  res.setHeader(EXPOSE_HEADERS, exposed === undefined ? EXPOSED_HEADERS : exposeHeaders(String(exposed)));
}

/** Puts a head back, as far as it has changed. */
export function restoreHead(res: ServerResponse, head: ResponseHead): void {
  const kept = (res as object as Keeping)[KEPT] ?? readHeaders(res);
  const keys = Object.keys(kept);
  let isSame = keys.length === head.headers.length && res.statusCode === head.status;
  isSame &&= (res.statusMessage ?? "") === head.statusMessage;
  for (let at = 0; isSame && at < keys.length; at++) {
    const [name, value] = head.headers[at] as Headers[number];
    const [setName, set] = kept[keys[at] as string] as NodeHeaders[string];
    isSame = setName === name && String(set) === String(value) && Array.isArray(set) === Array.isArray(value);
  }
  if (!isSame) putHead(res, head);
}

/** The head without what a handler, or a server behind it, says about payments: it never reaches a client. */
export function withoutPayments(head: TakenHead): ResponseHead {
  return { ...head, headers: head.headers.filter(([name]) => !isOfPayments(name)) };
}

/** The head of a 402, as one of 502 if the response asks for another payment. A header tells the gate, which reports it. */
export function withoutChallenge(head: TakenHead, body: Uint8Array | undefined): TakenHead {
  if (!asksForPayment(head, body)) return head;
  return { status: 502, statusMessage: "", headers: [...head.headers, ["PAYMENT-REQUIRED", ""]], hasPayments: true };
}

/** Removes what a handler, or a server behind it, says about payments, and returns it. */
export function removePayments(res: ServerResponse): Headers {
  const { headers } = takeHead(res);
  const removed = headers.filter(([name]) => isOfPayments(name));
  for (const [name] of removed) res.removeHeader(name);
  return removed;
}

/** Whether Node alone writes the response: no middleware can change the head as it is sent. */
export function isWrittenByNode(
  methods: Pick<ServerResponse, "writeHead" | "flushHeaders" | "write" | "end">,
): boolean {
  const { writeHead, flushHeaders, write, end } = ServerResponse.prototype;
  return (
    methods.writeHead === writeHead &&
    methods.flushHeaders === flushHeaders &&
    methods.write === write &&
    methods.end === end
  );
}

/** Headers of payments stay as they are from now on: middleware may set them as the head is sent. */
export function lockPayments(res: ServerResponse, onOverride: (value: unknown) => void = () => {}): void {
  // A handler may pass its response to another paid request. Both have a receipt to set, and the first lock is the innermost.
  if (!UNLOCKED.has(res)) UNLOCKED.set(res, res.setHeader.bind(res));
  // Node calls these from `setHeaders` and `writeHead`, too.
  for (const method of ["setHeader", "appendHeader"] as const) {
    const set: (...args: never[]) => unknown = res[method].bind(res);
    Reflect.set(res, method, (name: string, ...rest: unknown[]) => {
      if (!isOfPayments(String(name))) return Reflect.apply(set, res, [name, ...rest]);
      if (isSettlementOverrides(String(name))) onOverride(rest[0]);
      return res;
    });
  }
}

/** The argument of `addTrailers`. */
export type Trailers = Parameters<ServerResponse["addTrailers"]>[0];

/** Keeps headers of payments out of the trailers. The listener gets their values, each time that trailers are set. */
export function withholdTrailers(res: ServerResponse, listener: (payments: Headers) => void): void {
  const addTrailers = res.addTrailers.bind(res);
  Reflect.set(res, "addTrailers", (trailers: Trailers) => {
    const { payments, others } = splitTrailers(trailers);
    listener(payments);
    addTrailers(others);
  });
}

/** Separates headers of payments from the other trailers. */
export function splitTrailers(trailers: Trailers): { readonly payments: Headers; readonly others: Trailers } {
  const all = listTrailers(trailers);
  const isPayments = ([name]: (typeof all)[number]) => isOfPayments(String(name));
  return {
    payments: all.filter(isPayments).map(([name, value]) => [name, String(value)]),
    others: all.filter((trailer) => !isPayments(trailer)) as [string, string][],
  };
}

/** Node takes them as a list or as an object. */
export function listTrailers(trailers: Trailers): readonly (readonly [string, OutgoingHttpHeader])[] {
  return Array.isArray(trailers) ? trailers : Object.entries(trailers as Readonly<Record<string, OutgoingHttpHeader>>);
}

/** Arguments of `writeHead`: a status, then a message, or headers as an object or a flat list, or both. */
export type WriteHeadArguments = [
  status: number,
  second?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
  third?: OutgoingHttpHeaders | OutgoingHttpHeader[],
];

/**
 * `writeHead` without sending: the arguments end up on the response, and errors are thrown in the handler.
 *
 * Node throws for a bad status, a bad header and a second head. If it did so when the head is really written, that would be
 * after settlement.
 *
 * @param isWritten - Whether a head was written before.
 */
export function rehearseHead(res: ServerResponse, args: WriteHeadArguments, isWritten: boolean): void {
  if (isWritten) throw new HeadersSentError();
  if (args.length > 1 || args[0] !== res.statusCode || !isChecked(res)) rehearse(res, args);
}

/** Node's error for a second head. */
class HeadersSentError extends Error {
  readonly code = "ERR_HTTP_HEADERS_SENT";
  constructor() {
    super("Cannot write headers after they are sent to the client");
  }
}

/**
 * Whether `writeHead` cannot throw if it gets no more than this status, as Express calls it: Node has checked each header when
 * it was set. To rehearse these heads, too, would cost 6 % of the throughput of paid requests on Node 24.
 */
export function isChecked(res: ServerResponse): boolean {
  const { statusCode } = res;
  const isGood = Number.isInteger(statusCode) && statusCode >= 100 && statusCode <= 999;
  return isGood && !res.statusMessage && !res.hasHeader("trailer");
}

/** Calls Node's `writeHead` on a response without a connection, and takes the head from there. */
function rehearse(res: ServerResponse, [status, ...rest]: WriteHeadArguments): void {
  const rehearsal = new ServerResponse(res.req);
  // Node merges the headers of `writeHead` into those of a response only if one was ever set.
  rehearsal.setHeader("Connection", "close");
  putHead(rehearsal, takeHead(res));
  Reflect.apply(rehearsal.writeHead, rehearsal, [status, ...rest.map(groupByName)]);
  res.statusCode = rehearsal.statusCode;
  if (typeof rest[0] === "string") res.statusMessage = rest[0];
  if (rest.length > 0) copyHeaders(res, takeHead(rehearsal).headers);
}

/** Turns `[name, value, name, value]` into an object. A name that occurs twice gets both values. */
function groupByName<T>(argument: T): T | OutgoingHttpHeaders {
  if (!Array.isArray(argument) || argument.length % 2 === 1) return argument;
  const grouped = new Map<string, [name: string, values: string[]]>();
  for (let at = 0; at < argument.length; at += 2) {
    const name = String(argument[at]);
    const [, values] = grouped.get(name.toLowerCase()) ?? [];
    if (values === undefined) grouped.set(name.toLowerCase(), [name, [argument[at + 1]].flat()]);
    else values.push(...[argument[at + 1]].flat());
  }
  const single = (values: string[]) => (values.length === 1 ? values[0] : values);
  return Object.fromEntries([...grouped.values()].map(([name, values]) => [name, single(values)]));
}

/** Lets scripts of other origins read one more header. */
export function appendExposedHeader(res: ServerResponse, name: string): void {
  res.setHeader(EXPOSE_HEADERS, [res.getHeader(EXPOSE_HEADERS), name].flat().filter(Boolean).join(", "));
}

/** Keeps a response out of shared caches, also if middleware sets `Cache-Control` as the head is sent. */
export function keepPrivate(res: ServerResponse): void {
  const setHeader = res.setHeader.bind(res);
  Reflect.set(res, "setHeader", (name: string, value: number | string | readonly string[]) =>
    setHeader(name, name.toLowerCase() === "cache-control" ? privateCacheControl(String(value)) : value),
  );
  res.setHeader("Cache-Control", String(res.getHeader("cache-control") ?? ""));
}

/** Headers about the transfer of a body. Middleware may compress the gate's responses, too. */
const TRANSFER_HEADERS: ReadonlySet<string> = new Set([
  "content-encoding",
  "content-length",
  "transfer-encoding",
  "vary",
]);

/**
 * Ignores later changes of the head, except those about the transfer. Session middleware, for example, sets a cookie as the
 * head is sent; it would carry what the handler stored in the session, which the client has not paid for.
 */
export function lockHead(res: ServerResponse): void {
  for (const method of ["setHeader", "appendHeader", "removeHeader"] as const) {
    const change: (...args: never[]) => unknown = res[method].bind(res);
    Reflect.set(res, method, (name: string, ...rest: unknown[]) => {
      // A change after the head was sent would throw in a handler that is still running.
      if (TRANSFER_HEADERS.has(name.toLowerCase()) && !res.headersSent) Reflect.apply(change, res, [name, ...rest]);
      return res;
    });
  }
}

/** Whether a response is a stream of server-sent events, which are written to be sent at once. */
export function isEventStream(res: ServerResponse): boolean {
  return /^\s*text\/event-stream\b/i.test(String(res.getHeader("content-type") ?? ""));
}

/**
 * Sends a whole response of the gate.
 *
 * @param original - Of a response that was held: it is sent by these, and its head is locked.
 */
export function writeResponse(res: ServerResponse, response: GateResponse, original?: Originals): void {
  const { status, headers, body } = response;
  res.statusCode = status;
  res.statusMessage = "";
  const vary = res.getHeader("vary");
  setHeaders(res, headers, CHUNKED_HEADERS);
  if (vary !== undefined) mergeVary(res, vary);
  const size = Buffer.byteLength(body);
  if (size > 0) res.setHeader("Content-Length", size);
  const sent = res.req.method === "HEAD" ? undefined : body;
  if (original === undefined) {
    res.removeHeader("Settlement-Overrides");
    if (!isWrittenByNode(res)) lockPayments(res);
    res.end(sent);
  } else {
    lockHead(res);
    Reflect.apply(original.end, res, [sent]);
  }
}

/** Middleware in front, such as `cors`, has its own say in `Vary`. */
function mergeVary(res: ServerResponse, earlier: number | string | readonly string[]): void {
  const now = res.getHeader("vary");
  if (now === earlier) return;
  const names = [earlier, now].flatMap((value) => String(value).split(",")).map((name) => name.trim());
  const isNew = (name: string, at: number) => names.findIndex((one) => one.toLowerCase() === name.toLowerCase()) === at;
  res.setHeader("Vary", names.filter(isNew).join(", "));
}

/** A stored response may have been sent in chunks. It is sent as a whole now, and Node rejects a head that says both. */
const CHUNKED_HEADERS: ReadonlySet<string> = new Set(["transfer-encoding", "trailer"]);
