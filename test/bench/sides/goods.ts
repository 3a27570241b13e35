/**
 * What is sold: the same handlers on every side.
 *
 * @module
 */
import { once } from "node:events";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Express, RequestHandler } from "express";
import { PATHS } from "../plan.js";

/** A token, as models send it. */
const TOKEN = 'data: {"choices":[{"delta":{"content":" token"}}]}\n\n';

/** An atomic unit. */
const PER_TOKEN = "$0.000001";

/** 64 KiB in one piece. */
const MEDIUM = Buffer.alloc(64 * 1024, "goods ");

/** 200 MB in pieces of 64 KiB. */
const LARGE_PIECES = Math.ceil(200_000_000 / MEDIUM.length);

/** Puts the handlers on an app, below the middleware that prices them. */
export function addGoods(app: Express): Express {
  app.get(PATHS.free, (_req, res) => void res.json({ free: true }));
  app.get(PATHS.challenge, (_req, res) => void res.json({ weather: "sunny" }));
  app.get("/cities/:city/weather", (req, res) => void res.json({ city: req.params["city"], weather: "sunny" }));
  app.get(PATHS.paid, (_req, res) => void res.json({ weather: "sunny", temperature: 21, wind: "calm" }));
  app.get(PATHS.medium, (_req, res) => void res.type("application/octet-stream").send(MEDIUM));
  for (const path of [PATHS.large, PATHS.freeLarge]) app.get(path, sendLarge);
  for (const path of [PATHS.events, PATHS.freeEvents]) app.get(path, sendEvents);
  for (const path of [PATHS.tokens, PATHS.freeTokens]) app.get(path, sendTokens);
  return app;
}

const sendLarge: RequestHandler = (_req, res) => {
  res.type("application/octet-stream");
  let sent = 0;
  const pieces = new Readable({
    read() {
      this.push(sent++ < LARGE_PIECES ? MEDIUM : null);
    },
  });
  pieces.pipe(res);
};

/** The first event at once, the second half a second later: a side that waits for the end is seen. */
const sendEvents: RequestHandler = (_req, res) => {
  res.type("text/event-stream");
  res.write("data: first\n\n");
  setTimeout(() => res.end("data: last\n\n"), 500);
};

/** Tokens one by one. Where they are metered, each is charged before it goes out. */
const sendTokens: RequestHandler = async (req, res) => {
  const { payment, query } = req;
  const events = Number(query["events"]);
  const rate = Number(query["rate"] ?? Number.POSITIVE_INFINITY);
  const startedAt = performance.now();
  res.type("text/event-stream");
  for (let sent = 0; sent < events; ) {
    const due = Math.min(events, Math.ceil(((performance.now() - startedAt) / 1000) * rate) || 1);
    for (; sent < due; sent++) {
      payment?.charge(PER_TOKEN);
      if (!res.write(TOKEN)) await once(res, "drain");
    }
    if (Number.isFinite(rate)) await sleep(1);
  }
  res.end();
};
