/**
 * The end of a server: its listener closes, and each connection after the response that is under way.
 *
 * @module
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { ConfigError, type EndingServer } from "@farebox/core";
import { cutConnections } from "./connection.js";

/** A connection that waits for its next request is closed after this time, instead of the seconds that the server has set. */
const IDLE_MS = 1;

/** Closes the connection behind a response, so that the client's next request goes to another process. */
export function closeBehind(res: ServerResponse): void {
  res.shouldKeepAlive = false;
}

/**
 * Prepares the end of a server. Nothing has changed yet.
 *
 * @throws ConfigError if it is no server.
 */
export function endServer(server: Server): EndingServer {
  if (!isServer(server)) {
    throw new ConfigError([
      {
        path: "shutdown.server",
        expected: "the server that app.listen or http.createServer returned",
        received: typeof server,
      },
    ]);
  }
  return {
    // Also of free routes.
    begin: () =>
      void server.prependListener("request", (_req: IncomingMessage, res: ServerResponse) => closeBehind(res)),
    stop() {
      // Connections whose response was under way before.
      server.keepAliveTimeout = IDLE_MS;
      return new Promise((resolve) => void server.close(() => resolve()));
    },
    cut() {
      cutConnections(server);
      server.closeAllConnections();
    },
  };
}

function isServer(server: Partial<Server> | null | undefined): boolean {
  return [server?.close, server?.closeAllConnections, server?.prependListener].every(
    (method) => typeof method === "function",
  );
}
