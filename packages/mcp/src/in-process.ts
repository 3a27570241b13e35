/**
 * Sends a request to an app of this process. It is real HTTP, over a connection in memory instead of a port.
 *
 * @module
 */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type Duplex, duplexPair } from "node:stream";
import { buffer } from "node:stream/consumers";

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
}

/** The app's response. */
export interface AppResponse {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** Creates the function that sends requests to an app. It rejects when the connection is closed before the response's end. */
export function connectApp(app: App): (sent: AppRequest) => Promise<AppResponse> {
  const server = createServer(app);
  return async ({ body, ...options }) => {
    const [clientEnd, serverEnd] = createConnection();
    // Node's documented way to give a server a connection that it did not accept itself.
    server.emit("connection", serverEnd);
    try {
      return await new Promise<AppResponse>((resolve, reject) => {
        const outgoing = request({ ...options, createConnection: () => clientEnd }, (incoming) => {
          const { statusCode: status = 500, headers } = incoming;
          buffer(incoming).then((whole) => resolve({ status, headers, body: whole }), reject);
        });
        outgoing.on("error", reject);
        outgoing.end(body);
      });
    } finally {
      clientEnd.destroy();
    }
  };
}

/** Two ends of a connection. When one is destroyed, the other is too, after it has received all that was sent. */
function createConnection(): readonly [Duplex, Duplex] {
  const [clientEnd, serverEnd] = duplexPair();
  // With an error, as of a network: the server did not close it by itself.
  clientEnd.once("close", () => setImmediate(() => serverEnd.destroy(new Error("the client has left"))));
  serverEnd.once("close", () => setImmediate(() => clientEnd.destroy()));
  return [clientEnd, serverEnd];
}
