/**
 * Writes the gate's responses.
 *
 * @module
 */
import type { ServerResponse } from "node:http";
import type { GateResponse } from "@farebox/core/adapter";
import { appendExposeHeaders, setHeaders } from "./response-head.js";

/** Sends a whole response of the gate. */
export function writeResponse(res: ServerResponse, response: GateResponse): void {
  res.end(prepareResponse(res, response));
}

/** A stored response may have been sent in chunks. It is sent as a whole now, and Node rejects a head that says both. */
const CHUNKED_HEADERS: ReadonlySet<string> = new Set(["transfer-encoding", "trailer"]);

/** Puts the head of a response in place and returns the body to send: nothing for HEAD. */
export function prepareResponse(res: ServerResponse, response: GateResponse): string | Uint8Array | undefined {
  const { status, headers, body } = response;
  res.statusCode = status;
  res.statusMessage = "";
  setHeaders(
    res,
    headers.filter(([name]) => !CHUNKED_HEADERS.has(name.toLowerCase())),
  );
  appendExposeHeaders(res);
  const size = Buffer.byteLength(body);
  if (size > 0) res.setHeader("Content-Length", size);
  return res.req.method === "HEAD" ? undefined : body;
}
