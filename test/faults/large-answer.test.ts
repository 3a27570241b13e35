import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { encodePaymentSignature } from "@farebox/core";
import { createPayer, pay } from "@farebox/testing";
import { expect, onTestFinished, test } from "vitest";
import { openLedger } from "./bank.js";
import { PRICE } from "./shop.js";

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
