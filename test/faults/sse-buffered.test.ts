import { encodePaymentSignature } from "@farebox/core";
import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { createLatch } from "./latch.js";
import { openShop, PRICE, type Shop, type ShopPlan } from "./shop.js";

const EVENTS = ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"];

/** Sends an event only when the client has the one before: an answer that waits for its end never comes. */
function createFeed({ flush }: { readonly flush: boolean }) {
  const arrivals = EVENTS.map(() => createLatch());
  const handler: RequestHandler = async (_req, res) => {
    res.writeHead(200, { "Content-Type": "text/event-stream" });
    if (flush) res.flushHeaders();
    for (const [at, event] of EVENTS.entries()) {
      res.write(event);
      await arrivals[at]!.opened;
    }
    res.end();
  };
  return { handler, arrived: (at: number) => arrivals[at]!.open() };
}

async function listen(shop: Shop, arrived: (at: number) => void): Promise<Response> {
  const payment = encodePaymentSignature(await shop.sign());
  const answer = await fetch(`${shop.url}/goods`, { headers: { "PAYMENT-SIGNATURE": payment } });
  let text = "";
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    for (const [at, event] of EVENTS.entries()) if (text.includes(event)) arrived(at);
  }
  expect(text).toBe(EVENTS.join(""));
  return answer;
}

describe("server-sent events are live: each arrives before the next is sent", () => {
  test.each<[when: string, plan: ShopPlan, flush: boolean]>([
    ["once they are flushed", {}, true],
    ["without being flushed", {}, false],
    [
      "on a route that settles before its handler",
      { routes: { "GET /goods": { price: "$0.01", settle: "before" } } },
      false,
    ],
  ])("%s", async (_when, plan, flush) => {
    const feed = createFeed({ flush });
    const shop = await openShop({ ...plan, handler: feed.handler });
    const answer = await listen(shop, feed.arrived);
    expect(answer.status).toBe(200);
    expect(answer.headers.has("PAYMENT-RESPONSE")).toBe(true);
    expect(await shop.income()).toBe(PRICE);
  });
});
