/**
 * Servers on this machine: opened on a port, and closed with everything that is connected.
 *
 * @module
 */
import { once } from "node:events";
import type { Server } from "node:http";
import { StateError } from "@farebox/core";

/** A server that listens on 127.0.0.1. */
export interface Listening {
  readonly origin: URL;
  /** Breaks off what is connected and resolves when the server has ended. */
  close(): Promise<void>;
}

/** A server that listens on all addresses says one of these. */
const ANY_HOST: ReadonlySet<string> = new Set(["::", "0.0.0.0"]);

/** Listens on 127.0.0.1. Rejects with Node's own error when it cannot. */
export async function listen(server: Server, port: number): Promise<Listening> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const origin = originOf(server);
  if (origin === undefined) throw new StateError("the server was closed while it was opened");
  return { origin, close: () => close(server) };
}

/** Where a server can be reached from this machine; `undefined` when it does not listen on a port. */
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
