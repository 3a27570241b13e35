/**
 * A server behind a Unix domain socket, and a client that sends bytes as they are. Twenty thousand TCP connections would
 * use up the ports of the machine; a file has none.
 *
 * @module
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What came back. Latin-1, so that a character is a byte. */
export type RawAnswer =
  | { readonly kind: "answered"; readonly status: number; readonly head: string; readonly body: string }
  | { readonly kind: "unanswered"; readonly problem: string };

export interface Serving {
  /** Whether it listens to the server by itself. */
  readonly isListener: boolean;
  readonly look: (req: IncomingMessage) => void;
}

export interface RawLine {
  /** Who answers from now on, by itself or called by a function, and who looks at each request before. */
  serve(listener: RequestListener, how?: Serving): void;
  /** Sends one request; a HEAD request has an answer without body. */
  ask(request: string, method: string): Promise<RawAnswer>;
  /** The request that has no answer yet. A test that ends before one came has found a server that does not respond. */
  unanswered(): string | undefined;
  close(): Promise<void>;
}

const STARTED = "http.server.request.start";

/** Starts the server. */
export async function openRawLine(): Promise<RawLine> {
  const folder = await mkdtemp(join(tmpdir(), "farebox-"));
  const path = join(folder, "socket");
  const server = createServer((_req, res) => void res.end());
  let lookFirst: ((req: IncomingMessage) => void) | undefined;
  const onRequest = (message: unknown) => {
    const started = message as { readonly request: IncomingMessage; readonly server: unknown };
    if (started.server === server) lookFirst?.(started.request);
  };
  // Before all listeners, of whom there is one.
  subscribe(STARTED, onRequest);
  // The client decides when a connection ends, so that no request meets one that is just being closed.
  server.keepAliveTimeout = 0;
  server.listen(path);
  await once(server, "listening");
  const client = createClient({ path });
  let asked: string | undefined;
  return {
    serve: (listener, how) => {
      server.removeAllListeners("request");
      server.on("request", how?.isListener === true ? listener : (req, res) => listener(req, res));
      lookFirst = how?.look;
    },
    ask: async (request, method) => {
      asked = request;
      const answer = await client.ask(request, method);
      asked = undefined;
      return answer;
    },
    unanswered: () => asked,
    close: async () => {
      client.close();
      unsubscribe(STARTED, onRequest);
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      await rm(folder, { recursive: true });
    },
  };
}

export interface RawClient {
  /** Sends one request; a HEAD request has an answer without body. */
  ask(request: string, method: string): Promise<RawAnswer>;
  close(): void;
}

/** A client that keeps its connection as long as the server does. */
export function createClient(to: NetConnectOpts): RawClient {
  let socket: Socket | undefined;

  async function ask(request: string, method: string): Promise<RawAnswer> {
    socket ??= connect(to).setEncoding("latin1");
    const asked = socket;
    const answer = await exchange(asked, request, method);
    if (answer.kind === "unanswered" || asked.destroyed || /^connection: close/im.test(answer.head)) {
      asked.destroy();
      socket = undefined;
    }
    return answer;
  }

  return { ask, close: () => void socket?.destroy() };
}

function exchange(socket: Socket, request: string, method: string): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let received = "";
    const finish = (answer: RawAnswer) => {
      socket.off("data", onData).off("close", onClose).off("error", onError);
      resolve(answer);
    };
    const onData = (data: string) => {
      received += data;
      const answer = readAnswer(received, method, false);
      if (answer !== undefined) finish(answer);
    };
    const onClose = () => {
      const problem = `the connection was closed after ${JSON.stringify(received)}`;
      finish(readAnswer(received, method, true) ?? { kind: "unanswered", problem });
    };
    // A connection that is reset is closed next.
    const onError = () => {};
    socket.on("data", onData).on("close", onClose).on("error", onError);
    socket.write(request, "latin1");
  });
}

/** The answer, once it is complete. */
function readAnswer(received: string, method: string, closed: boolean): RawAnswer | undefined {
  const end = received.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const head = received.slice(0, end);
  const rest = received.slice(end + 4);
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
  const body = readBody({ head, rest, closed, bodiless: method === "HEAD" || status === 204 || status === 304 });
  return body === undefined ? undefined : { kind: "answered", status, head, body };
}

interface Received {
  readonly head: string;
  readonly rest: string;
  readonly closed: boolean;
  readonly bodiless: boolean;
}

function readBody({ head, rest, closed, bodiless }: Received): string | undefined {
  if (bodiless) return "";
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  if (length !== undefined) return rest.length >= Number(length) ? rest : undefined;
  if (/^transfer-encoding: chunked/im.test(head)) return rest.endsWith("\r\n0\r\n\r\n") ? rest : undefined;
  return closed ? rest : undefined;
}
