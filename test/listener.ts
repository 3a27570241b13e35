/**
 * The listener of a server of a test.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * Responds asynchronously. A client that leaves while its request is read makes `respond` reject: then the connection is closed, and no
 * rejection is left that nobody handles. A fault of `respond` itself is seen by the client as a reset.
 */
export function listener(
  respond: (req: IncomingMessage, res: ServerResponse) => Promise<void>,
): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) => void respond(req, res).catch(() => res.destroy());
}
