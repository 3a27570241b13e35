/**
 * Writes the gate's responses, and tells whether a response was delivered.
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

/** Whether the client has disconnected. A pipelined response that waits for its turn is not destroyed; its socket is. */
export function isDisconnected(res: ServerResponse): boolean {
  return res.destroyed || res.req.socket.destroyed;
}

/** Calls the listener when the connection is done with a response, and says whether all of it was handed to the network. */
export function onClosed(res: ServerResponse, listener: (isDelivered: boolean) => void): void {
  let isDelivered = false;
  // Node emits "finish" (and sets `writableFinished`) for a response that broke off, too. Only the socket tells them apart.
  res.on("finish", () => {
    isDelivered = !isDisconnected(res);
  });
  res.on("close", () => listener(isDelivered));
}

/** Calls the listener if the connection closes before all of a response was handed to the network. */
export function onUndelivered(res: ServerResponse, listener: () => void): void {
  onClosed(res, (isDelivered) => {
    if (!isDelivered) listener();
  });
}
