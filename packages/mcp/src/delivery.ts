/**
 * Whether a result got onto its way to the client.
 *
 * The SDK sends a result after the handler's work is done, and drops it when the call was cancelled meanwhile or there is
 * no stream left to send it on. That is seen where it is sent: at the transport.
 *
 * @module
 */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallExtra } from "./tool-config.js";

type RequestId = CallExtra["requestId"];

/** Results that are about to be sent, by transport. */
const awaited = new WeakMap<Transport, Map<RequestId, () => void>>();

/** Acts once if the result of a call is not sent: cancelled, the transport closed, or no stream to send it on. */
export function onUndelivered({ server }: McpServer, { requestId, signal }: CallExtra, act: () => void): void {
  const { transport } = server;
  if (transport === undefined || signal.aborted) {
    act();
    return;
  }
  const results = watch(transport);
  results.set(requestId, act);
  const give = () => {
    if (results.get(requestId) !== act) return;
    results.delete(requestId);
    act();
  };
  signal.addEventListener("abort", give, { once: true });
}

function watch(transport: Transport): Map<RequestId, () => void> {
  const known = awaited.get(transport);
  if (known !== undefined) return known;
  const results = new Map<RequestId, () => void>();
  awaited.set(transport, results);
  const send = transport.send.bind(transport);
  const sendAndTell: Transport["send"] = async (message, options) => {
    const id = "method" in message ? undefined : message.id;
    const act = id === undefined ? undefined : results.get(id);
    if (id !== undefined) results.delete(id);
    try {
      await send(message, options);
    } catch (error) {
      act?.();
      throw error;
    }
  };
  // V8 would keep a function that is written where it is assigned until a full garbage collection, and the transport with it.
  transport.send = sendAndTell;
  return results;
}
