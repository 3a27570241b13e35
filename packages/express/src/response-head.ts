/**
 * The head of a response: status and headers, taken, checked and put back as one thing.
 *
 * @module
 */
import type { ClientRequest, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { EXPOSE_HEADERS, exposeHeaders } from "@farebox/core";

type Headers = readonly (readonly [name: string, value: string | readonly string[]])[];

/** Status and headers at one moment. */
export interface ResponseHead {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: Headers;
}

/** Node's own error for a head that is written twice; code that looks for it finds it. */
class HeadersSentError extends TypeError {
  readonly code = "ERR_HTTP_HEADERS_SENT";
  constructor() {
    super("Cannot write headers after they are sent to the client");
  }
}

/** Node's own error for a status that is none. */
class InvalidStatusError extends RangeError {
  readonly code = "ERR_HTTP_INVALID_STATUS_CODE";
}

/** Node's own error for text that would end the head early. */
class InvalidCharacterError extends TypeError {
  readonly code = "ERR_INVALID_CHAR";
}

/** What a status line may hold. */
const STATUS_MESSAGE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Takes the head as it stands. */
export function takeHead(res: ServerResponse): ResponseHead {
  const headers = rawHeaderNames(res).map((name) => {
    const value = res.getHeader(name) ?? "";
    return [name, Array.isArray(value) ? value.map(String) : String(value)] as const;
  });
  return { status: res.statusCode, statusMessage: res.statusMessage ?? "", headers };
}

/** Names in the case they were written in. Node has this method on every outgoing message, its types only on one. */
function rawHeaderNames(res: ServerResponse & Partial<Pick<ClientRequest, "getRawHeaderNames">>): readonly string[] {
  return res.getRawHeaderNames?.() ?? res.getHeaderNames();
}

/** Puts a head in place of whatever is there. */
export function putHead(res: ServerResponse, head: ResponseHead): void {
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  res.statusCode = head.status;
  res.statusMessage = head.statusMessage;
  setHeaders(res, head.headers);
}

/** Sets headers over whatever is there under the same names. */
export function setHeaders(res: ServerResponse, headers: Headers): void {
  for (const [name, value] of headers) res.setHeader(name, typeof value === "string" ? value : [...value]);
}

/** Lets a browser's script read the payment headers; what is exposed already stays exposed. */
export function appendExposeHeaders(res: ServerResponse): void {
  const current = res.getHeader(EXPOSE_HEADERS);
  res.setHeader(EXPOSE_HEADERS, exposeHeaders(current === undefined ? undefined : String(current)));
}

/**
 * Fails now, in the handler, for a status that would fail when the head is really written, which is after settlement.
 * Header names and values are checked by `setHeader`.
 */
export function checkHead(res: ServerResponse): void {
  const { statusCode, statusMessage = "" } = res;
  if (!Number.isInteger(statusCode) || statusCode < 100 || statusCode > 999) {
    throw new InvalidStatusError(`Invalid status code: ${String(statusCode)}`);
  }
  if (!STATUS_MESSAGE.test(statusMessage)) throw new InvalidCharacterError("Invalid character in statusMessage");
}

/** Does what `writeHead` does, short of writing: its arguments end up on the response. */
export function applyWriteHead(res: ServerResponse, alreadyWritten: boolean, args: WriteHeadArguments): void {
  if (alreadyWritten) throw new HeadersSentError();
  const [status, second, third] = args;
  res.statusCode = status;
  if (typeof second === "string") res.statusMessage = second;
  const headers = typeof second === "string" ? third : second;
  if (Array.isArray(headers)) applyList(res, headers);
  else for (const [name, value] of Object.entries(headers ?? {})) applyHeader(res, name, value);
  checkHead(res);
}

/** What `writeHead` takes: a status, perhaps a message, perhaps headers as an object or as a flat list. */
export type WriteHeadArguments = readonly [
  status: number,
  second?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
  third?: OutgoingHttpHeaders | OutgoingHttpHeader[],
];

/** `[name, value, name, value]`; a name that comes twice is sent twice. */
function applyList(res: ServerResponse, list: readonly OutgoingHttpHeader[]): void {
  const names = new Set(list.filter((_, at) => at % 2 === 0).map((name) => String(name)));
  for (const name of names) res.removeHeader(name);
  for (let at = 0; at + 1 < list.length; at += 2) {
    const value = list[at + 1] ?? "";
    res.appendHeader(String(list[at]), Array.isArray(value) ? value : String(value));
  }
}

function applyHeader(res: ServerResponse, name: string, value: OutgoingHttpHeader | undefined): void {
  if (value !== undefined) res.setHeader(name, value);
}
