import { createHash } from "node:crypto";
import { once } from "node:events";
import { Agent } from "node:http";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import express, { type Request, type RequestHandler } from "express";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { MAX_BODY_BYTES, MAX_UNVERIFIED_BYTES } from "./body-room.js";
import {
  chunked,
  digesting,
  fingerprint,
  head,
  open,
  post,
  postWhole,
  reading,
  serve,
  serveToTest,
  tell,
  until,
  VERSIONS,
} from "./request-body.fixture.js";
import { digestBody } from "./request-body.js";

const JSON_BODY = '{"b":[1,2,{"c":null}],"a":"é"}';
const TYPES = { json: "application/json", text: "text/plain", form: "application/x-www-form-urlencoded" };

const seed = Math.floor(Date.now() / 86_400_000);

/** Everything that a digest could leave on a request. */
function traces(req: Request): object {
  return {
    push: Object.hasOwn(req, "push"),
    close: [req.listenerCount("close"), req.res?.listenerCount("close")],
    others: req.eventNames().filter((name) => name !== "close"),
    flowing: req.readableFlowing,
    didRead: req.readableDidRead,
  };
}

/** The expected digest of bytes from the connection. */
function wire(body: string | Uint8Array): string {
  return createHash("sha256").update("wire:").update(body).digest("base64url");
}

/** A few small pieces, then large ones, as many small ones are a case of their own. */
function piecesOf(body: string): string[] {
  return [...body.slice(0, 500).split(/(?<=\W)/), ...(body.slice(500).match(/[\s\S]{1,9000}/g) ?? [])];
}

/** A body without repetitions, so that no chunk equals another. */
function bytesOf(size: number): Buffer {
  const body = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += 4) body.writeUInt32LE(at, at);
  return body;
}

describe.each(VERSIONS)("on %s, a reader behind the digest", (_name, version) => {
  const sendBack: RequestHandler = (req, res) => tell(res, req.body);
  const asJson: RequestHandler = (req, res) => tell(res, JSON.stringify(req.body));
  const readers: [reader: string, type: string, body: string, handlers: RequestHandler[]][] = [
    ["the JSON parser", TYPES.json, JSON_BODY, [version.json(), asJson]],
    ["the raw parser", TYPES.json, JSON_BODY, [version.raw({ type: "*/*" }), sendBack]],
    ["the text parser", TYPES.text, "long é".repeat(9000), [version.text(), sendBack]],
    ["the form parser", TYPES.form, "a=1&b=%C3%A9", [version.urlencoded({ extended: false }), readForm]],
    ["a loop", TYPES.text, "long é".repeat(50_000), [reading]],
    ["a pipe", TYPES.text, "long é".repeat(50_000), [readPipe]],
    ["a listener", TYPES.text, "long é".repeat(50_000), [readEvents]],
    ["a listener for what is readable", TYPES.text, "long é".repeat(50_000), [readReadable]],
  ];

  test.each(readers)("%s reads the body behind the digest", async (_reader, type, body, handlers) => {
    const port = await serve(version, digesting, ...handlers);
    const whole = await postWhole(port, body, { "Content-Type": type });
    const inChunks = await post(port, piecesOf(body), { headers: { "Content-Type": type } });
    expect(whole).toEqual({ digest: wire(body), read: fingerprint(body) });
    expect(inChunks).toEqual(whole);
  });

  test.each(readers)("%s reads a body that had arrived before the digest", async (_reader, type, body, handlers) => {
    const port = await serve(version, arrivedFirst, digesting, ...handlers);
    expect(await postWhole(port, body, { "Content-Type": type })).toEqual({
      digest: wire(body),
      read: fingerprint(body),
    });
  });

  test("a reader gets the body that a parser in front of the digest has left alone", async () => {
    const port = await serve(version, version.json(), digesting, reading);
    expect(await postWhole(port, "abc", { "Content-Type": "multipart/form-data" })).toEqual({
      digest: wire("abc"),
      read: fingerprint("abc"),
    });
  });

  test("fetch forwards the body, which it refuses to do once reading has begun", async () => {
    const behind = await serve(version, reading);
    const port = await serve(version, arrivedFirst, digesting, async (req, res) => {
      const options = { method: "POST", body: req, duplex: "half" };
      const response = await fetch(`http://127.0.0.1:${behind}`, options as unknown as RequestInit);
      const { read } = (await response.json()) as { read: string };
      res.json({ digest: res.locals["digest"], read });
    });
    const body = bytesOf(300_000);
    expect(await postWhole(port, body)).toEqual({ digest: wire(body), read: fingerprint(body) });
  });

  test("the next request on the connection is served when nothing reads the body", async () => {
    const port = await serve(version, digesting, (_req, res) => tell(res, ""));
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    for (const size of [1, 100_000, 5_000_000, 2]) {
      const body = bytesOf(size);
      const { digest } = await post(port, [body], { agent, headers: { "Content-Length": size } });
      expect(digest).toBe(wire(body));
    }
  });

  function readForm(...[req, res]: Parameters<RequestHandler>): void {
    tell(res, new URLSearchParams(req.body).toString());
  }
  async function readPipe(...[req, res]: Parameters<RequestHandler>): Promise<void> {
    tell(res, await buffer(req.pipe(new PassThrough())));
  }
  function readEvents(...[req, res]: Parameters<RequestHandler>): void {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk)).on("end", () => tell(res, Buffer.concat(chunks)));
  }
  function readReadable(...[req, res]: Parameters<RequestHandler>): void {
    const chunks: Buffer[] = [];
    req.on("readable", () => {
      for (let chunk = req.read(); chunk !== null; chunk = req.read()) chunks.push(chunk);
    });
    req.on("end", () => tell(res, Buffer.concat(chunks)));
  }
});

