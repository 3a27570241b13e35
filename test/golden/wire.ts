/**
 * A network inside this process. A connection is a pair of streams, under the parsers and servers of Node as they are. Nothing is left to
 * the kernel: what one side writes arrives one turn of the event loop later, in the order in which it was written.
 *
 * It closes as TCP does: what was written before arrives, and then the end. If something is left unread, the other side is reset.
 *
 * @module
 */
import diagnostics from "node:diagnostics_channel";
import { Agent, get, type Server } from "node:http";
import { Duplex } from "node:stream";

/** What a side takes before it is read, as the buffers of a kernel do. */
const ROOM = 1024 * 1024;

/** What a side gets at once, as from a kernel: it may leave before it has read the rest. */
const PART = 64 * 1024;

type Done = (error?: Error | null) => void;

/** One side of a connection. It has what Node's HTTP asks of a socket. */
export class Wire extends Duplex {
  readonly remoteAddress: string;
  readonly remoteFamily = "IPv4";
  readonly remotePort: number;
  connecting: boolean;
  #other: Wire | undefined;
  readonly #network: Network;
  /** Hands over what the other side has written, and this one had no room for. */
  #unread: (() => void) | undefined;
  #isReset = false;

  constructor(network: Network, { isClient, address, port }: { isClient: boolean; address: string; port: number }) {
    super({ allowHalfOpen: !isClient, highWaterMark: ROOM });
    this.#network = network;
    this.connecting = isClient;
    this.remoteAddress = address;
    this.remotePort = port;
  }

  /** Of a fresh pair. */
  join(other: Wire): void {
    this.#other = other;
    other.#other = this;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#carry(chunk, done);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: Done): void {
    this.#carry(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  #carry(chunk: Buffer, done: Done): void {
    this.#network.carry(() => this.#hand(chunk, done));
  }

  /** Hands over as much as the other side takes, and the rest when it reads. */
  #hand(chunk: Buffer, done: Done): void {
    const other = this.#other;
    let handed = 0;
    let hasRoom = true;
    while (hasRoom && handed < chunk.length && other?.destroyed === false) {
      hasRoom = other.push(chunk.subarray(handed, handed + PART));
      handed += PART;
    }
    if (handed >= chunk.length) done();
    else if (other === undefined || other.destroyed) this.#lose(done);
    else other.#unread = () => this.#hand(chunk.subarray(handed), done);
  }

  /** The other side will never read it. */
  #lose(done: Done): void {
    const error = failure("ECONNRESET");
    done(error);
    this.destroy(error);
  }

  override _read(): void {
    const hand = this.#unread;
    this.#unread = undefined;
    hand?.();
  }

  override _final(done: Done): void {
    this.#network.carry(() => {
      this.#end(this.#other);
      done();
    });
  }

  override _destroy(error: Error | null, done: Done): void {
    const isReset = this.#isReset || this.#unread !== undefined;
    this.#network.carry(() => {
      if (isReset) this.#other?.destroy(failure("ECONNRESET"));
      else this.#end(this.#other);
    });
    done(error);
  }

  /** The other side reads the end behind all that was written. */
  #end(side: Wire | undefined): void {
    if (side === undefined || side.destroyed || side.readableEnded) return;
    const hand = side.#unread;
    if (hand === undefined) side.push(null);
    else {
      side.#unread = () => {
        hand();
        this.#end(side);
      };
    }
  }

  resetAndDestroy(): this {
    this.#isReset = true;
    return this.destroy();
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }

  /** Limits of time are those of the sequence. */
  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** The servers that are reached without a kernel. */
export class Network {
  readonly #servers = new Map<number, Server>();
  readonly #wires = new Set<Wire>();
  #ports = 0;
  #moving = 0;

  /** Whether something is under way. */
  get isMoving(): boolean {
    return this.#moving > 0;
  }

  carry(act: () => void): void {
    this.#moving++;
    setImmediate(() => {
      this.#moving--;
      act();
    });
  }

  /** Connects a server that listens to nothing, and returns the number that it has instead of a port. */
  add(server: Server): number {
    // No port of a kernel's.
    const port = 100_000 + this.#servers.size;
    this.#servers.set(port, server);
    return port;
  }

  /** Connects servers that listen already: those that respond when this URL is asked. */
  async find(url: string): Promise<void> {
    const note = (message: unknown) => {
      const { server } = message as { readonly server: Server };
      const address = server.address();
      if (typeof address === "object" && address !== null) this.#servers.set(address.port, server);
    };
    diagnostics.subscribe("http.server.request.start", note);
    try {
      await new Promise<void>((resolve, reject) => {
        get(url, { agent: false }, (response) => response.resume().once("end", resolve)).once("error", reject);
      });
    } finally {
      diagnostics.unsubscribe("http.server.request.start", note);
    }
  }

  /** Takes the place of the kernel in every request to its servers, until the returned function is called. */
  install(): () => void {
    const { createConnection } = Agent.prototype;
    const connect = (options: { readonly port?: unknown; readonly localAddress?: unknown }) => this.#connect(options);
    Agent.prototype.createConnection = function (this: Agent, ...args) {
      return connect(args[0]) ?? Reflect.apply(createConnection, this, args);
    };
    return () => {
      Agent.prototype.createConnection = createConnection;
    };
  }

  #connect({ port, localAddress }: { readonly port?: unknown; readonly localAddress?: unknown }): Wire | undefined {
    const server = this.#servers.get(Number(port));
    if (server === undefined) return undefined;
    const client = new Wire(this, { isClient: true, address: "127.0.0.1", port: Number(port) });
    const address = typeof localAddress === "string" ? localAddress : "127.0.0.1";
    const side = new Wire(this, { isClient: false, address, port: ++this.#ports });
    client.join(side);
    for (const wire of [client, side]) {
      this.#wires.add(wire);
      wire.once("close", () => void this.#wires.delete(wire));
    }
    this.carry(() => {
      client.connecting = false;
      server.emit("connection", side);
      client.emit("connect");
    });
    return client;
  }

  /** Destroys all connections. */
  close(): void {
    for (const wire of this.#wires) wire.destroy();
  }
}
