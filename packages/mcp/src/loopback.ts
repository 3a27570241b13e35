/**
 * Asks an app of this process over HTTP, without a port: by a connection that is in memory.
 *
 * @module
 */
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";

/** An Express app, or whatever else takes requests as `createServer` hands them on. */
export type App = (req: IncomingMessage, res: ServerResponse) => unknown;

/** What is asked for. */
export interface InnerRequest {
  readonly method: string;
  /** With its query, encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Breaks the connection off. */
  readonly signal: AbortSignal;
}

/** What came back. */
export interface InnerResponse {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** Asks; rejects when the connection breaks. */
export type AskInside = (asked: InnerRequest) => Promise<InnerResponse>;

/** Prepares to ask an app. */
export function askInside(app: App): AskInside {
  const server = createServer(app);
  return (asked) => ask(server, asked);
}

async function ask(server: Server, { body, ...options }: InnerRequest): Promise<InnerResponse> {
  const [ours, theirs] = createConnection();
  // Node's own way to give a server a connection that it has not accepted itself.
  server.emit("connection", theirs);
  try {
    return await new Promise<InnerResponse>((resolve, reject) => {
      const outgoing = request({ ...options, createConnection: () => ours }, (incoming) => {
        const { statusCode: status = 500, headers } = incoming;
        buffer(incoming).then((whole) => resolve({ status, headers, body: whole }), reject);
      });
      outgoing.on("error", reject);
      outgoing.end(body);
    });
  } finally {
    ours.destroy();
  }
}

/** One end of a connection: what is written to it is read at the other, at the other's pace. */
class End extends Duplex {
  #peer: End | undefined;
  #taken: (() => void) | undefined;

  join(peer: End): void {
    this.#peer = peer;
  }

  override _read(): void {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, written: (error?: Error | null) => void): void {
    const peer = this.#peer;
    if (peer === undefined || chunk.byteLength === 0) {
      written();
      return;
    }
    peer.#taken = written;
    peer.push(chunk);
  }

  override _final(ended: (error?: Error | null) => void): void {
    this.#peer?.push(null);
    ended();
  }

  override _destroy(error: Error | null, destroyed: (error?: Error | null) => void): void {
    const peer = this.#peer;
    this.#peer = undefined;
    // Not at once: what is on its way arrives first, as on any connection.
    if (peer !== undefined) setImmediate(() => peer.destroy());
    destroyed(error);
  }
}

function createConnection(): readonly [End, End] {
  const [ours, theirs] = [new End(), new End()];
  ours.join(theirs);
  theirs.join(ours);
  return [ours, theirs];
}
