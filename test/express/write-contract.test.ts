import { once } from "node:events";
import type { Response } from "express";
import { describe, expect, test } from "vitest";
import { expectNoStrayErrors, NEWEST, openShop, type Shop } from "./shop.js";

/**
 * Runs a handler until it returns or throws, and returns its result.
 *
 * @param meanwhile - The client's part. `entered` resolves when the handler runs.
 */
async function runHandler<T>(
  express: (typeof NEWEST)[number][1],
  work: (res: Response) => Promise<T> | T,
  meanwhile: (shop: Shop, entered: Promise<void>) => Promise<unknown> = (shop) => shop.pay(),
): Promise<T> {
  const entered = createLatch();
  const finished = createLatch<Promise<T>>();
  const shop = await openShop(express, {
    handler: (_req, res) => {
      entered.open();
      finished.open((async () => work(res))());
    },
  });
  const [value] = await Promise.all([finished.opened, meanwhile(shop, entered.opened)]);
  return value;
}

function createLatch<T = void>() {
  let open = (_value: T): void => {};
  const opened = new Promise<Awaited<T>>((resolve) => {
    open = resolve as typeof open;
  });
  return { opened, open: (value: T) => open(value) };
}

/** Records each call of a callback, so that a second call is seen. */
function listing() {
  const calls: (string | undefined)[] = [];
  return { calls, callback: (error?: Error | null) => void calls.push(error?.message) };
}

