/**
 * Marks the response of a handler that was paid for before it runs, or need not be. What it writes goes out as it writes it.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PrepaidAdmission } from "@farebox/core";
import {
  appendExposeHeaders,
  HeadRehearsal,
  insistOnPrivate,
  overrideMethod,
  setHeaders,
  type WriteHeadArguments,
} from "./response-head.js";
import { onBrokenOff } from "./write-response.js";

/** Marks the response of a handler that somebody need not pay for: shared caches must not give it to those who have to. */
export function keepPrivate(res: ServerResponse): void {
  onHead(res, () => insistOnPrivate(res));
}

/** Puts the receipt on a response, and again as its head goes out: the handler, or an error page, may have dropped it. */
export function markPrepaid(res: ServerResponse, prepaid: PrepaidAdmission): void {
  const mark = () => {
    setHeaders(res, prepaid.headers);
    appendExposeHeaders(res);
  };
  mark();
  onHead(res, () => {
    mark();
    res.removeHeader("Settlement-Overrides");
    insistOnPrivate(res);
  });
  onBrokenOff(res, () => prepaid.leave());
}

/** Acts as the head goes out, when the handler has said all there is to say about it. */
function onHead(res: ServerResponse, act: () => void): void {
  const writeHead = res.writeHead.bind(res);
  const rehearsal = new HeadRehearsal(res);
  overrideMethod(res, "writeHead", (...args: WriteHeadArguments) => {
    rehearsal.writeHead(args);
    act();
    return writeHead(res.statusCode);
  });
}

/** The money has moved, so there is to be content for it: a condition that holds would be answered by an empty 304. */
export function removeConditions(req: IncomingMessage): void {
  for (const name of ["if-none-match", "if-modified-since"]) Reflect.deleteProperty(req.headers, name);
}
