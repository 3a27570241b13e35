/**
 * Writes the gate's answers to a response.
 *
 * @module
 */
import type { ServerResponse } from "node:http";
import type { GateResponse } from "@farebox/core";
import { appendExposeHeaders, setHeaders } from "./response-head.js";

/** Sends a whole answer. */
export function writeAnswer(res: ServerResponse, answer: GateResponse): void {
  res.end(prepareAnswer(res, answer));
}

/** A kept answer may have gone out in pieces at first. It is whole now, and Node refuses a head that says both. */
const ABOUT_PIECES: ReadonlySet<string> = new Set(["transfer-encoding", "trailer"]);

/** Puts the head of an answer on the response and returns what is to follow it: nothing, for HEAD. */
export function prepareAnswer(res: ServerResponse, answer: GateResponse): string | Uint8Array | undefined {
  const { body } = answer;
  res.statusCode = answer.status;
  res.statusMessage = "";
  setHeaders(
    res,
    answer.headers.filter(([name]) => !ABOUT_PIECES.has(name.toLowerCase())),
  );
  appendExposeHeaders(res);
  // A text goes out in one piece with the head, which is cheaper than bytes behind it.
  const size = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
  if (size > 0) res.setHeader("Content-Length", size);
  return res.req.method === "HEAD" ? undefined : body;
}
