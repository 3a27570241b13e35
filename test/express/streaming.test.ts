import { once } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { RequestHandler, Response } from "express";
import { describe, expect, test } from "vitest";
import { NEWEST, openShop, PRICED, type Shop, VERSIONS } from "./shop.js";

const MIB = 1024 * 1024;

/** Sends a paid request whose settlement waits. Returns the connection, and a function that lets the settlement continue. */
async function askHeld(shop: Shop) {
  const { header } = await shop.sign();
  const asked = shop.facilitator.hold("settle");
  const line = await shop.connect(shop.request(header));
  return { line, settle: await asked };
}

describe.each(VERSIONS)("on %s, before settlement", (_, express) => {
  test.each<[string, number, (res: Response) => unknown]>([
    ["a response that has ended", MIB, (res) => res.send("secret")],
    ["a response that is flushed", MIB, (res) => [res.flushHeaders(), res.write("secret")]],
    ["a response of more than is held", 8, (res) => res.write("more secrets")],
    ["the first byte, with nothing held", 0, (res) => res.write("s")],
    ["a hint", MIB, (res) => [res.writeEarlyHints({ link: "</secret.css>; rel=preload" }), res.send("secret")]],
  ])("not a byte of %s is on the wire before settlement", async (_what, holdBytes, write) => {
    const shop = await openShop(express, { options: { holdBytes }, handler: (_req, res) => void write(res) });
    const { line, settle } = await askHeld(shop);
    await shop.ask({ path: "/free" });
    expect(line.received()).toBe("");
    settle();
    expect(await line.until("PAYMENT-RESPONSE: ")).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });
});

describe.each(NEWEST)("on %s, at the hold limit", (_, express) => {
  test("a source of 200 MB is stopped at the hold limit before settlement", async () => {
    const source = createSource(200);
    const shop = await openShop(express, { handler: (_req, res) => void source.stream.pipe(res) });
    const { line, settle } = await askHeld(shop);
    await shop.ask({ path: "/free" });
    expect(source.produced()).toBeLessThan(2 * MIB);
    line.socket.destroy();
    settle();
  });

  test("a handler that waits for each write's callback is stopped at the hold limit before settlement", async () => {
    let writes = 0;
    const shop = await openShop(express, {
      options: { holdBytes: 10 },
      handler: async (_req, res) => {
        for (; writes < 100; writes++) await new Promise((resolve) => res.write("abcd", resolve));
        res.end();
      },
    });
    const { line, settle } = await askHeld(shop);
    await shop.ask({ path: "/free" });
    expect(writes).toBe(2);
    settle();
    await line.until("0\r\n\r\n");
    expect(writes).toBe(100);
  });

  test("a response of the hold limit is not yet settled, and one byte more is", async () => {
    const shop = await openShop(express, { options: { holdBytes: 4 }, handler: writeThenWait("abcd") });
    const more = await openShop(express, { options: { holdBytes: 4 }, handler: writeThenWait("abcde") });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));

    const { line: moreLine, settle } = await askHeld(more);
    settle();
    await moreLine.until("abcde");
    expect(line.received()).toBe("");
    expect(shop.facilitator.settled).toEqual([]);
  });
});

