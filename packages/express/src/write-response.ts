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

/** Whether nobody is left to answer. The response to a pipelined request only hears of it through the request's socket. */
export function isAbandoned(res: ServerResponse): boolean {
  return res.destroyed || res.req.socket.destroyed;
}

/** Acts, once the connection is done with the answer: told whether all of it was handed to the network. */
export function onOver(res: ServerResponse, act: (isDelivered: boolean) => void): void {
  let isDelivered = false;
  // Node says "finish" of an answer that broke off, too; `writableFinished` is true then. Only the socket knows.
  res.on("finish", () => {
    isDelivered = !isAbandoned(res);
  });
  res.on("close", () => act(isDelivered));
}

/** Acts, once the connection is done with the answer, if not all of it was handed to the network. */
export function onBrokenOff(res: ServerResponse, act: () => void): void {
  onOver(res, (isDelivered) => {
    if (!isDelivered) act();
  });
}
