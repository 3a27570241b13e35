// A facilitator over HTTP, and its ledger: the parent funds payers, and asks what has moved and when.
import { createTestFacilitator, startFacilitatorServer } from "@farebox/testing";

const inner = createTestFacilitator();
const { ledger } = inner;
/** When each transfer was first seen, in Unix milliseconds. */
const movedMs = [];
const calls = [];

const facilitator = {
  ...inner,
  async settle(request) {
    calls.push({ payer: request.paymentPayload.payload.authorization.from.toLowerCase(), atMs: Date.now() });
    const response = await inner.settle(request);
    while (movedMs.length < ledger.transfers.length) movedMs.push(Date.now());
    return response;
  },
};

const ORDERS = {
  fund: (address) => ledger.fund(address, 1_000_000n),
  transfers: (payer) =>
    ledger.transfers.flatMap(({ from, transaction, amount }, at) =>
      from === payer ? [{ transaction, amount: String(amount), atMs: movedMs[at] }] : [],
    ),
  calls: (payer) => calls.filter((call) => call.payer === payer).map(({ atMs }) => atMs),
};

const server = await startFacilitatorServer({ facilitator });
process.on("message", ({ id, order, given }) => process.send({ replyTo: id, done: ORDERS[order](given) }));
process.on("disconnect", () => process.exit());
process.send({ kind: "listening", about: server.url });
