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
import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { WHOLE_ONLY } from "@farebox/core/adapter";

/** Whether the client has disconnected. A pipelined response that waits for its turn is not destroyed; its socket is. */
export function isDisconnected(res: ServerResponse): boolean {
  return res.destroyed || res.req.socket.destroyed;
}

/**
 * Whether the client has disconnected, or Node is about to close the connection because the client ended it. A plain object in place of a
 * socket does not say.
 */
export function hasLeft(res: ServerResponse): boolean {
  const { socket } = res.req;
  return res.destroyed || socket.destroyed || (socket.writable as boolean | undefined) === false;
}

/** Whether the client takes a response in one piece only. */
export function takesWholeOnly(res: ServerResponse): boolean {
  return Reflect.get(res.req.socket, WHOLE_ONLY) === true;
}

/** Hears that the connection is done with a response. */
export interface ClosedListener {
  /** @param isDelivered - Whether all of the response was handed to the network. */
  onClosed(isDelivered: boolean): void;
}

/** A response that its connection is not done with. */
export interface OpenResponse {
  readonly res: Watched;
  readonly connection: Connection;
  readonly listeners: ClosedListener[];
  /** How often it keeps its connection open. */
  kept: number;
}

/** By it the listeners find what they are about: all responses share them, so that none has closures of its own. */
const OPEN: unique symbol = Symbol("farebox.open");

type Watched = ServerResponse & { [OPEN]?: OpenResponse | undefined };

/** Calls the listener once, when the connection is done with a response. */
export function onClosed(res: Watched, listener: ClosedListener): OpenResponse {
  const known = res[OPEN];
  if (known !== undefined) {
    known.listeners.push(listener);
    return known;
  }
  const { socket } = res.req;
  let connection = connections.get(socket);
  if (connection === undefined) {
    connection = new Connection(socket);
    connections.set(socket, connection);
  }
  const open: OpenResponse = { res, connection, listeners: [listener], kept: 0 };
  res[OPEN] = open;
  connection.responses.add(open);
  res.on("finish", finished);
  // A response of Node's closes with its socket, which is watched once for all its responses.
  if (!connection.isWatched || !(res instanceof ServerResponse)) res.on("close", closed);
  return open;
}

/** Node emits "finish" (and sets `writableFinished`) for a response that broke off, too. Only the socket tells them apart. */
function finished(this: Watched): void {
  if (this[OPEN] !== undefined) close(this[OPEN], !isDisconnected(this));
}

function closed(this: Watched): void {
  if (this[OPEN] !== undefined) close(this[OPEN], false);
}

function close(open: OpenResponse, isDelivered: boolean): void {
  const { res, connection, listeners } = open;
  res[OPEN] = undefined;
  connection.responses.delete(open);
  for (const listener of listeners) listener.onClosed(isDelivered);
  connection.unsent -= open.kept;
  if (connection.isDestroyPutOff && connection.unsent === 0) connection.socket.destroy();
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

/** One connection. Its socket has one listener of ours, however many responses are on it. */
class Connection {
  readonly socket: Socket;
  /** Whether there is a socket, which tells when the connection closes. */
  readonly isWatched: boolean;
  readonly responses: Set<OpenResponse> = new Set();
  /** How many responses have ended and are held. While there are any, the socket is not destroyed. */
  held = 0;
  /** The same, and those that are being sent. After the last one, the socket is destroyed if that was asked for. */
  unsent = 0;
  isDestroyPutOff = false;

  constructor(socket: Socket) {
    const { destroy } = socket;
    const { writable, once }: Partial<Socket> = socket;
    this.socket = socket;
    this.isWatched = typeof writable === "boolean" && typeof once === "function";
    if (this.isWatched) {
      socket.once("close", () => {
        for (const open of this.responses) close(open, false);
      });
    }
    Reflect.set(socket, "destroy", (error?: Error) => {
      // An error comes from the network. A socket that is no longer writable has lost its client.
      if (error || this.held === 0 || socket.writable === false || isCutOff(socket)) return destroy.call(socket, error);
      this.isDestroyPutOff = true;
      return socket;
    });
  }
}

/** A connection that stays open for one response. */
export interface KeptOpen {
  readonly connection: Connection;
  /** Whether the response is held still. */
  isHeld: boolean;
}

/**
 * Keeps the connection open for a response that has ended and is still held. Express destroys the socket when a handler fails
 * behind the end of its response. In plain Node the response is out by then; here it goes out first.
 */
export function keepOpen(open: OpenResponse): KeptOpen {
  const { connection } = open;
  open.kept += 1;
  connection.held += 1;
  connection.unsent += 1;
  return { connection, isHeld: true };
}

/** The response goes out, or is dropped. Later calls do nothing. */
export function letGo(kept: KeptOpen | undefined): void {
  if (kept?.isHeld !== true) return;
  kept.isHeld = false;
  kept.connection.held -= 1;
}
