/**
 * The connection under a response: whether a response was delivered, and a connection that stays open for it.
 *
 * Requests may be pipelined. Node tells a response nothing about the connection until the responses before it are out, so
 * the socket is watched here.
 *
 * Some requests come over no network: adapters for functions of a cloud make them of events, with a plain object in place of a socket.
 * It says nothing about a client, and such a response is done when it has finished.
 *
 * @module
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { WHOLE_ONLY } from "@farebox/core/adapter";

/** Whether the client has disconnected. A pipelined response that waits for its turn is not destroyed; its socket is. */
export function isDisconnected(res: ServerResponse): boolean {
  return res.destroyed || res.req.socket.destroyed;
}

/** Whether the client has disconnected, or Node is about to close the connection because the client ended it. */
export function hasLeft(res: ServerResponse): boolean {
  const { socket } = res.req;
  return res.destroyed || socket.destroyed || hasEnded(socket);
}

/** Whether the client has ended its connection. A plain object in place of a socket does not say. */
function hasEnded({ writable }: Socket): boolean {
  return writable === false;
}

/** Whether there is a socket, which tells when the connection closes. */
function isWatchable(socket: Partial<Socket>): boolean {
  return typeof socket.writable === "boolean" && typeof socket.once === "function";
}

/** Whether the client takes a response in one piece only. */
export function takesWholeOnly(res: ServerResponse): boolean {
  return Reflect.get(res.req.socket, WHOLE_ONLY) === true;
}

/** Calls the listener when the connection is done with a response, and says whether all of it was handed to the network. */
export function onClosed(res: ServerResponse, listener: (isDelivered: boolean) => void): void {
  let isDelivered = false;
  const { listeners } = connectionOf(res);
  listeners.add(close);
  // Node emits "finish" (and sets `writableFinished`) for a response that broke off, too. Only the socket tells them apart.
  res.on("finish", () => {
    isDelivered = !isDisconnected(res);
    // Nothing else will say that it is done.
    if (!isWatchable(res.req.socket)) close();
  });
  res.on("close", close);

  function close(): void {
    res.off("close", close);
    listeners.delete(close);
    listener(isDelivered);
  }
}

const connections = new WeakMap<Socket, Connection>();

/** Servers whose time is over. */
const cutOff = new WeakSet<object>();

/** From now on, the connections of a server are destroyed at once, also below a response that is held. */
export function cutConnections(server: object): void {
  cutOff.add(server);
}

function isCutOff({ server }: Socket & { readonly server?: object | null }): boolean {
  return server !== undefined && server !== null && cutOff.has(server);
}

function connectionOf({ req: { socket } }: ServerResponse): Connection {
  let connection = connections.get(socket);
  if (connection === undefined) {
    connection = new Connection(socket);
    connections.set(socket, connection);
  }
  return connection;
}

/** One connection. Its socket has one listener of ours, however many responses are on it. */
class Connection {
  readonly socket: Socket;
  /** Called when it closes. */
  readonly listeners = new Set<() => void>();
  /** How many responses have ended and are held. While there are any, the socket is not destroyed. */
  held = 0;
  /** The same, and those that are being sent. After the last one, the socket is destroyed if that was asked for. */
  unsent = 0;
  isDestroyPutOff = false;

  constructor(socket: Socket) {
    this.socket = socket;
    if (isWatchable(socket)) {
      socket.once("close", () => {
        for (const listener of this.listeners) listener();
      });
    }
    const { destroy } = socket;
    Reflect.set(socket, "destroy", (error?: Error) => {
      // An error comes from the network. A socket that is no longer writable has lost its client.
      if (error || this.held === 0 || hasEnded(socket) || isCutOff(socket)) return destroy.call(socket, error);
      this.isDestroyPutOff = true;
      return socket;
    });
  }
}

/**
 * Keeps the connection open for a response that has ended and is still held. Express destroys the socket when a handler fails
 * behind the end of its response. In plain Node the response is out by then; here it goes out first.
 */
export class KeptOpen {
  readonly #connection: Connection;
  #isHeld = true;

  constructor(res: ServerResponse) {
    this.#connection = connectionOf(res);
    this.#connection.held += 1;
    this.#connection.unsent += 1;
  }

  /** Whether the response is held still. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** The response goes out, or is dropped. Later calls do nothing. */
  release(): void {
    if (this.#isHeld) this.#connection.held -= 1;
    this.#isHeld = false;
  }

  /** The connection is done with the response. Called once, after {@link release}. */
  done(): void {
    const connection = this.#connection;
    connection.unsent -= 1;
    if (connection.isDestroyPutOff && connection.unsent === 0) connection.socket.destroy();
  }
}