describe.each(NEWEST)("on %s, a held response keeps Node's contract", (_, express) => {
  test("a handler that awaits a write's callback does not hang", async () => {
    const text = await runHandler(
      express,
      async (res) => {
        await new Promise((resolve) => res.write("a", resolve));
        await new Promise((resolve) => res.write("62", "hex", resolve));
        await new Promise<void>((resolve) => res.end("c", () => resolve()));
      },
      async (shop) => expect((await shop.pay()).text).toBe("abc"),
    );
    expect(text).toBeUndefined();
  });

  test("a handler that awaits a write's callback does not hang beyond the hold limit", async () => {
    const shop = await openShop(express, {
      options: { holdBytes: 1 },
      handler: async (_req, res) => {
        for (const text of ["ab", "cd", "ef"]) await new Promise((resolve) => res.write(text, resolve));
        res.end();
      },
    });
    expect((await shop.pay()).text).toBe("abcdef");
  });

  test("every callback is called once, after the call that brought it", async () => {
    const { calls, callback } = listing();
    await runHandler(express, async (res) => {
      res.write("a", callback);
      res.write("b", "utf8", callback);
      res.end("c", callback);
      expect(calls).toEqual([]);
      await once(res, "close");
    });
    expect(calls).toEqual([undefined, undefined, undefined]);
  });

  test("every callback is called once when the response is replaced", async () => {
    const { calls, callback } = listing();
    await runHandler(
      express,
      async (res) => {
        const closed = once(res, "close");
        res.write("a", callback);
        res.end("b", callback);
        await closed;
      },
      async (shop) => {
        shop.facilitator.failNext("rejected");
        expect(await shop.pay()).toMatchObject({ status: 402 });
      },
    );
    expect(calls).toEqual([undefined, undefined]);
  });

  test("every callback is called once when the client has disconnected", async () => {
    const { calls, callback } = listing();
    await runHandler(
      express,
      async (res) => {
        res.write("a", callback);
        await once(res, "close");
        res.write("b", callback);
        await new Promise<void>((resolve) =>
          res.end("c", () => {
            callback();
            resolve();
          }),
        );
      },
      leaveEarly,
    );
    expect(calls).toEqual([undefined, undefined, undefined]);
  });

  test("a second end and a write after it do no harm, and their callbacks get the error", async () => {
    expectNoStrayErrors();
    const { calls, callback } = listing();
    await runHandler(
      express,
      async (res) => {
        res.end("first");
        res.end("second", callback);
        res.end(callback);
        expect(res.write("third", callback)).toBe(false);
        await once(res, "close");
        res.end("fourth", callback);
        expect(res.write("fifth", callback)).toBe(false);
      },
      async (shop) => {
        expect(await shop.pay()).toMatchObject({ status: 200, text: "first" });
        expect(shop.facilitator.settled).toHaveLength(1);
        await shop.ask({ path: "/free" });
      },
    );
    expect(calls).toEqual(Array(5).fill("write after end"));
  });

  test("a second end and a write after it do no harm while the first is on its way", async () => {
    expectNoStrayErrors();
    const { calls, callback } = listing();
    const body = Buffer.alloc(16 * 1024 * 1024, "x");
    const responses: Response[] = [];
    const shop = await openShop(express, { handler: (_req, res) => void responses.push(res.send(body)) });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await line.until("PAYMENT-RESPONSE");
    line.socket.pause();
    const [res] = responses;
    expect(res?.writableFinished).toBe(false);
    expect(res?.write("more", callback)).toBe(false);
    res?.end("more", callback);
    await shop.ask({ path: "/free" });
    expect(calls).toEqual(["write after end", "write after end"]);
  });

  test("headersSent and writableEnded are true as soon as the handler has written and ended", async () => {
    const flags = await runHandler(express, (res) => {
      const seen = [[res.headersSent, res.writableEnded]];
      res.write("a");
      seen.push([res.headersSent, res.writableEnded]);
      res.end();
      seen.push([res.headersSent, res.writableEnded]);
      return seen;
    });
    expect(flags).toEqual([
      [false, false],
      [true, false],
      [true, true],
    ]);
  });

  test("changes to the head after end go nowhere", async () => {
    const shop = await openShop(express, {
      handler: (_req, res) => {
        res.set("X-Kept", "1").end("a");
        res.statusCode = 500;
        res.statusMessage = "Late";
        res.setHeader("X-Late", "1");
        res.removeHeader("X-Kept");
      },
    });
    const paid = await shop.pay();
    expect(paid).toMatchObject({ status: 200, headers: { "x-kept": "1" }, receipt: { success: true } });
    expect(paid.headers).not.toHaveProperty("x-late");
  });

  test("a second writeHead throws what Node throws", async () => {
    const code = await runHandler(express, (res) => {
      res.writeHead(200);
      const code = codeOf(() => res.writeHead(201));
      res.end();
      return [code, codeOf(() => res.writeHead(202))];
    });
    expect(code).toEqual(["ERR_HTTP_HEADERS_SENT", "ERR_HTTP_HEADERS_SENT"]);
  });

  test.each([
    ["an invalid status", "ERR_HTTP_INVALID_STATUS_CODE", (res: Response) => res.writeHead(42)],
    ["a line break in a value", "ERR_INVALID_CHAR", (res: Response) => res.writeHead(200, { "X-A": "a\r\nb: c" })],
    ["a value beyond latin-1", "ERR_INVALID_CHAR", (res: Response) => res.writeHead(200, ["X-A", "ł"])],
    ["an invalid name", "ERR_INVALID_HTTP_TOKEN", (res: Response) => res.writeHead(200, { "X A": "a" })],
    ["an invalid value", "ERR_HTTP_INVALID_HEADER_VALUE", (res: Response) => res.writeHead(200, { "X-A": undefined })],
    ["a list with a name too many", "ERR_INVALID_ARG_VALUE", (res: Response) => res.writeHead(200, ["X-A"])],
    ["a line break in the message", "ERR_INVALID_CHAR", (res: Response) => res.writeHead(200, "a\r\nb: c")],
    ["trailers of a 204", "ERR_HTTP_TRAILER_INVALID", (res: Response) => res.writeHead(204, { Trailer: "X-A" })],
    [
      "a message set by hand",
      "ERR_INVALID_CHAR",
      (res: Response) => {
        res.statusMessage = "ł";
        res.end("a");
      },
    ],
    [
      "a status set by hand",
      "ERR_HTTP_INVALID_STATUS_CODE",
      (res: Response) => {
        res.statusCode = 1000;
        res.write("a");
      },
    ],
  ])("%s fails in the handler, before any money moves", async (_case, code, write) => {
    const failures: unknown[] = [];
    const shop = await openShop(express, {
      handler: (_req, res) => {
        failures.push(codeOf(() => write(res)));
        res.statusMessage = "";
        res.status(500).end("mended");
      },
    });
    expect(await shop.pay()).toMatchObject({ status: 500, text: "mended" });
    expect(failures).toEqual([code]);
    expect(shop.facilitator.settled).toEqual([]);
  });

  test.each([
    ["write of null", (res: Response) => res.write(null)],
    ["write of a number", (res: Response) => res.write(1)],
    ["write of an object", (res: Response) => res.write({ length: 3 })],
    ["end of an object", (res: Response) => res.end({ a: 1 })],
  ])("%s throws in the handler", async (_case, write) => {
    const code = await runHandler(express, (res) => {
      const code = codeOf(() => write(res));
      res.end();
      return code;
    });
    expect(code).toBe("ERR_INVALID_ARG_TYPE");
  });

  test("the status of writeHead decides: a 500 is not charged", async () => {
    const shop = await openShop(express, { handler: (_req, res) => void res.writeHead(500).end("broken") });
    expect(await shop.pay()).toMatchObject({ status: 500, text: "broken", receipt: { errorReason: "not_charged" } });
    expect(shop.facilitator.settled).toEqual([]);
  });
});

/** Sends a paid request, and disconnects when its handler runs. */
async function leaveEarly(shop: Shop, entered: Promise<void>): Promise<void> {
  const { header } = await shop.sign();
  const line = await shop.connect(shop.request(header));
  await entered;
  line.socket.destroy();
}

function codeOf(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return (error as { readonly code?: unknown }).code;
  }
}
