import { decodeMsgpack, modelsv2 } from "algosdk";
import { expect, test } from "vitest";
import { algos, PAYER, type Transaction, transfer } from "../groups.fixture.js";
import { toSimulateRequest, toWire } from "./envelope.js";

function group(size: number): readonly Transaction[] {
  return Array.from({ length: size }, (_, nth) => transfer({ amount: BigInt(nth) }));
}

const member = (transaction: Transaction) => ({
  bytes: transaction.toByte(),
  signature: transaction.rawSignTxn(PAYER.sk),
});

test.each([1, 2, 15, 16])("a group of %i is sent as algosdk signs it", (size) => {
  const transactions = group(size);
  const signed = transactions.map((transaction) => transaction.signTxn(PAYER.sk));
  expect(toWire(transactions.map(member)).equals(Buffer.concat(signed))).toBe(true);
});

test.each([1, 2, 15, 16])(
  "a group of %i is tried out as algosdk reads it, without the fee payer's signature",
  (size) => {
    const [sponsor, others] = [algos(), group(size - 1)];
    const request = toSimulateRequest([{ bytes: sponsor.toByte(), signature: undefined }, ...others.map(member)]);
    const { allowEmptySignatures, txnGroups } = decodeMsgpack(request, modelsv2.SimulateRequest);
    expect([allowEmptySignatures, txnGroups.length]).toEqual([true, 1]);
    const read = txnGroups[0]?.txns ?? [];
    expect(read.map(({ txn }) => txn.txID())).toEqual([sponsor, ...others].map((one) => one.txID()));
    expect(read.map(({ sig }) => sig !== undefined)).toEqual([false, ...others.map(() => true)]);
  },
);
