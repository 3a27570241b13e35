/**
 * Servers on this machine: opens them on a port, and closes them with all connections.
 *
 * @module
 */
import { once } from "node:events";
import type { Server } from "node:http";
import { StateError } from "@farebox/core";

/** A server that listens on 127.0.0.1. */
export interface Listening {
  readonly origin: URL;
  /** Closes all connections, and resolves when the server has closed. */
  close(): Promise<void>;
}

/** The addresses of a server that listens on all interfaces. */
const ANY_HOST: ReadonlySet<string> = new Set(["::", "0.0.0.0"]);

/** Listens on 127.0.0.1. Rejects with Node's error when it cannot. */
export async function listen(server: Server, port: number): Promise<Listening> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const origin = originOf(server);
  if (origin === undefined) throw new StateError("the server was closed while it was opened");
  return { origin, close: () => close(server) };
}

/** The origin of a server on this machine; `undefined` when the server does not listen on a port. */
export function originOf(server: Server): URL | undefined {
  const address = server.address();
  if (address === null || typeof address === "string") return undefined;
  const host = ANY_HOST.has(address.address) ? "127.0.0.1" : address.address;
  return new URL(`http://${host.includes(":") ? `[${host}]` : host}:${address.port}`);
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
