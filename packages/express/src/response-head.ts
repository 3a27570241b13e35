/**
 * The head of a response: status and headers, taken, tried out and put back as one thing.
 *
 * @module
 */
import { type OutgoingHttpHeader, type OutgoingHttpHeaders, ServerResponse } from "node:http";
import { EXPOSE_HEADERS, exposeHeaders, isSettlementOverrides, privateCacheControl } from "@farebox/core";

type Headers = readonly (readonly [name: string, value: string | readonly string[]])[];

/** Status and headers at one moment. */
export interface ResponseHead {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: Headers;
}

/** What `writeHead` takes: a status, perhaps a message, perhaps headers as an object or as a flat list. */
export type WriteHeadArguments = readonly [
  status: number,
  second?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
  third?: OutgoingHttpHeaders | OutgoingHttpHeader[],
];

/** Takes the head as it stands. */
export function takeHead(res: ServerResponse): ResponseHead {
  const headers = rawHeaderNames(res).map((name) => {
    const value = res.getHeader(name) ?? "";
    return [name, Array.isArray(value) ? value.map(String) : String(value)] as const;
  });
  return { status: res.statusCode, statusMessage: res.statusMessage ?? "", headers };
}

/** The head without what is never sent on. */
export function withoutOverrides(head: ResponseHead): ResponseHead {
  if (!head.headers.some(([name]) => isSettlementOverrides(name))) return head;
  return { ...head, headers: head.headers.filter(([name]) => !isSettlementOverrides(name)) };
}

/** Names in the case they were written in. Node has this method on every outgoing message, its types only on one. */
function rawHeaderNames(res: ServerResponse & { readonly getRawHeaderNames?: () => string[] }): readonly string[] {
  return res.getRawHeaderNames?.() ?? res.getHeaderNames();
}

/** Puts a head in place of whatever is there. */
export function putHead(res: ServerResponse, head: ResponseHead): void {
  res.statusCode = head.status;
  res.statusMessage = head.statusMessage;
  if (hasHeaders(res, head.headers)) return;
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  setHeaders(res, head.headers);
}

/** Hardly ever has anything changed, and Node looks closely at each header that is set. */
function hasHeaders(res: ServerResponse, headers: Headers): boolean {
  return (
    res.getHeaderNames().length === headers.length && headers.every(([name, value]) => res.getHeader(name) === value)
  );
}

/** Sets headers over whatever is there under the same names. */
export function setHeaders(res: ServerResponse, headers: Headers): void {
  for (const [name, value] of headers) res.setHeader(name, typeof value === "string" ? value : [...value]);
}

/** Where the head of a response is written before it is really written. */
export class HeadRehearsal {
  readonly #res: ServerResponse;
  /** A head that needs no trial was written. */
  #isPlain = false;
  #rehearsal: ServerResponse | undefined;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  /** Whether a head was written. */
  get isBegun(): boolean {
    return this.#isPlain || this.#rehearsal?.headersSent === true;
  }

  /**
   * Does what `writeHead` does, short of sending: its arguments end up on the response.
   *
   * Throws now what Node would throw when the head is really written, which is after settlement: for a bad status, a bad
   * header, and a head that is written twice.
   */
  writeHead(args: WriteHeadArguments): void {
    if (!this.isBegun && isSurelyGood(this.#res, args)) {
      this.#isPlain = true;
      return;
    }
    // A second head: Node has to have the first one to object.
    if (this.#isPlain) this.#rehearse([this.#res.statusCode]);
    this.#isPlain = false;
    this.#rehearse(args);
  }

  #rehearse(args: WriteHeadArguments): void {
    this.#rehearsal ??= createRehearsal(this.#res);
    rehearseHead(this.#rehearsal, this.#res, args);
  }
}

/** Whether there is nothing about a head that Node would object to: the headers were looked at when they were set. */
function isSurelyGood(res: ServerResponse, args: WriteHeadArguments): boolean {
  const [status] = args;
  if (args.length > 1 || status !== res.statusCode || res.statusMessage || res.hasHeader("trailer")) return false;
  return Number.isInteger(status) && status >= 100 && status <= 999;
}

/** The response that heads are tried out on. It goes nowhere. */
function createRehearsal(res: ServerResponse): ServerResponse {
  const rehearsal = new ServerResponse(res.req);
  // Without a header set by itself, Node would not merge those of `writeHead` but pass them by.
  rehearsal.setHeader("Connection", "close");
  return rehearsal;
}

/** Node writes the head, on the rehearsal. */
function rehearseHead(rehearsal: ServerResponse, res: ServerResponse, args: WriteHeadArguments): void {
  if (!rehearsal.headersSent) putHead(rehearsal, takeHead(res));
  const [status, ...rest] = args;
  Reflect.apply(rehearsal.writeHead, rehearsal, [status, ...rest.map(groupByName)]);
  res.statusCode = rehearsal.statusCode;
  if (typeof rest[0] === "string") res.statusMessage = rest[0];
  if (rest.length > 0) setHeaders(res, takeHead(rehearsal).headers);
}

/** `[name, value, name, value]` as an object, in which a name that comes twice has both values. */
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

/** Lets a browser's script read the payment headers; what is exposed already stays exposed. */
export function appendExposeHeaders(res: ServerResponse): void {
  const current = res.getHeader(EXPOSE_HEADERS);
  res.setHeader(EXPOSE_HEADERS, exposeHeaders(current === undefined ? undefined : String(current)));
}

/** Keeps shared caches from keeping a paid answer, whatever middleware says as the head goes out. */
export function insistOnPrivate(res: ServerResponse): void {
  const setHeader = res.setHeader.bind(res);
  overrideMethod(res, "setHeader", (name, value) =>
    setHeader(name, name.toLowerCase() === "cache-control" ? privateCacheControl(String(value)) : value),
  );
  res.setHeader("Cache-Control", String(res.getHeader("cache-control") ?? ""));
}

/** Headers that say how a body travels: middleware may compress even an answer of ours. */
const ABOUT_TRANSFER: ReadonlySet<string> = new Set([
  "content-encoding",
  "content-length",
  "transfer-encoding",
  "vary",
]);

/**
 * Leaves the head as it is, whatever middleware adds as it goes out: a session's cookie would carry what the handler put
 * into the session.
 */
export function lockHead(res: ServerResponse): void {
  for (const method of ["setHeader", "appendHeader", "removeHeader"] as const) {
    const change: (...args: never[]) => unknown = res[method].bind(res);
    Reflect.set(res, method, (name: string, ...rest: unknown[]) => {
      // A handler that is late finds nothing to change, and nothing that throws.
      if (ABOUT_TRANSFER.has(name.toLowerCase()) && !res.headersSent) Reflect.apply(change, res, [name, ...rest]);
      return res;
    });
  }
}

/** Events are for the moment: whoever writes one means it to go out, flushed or not. */
export function isEventStream(res: ServerResponse): boolean {
  return /^\s*text\/event-stream\b/i.test(String(res.getHeader("content-type") ?? ""));
}

/** Puts a method of ours on a response. */
export function overrideMethod<K extends keyof ServerResponse>(
  res: ServerResponse,
  name: K,
  method: ServerResponse[K],
): void {
  res[name] = method;
}
