import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Fetched, fetchGuarded, lookupLocal, type Network } from "./guarded-fetch.js";

/** Of requests that come to an end by themselves, however busy the machine is. */
const LIMIT_MS = 60_000;

/** Of requests that nothing else ends. */
const SHORT_MS = 50;

const TOO_LATE = "did not respond in time";

async function open(server: ReturnType<typeof createServer>): Promise<URL> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => sockets.add(socket.on("error", () => {})));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/sold`);
}

function get(url: URL, network: Partial<Network> = {}): Promise<Fetched> {
  const { signal } = new AbortController();
  const target = { method: "GET", url, status: 402, maxBytes: 1_000 };
  const any = { allowLocal: true, lookup: lookupLocal, takeAddress: () => true, timeLimitMs: LIMIT_MS, signal };
  return fetchGuarded(target, { ...any, ...network });
}

describe("a response", () => {
  const CASES: readonly (readonly [string, RequestListener, Partial<Extract<Fetched, { ok: true }>>])[] = [
    [
      "is read with its header and body",
      (_req, res) => void res.writeHead(402, { "payment-required": "e30=" }).end("{}"),
      { status: 402, paymentRequired: "e30=", body: "{}" },
    ],
    [
      "that redirects is not followed",
      (req, res) =>
        void (req.url === "/sold" ? res.writeHead(302, { location: "/" }).end() : res.writeHead(402).end("x")),
      { status: 302, body: undefined },
    ],
    [
      "that is too long has no body",
      (_req, res) => void res.writeHead(402).end("x".repeat(1_001)),
      { body: undefined },
    ],
    [
      "that never ends has no body",
      (_req, res) => {
        res.writeHead(402);
        const write = (): void => void (res.write("x".repeat(500)) && setImmediate(write));
        write();
      },
      { status: 402, body: undefined },
    ],
    [
      "that is compressed is not decompressed",
      (_req, res) => void res.writeHead(402, { "content-encoding": "gzip" }).end(gzipSync("x".repeat(500))),
      { status: 402, body: undefined },
    ],
    [
      "with another status has no body",
      (_req, res) => void res.writeHead(200).end("{}"),
      { status: 200, body: undefined },
    ],
  ];
  test.each(CASES)("%s", async (_name, listener, expected) => {
    expect(await get(await open(createHttpServer(listener)))).toMatchObject({ ok: true, ...expected });
  });
});

describe("a server", () => {
  const CASES: readonly (readonly [string, (socket: Socket) => void, string])[] = [
    ["closes at once", (socket) => socket.destroy(), "cannot be reached"],
    [
      "closes in the middle of its response",
      (socket) => socket.end("HTTP/1.1 402 Payment Required\r\nContent-Length: 9\r\n\r\n{"),
      "cannot be reached",
    ],
    ["speaks no HTTP", (socket) => socket.end("220 smtp.example.com ESMTP\r\n"), "cannot be reached"],
    [
      "switches protocols",
      (socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
      "cannot be reached",
    ],
    [
      "sends headers without end",
      (socket) => socket.write(`HTTP/1.1 402 Payment Required\r\nX: ${"x".repeat(70_000)}`),
      "cannot be reached",
    ],
    [
      "sends interim responses without end",
      (socket) => socket.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(5_000)),
      "cannot be reached",
    ],
    ["says nothing", () => {}, TOO_LATE],
    [
      "is slow with its body",
      (socket) => socket.write("HTTP/1.1 402 Payment Required\r\nContent-Length: 9\r\n\r\n{"),
      TOO_LATE,
    ],
  ];
  test.concurrent.for(CASES)("that %s is given up", async ([, respond, problem], { expect }) => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => respond(socket));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/sold`);
    const timeLimitMs = problem === TOO_LATE ? SHORT_MS : LIMIT_MS;
    expect(await get(url, { timeLimitMs })).toEqual({ ok: false, problem });
    server.close();
  });

  test("is reached by name, at the first of its addresses that works", async () => {
    const url = await open(createHttpServer((_req, res) => void res.writeHead(402).end("{}")));
    const lookup = async () => ["127.0.0.2", "127.0.0.1"];
    expect(await get(new URL(`http://shop.example:${url.port}/`), { lookup })).toMatchObject({ ok: true, body: "{}" });
  });

  test("that nobody runs is given up", async () => {
    expect(await get(new URL("http://127.0.0.1:1/"))).toEqual({ ok: false, problem: "cannot be reached" });
  });
});

