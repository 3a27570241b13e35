/**
 * Settlement on a stand-in for a node: the money moves once, success is reported once, and an unknown outcome is not guessed.
 */
import { createFacilitator } from "@farebox/facilitator";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  algos,
  FEE_PAYER,
  NETWORK,
  PAY_TO,
  PAYER,
  payload,
  ROUND,
  requirements,
  STRANGER,
  transfer,
  USDC,
  WHOLE_NETWORK,
} from "../../packages/avm/src/payments.fixture.js";
import { BothSides, facilitatorOf, toRequest } from "./both-sides.js";
import { RICH } from "./ledger.js";

let sides: BothSides;

beforeEach(async () => {
  sides = await BothSides.open();
});

afterEach(() => sides.local.close());

const paidTo = () => (sides.local.ledger.balanceOf(PAY_TO, USDC) ?? 0n) - RICH;

function ordinary() {
  const paying = transfer();
  return { request: toRequest(payload({ transactions: [algos(), paying] })), id: paying.txID.bind(paying) };
}

test("a payment is verified and settled, and costs the fee payer only the fee", async () => {
  const { request, id } = ordinary();
  const payer = PAYER.addr.toString();
  expect(await sides.facilitator.verify(request)).toEqual({ isValid: true, payer });
  sides.expectNothingMoved();
  const said = await sides.facilitator.settle(request);
  expect(said).toEqual({ success: true, payer, transaction: id(), network: NETWORK, amount: "1000" });
  expect(paidTo()).toBe(1000n);
  expect(sides.local.ledger.balanceOf(PAYER.addr)).toBe(RICH);
  expect(sides.local.ledger.balanceOf(FEE_PAYER.addr)).toBe(RICH - 2000n);
});

test("a group beyond the gas budget is not signed, and one whose payer pays the fee still is", async () => {
  const facilitator = createFacilitator({ schemes: [sides.facilitator], policy: { gasPerHour: { [NETWORK]: 3000n } } });
  expect(await facilitator.settle(ordinary().request)).toMatchObject({ success: true });
  const { signers } = await facilitator.health();
  expect(signers).toMatchObject([{ gas: { perHour: "3000", left: "1000" } }]);
  const another = toRequest(payload({ transactions: [algos(), transfer({ note: Buffer.from("another") })] }));
  expect(await facilitator.settle(another)).toMatchObject({ errorReason: "gas_budget_used_up", transaction: "" });
  expect([paidTo(), sides.local.ledger.balanceOf(FEE_PAYER.addr)]).toEqual([1000n, RICH - 2000n]);
  const own = toRequest(payload({ transactions: [transfer({ fee: 1000n })] }), requirements({ extra: {} }));
  expect(await facilitator.settle(own)).toMatchObject({ success: true });
});

test("a payment whose payer pays the fee is settled", async () => {
  const offer = requirements({ extra: {} });
  const request = toRequest(payload({ transactions: [transfer({ fee: 1000n })] }), offer);
  expect(await sides.facilitator.verify(request)).toMatchObject({ isValid: true });
  expect(await sides.facilitator.settle(request)).toMatchObject({ success: true });
  expect([paidTo(), sides.local.ledger.balanceOf(FEE_PAYER.addr)]).toEqual([1000n, RICH]);
});

test("a full group is settled", async () => {
  const bystanders = Array.from({ length: 14 }, (_, nth) => own(BigInt(nth)));
  const transactions = [...bystanders, algos({ fee: 16_000n }), transfer()];
  const request = toRequest(payload({ transactions, signers: [PAYER, STRANGER] }));
  expect(await sides.facilitator.verify(request)).toMatchObject({ isValid: true });
  expect(await sides.facilitator.settle(request)).toMatchObject({ success: true });
  expect(paidTo()).toBe(1000n);

  function own(amount: bigint) {
    return algos({ sender: STRANGER.addr, receiver: PAYER.addr, amount, fee: 0n });
  }
});

test("the terms may name the network in its other spelling", async () => {
  const { request } = ordinary();
  const other = toRequest(request.paymentPayload.payload, requirements({ network: WHOLE_NETWORK }));
  expect(await sides.facilitator.settle(other)).toMatchObject({ success: true, network: NETWORK });
});

