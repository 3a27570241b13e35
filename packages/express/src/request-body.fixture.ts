/**
 * Servers whose handlers respond with what was read of a body, and with its digest.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { Agent, createServer, type OutgoingHttpHeaders, request } from "node:http";
import { createRequire } from "node:module";
import { type AddressInfo, connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import express5, { type ErrorRequestHandler, type Request, type RequestHandler } from "express";
import { onTestFinished } from "vitest";
import { digestBody } from "./request-body.js";

type ExpressModule = typeof express5;

/** Express 4 has no types of its own here. */
export const VERSIONS: readonly (readonly [name: string, express: ExpressModule])[] = [
  ["Express 5", express5],
  ["Express 4", createRequire(import.meta.url)("express4")],
];

/** The response of the handlers. */
export interface Seen {
  /** `null` where it was undefined. */
  readonly digest: string | object | null;
  /** The {@link fingerprint} of the bytes read behind the digest. */
  readonly read: string;
}

/** A short value that tells bodies apart. */
export function fingerprint(bytes: string | Uint8Array): string {
  const size = typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.length;
  return `${size} ${createHash("sha256").update(bytes).digest("hex")}`;
}

/** Takes the digest, and passes on. */
export const digesting: RequestHandler = async (req, res, next) => {
  res.locals["digest"] = await digestBody(req);
  next();
};

/** Reads the body and responds with it. */
export const reading: RequestHandler = async (req, res) => {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  tell(res, Buffer.concat(chunks));
};

/** Responds with {@link Seen}. */
export function tell(res: Parameters<RequestHandler>[1], read: string | Uint8Array): void {
  res.json({ digest: res.locals["digest"] ?? null, read: fingerprint(read) } satisfies Seen);
}

/** Waits until a condition holds that only the connection can change. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(setImmediate);
}

/** Starts a server for the time of the test, and returns its port. */
export async function serve(express: ExpressModule, ...handlers: RequestHandler[]): Promise<number> {
  const app = express();
  app.set("env", "test");
  for (const handler of handlers) app.use(handler);
  const onError: ErrorRequestHandler = (error, _req, res, _next) => void res.status(500).end(String(error));
  app.use(onError);
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Serves one request at a time, and leaves its body to the test. */
export async function serveToTest(
  express: ExpressModule = express5,
): Promise<{ readonly port: number; next(): Promise<Request> }> {
  const waiting: ((req: Request) => void)[] = [];
  const arrived: Request[] = [];
  const port = await serve(express, (req) => {
    const taker = waiting.shift();
    if (taker === undefined) arrived.push(req);
    else taker(req);
  });
  const next = () => {
    const req = arrived.shift();
    return req === undefined ? new Promise<Request>((resolve) => waiting.push(resolve)) : Promise.resolve(req);
  };
  return { port, next };
}

/** Opens a connection for the time of the test. */
export async function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").setNoDelay();
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** The head of a POST. */
export function head(...headers: readonly string[]): string {
  return ["POST / HTTP/1.1", "Host: x", ...headers, "", ""].join("\r\n");
}

/** A body in HTTP chunks. */
export function chunked(...chunks: readonly string[]): string {
  return chunks.map((chunk) => `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`).join("");
}

/** Posts the pieces of a body, and returns what the server has seen. Without a length, they are HTTP chunks. */
export async function post(
  port: number,
  pieces: readonly (string | Uint8Array)[],
  { headers = {}, agent }: { readonly headers?: OutgoingHttpHeaders; readonly agent?: Agent } = {},
): Promise<Seen> {
  const req = request({ port, host: "127.0.0.1", method: "POST", headers, agent: agent ?? new Agent() });
  const responded = once(req, "response");
  req.flushHeaders();
  let hasResponse = false;
  const noteResponse = () => {
    hasResponse = true;
  };
  responded.then(noteResponse, noteResponse);
  for (const piece of pieces) {
    // Node 26 forgets to emit `drain` when many pieces were written at once.
    if (!req.write(piece)) await until(() => hasResponse || req.writableLength === 0);
  }
  req.end();
  const [res] = await responded;
  return JSON.parse(await text(res)) as Seen;
}

/** Posts a body of a declared length. */
export function postWhole(port: number, body: string | Uint8Array, headers: OutgoingHttpHeaders = {}): Promise<Seen> {
  return post(port, [body], { headers: { "Content-Length": Buffer.byteLength(body), ...headers } });
}
