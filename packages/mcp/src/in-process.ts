/**
 * Sends a request to an app of this process. It is real HTTP, over a connection in memory instead of a port.
 *
 * @module
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type Duplex, duplexPair } from "node:stream";
import { WHOLE_ONLY } from "@farebox/core/adapter";

/** An Express app, or any other listener that `createServer` takes. */
export type App = (req: IncomingMessage, res: ServerResponse) => unknown;

/** A request to the app. */
export interface AppRequest {
  readonly method: string;
  /** With its query, encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Aborting it closes the connection. */
  readonly signal: AbortSignal;
  /** Gets the body as it comes, and what the app has made of the request meanwhile. Default: nobody waits for parts of the body. */
  readonly onChunk?:
    | ((chunk: Buffer, head: AppHead, handled: IncomingMessage | undefined) => Promise<void>)
    | undefined;
}

/** Status and headers. */
export type AppHead = Pick<AppResponse, "status" | "headers">;

/** The app's response. */
export interface AppResponse {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
  readonly trailers: IncomingMessage["trailers"];
  /** Why the connection was closed before the end of the body; `undefined`: it was not. */
  readonly brokenBy: unknown;
}

/** Creates the function that sends requests to an app. It rejects when the connection is closed before the head of the response. */
export function connectApp(app: App): (sent: AppRequest) => Promise<AppResponse> {
  const handled = new WeakMap<object, IncomingMessage>();
  const server = createServer((req, res) => {
    handled.set(req.socket, req);
    return app(req, res);
  });
  return async ({ body, onChunk, ...options }) => {
    const [clientEnd, serverEnd] = createConnection();
    if (onChunk === undefined) Reflect.set(serverEnd, WHOLE_ONLY, true);
    // Node's documented way to give a server a connection that it did not accept itself.
    server.emit("connection", serverEnd);
    try {
      return await new Promise<AppResponse>((resolve, reject) => {
        const outgoing = request({ ...options, createConnection: () => clientEnd }, (incoming) => {
          const head = { status: incoming.statusCode ?? 500, headers: incoming.headers };
          const take = async (chunk: Buffer) => onChunk?.(chunk, head, handled.get(serverEnd));
          readBody(incoming, take).then((read) => resolve({ ...head, ...read, trailers: incoming.trailers }), reject);
        });
        outgoing.on("error", reject);
        outgoing.end(body);
      });
    } finally {
      clientEnd.destroy();
    }
  };
}

async function readBody(
  incoming: IncomingMessage,
  take: (chunk: Buffer) => Promise<void>,
): Promise<Pick<AppResponse, "body" | "brokenBy">> {
  const chunks: Buffer[] = [];
  let brokenBy: unknown;
  try {
    for await (const chunk of incoming) {
      chunks.push(chunk);
      await take(chunk);
    }
  } catch (error) {
    brokenBy = error;
  }
  return { body: Buffer.concat(chunks), brokenBy };
}

/** Two ends of a connection. When one is destroyed, the other is too, after it has received all that was sent. */
function createConnection(): readonly [Duplex, Duplex] {
  const [clientEnd, serverEnd] = duplexPair();
  // With an error, as of a network: the server did not close it by itself.
  clientEnd.once("close", () => setImmediate(() => serverEnd.destroy(new Error("the client has left"))));
  serverEnd.once("close", () => setImmediate(() => clientEnd.destroy()));
  return [clientEnd, serverEnd];
}