test("a payment succeeds once when it is settled many times, concurrently and later", async () => {
  const { request, id } = ordinary();
  const said = await Promise.all(Array.from({ length: 5 }, () => sides.facilitator.settle(request)));
  said.push(await sides.facilitator.settle(request), await facilitatorOf(sides.local).settle(request));
  expect(said.filter(({ success }) => success)).toHaveLength(1);
  const repeats = said.filter(({ success }) => !success);
  for (const repeat of repeats) {
    expect(repeat).toMatchObject({ errorReason: "payment_already_settled", transaction: id() });
  }
  expect(paidTo()).toBe(1000n);
  expect(await sides.facilitator.verify(request)).toMatchObject({ invalidReason: "payment_already_settled" });
});

test("a payment with another signature or envelope is the same payment", async () => {
  const transactions = [algos(), transfer()];
  const first = payload({ transactions });
  const bare = Buffer.from(transactions[0]?.toByte() ?? []).toString("base64");
  const second = { ...first, paymentGroup: [bare, first.paymentGroup[1]] };
  expect(await sides.facilitator.settle(toRequest(first))).toMatchObject({ success: true });
  expect(await sides.facilitator.settle(toRequest(second))).toMatchObject({ errorReason: "payment_already_settled" });
});

test("a group is settled even if the node's response is lost", async () => {
  sides.local.mode = "lose";
  const { request, id } = ordinary();
  expect(await sides.facilitator.settle(request)).toMatchObject({ success: true, transaction: id() });
  expect(paidTo()).toBe(1000n);
});

test("a group that is not on chain yet is pending, and succeeds once it is on chain", async () => {
  sides.local.mode = "keep";
  const { request, id } = ordinary();
  const pending = { success: false, errorReason: "settlement_pending", transaction: id() };
  expect(await sides.facilitator.settle(request)).toMatchObject(pending);
  expect(await sides.facilitator.verify(request)).toMatchObject({ invalidReason: "settlement_pending" });
  sides.local.land();
  expect(await sides.facilitator.settle(request)).toMatchObject({ success: true, transaction: id() });
  expect(await sides.facilitator.settle(request)).toMatchObject({ errorReason: "payment_already_settled" });
  expect(paidTo()).toBe(1000n);
});

test("a group that the node has forgotten is sent again while the facilitator waits", async () => {
  sides.local.mode = "forget";
  const { request } = ordinary();
  const settling = facilitatorOf(sides.local, { confirmTimeoutMs: 60_000 }).settle(request);
  while (!sides.local.sent) await new Promise((resolve) => setImmediate(resolve));
  sides.local.mode = "carry-out";
  expect(await settling).toMatchObject({ success: true });
});

test("a group is dropped when its rounds are over and none of them has it", async () => {
  sides.local.mode = "forget";
  const paid = payload({ transactions: [algos({ lastValid: ROUND + 50 }), transfer({ lastValid: ROUND + 50 })] });
  expect(await sides.facilitator.settle(toRequest(paid))).toMatchObject({ errorReason: "settlement_pending" });
  sides.local.ledger.round = ROUND + 60;
  expect(await sides.facilitator.settle(toRequest(paid))).toMatchObject({ errorReason: "settlement_pending" });
  sides.local.ledger.round = ROUND + 61;
  expect(await sides.facilitator.settle(toRequest(paid))).toMatchObject({ errorReason: "invalid_transaction_state" });
  expect(await sides.facilitator.settle(toRequest(paid))).toMatchObject({ errorReason: "invalid_transaction_state" });
  expect(paidTo()).toBe(0n);
});

test("a group that is older than the node remembers has an unknown outcome, before and after a restart", async () => {
  sides.local.mode = "keep";
  const { request, id } = ordinary();
  await sides.facilitator.settle(request);
  sides.local.land();
  sides.local.ledger.round += 2000;
  const pending = { errorReason: "settlement_pending", transaction: id() };
  expect(await sides.facilitator.settle(request)).toMatchObject(pending);
  const unknown = { errorReason: "unexpected_settle_error", transaction: "" };
  expect(await facilitatorOf(sides.local).settle(request)).toMatchObject(unknown);
});

test("a group that its payer has sent before does not succeed again", async () => {
  const paid = payload({ transactions: [transfer({ fee: 1000n })] });
  const wire = Buffer.from(paid.paymentGroup[0] ?? "", "base64");
  await fetch(`${sides.local.url}/v2/transactions`, { method: "POST", body: wire });
  expect(paidTo()).toBe(1000n);
  const said = await sides.facilitator.settle(toRequest(paid));
  expect(said).toMatchObject({ success: false, errorReason: "payment_already_settled" });
});
