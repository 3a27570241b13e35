/**
 * A facilitator behind a real server, on Express 5 or 4, and raw connections to it.
 *
 * @module
 */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Facilitator } from "@farebox/core";
import { type FacilitatorRouterOptions, facilitatorRouter } from "@farebox/facilitator";
import express5, { type RequestHandler } from "express";
import { onTestFinished } from "vitest";

const require = createRequire(import.meta.url);

/** The versions of Express that each router test runs on. Express 4 has no types of its own here. */
export const VERSIONS: readonly (readonly [name: string, express: typeof express5])[] = [
  ["Express 5", express5],
  ["Express 4", require("express4")],
];

export interface Counter {
  readonly url: string;
  readonly server: Server;
  post(path: string, body: string, type?: string): Promise<Reply>;
  get(path: string): Promise<Reply>;
  /** Opens a connection and sends text unchanged. */
  connect(text: string): Promise<Line>;
  /** The number of open connections. */
  connections(): Promise<number>;
}

/** A response that was read to its end. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

export interface Line {
  readonly socket: Socket;
  /** All received text, once the other side has closed the connection. */
  readonly ended: Promise<string>;
}

export interface CounterOptions extends FacilitatorRouterOptions {
  readonly before?: readonly RequestHandler[];
}

/** Opens a counter until the test has ended; then no connection may be left but those that the test itself kept. */
export async function openCounter(
  express: typeof express5,
  facilitator: Facilitator,
  { before = [], ...options }: CounterOptions = {},
): Promise<Counter> {
  const app = express();
  for (const handler of before) app.use(handler);
  app.use("/facilitator", facilitatorRouter(facilitator, { open: true, ...options }));
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/facilitator`;
  return {
    url,
    server,
    post: async (path, body, type = "application/json") =>
      read(await fetch(url + path, { method: "POST", body, headers: { "content-type": type } })),
    get: async (path) => read(await fetch(url + path)),
    connect: async (text) => {
      const socket = connect(port, "127.0.0.1");
      const ended = collect(socket);
      await once(socket, "connect");
      socket.write(text);
      return { socket, ended };
    },
    connections: () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count))),
  };
}

/** The head of a POST; the body is the test's. */
export function head(path: string, headers: Readonly<Record<string, string>>): string {
  const all = { host: "localhost", "content-type": "application/json", ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /facilitator${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

async function read(response: Response): Promise<Reply> {
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
}

async function collect(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
  });
  // A reset after the response is as good as an end: the server did not read the rest. `once` would reject on it.
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}