describe("without allowLocal", () => {
  const PRIVATE = [
    ...["0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.168.0.1", "198.18.0.1"],
    ...["192.0.2.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "255.255.255.255"],
    ...["::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::7f00:1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1"],
    ...["2001::1", "2001:db8::1", "2002:7f00:1::", "fc00::1", "fd12::1", "fe80::1", "fec0::1", "ff02::1"],
  ];
  test.each(PRIVATE)("the private address %s is refused, in a URL and after DNS", async (address) => {
    const refused = { ok: false, problem: "has a private address" };
    const literal = new URL(`https://${address.includes(":") ? `[${address}]` : address}/`);
    expect(await get(literal, { allowLocal: false })).toEqual(refused);
    const named = new URL("https://api.example.com/");
    for (const found of [[address], ["93.184.215.14", address]]) {
      expect(await get(named, { allowLocal: false, lookup: async () => found })).toEqual(refused);
    }
  });

  test("the name of this machine and http are refused", async () => {
    const asked: string[] = [];
    const lookup = async (name: string) => {
      asked.push(name);
      return ["93.184.215.14"];
    };
    const refused = ["https://localhost/", "https://db.internal/", "https://2130706433/", "http://api.example.com/"];
    for (const url of refused) {
      expect(await get(new URL(url), { allowLocal: false, lookup })).toMatchObject({ ok: false });
    }
    expect(asked).toEqual([]);
  });

  test("the socket connects only to the addresses that were checked", async () => {
    let asked = 0;
    const server = createServer();
    const url = await open(server);
    let connections = 0;
    server.on("connection", () => {
      connections += 1;
    });
    // The second query would lead to this machine.
    const lookup = async () => [asked++ === 0 ? "192.0.0.8" : "127.0.0.1"];
    const target = new URL(`https://rebind.example.com:${url.port}/`);
    expect(await get(target, { allowLocal: false, lookup })).toMatchObject({ ok: false });
    expect([asked, connections]).toEqual([1, 0]);
  });

  test("a host without an address, and a lookup that fails, are given up", async () => {
    const lookups = [async () => [], async () => ["not an address"], async () => Promise.reject(new Error("SERVFAIL"))];
    for (const lookup of lookups) {
      expect(await get(new URL("https://api.example.com/"), { allowLocal: false, lookup })).toEqual({
        ok: false,
        problem: "cannot be reached",
      });
    }
    const never = () => new Promise<never>(() => {});
    const network = { allowLocal: false, lookup: never, timeLimitMs: SHORT_MS };
    expect(await get(new URL("https://api.example.com/"), network)).toEqual({ ok: false, problem: TOO_LATE });
  });
});

test("a request carries no credentials, no body, and no words of a stranger", async () => {
  const seen = new Promise<object>((resolve) => {
    const server = createHttpServer((req, res) => {
      resolve({ ...req.headers, method: req.method });
      res.end();
    });
    void open(server).then((url) => {
      const { signal } = new AbortController();
      const takeAddress = () => true;
      const network = { allowLocal: true, lookup: lookupLocal, takeAddress, timeLimitMs: LIMIT_MS, signal };
      void fetchGuarded({ method: "POST", url, status: 402, maxBytes: 10 }, network);
    });
  });
  expect(await seen).toEqual({
    method: "POST",
    accept: "application/json",
    "accept-encoding": "identity",
    "content-length": "0",
    "user-agent": "farebox-catalog",
    host: expect.stringMatching(/^127/),
    connection: "close",
  });
});
