/**
 * Responses that are written piece by piece: with callbacks, as events, and 200 MB for a slow client.
 *
 * @module
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { encodePaymentSignature } from "@farebox/core/protocol";
import { createPayer, pay } from "@farebox/testing";
import type { RequestHandler } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { openLedger } from "./bank.js";
import { createLatch } from "./latch.js";
import { openShop, PRICE, type Shop, type ShopPlan } from "./shop.js";

test.each([
  ["while the answer is held", 1_000_000],
  ["beyond what is held", 2],
])("a handler that awaits the callback of each write comes to its end, %s", async (_when, holdBytes) => {
  const handler: RequestHandler = async (_req, res) => {
    for (const letter of "abcdef") await new Promise((resolve) => res.write(letter, resolve));
    await new Promise<void>((resolve) => res.end(resolve));
  };
  const shop = await openShop({ handler, options: { holdBytes } });
  expect(await shop.buy()).toMatchObject({ status: 200, text: "abcdef", receipt: { success: true } });
  expect(shop.runs()).toBe(1);
  expect(await shop.income()).toBe(PRICE);
});

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

const MIB = 1024 * 1024;

interface Usage {
  readonly produced: number;
  readonly peakKilobytes: number;
}

async function openSeller(...args: string[]) {
  const seller = fork(new URL("large-answer-seller.mjs", import.meta.url), args);
  onTestFinished(() => void seller.kill());
  const [{ port }] = (await once(seller, "message")) as [{ port: number }];
  return { seller, url: `http://127.0.0.1:${port}` };
}

/** One question at a time: the seller says nothing unasked. */
async function ask<T>(seller: ChildProcess, question: "usage" | "stalled"): Promise<T> {
  const answered = once(seller, "message");
  seller.send(question);
  const [answer] = await answered;
  return answer;
}

test("a response of 200 MB waits for a client that does not read, arrives whole, and is never in the seller's memory", async () => {
  const bank = await openLedger();
  onTestFinished(() => bank.close());
  const [payer, payTo] = [createPayer(), createPayer().address];
  await bank.fund(payer.address, PRICE);
  const { seller, url } = await openSeller(bank.server.url, payTo);

  const { challenge } = await pay(`${url}/goods`);
  const payment = await payer.signExact(challenge!.accepts[0]!, { challenge: challenge! });
  const before = await ask<Usage>(seller, "usage");
  const asked = get(`${url}/goods`, { headers: { "PAYMENT-SIGNATURE": encodePaymentSignature(payment) } });
  const [answer]: IncomingMessage[] = (await once(asked, "response")) as [IncomingMessage];
  expect(answer!.statusCode).toBe(200);
  expect(await bank.balanceOf(payTo)).toBe(PRICE);

  // Its head is here, so it was settled: a stall from now on is at the socket.
  await ask(seller, "stalled");
  // Twice, so that all that happens without a reader has happened.
  for (const _again of [1, 2]) expect((await pay(`${url}/free`)).status).toBe(200);
  expect((await ask<Usage>(seller, "usage")).produced).toBeLessThan(32 * MIB);

  let received = 0;
  for await (const piece of answer!) received += piece.length;
  expect(received).toBe(200 * MIB);
  const { peakKilobytes } = await ask<Usage>(seller, "usage");
  expect(peakKilobytes - before.peakKilobytes).toBeLessThan(100 * 1024);
});
