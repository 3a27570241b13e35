/**
 * Random metered streams: the client leaves at any byte, the handler throws at any charge, the facilitator fails. What is settled was
 * delivered, is never above the maximum, and is settled once. `FAREBOX_SEED` repeats a run.
 */

import { once } from "node:events";
import { request } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import express from "express";
import { expect, onTestFinished, test } from "vitest";
import { readDraws } from "../draws.js";
import { openShop, PAY_TO, VERSIONS } from "./shop.js";

const ROUTES = {
  "/paid": {
    accepts: { scheme: "upto", price: "$0.01", network: "eip155:84532", payTo: PAY_TO },
    settle: "metered",
  },
} as const;

/** Of one draw. */
const SEQUENCES = 8;

const draws = readDraws("metered streams");

/** Mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test.each(VERSIONS)(
  "on %s, random streams are charged for what was delivered, once",
  async (_name, version) => {
    for (const seed of draws.seeds()) await playAll(version, seed);
  },
  draws.timeoutMs,
);

async function playAll(version: (typeof VERSIONS)[number][1], seed: number): Promise<void> {
  const random = createRandom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  for (let at = 0; at < SEQUENCES; at++) {
    const plan = {
      tokens: 1 + below(30),
      price: 50 + below(900),
      leavesAt: random() < 0.4 ? below(2_000) : undefined,
      throwsAt: random() < 0.2 ? below(30) : undefined,
      waits: random() < 0.7,
      ending: (["settled", "settled", "settled", "rejected", "unknown"] as const)[below(5)] ?? "settled",
    };
    let written = 0;
    const shop = await openShop(version, {
      routes: ROUTES,
      async handler(req, res, next) {
        try {
          for (let token = 0; token < plan.tokens; token++) {
            if (token === plan.throwsAt) throw new Error("the handler's");
            req.payment?.charge(String(plan.price));
            written++;
            res.write(`<token ${String(token).padStart(20, "0")}>`);
            if (plan.waits) await new Promise((resolve) => setImmediate(resolve));
          }
          res.end();
        } catch (error) {
          next(error);
        }
      },
    });
    const { header } = await shop.sign();
    if (plan.ending !== "settled") shop.facilitator.failNext(plan.ending);
    const line = await shop.connect(shop.request(header).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    const { leavesAt } = plan;
    if (leavesAt !== undefined) {
      line.socket.on("data", () => line.received().length >= leavesAt && line.socket.destroy());
    }
    const received = (await line.ended).split(/<token \d{20}>/).length - 1;
    const about = JSON.stringify({ seed, at, ...plan, written, received });
    const isCharged = received > 0 && plan.ending === "settled";
    if (isCharged) await shop.facilitator.untilSettled();
    const [settled = 0n, ...others] = shop.facilitator.settled;
    expect(others, about).toEqual([]);
    expect(Number(settled), about).toBeLessThanOrEqual(Math.min(10_000, written * plan.price));
    if (isCharged) expect(Number(settled), about).toBeGreaterThanOrEqual(received * plan.price);
    shop.server.closeAllConnections();
  }
}

test("behind a server that speaks HTTP/2, a stream is live, and its receipt is the last event", async () => {
  let goOn = () => {};
  const second = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const shop = await openShop(express, {
    routes: ROUTES,
    async handler(req, res) {
      res.type("text/event-stream");
      req.payment?.charge("1000");
      res.write("data: first\n\n");
      await second;
      req.payment?.charge("1000");
      res.end("data: second\n\n");
    },
  });
  const { header } = await shop.sign();
  const front = createHttp2Server().listen(0, "127.0.0.1");
  await once(front, "listening");
  front.on("stream", (stream, headers) => {
    const forwarded = { "payment-signature": String(headers["payment-signature"]) };
    request(`${shop.url}${headers[":path"]}`, { headers: forwarded }, (incoming) => {
      stream.respond({
        ":status": incoming.statusCode ?? 500,
        "content-type": String(incoming.headers["content-type"]),
      });
      incoming.pipe(stream);
    }).end();
  });
  const client = connectHttp2(`http://127.0.0.1:${(front.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.destroy();
    front.close();
  });
  const stream = client.request({ ":path": "/paid", "payment-signature": header });
  let text = "";
  for await (const chunk of stream) {
    if (text === "") expect(shop.facilitator.settled).toEqual([]);
    text += String(chunk);
    goOn();
  }
  expect(text).toMatch(
    /^data: first\n\ndata: second\n\nevent: payment-receipt\ndata: \{"success":true,.*"amount":"2000"\}\n\n$/,
  );
});
