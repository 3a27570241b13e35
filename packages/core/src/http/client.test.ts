import { getEventListeners, once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer as createTcpServer, type Socket } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { closeServers, listen, serve } from "../facilitator/http-server.fixture.js";
import { createHttpClient, type HttpClientOptions, type HttpRequest } from "./client.js";
import { CERTIFICATE, PRIVATE_KEY } from "./localhost-certificate.fixture.js";

afterEach(closeServers);

const LIMIT = 1_000;

function send(
  url: string,
  { options = {}, ...request }: Partial<HttpRequest> & { options?: Partial<HttpClientOptions> } = {},
) {
  return createHttpClient({ maxBodyBytes: LIMIT, ...options })({ url: new URL(url), headers: {}, ...request });
}

/** A server that responds to any bytes with the same bytes. */
function saying(bytes: string): Promise<string> {
  return listen(createTcpServer((socket) => socket.on("error", () => {}).once("data", () => socket.end(bytes))));
}

async function closedPort(): Promise<string> {
  const server = createTcpServer();
  const url = await listen(server);
  server.close();
  await once(server, "close");
  return url;
}

describe("a request that was not sent", () => {
  test.each<[why: string, code: RegExp, url: () => Promise<string>]>([
    ["a closed port", /^ECONNREFUSED$/, closedPort],
    ["an unknown host", /^(ENOTFOUND|EAI_AGAIN)$/, async () => "http://unknown.invalid/"],
    ["a server without TLS", /./, async () => (await saying("hello\r\n")).replace("http:", "https:")],
    [
      "a self-signed certificate",
      /^DEPTH_ZERO_SELF_SIGNED_CERT$/,
      async () => {
        const server = createHttpsServer({ cert: CERTIFICATE, key: PRIVATE_KEY }, (_, response) => response.end("{}"));
        return (await listen(server)).replace("http://127.0.0.1", "https://localhost");
      },
    ],
  ])("%s yields no-response and not sent", async (_why, code, url) => {
    const outcome = await send(await url(), { body: "secret" });
    expect(outcome).toMatchObject({ kind: "no-response", sent: false, cause: { code: expect.stringMatching(code) } });
  });

  test("a connection that is not made in time yields no-response and not sent", async () => {
    const sockets: Socket[] = [];
    // Accepts, and never shakes hands.
    const url = await listen(createTcpServer((socket) => void sockets.push(socket)));
    const outcome = await send(url.replace("http:", "https:"), { body: "secret", options: { connectMs: 100 } });
    expect(outcome).toMatchObject({ kind: "no-response", sent: false, cause: { code: "CONNECT_TIMEOUT" } });
    for (const socket of sockets) socket.destroy();
  });

  test("a caller that gave up before yields no-response and not sent", async () => {
    let requests = 0;
    const url = await serve((_, response) => {
      requests++;
      response.end();
    });
    const outcome = await send(url, { signal: AbortSignal.abort() });
    expect(outcome).toMatchObject({ kind: "no-response", sent: false, cause: { name: "AbortError" } });
    expect(requests).toBe(0);
  });
});