/** Passes on when the body has arrived, or as much of it as Node reads ahead. */
const arrivedFirst: RequestHandler = async (req, _res, next) => {
  await until(() => req.complete || req.readableLength >= req.readableHighWaterMark);
  next();
};

describe("the digest", () => {
  test.each([
    ["no length", []],
    ["a length of nothing", ["Content-Length: 0"]],
  ])("the digest is empty at once, and the request untouched, with %s", async (_case, headers) => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(head(...headers));
    const req = await next();
    const before = traces(req);
    expect(digestBody(req)).toBe("");
    expect(traces(req)).toEqual(before);
  });

  test("the digest leaves no trace on the request", async () => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(head("Content-Length: 6"));
    const req = await next();
    const before = traces(req);
    const digest = digestBody(req);
    expect(digestBody(req)).toBe(digest);
    socket.write("abc");
    await until(() => req.readableLength === 3);
    socket.write("def");
    expect(await digest).toBe(wire("abcdef"));
    expect(traces(req)).toEqual(before);
    expect(digestBody(req)).toBe(digest);
  });

  test("the digest is there at once when the body has arrived", async () => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(`${head("Content-Length: 6")}abcdef`);
    const req = await next();
    await until(() => req.complete);
    const before = traces(req);
    expect(digestBody(req)).toBe(wire("abcdef"));
    expect(traces(req)).toEqual(before);
  });

  test("the digest does not depend on how the body is cut into chunks, or on when it arrives", async () => {
    const port = await serve(express, digesting, reading);
    const late = await serve(express, arrivedFirst, digesting, reading);
    const same = { digest: wire("abcdef"), read: fingerprint("abcdef") };
    expect(await postWhole(port, "abcdef")).toEqual(same);
    expect(await post(port, [..."abcdef"])).toEqual(same);
    expect(await postWhole(late, "abcdef")).toEqual(same);
    expect(await post(late, [..."abcdef"])).toEqual(same);
    expect(await postWhole(port, "abcdeg")).not.toMatchObject({ digest: same.digest });
  });

  test("the digest of 20,000 chunks of one byte is that of the whole", async () => {
    const port = await serve(express, digesting, reading);
    const body = bytesOf(20_000);
    const pieces = Array.from(body, (_byte, at) => body.subarray(at, at + 1));
    expect(await post(port, pieces)).toEqual({ digest: wire(body), read: fingerprint(body) });
  });

  test("the digest of an empty chunked body is that of no bytes, early or late", async () => {
    const port = await serve(express, digesting, reading);
    const late = await serve(express, arrivedFirst, digesting, reading);
    expect(await post(port, [])).toEqual({ digest: wire(""), read: fingerprint("") });
    expect(await post(late, [])).toEqual({ digest: wire(""), read: fingerprint("") });
  });

  test("the digest leaves the trailers to the handler", async () => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(`${head("Transfer-Encoding: chunked", "Trailer: Sum")}${chunked("ab", "c")}`);
    const req = await next();
    const digest = digestBody(req);
    socket.write("0\r\nSum: 6\r\n\r\n");
    expect(await digest).toBe(wire("abc"));
    expect(String(await buffer(req))).toBe("abc");
    expect(req.trailers).toEqual({ sum: "6" });
  });

  test("the digest sends 100 Continue to a client that waits for it", async () => {
    const port = await serve(express, digesting, reading);
    const socket = await open(port);
    socket.write(head("Content-Length: 3", "Expect: 100-continue", "Connection: close"));
    const [first] = await once(socket, "data");
    expect(String(first)).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write("abc");
    expect(String(await buffer(socket))).toContain(JSON.stringify({ digest: wire("abc"), read: fingerprint("abc") }));
  });

  test("the digests of pipelined requests are their own", async () => {
    const port = await serve(express, digesting, reading);
    const socket = await open(port);
    const second = `${head("Transfer-Encoding: chunked")}${chunked("de", "f")}0\r\n\r\n`;
    const third = `${head("Content-Length: 2", "Connection: close")}gh`;
    socket.write(`${head("Content-Length: 3")}abc${second}${third}`);
    const responses = String(await buffer(socket));
    const seen = [...responses.matchAll(/\{.*\}/g)].map(([json]) => JSON.parse(json));
    const bodies = ["abc", "def", "gh"];
    expect(seen).toEqual(bodies.map((body) => ({ digest: wire(body), read: fingerprint(body) })));
  });

  test("the digest covers chunks that flow to a listener added before", async () => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(`${head("Content-Length: 6")}abc`);
    const req = await next();
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    const ended = once(req, "end");
    const digest = digestBody(req);
    socket.write("def");
    expect(await digest).toBe(wire("abcdef"));
    await ended;
    expect(String(Buffer.concat(chunks))).toBe("abcdef");
  });

  test("the digest calls a `push` that other middleware had replaced, and restores it", async () => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(head("Content-Length: 3"));
    const req = await next();
    const { push } = req;
    const theirs: typeof push = (...args) => push.apply(req, args);
    req.push = theirs;
    const digest = digestBody(req);
    socket.write("abc");
    expect(await digest).toBe(wire("abc"));
    expect(req.push).toBe(theirs);
    expect(String(await buffer(req))).toBe("abc");
  });

  test("the digest leaves a `push` that other middleware has put over ours", async () => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(head("Transfer-Encoding: chunked"));
    const req = await next();
    const digest = digestBody(req);
    const ours = req.push;
    const theirs: typeof ours = (...args) => ours.apply(req, args);
    req.push = theirs;
    const body = "x".repeat(1_000_000);
    socket.write(`${chunked(body)}${chunked("end")}0\r\n\r\n`);
    expect(await digest).toBe(wire(`${body}end`));
    expect(req.push).toBe(theirs);
    expect(String(await buffer(req))).toBe(`${body}end`);
  });
});

