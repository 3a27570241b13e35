/**
 * Whether there is anybody to answer, and whether the answer got there.
 *
 * @module
 */
import type { ServerResponse } from "node:http";

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