describe.each(NEWEST)("on %s, after settlement", (_, express) => {
  test("a response is live after settlement: each chunk arrives before the next is written", async () => {
    const chunks = ["first", "second", "third"];
    const responses: Response[] = [];
    const shop = await openShop(express, {
      options: { holdBytes: 0 },
      handler: (_req, res) => {
        responses.push(res);
        res.write("opening");
      },
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await line.until("opening");
    for (const chunk of chunks) {
      responses[0]?.write(chunk);
      await line.until(chunk);
    }
    responses[0]?.end("last");
    expect(await line.until("0\r\n\r\n")).toContain("last");
  });

  test.each<[string, readonly string[]]>([
    ["one write", ["data: 1\n\n"]],
    ["a field in two writes", [": hello\n\n", "event: a\nda", "ta: 1\n\n"]],
    ["a line in single bytes", [..."\uFEFFdata: 1\n"]],
    ["lines that end with a carriage return", ["id: 1\r", "data\r"]],
  ])("an event stream begins with the first event, in %s", async (_how, texts) => {
    const shop = await openShop(express, {
      handler: (_req, res) => {
        res.writeHead(200, { "Content-Type": "text/event-stream" });
        for (const text of texts) res.write(text);
      },
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    expect(await line.until("\r\n\r\n")).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test("a compressed event stream begins with its first bytes", async () => {
    const shop = await openShop(express, {
      handler: (_req, res) => {
        res.writeHead(200, { "Content-Type": "text/event-stream", "Content-Encoding": "gzip" });
        res.write("compressed");
      },
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await line.until("compressed");
  });

  test("a source of 64 MB waits after settlement for a client that does not read, and then arrives whole", async () => {
    const source = createSource(64);
    const buffered: number[] = [];
    const shop = await openShop(express, {
      handler: (_req, res) => {
        source.stream.on("data", () => buffered.push(res.writableLength));
        source.stream.pipe(res);
      },
    });
    const { line, settle } = await askHeld(shop);
    line.socket.pause();
    const stalled = once(source.stream, "pause");
    settle();
    await stalled;
    await shop.ask({ path: "/free" });
    // The kernel has buffered a part; the rest has not been produced.
    expect(source.produced()).toBeLessThan(32 * MIB);

    line.socket.removeAllListeners("data");
    let received = 0;
    line.socket.on("data", (data: string) => {
      received += data.length;
    });
    line.socket.resume();
    while (received < 64 * MIB) await once(line.socket, "data");
    expect(Math.max(...buffered)).toBeLessThan(2 * MIB);
  });

  test.each([
    ["before settlement", false],
    ["after it", true],
  ])("drain of a write %s that the client does not read comes when it does", async (_when, isLate) => {
    const full = createSignal();
    const drained = createSignal();
    const shop = await openShop(express, {
      options: { holdBytes: 0 },
      handler: async (_req, res) => {
        if (isLate) await new Promise((resolve) => res.write("opening", resolve));
        // More than any kernel buffers.
        expect(res.write(Buffer.alloc(32 * MIB))).toBe(false);
        full.give();
        await once(res, "drain");
        drained.give();
        res.end();
      },
    });
    const { line, settle } = await askHeld(shop);
    line.socket.pause();
    settle();
    await full.given;
    // Twice, so that all work that is due has been done.
    await shop.ask({ path: "/free" });
    await shop.ask({ path: "/free" });
    expect(drained.isGiven()).toBe(false);
    line.socket.resume();
    await drained.given;
  });

  test.each([0, MIB])("one end of 16 MB arrives whole, with %i bytes held", async (holdBytes) => {
    const body = Buffer.alloc(16 * MIB, "0123456789");
    const shop = await openShop(express, { options: { holdBytes }, handler: (_req, res) => void res.end(body) });
    const paid = await shop.pay();
    expect(paid.headers["content-length"]).toBe(String(body.length));
    expect(paid.body.equals(body)).toBe(true);
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test.each([0, 1, 6, 7, 1000])("small chunks of a pipe arrive whole, with %i bytes held", async (holdBytes) => {
    const words = Array.from({ length: 50 }, (_unused, at) => `word ${at},`);
    const shop = await openShop(express, {
      options: { holdBytes },
      handler: async (_req, res) => pipeline(Readable.from(words, { objectMode: false }), res),
    });
    expect((await shop.pay()).text).toBe(words.join(""));
  });

  test.each(["GET", "HEAD"])("a pipe beyond the hold limit comes to its end for %s", async (method) => {
    const blocks = Array.from({ length: 20 }, () => Buffer.alloc(30_000, "x"));
    const ended = createSignal();
    const shop = await openShop(express, {
      routes: { "/paid": PRICED },
      options: { holdBytes: 0 },
      handler: (_req, res) =>
        void Readable.from(blocks).on("end", ended.give).pipe(res.set("Content-Length", "600000")),
    });
    expect((await shop.pay({ method })).body).toHaveLength(method === "GET" ? 600_000 : 0);
    await ended.given;
  });

  test("a handler that waits for drain goes on when its response is replaced", async () => {
    const went = createSignal();
    const shop = await openShop(express, {
      options: { holdBytes: 0 },
      handler: async (_req, res) => {
        expect(res.write(Buffer.alloc(MIB))).toBe(false);
        await once(res, "drain");
        went.give();
      },
    });
    shop.facilitator.failNext("rejected");
    expect((await shop.pay()).status).toBe(402);
    await went.given;
  });
});

/** Writes, and ends only when the client has disconnected. */
function writeThenWait(text: string): RequestHandler {
  return (_req, res) => {
    res.once("close", () => res.end());
    res.write(text);
  };
}

/** A stream that produces as many bytes as are asked for, and counts them. */
function createSource(megabytes: number) {
  let produced = 0;
  const block = Buffer.alloc(65536, "x");
  const stream = new Readable({
    read() {
      if (produced < megabytes * MIB) this.push(block);
      else this.push(null);
      produced += block.length;
    },
  });
  return { stream, produced: () => produced };
}

function createSignal() {
  let isGiven = false;
  let resolve = (): void => {};
  const given = new Promise<void>((resolveGiven) => {
    resolve = resolveGiven;
  });
  const give = () => {
    isGiven = true;
    resolve();
  };
  return { given, give, isGiven: () => isGiven };
}
