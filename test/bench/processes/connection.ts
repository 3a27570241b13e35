/**
 * A kept connection over which requests are sent one after another. It knows as much of HTTP as the servers of the benchmark
 * send, so that a load takes little of the processor beside them.
 *
 * @module
 */
import { connect, type Socket } from "node:net";

/** Called once for each response, when all of it is here. */
export type OnResponse = (status: number) => void;

/** Shared by all connections of a process: a chunk is read before the next one comes. */
const BUFFER = Buffer.allocUnsafe(256 * 1024);
const HEAD_END = "\r\n\r\n";
const LENGTH = "\r\ncontent-length: ";

/** One connection. Only one request at a time may be under way. */
export class Connection {
  readonly host: string;
  readonly #socket: Socket;
  #onResponse: OnResponse = () => {};
  #status = 0;
  /** The beginning of a head, if its end is not here. */
  #head = "";
  /** Bytes of the body that are not here. */
  #missing = 0;

  private constructor(url: URL, onEnd: (error: Error) => void) {
    this.host = url.host;
    const onread = { buffer: BUFFER, callback: (bytes: number) => this.#read(bytes) };
    this.#socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true, onread });
    this.#socket.on("error", onEnd);
    this.#socket.on("close", () => onEnd(new Error(`${url.host} closed a connection`)));
  }

  /** Connects. `onEnd` is called when the connection ends. */
  static async open(url: URL, onEnd: (error: Error) => void): Promise<Connection> {
    const connection = new Connection(url, onEnd);
    await new Promise((resolve) => connection.#socket.once("connect", resolve));
    return connection;
  }

  /** Sends a GET. */
  get(path: string, payment: string | undefined, onResponse: OnResponse): void {
    this.#onResponse = onResponse;
    const paid = payment === undefined ? "" : `PAYMENT-SIGNATURE: ${payment}\r\n`;
    this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: ${this.host}\r\n${paid}\r\n`, "latin1");
  }

  /** Ends the connection. */
  close(): void {
    this.#socket.destroy();
  }

  #read(bytes: number): true {
    if (this.#missing > 0) this.#missing -= bytes;
    else this.#readHead(bytes);
    if (this.#status !== 0 && this.#missing === 0) {
      const status = this.#status;
      this.#status = 0;
      this.#onResponse(status);
    }
    return true;
  }

  #readHead(bytes: number): void {
    const text = this.#head + BUFFER.toString("latin1", 0, bytes);
    const end = text.indexOf(HEAD_END);
    if (end < 0) {
      this.#head = text;
      return;
    }
    this.#head = "";
    this.#status = Number(text.slice(9, 12));
    this.#missing = lengthIn(text, end) - (text.length - end - HEAD_END.length);
  }
}

function lengthIn(text: string, end: number): number {
  // Its name is written in two ways.
  let at = text.indexOf("\r\nContent-Length: ");
  if (at < 0 || at > end) at = text.slice(0, end).toLowerCase().indexOf(LENGTH);
  const length = at < 0 ? Number.NaN : Number.parseInt(text.slice(at + LENGTH.length, at + LENGTH.length + 12), 10);
  if (Number.isNaN(length)) throw new Error(`a response without a length: ${text.slice(0, end)}`);
  return length;
}
