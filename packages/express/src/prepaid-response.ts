/**
 * Marks the response of a handler that was paid for before it runs. What it writes goes out as it writes it.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Prepaid } from "@farebox/core";
import { onBrokenOff } from "./delivery.js";
import {
  appendExposeHeaders,
  createRehearsal,
  insistOnPrivate,
  rehearseHead,
  setHeaders,
  type WriteHeadArguments,
} from "./response-head.js";

/** Puts the receipt on a response, and again as its head goes out: the handler, or an error page, may have dropped it. */
export function markPrepaid(res: ServerResponse, prepaid: Prepaid): void {
  const writeHead = res.writeHead.bind(res);
  const rehearsal = createRehearsal(res);
  const mark = () => {
    setHeaders(res, prepaid.headers);
    appendExposeHeaders(res);
  };
  mark();
  res.writeHead = ((...args: WriteHeadArguments) => {
    rehearseHead(rehearsal, res, args);
    mark();
    insistOnPrivate(res);
    return writeHead(res.statusCode);
  }) as ServerResponse["writeHead"];
  onBrokenOff(res, () => prepaid.leave());
}

/** The money has moved, so there is to be content for it: a condition that holds would be answered by an empty 304. */
export function removeConditions(req: IncomingMessage): void {
  for (const name of ["if-none-match", "if-modified-since"]) Reflect.deleteProperty(req.headers, name);
}