describe("a large body", () => {
  test.each([
    ["of a megabyte", 1_048_577],
    ["of exactly the limit", MAX_BODY_BYTES],
  ])("a body %s counts to its last byte", async (_size, size) => {
    const port = await serve(express, digesting, reading);
    const body = bytesOf(size);
    const read = fingerprint(body);
    expect(await postWhole(port, body)).toEqual({ digest: wire(body), read });
    body[size - 1] = 255;
    expect(await post(port, [body])).toEqual({ digest: wire(body), read: fingerprint(body) });
  });

  test("a body beyond the limit has no digest, declared or not", async () => {
    const port = await serve(express, digesting, reading);
    const body = bytesOf(MAX_BODY_BYTES + 1);
    expect(await postWhole(port, body)).toMatchObject({ digest: { problem: "too_large" } });
    expect(await post(port, [body])).toMatchObject({ digest: { problem: "too_large" } });
  });

  test("a body that declares to be beyond the limit has no digest at once", async () => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(`${head(`Content-Length: ${MAX_BODY_BYTES + 1}`)}abc`);
    expect(digestBody(await next())).toEqual({ problem: "too_large" });
  });

  test("bodies that are not complete share their memory, and give it back", async () => {
    const { port, next } = await serveToTest();
    const size = MAX_BODY_BYTES - 1;
    const begin = async () => {
      const socket = await open(port);
      socket.write(head("Content-Length: 16777216"));
      socket.write(Buffer.alloc(size));
      const req = await next();
      return { req, socket, digest: digestBody(req) };
    };
    const first = await Promise.all(Array.from({ length: MAX_UNVERIFIED_BYTES / MAX_BODY_BYTES }, begin));
    await until(() => first.every(({ req }) => req.readableLength === size));
    const late = await begin();
    expect(await late.digest).toEqual({ problem: "busy" });
    // What Node reads ahead by itself needs no room.
    const small = await open(port);
    small.write(head("Content-Length: 6"));
    const digest = next().then(digestBody);
    small.write("abcdef");
    expect(await digest).toBe(wire("abcdef"));
    for (const { socket } of [...first, late]) socket.destroy();
    expect(await Promise.all(first.map(({ digest }) => digest))).toEqual(first.map(() => undefined));
    await until(() => first.every(({ req }) => req.closed));
    const again = await begin();
    again.socket.write("x");
    expect(await again.digest).toBe(wire(Buffer.concat([Buffer.alloc(size), Buffer.from("x")])));
  });
});

