/**
 * A response that streams, paid for by use: the amount is known at its end. It is held until the handler has said it, so that neither the
 * maximum is charged nor the stream breaks when the amount comes.
 */
import { createPayments, setSettlementOverrides } from "@farebox/express";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import express, { type RequestHandler } from "express";
import { expect, onTestFinished, test } from "vitest";
import { PATIENT, PAY_TO } from "./shop.js";

const NETWORK = "eip155:84532";
const EVENTS = "data: 1\n\ndata: 2\n\n";

/** Pays once for a response by use. */
async function buy(handler: RequestHandler, options: { readonly holdBytes?: number } = {}) {
  const facilitator = createTestFacilitator();
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 1_000_000n);
  const logger = { info() {}, warn() {}, error() {} };
  const payments = createPayments({ facilitator, logger, deadlines: PATIENT, ...options });
  const app = express();
  const accepts = { scheme: "upto", price: "$0.01", network: NETWORK, payTo: PAY_TO };
  app.get("/tokens", payments.charge({ accepts }), handler);
  const server = app.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const { status, text } = await pay(`http://127.0.0.1:${port}/tokens`, { payer });
  return { status, text, moved: facilitator.ledger.transfers.map(({ amount }) => amount) };
}

test("an event stream is charged what its handler says at the end", async () => {
  const sold = await buy((_req, res) => {
    res.type("text/event-stream");
    res.write("data: 1\n\n");
    res.write("data: 2\n\n");
    setSettlementOverrides(res, { amount: "300" });
    res.end();
  });
  expect(sold).toEqual({ status: 200, text: EVENTS, moved: [300n] });
});

test("a flushed response is charged what its handler says at the end", async () => {
  const sold = await buy((_req, res) => {
    res.flushHeaders();
    res.write("a");
    setSettlementOverrides(res, { amount: "300" });
    res.end("b");
  });
  expect(sold).toEqual({ status: 200, text: "ab", moved: [300n] });
});

test("an event stream whose amount was said before streams", async () => {
  const thrown: unknown[] = [];
  const sold = await buy(async (_req, res) => {
    res.type("text/event-stream");
    setSettlementOverrides(res, { amount: "300" });
    await new Promise<unknown>((resolve) => res.write("data: 1\n\n", resolve));
    try {
      setSettlementOverrides(res, { amount: "400" });
    } catch (error) {
      thrown.push(Reflect.get(Object(error), "code"));
    }
    res.end("data: 2\n\n");
  });
  expect(sold).toEqual({ status: 200, text: EVENTS, moved: [300n] });
  expect(thrown).toEqual(["ERR_FAREBOX_STATE"]);
});

test("a response of more than is held is charged the maximum, as without an amount", async () => {
  const sold = await buy(
    (_req, res) => {
      res.type("text/event-stream");
      res.write("data: 1\n\n");
      res.end("data: 2\n\n");
    },
    { holdBytes: 4 },
  );
  expect(sold).toEqual({ status: 200, text: EVENTS, moved: [10_000n] });
});
