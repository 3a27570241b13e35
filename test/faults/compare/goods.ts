/**
 * What is sold in the comparison: handlers as sellers write them.
 *
 * @module
 */
import { once } from "node:events";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import type { RequestHandler, Response } from "express";

/** What the seller's process knows of itself. */
export interface Floor {
  /** Requests that brought a payment. */
  paidRequests: number;
  /** Bytes that the large answer's source has made. */
  produced: number;
  /** Tells the other process that the handler is at work, or has answered. */
  tell(event: "working" | "answered"): void;
  /** The library's `setSettlementOverrides`: how much is charged of what the payer has signed for. */
  charge(res: Response, overrides: { readonly amount: string }): void;
}

/** So many copies of one payment are sent at once. */
export const COPIES = 10;

/** Of the large answer. */
export const LARGE_BYTES = 200 * 1024 * 1024;

/** Between two of five events. */
const PAUSE_MS = 500;

/** What one of them costs where they are charged one by one. */
export const EVENT_UNITS = 1000;

/** How many megabytes are charged one by one, and what each costs. */
export const MEGABYTES = 64;
export const MEGABYTE_UNITS = 100;

/** Creates the handler of some goods. */
export type Goods = (floor: Floor) => RequestHandler;

export const GOODS = {
  plain: () => (_req, res) => void res.json({ sold: true }),

  slow: () => async (_req, res) => {
    await delay(2 * PAUSE_MS);
    res.json({ sold: true });
  },

  "not found": () => (_req, res) => void res.status(404).json({ error: "not found" }),

  throwing: () => async () => {
    throw new Error("the handler's own");
  },

  "writeHead(500)": () => (_req, res) => void res.writeHead(500).end("failed"),

  "a link": () => (_req, res) => void res.redirect("https://cdn.example/song.mp3?signature=1"),

  "at another URL": () => (req, res) =>
    void (req.query["at"] ? res.json({ sold: true }) : res.redirect("/goods?at=last")),

  "sent, then throwing": () => async (_req, res) => {
    res.json({ sold: true });
    throw new Error("the audit's");
  },

  "flushed, then throwing": () => async (_req, res) => {
    res.flushHeaders();
    throw new Error("the handler's own");
  },

  "a comment, then throwing": () => async (_req, res) => {
    res.type("text/event-stream").write(": connected\n\n");
    throw new Error("the handler's own");
  },

  "shorter than its Content-Length": () => (_req, res) => void res.set("Content-Length", "1000").end("short"),

  "by a link below the host that the client named": () => (req, res) =>
    void res.redirect(`http://${req.get("host")}/goods?signature=1`),

  "a cookie, then 404": () => (_req, res) =>
    void res.cookie("session", "the-goods").status(404).json({ error: "not found" }),

  "with an ETag": () => (_req, res) => void res.set("ETag", '"1"').send("sold"),

  "for a client that leaves":
    ({ tell }) =>
    async (_req, res) => {
      const closed = once(res, "close");
      tell("working");
      await Promise.race([closed, delay(PAUSE_MS)]);
      res.json({ sold: true });
      tell("answered");
    },

  "events, flushed": () => (_req, res) => sendEvents(res.type("text/event-stream"), () => res.flushHeaders()),

  "events, only written": () => (_req, res) => sendEvents(res.type("text/event-stream"), () => {}),

  "events, charged one by one":
    ({ charge }) =>
    (_req, res) =>
      sendEvents(
        res.type("text/event-stream"),
        () => {},
        (events) => charge(res, { amount: String(events * EVENT_UNITS) }),
      ),

  "megabytes, charged one by one":
    ({ charge }) =>
    async (_req, res) => {
      const closed = once(res, "close");
      for (let megabytes = 1; megabytes <= MEGABYTES && !res.closed; megabytes++) {
        charge(res, { amount: String(megabytes * MEGABYTE_UNITS) });
        if (!res.write(Buffer.alloc(1024 * 1024, "x"))) await Promise.race([once(res, "drain"), closed]);
      }
      res.end();
    },

  large: (floor) => (_req, res) => void createSource(floor).pipe(res),

  "awaiting each write": () => async (_req, res) => {
    for (const letter of "abc") await new Promise((resolve) => res.write(letter, resolve));
    res.end();
  },

  "charged 30 %": charging("30%"),

  "charged at a point of a unit": charging("1.5"),

  "charged at twice the maximum": charging("20000"),

  "charged in full": charging("10000"),

  "charged seven units": charging("7"),

  "with an override that is no JSON": () => (_req, res) =>
    void res.set("Settlement-Overrides", "{amount:1").json({ sold: true }),

  "with another server's override": () => (_req, res) =>
    void res.set("Settlement-Overrides", '{"amount":"1"}').json({ sold: true }),

  "once all copies are in": (floor) => async (_req, res) => {
    while (floor.paidRequests < COPIES) await delay(10);
    // The last of them has to be verified, if it is going to be.
    await delay(PAUSE_MS);
    res.json({ sold: true });
  },
} satisfies Readonly<Record<string, Goods>>;

export type GoodsName = keyof typeof GOODS;

/** Of a maximum of a cent, by a scheme that takes less. */
function charging(amount: string): Goods {
  return ({ charge }) =>
    (_req, res) => {
      charge(res, { amount });
      res.json({ sold: true });
    };
}

async function sendEvents(res: Response, begin: () => void, count: (events: number) => void = () => {}): Promise<void> {
  begin();
  for (let event = 1; event <= 5; event++) {
    if (event > 1) await delay(PAUSE_MS);
    count(event);
    res.write(`data: ${event}\n\n`);
  }
  res.end();
}

/** Makes what it is asked for and no more. */
function createSource(floor: Floor): Readable {
  const block = Buffer.alloc(64 * 1024, "x");
  return new Readable({
    read() {
      this.push(floor.produced < LARGE_BYTES ? block : null);
      floor.produced += block.length;
    },
  });
}