describe("a client that disconnects", () => {
  test.each([
    ["resets", (socket: Awaited<ReturnType<typeof open>>) => void socket.resetAndDestroy()],
    ["ends", (socket: Awaited<ReturnType<typeof open>>) => void socket.end()],
  ])("a client that %s the connection midway leaves no digest", async (_how, act) => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(`${head("Content-Length: 6")}abc`);
    const req = await next();
    const before = traces(req);
    const digest = digestBody(req);
    await until(() => req.readableLength === 3);
    act(socket);
    expect(await digest).toBeUndefined();
    expect(traces(req)).toEqual(before);
    expect(digestBody(req)).toBe(digest);
  });

  test("a client that has disconnected leaves no digest, at once", async () => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(`${head("Content-Length: 3")}abc`);
    const req = await next();
    socket.resetAndDestroy();
    await until(() => req.destroyed);
    expect(digestBody(req)).toBeUndefined();
  });

  test("a client that disconnects leaves no digest of its incomplete pipelined requests", async () => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(`${head("Content-Length: 3")}abc${head("Content-Length: 6")}abc`);
    const [first, second] = [await next(), await next()];
    const digests = [digestBody(first), digestBody(second)];
    socket.resetAndDestroy();
    expect(await Promise.all(digests)).toEqual([wire("abc"), undefined]);
  });

  test.each([
    ["before", async (req: Request) => void (await once(req.res!.end(), "close"))],
    ["just before", (req: Request) => void req.res?.end()],
    ["while", (req: Request) => void process.nextTick(() => req.res?.end())],
  ])("a response sent %s the digest is taken leaves none", async (_when, respond) => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(`${head("Content-Length: 6")}abc`);
    const req = await next();
    await respond(req);
    expect(await digestBody(req)).toBeUndefined();
    expect(Object.hasOwn(req, "push")).toBe(false);
    socket.write(`def${head("Content-Length: 1")}x`);
    expect(await digestBody(await next())).toBe(wire("x"));
  });
});

