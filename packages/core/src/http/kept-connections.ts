/**
 * Connections that are kept for the next request.
 *
 * @module
 */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Duplex } from "node:stream";

/** Kept for this long, where the server does not say that it will close earlier. */
const IDLE_MS = 5_000;

/**
 * A request must not be sent on a connection that the server is just closing: what has become of it, nobody could tell.
 * So a connection is given up a second before the server says it will.
 */
const EARLIER_MS = 1_000;

const OPTIONS = { keepAlive: true, timeout: IDLE_MS, scheduling: "lifo" } as const;

/** The agent for a protocol, one for each caller. */
export function createAgent(isSecure: boolean): HttpAgent {
  return isSecure ? new PromptHttpsAgent(OPTIONS) : new PromptHttpAgent(OPTIONS);
}

class PromptHttpAgent extends HttpAgent {
  override keepSocketAlive(socket: Duplex): boolean {
    return Boolean(super.keepSocketAlive(socket)) && leaveEarlier(socket);
  }
}

class PromptHttpsAgent extends HttpsAgent {
  override keepSocketAlive(socket: Duplex): boolean {
    return Boolean(super.keepSocketAlive(socket)) && leaveEarlier(socket);
  }
}

/** Node has set the time until the server closes it, or {@link IDLE_MS}. */
function leaveEarlier(socket: Duplex & { timeout?: number; setTimeout?(ms: number): void }): boolean {
  const left = (socket.timeout ?? IDLE_MS) - EARLIER_MS;
  if (left > 0) socket.setTimeout?.(left);
  return left > 0;
}
