import { describe, expect, test } from "vitest";
import {
  algos,
  FEE_PAYER,
  PAY_TO,
  PAYER,
  payload,
  requirements,
  STRANGER,
  type Transaction,
  transfer,
  WHOLE_NETWORK,
} from "../payments.fixture.js";
import { exactAvm } from "./scheme.js";

const NOW = 1_800_000_000;
const scheme = exactAvm();

function read(paid: unknown, change = {}) {
  return scheme.readPayment(paid, requirements(change), NOW);
}

describe("a payment", () => {
  const paying = transfer();
  const good = payload({ transactions: [algos(), paying] });

  test("a payment is identified by its paying transaction, and remembered for the rounds in which it is valid", () => {
    expect(read(good)).toEqual({
      kind: "readable",
      payload: { paymentGroup: [expect.any(String), good.paymentGroup[1]], paymentIndex: 1 },
      identity: `algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe|${paying.txID()}`,
      payer: PAYER.addr.toString(),
      expiresAtSeconds: NOW + 5005,
      settleBySeconds: NOW + 2495,
      expiredReason: "invalid_transaction_state",
    });
  });

  test("a payment has one identity under both spellings of the network", () => {
    expect(read(good, { network: WHOLE_NETWORK })).toEqual(read(good));
  });

  test("a payment is remembered for at least three minutes", () => {
    const short = payload({ transactions: [transfer({ fee: 1000n, lastValid: 50_000 })] });
    expect(read(short)).toMatchObject({ expiresAtSeconds: NOW + 180 });
  });

  test("a payment may have the fee payer's transaction without an envelope", () => {
    const transactions = [algos({ note: Buffer.from("x402-fee-payer") }), transfer()];
    const paid = payload({ transactions });
    const bare = Buffer.from(transactions[0]?.toByte() ?? "").toString("base64");
    expect(read({ ...paid, paymentGroup: [bare, paid.paymentGroup[1]] })).toEqual(read(paid));
  });

  test("a payment is passed on without other fields, and its unsigned transaction without an envelope", () => {
    const transactions = [algos(), transfer()];
    const { paymentGroup, paymentIndex } = payload({ transactions });
    const bare = Buffer.from(transactions[0]?.toByte() ?? "").toString("base64");
    const canonical = { paymentGroup: [bare, paymentGroup[1]], paymentIndex };
    expect(read({ more: 1, paymentIndex, paymentGroup, transaction: "" })).toMatchObject({ payload: canonical });
    expect(read(canonical)).toEqual(read({ paymentGroup, paymentIndex }));
  });

  test.each<[what: string, transactions: readonly Transaction[], extra: object]>([
    ["alone", [transfer({ fee: 1000n })], {}],
    ["alone, even if the offer has a fee payer", [transfer({ fee: 1000n })], requirements().extra],
    ["before the fee payer's transaction", [transfer(), algos()], requirements().extra],
    ["with a note and a lease", [algos(), transfer({ note: Buffer.alloc(1024, 7), lease: Buffer.alloc(32, 1) })], {}],
    ["among sixteen", [transfer(), ...Array.from({ length: 15 }, (_, nth) => own(nth))], {}],
  ])("a payment is readable %s", (_, transactions, extra) => {
    const signers = [PAYER, STRANGER, ...("feePayer" in extra ? [] : [FEE_PAYER])];
    expect(read(payload({ transactions, signers }), { extra })).toMatchObject({ kind: "readable" });
  });

  /** Another transaction of a stranger in the group. */
  function own(nth: number): Transaction {
    return algos({ sender: STRANGER.addr, receiver: PAYER.addr, amount: BigInt(nth) });
  }

  test("a payment is refused with malformed terms", () => {
    expect(read(good, { asset: "USDC" })).toEqual({ kind: "refused", reason: "invalid_payment_requirements" });
    expect(read(good, { payTo: PAY_TO.toString().toLowerCase() })).toMatchObject({ kind: "refused" });
  });
});