describe("a body that was read before", () => {
  const hashOf = (kind: string, bytes: string | Uint8Array) =>
    createHash("sha256").update(`${kind}:`).update(bytes).digest("base64url");
  const keepRaw: RequestHandler = express.json({
    verify: (req, _res, bytes) => Object.assign(req, { rawBody: bytes }),
  });
  const leave =
    (left: object): RequestHandler =>
    async (req, _res, next) => {
      for await (const _chunk of req);
      Object.assign(req, left);
      next();
    };

  const NOT_KEPT = { problem: "not_kept" };
  const NO_TEXT = { problem: "no_text" };

  test.each<[string, RequestHandler, string | object]>([
    ["JSON, by its values", express.json(), hashOf("json", '{"a":"é","b":[1,2,{"c":null,},],}')],
    ["JSON whose bytes were kept, by these", keepRaw, hashOf("raw", JSON_BODY)],
    ["bytes", express.raw({ type: "*/*" }), hashOf("bytes", JSON_BODY)],
    ["text", express.text({ type: "*/*" }), hashOf("text", JSON_BODY)],
    ["nothing", leave({}), NOT_KEPT],
    ["a list nested too deeply", leave({ body: JSON.parse("[".repeat(202) + "]".repeat(202)) }), NO_TEXT],
    ["a form whose fields are elsewhere", leave({ body: new URLSearchParams("a=1") }), NO_TEXT],
    ["null", leave({ body: null }), hashOf("json", "null")],
    ["a number", leave({ body: 5 }), hashOf("json", "5")],
    ["a rawBody of text, which does not count", leave({ rawBody: "a", body: 5 }), hashOf("json", "5")],
    ["a value without text", leave({ body: { toJSON: () => Reflect.get(0 as never, "no") } }), NO_TEXT],
    ["decoded text that is still unread", (req, _res, next) => next(void req.setEncoding("utf8")), NOT_KEPT],
  ])("a body that was read before is recognized by what is left of it: %s", async (_case, before, digest) => {
    const port = await serve(express, before, digesting, (_req, res) => tell(res, ""));
    const headers = { "Content-Type": TYPES.json };
    expect(await postWhole(port, JSON_BODY, headers)).toMatchObject({ digest });
    expect(await post(port, [...JSON_BODY], { headers })).toMatchObject({ digest });
  });

  test("a body behind properties that throw has no digest", async () => {
    const port = await serve(
      express,
      leave({}),
      (req, _res, next) => {
        Object.defineProperty(req, "rawBody", {
          get() {
            throw new Error("no");
          },
        });
        next();
      },
      digesting,
      (_req, res) => tell(res, ""),
    );
    expect(await postWhole(port, "a")).toMatchObject({ digest: NO_TEXT });
  });

  test("parsed JSON has the same digest in any order of its keys, and another with another value", async () => {
    const port = await serve(express, express.json(), digesting, (_req, res) => tell(res, ""));
    const ask = async (json: string) => (await postWhole(port, json, { "Content-Type": TYPES.json })).digest;
    const digest = await ask('{"a":1,"b":{"c":2,"d":3}}');
    expect(await ask('{ "b": {"d":3,"c":2}, "a": 1.0 }')).toBe(digest);
    expect(await ask('{"a":1,"b":{"c":2,"d":4}}')).not.toBe(digest);
  });

  test("parsed bytes count to the last, however many", async () => {
    const raw = express.raw({ type: "*/*", limit: "20mb" });
    const port = await serve(express, raw, digesting, (_req, res) => tell(res, ""));
    const body = bytesOf(MAX_BODY_BYTES + 4);
    const digest = hashOf("bytes", body);
    expect(await postWhole(port, body, { "Content-Type": TYPES.text })).toMatchObject({ digest });
  });

  test.each(VERSIONS)(
    "on %s, a parser that leaves files or everything out leaves no digest",
    async (_name, version) => {
      const fields = Object.assign(Object.create(null), { title: "a" });
      for (const [type, body] of [
        ["multipart/form-data; boundary=x", fields],
        ["application/octet-stream", {}],
      ]) {
        const port = await serve(version, leave({ body }), digesting, (_req, res) => tell(res, ""));
        expect(await postWhole(port, "alpha", { "Content-Type": type })).toMatchObject({ digest: NOT_KEPT });
      }
    },
  );

  test("an empty object that Express 4's parser left where it parsed nothing is no body", async () => {
    const [, [, express4]] = VERSIONS as [never, (typeof VERSIONS)[number]];
    const port = await serve(express4, express4.json(), leave({}), digesting, (_req, res) => tell(res, ""));
    expect(await postWhole(port, "alpha", { "Content-Type": "text/plain" })).toMatchObject({ digest: NOT_KEPT });
    expect(await postWhole(port, "{}", { "Content-Type": TYPES.json })).toMatchObject({ digest: hashOf("json", "{}") });
  });

  test("a request of an adapter whose body has no length is recognized by the body it was given", async () => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(head("Transfer-Encoding: chunked"));
    const req = await next();
    Object.assign(req, { complete: true, body: Buffer.from("abc") });
    expect(digestBody(req)).toBe(hashOf("bytes", "abc"));
  });

  test("a request that was never on a connection is recognized by the body it was given", async () => {
    const { port, next } = await serveToTest();
    const socket = await open(port);
    socket.write(head("Content-Length: 3"));
    const req = await next();
    Object.assign(req, { complete: true, body: Buffer.from("abc") });
    expect(digestBody(req)).toBe(hashOf("bytes", "abc"));
  });
});

