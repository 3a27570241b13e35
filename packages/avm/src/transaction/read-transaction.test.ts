import { assignGroupID, decodeUnsignedTransaction, encodeUnsignedSimulateTransaction } from "algosdk";
import fc from "fast-check";
import { expect, test } from "vitest";
import { account, algos, base64, PAYER, transfer } from "../payments.fixture.js";
import { isGroup, readTransaction } from "./read-transaction.js";

const address = fc.integer({ min: 1, max: 12 }).map((seed) => account(seed).addr);
const uint64 = fc.oneof(
  fc.constantFrom(0n, 1n, 127n, 128n, 255n, 256n, 65_535n, 65_536n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 64n - 1n),
  fc.bigInt(0n, 2n ** 64n - 1n),
);
const round = fc.integer({ min: 1, max: 2 ** 40 });
const note = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 300 }),
  fc.uint8Array({ minLength: 1024, maxLength: 1024 }),
);
const parts = fc.record({ sender: address, receiver: address, amount: uint64, fee: uint64, note, firstValid: round });

test("a transaction written by algosdk is read, with the same id", () => {
  fc.assert(
    fc.property(parts, fc.bigInt(1n, 2n ** 64n - 1n), fc.boolean(), (change, asset, isTransfer) => {
      const written = isTransfer ? transfer({ ...change, asset }) : algos(change);
      const read = readTransaction(base64(encodeUnsignedSimulateTransaction(written)));
      expect(read).toMatchObject({
        type: isTransfer ? "axfer" : "pay",
        sender: Buffer.from(change.sender.publicKey),
        receiver: Buffer.from(change.receiver.publicKey),
        amount: change.amount,
        fee: change.fee,
        firstValid: BigInt(change.firstValid),
        lastValid: BigInt(change.firstValid + 1000),
        asset: isTransfer ? asset : 0n,
        id: written.txID(),
        dangers: [],
        signing: { kind: "none" },
      });
      expect(readTransaction(base64(written.toByte()))).toEqual(read);
      expect(decodeUnsignedTransaction(read?.bytes ?? Buffer.alloc(0)).txID()).toBe(written.txID());
    }),
  );
});

test("fields that give away more are read as dangers", () => {
  const other = account(9).addr;
  const read = (written: ReturnType<typeof algos>) => readTransaction(base64(written.toByte()))?.dangers;
  expect(read(algos({ close: other, rekeyTo: other }))).toEqual(["close", "rekey"]);
  expect(read(transfer({ close: other, rekeyTo: other }))).toEqual(["aclose", "rekey"]);
  expect(read(transfer({ clawedBackFrom: other }))).toEqual(["asnd"]);
});

test("isGroup accepts the group that algosdk computes, in that order only", () => {
  for (const size of [1, 2, 3, 7, 16]) {
    const written = Array.from({ length: size }, (_, nth) => transfer({ amount: BigInt(nth + 1) }));
    assignGroupID(written);
    const read = written
      .map((one) => readTransaction(base64(one.signTxn(PAYER.sk))))
      .filter((one) => one !== undefined);
    expect(read).toHaveLength(size);
    expect(isGroup(read)).toBe(true);
    if (size > 1) expect(isGroup(read.toReversed())).toBe(false);
    if (size > 1) expect(isGroup(read.slice(1))).toBe(false);
  }
});

test("isGroup accepts one transaction without a group, and not two", () => {
  const read = [transfer(), transfer()]
    .map((one) => readTransaction(base64(one.signTxn(PAYER.sk))))
    .filter((one) => one !== undefined);
  expect(isGroup(read.slice(1))).toBe(true);
  expect(isGroup(read)).toBe(false);
});