describe("a request without a response", () => {
  test.each<[why: string, bytes: string]>([
    ["a closed connection", ""],
    ["another protocol than HTTP", "hello\r\n\r\n"],
    ["a truncated head", "HTTP/1.1 200 OK\r\nContent-"],
    ["an endless head", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}\r\n\r\n`],
    ["an unrequested change of protocol", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"],
    ["two Content-Length headers", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
  ])("%s yields no-response and sent", async (_why, bytes) => {
    expect(await send(await saying(bytes))).toMatchObject({ kind: "no-response", sent: true });
  });

  test("a reused connection that is closed yields no-response and sent", async () => {
    const heard: Socket[] = [];
    // A busy machine pauses a test for longer than the five seconds that a connection may be idle.
    const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      if (heard.push(request.socket) === 1) response.end("{}");
      else request.socket.destroy();
    });
    const url = new URL(await listen(server));
    const client = createHttpClient({ maxBodyBytes: LIMIT });
    expect(await client({ url, headers: {} })).toMatchObject({ kind: "responded", text: "{}" });
    await new Promise(setImmediate);
    expect(await client({ url, headers: {} })).toMatchObject({ kind: "no-response", sent: true });
    expect(heard[1]).toBe(heard[0]);
  });
});

describe("a body", () => {
  const TEXT = '{"a":"ü"}';

  test.each<[encoding: string, body: Buffer]>([
    ["identity", Buffer.from(TEXT)],
    ["gzip", gzipSync(TEXT)],
    ["X-GZIP", gzipSync(TEXT)],
    ["deflate", deflateSync(TEXT)],
    ["br", brotliCompressSync(TEXT)],
  ])("a body encoded as %s is read", async (encoding, body) => {
    const url = await serve((_, response) => response.writeHead(200, { "content-encoding": encoding }).end(body));
    expect(await send(url)).toMatchObject({ kind: "responded", status: 200, text: TEXT });
  });

  test.each<[why: string, encoding: string, body: Buffer, cause: unknown]>([
    ["of an unknown encoding", "zstd, gzip", Buffer.from(TEXT), TypeError],
    ["that is not valid in its encoding", "gzip", Buffer.from(TEXT), Error],
    ["that is too long when decoded", "gzip", gzipSync(Buffer.alloc(10_000_000)), RangeError],
    ["that is too long", "identity", Buffer.alloc(LIMIT + 1), RangeError],
  ])("a body %s is broken", async (_why, encoding, body, cause) => {
    const url = await serve((_, response) => response.writeHead(200, { "content-encoding": encoding }).end(body));
    expect(await send(url)).toMatchObject({ kind: "broken", status: 200, cause: expect.any(cause) });
  });

  test.each<[why: string, bytes: string]>([
    ["by a length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"],
    ["by a length, with more bytes after it", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}{}"],
    ["by chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"],
    ["by the connection's end", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}"],
    ["after another head", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"],
  ])("a body that ends %s is complete", async (_why, bytes) => {
    expect(await send(await saying(bytes))).toMatchObject({ kind: "responded", text: "{}" });
  });

  test.each<[why: string, bytes: string]>([
    ["length", "HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\n{}"],
    ["chunks", "HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"],
  ])("a body that breaks off before the end of its %s is broken", async (_why, bytes) => {
    expect(await send(await saying(bytes))).toMatchObject({ kind: "broken", status: 500 });
  });
});

describe("connections", () => {
  async function connectionsOf(
    listener: RequestListener,
    server: Server = createServer({ keepAliveTimeout: 60_000 }, listener),
  ) {
    let connections = 0;
    server.on("connection", () => connections++);
    const url = new URL(await listen(server));
    const client = createHttpClient({ maxBodyBytes: LIMIT });
    for (let request = 0; request < 3; request++) {
      expect(await client({ url, headers: {}, body: "{}" })).toMatchObject({ kind: "responded" });
      await new Promise(setImmediate);
    }
    return connections;
  }

  test.each<[hint: string, connections: number]>([
    ["timeout=60", 1],
    ["timeout=30", 1],
    ["timeout=1", 3],
  ])("a server that announces %s gets %i connections for three requests", async (hint, connections) => {
    const count = await connectionsOf((request, response) => {
      request
        .resume()
        .once("end", () => response.writeHead(200, { connection: "keep-alive", "keep-alive": hint }).end());
    });
    expect(count).toBe(connections);
  });

  test("three concurrent requests use three connections", async () => {
    const waiting: (() => void)[] = [];
    const url = await serve((_, response) => {
      waiting.push(() => response.end("{}"));
      if (waiting.length === 3) for (const respond of waiting) respond();
    });
    const client = createHttpClient({ maxBodyBytes: LIMIT });
    const request = { url: new URL(url), headers: {} };
    const outcomes = await Promise.all([client(request), client(request), client(request)]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(["responded", "responded", "responded"]);
  });
});

test("a request that has ended leaves no listener on its signal", async () => {
  const { signal } = new AbortController();
  const good = await serve((_, response) => response.end("{}"));
  expect(await send(good, { signal })).toMatchObject({ kind: "responded" });
  expect(await send(await closedPort(), { signal })).toMatchObject({ kind: "no-response" });
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