interface Sending {
  readonly size: number;
  readonly places: readonly number[];
  readonly isDeclared: boolean;
  readonly isLate: boolean;
}

describe(`with seed ${seed}`, () => {
  const border = (size: number) => fc.integer({ min: size - 2, max: size + 2 });
  const sizes = fc.oneof(fc.integer({ min: 1, max: 300 }), border(16_384), border(65_536), border(1_048_576));
  const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 });
  const sending = fc.record({ size: sizes, places: cuts, isDeclared: fc.boolean(), isLate: fc.boolean() });

  test("bodies of any size, cut anywhere, are read as they were sent", async () => {
    const port = await serve(express, digesting, reading);
    const late = await serve(express, arrivedFirst, digesting, reading);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const isReadAsSent = async ({ size, places, isDeclared, isLate }: Sending) => {
      const body = bytesOf(size);
      const pieces = cut(body, places);
      const headers = isDeclared ? { "Content-Length": size } : {};
      const seen = await post(isLate ? late : port, pieces, { headers, agent });
      expect(seen).toEqual({ digest: wire(body), read: fingerprint(body) });
    };
    await fc.assert(fc.asyncProperty(sending, isReadAsSent), { seed, numRuns: 30 });
  });

  function cut(body: Buffer, places: readonly number[]): Buffer[] {
    const ends = places.map((place) => Math.floor(place * body.length)).sort((a, b) => a - b);
    return [...ends, body.length].map((end, at) => body.subarray(ends[at - 1] ?? 0, end));
  }
});
