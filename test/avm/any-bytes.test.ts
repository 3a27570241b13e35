/**
 * Payments made of any bytes: nothing throws, and an accepted payment does exactly what its terms say.
 * `FAREBOX_SEED` repeats a run.
 */
import { exactAvm } from "@farebox/avm";
import type { PaymentReading } from "@farebox/core";
import { msgpackRawEncode, type Transaction } from "algosdk";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  algos,
  base64,
  FEE_PAYER,
  PAY_TO,
  PAYER,
  payload,
  requirements,
  STRANGER,
  transfer,
  USDC,
} from "../../packages/avm/src/payments.fixture.js";
import { NOW } from "./both-sides.js";

const seed = Number(process.env["FAREBOX_SEED"]);
const RUN = { seed, numRuns: 200 };

const scheme = exactAvm();
const read = (paid: unknown): PaymentReading => scheme.readPayment(paid, requirements(), NOW);

const { paymentGroup, paymentIndex } = payload();
const [SPONSOR = "", PAYING = ""] = paymentGroup;
const IDENTITY = identityOf(read({ paymentGroup, paymentIndex }));

function identityOf(reading: PaymentReading): string {
  return reading.kind === "refused" ? "" : reading.identity;
}

describe.each([
  ["the fee payer's transaction", SPONSOR, 0],
  ["the payer's transaction", PAYING, 1],
])("%s", (_, text, at) => {
  const good = Buffer.from(text, "base64");
  const withBytes = (bytes: Uint8Array) => ({ paymentGroup: paymentGroup.with(at, base64(bytes)), paymentIndex });

  // Two or three bits of each byte; another seed draws other ones.
  test(`a transaction with any flipped bit is refused (FAREBOX_SEED=${seed})`, () => {
    expect(IDENTITY).not.toBe("");
    for (let bit = seed % 3; bit < good.length * 8; bit += 3) {
      const wire = Buffer.from(good);
      wire[bit >> 3] = (wire[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(identityOf(read(withBytes(wire))), `bit ${bit}`).toBe("");
    }
  });

  test("a transaction with any inserted, removed or replaced bytes is refused, except for an unsigned envelope", () => {
    const change = fc.record({ at: fc.nat(good.length), cut: fc.nat(80), put: fc.uint8Array({ maxLength: 80 }) });
    fc.assert(
      fc.property(change, ({ at: where, cut, put }) => {
        const wire = Buffer.concat([good.subarray(0, where), put, good.subarray(where + cut)]);
        const isSame = wire.equals(good) || (at === 0 && wire.equals(good.subarray(5)));
        expect(identityOf(read(withBytes(wire)))).toBe(isSame ? IDENTITY : "");
      }),
      RUN,
    );
  });
});

test("readPayment refuses any payload and any bytes without throwing", () => {
  const bytes = fc.uint8Array({ maxLength: 1800 }).map(base64);
  const some = fc.oneof(
    fc.anything(),
    fc.record({ paymentGroup: fc.anything(), paymentIndex: fc.anything() }),
    fc.record({ paymentGroup: fc.array(fc.anything(), { maxLength: 17 }), paymentIndex: fc.nat(17) }),
    fc.record({ paymentGroup: fc.array(bytes, { maxLength: 17 }), paymentIndex: fc.nat(17) }),
  );
  fc.assert(
    fc.property(some, (paid) => void expect(read(paid).kind).toBe("refused")),
    RUN,
  );
});

test("readPayment refuses any MessagePack under the right keys without throwing", () => {
  const keys = ["aamt", "arcv", "fee", "fv", "gh", "grp", "lv", "note", "snd", "type", "xaid", "sig", "txn"];
  const value = fc.oneof(
    fc.nat(),
    fc.string(),
    fc.uint8Array({ minLength: 32, maxLength: 32 }),
    fc.constantFrom("axfer", "pay", PAYER.addr.publicKey, PAY_TO.publicKey, 1000, Number(USDC)),
  );
  const map = fc.dictionary(fc.constantFrom(...keys), value);
  const envelope = fc.oneof(
    map,
    map.map((txn) => ({ txn })),
    fc.tuple(fc.uint8Array({ minLength: 64, maxLength: 64 }), map).map(([sig, txn]) => ({ sig, txn })),
  );
  fc.assert(
    fc.property(envelope, (made) => {
      const text = base64(msgpackRawEncode(made));
      expect(read({ paymentGroup: [text], paymentIndex: 0 }).kind).toBe("refused");
    }),
    RUN,
  );
});

describe("random transactions, each signed by its sender", () => {
  const ACCOUNTS = [PAYER, STRANGER];
  const address = fc.constantFrom(PAYER.addr, STRANGER.addr, FEE_PAYER.addr, PAY_TO);
  const maybe = fc.option(address, { nil: undefined, freq: 9 });
  const amount = fc.constantFrom(0n, 999n, 1000n, 1000n, 1000n);
  const common = { sender: address, receiver: address, amount, close: maybe, rekeyTo: maybe };
  const wild = fc.oneof(
    fc.record(common).map(algos),
    fc
      .record({ ...common, asset: fc.constantFrom(USDC, USDC, 7n), clawedBackFrom: maybe })
      .map((parts): Transaction => transfer(parts)),
  );
  const tame = fc.constant(0).map(() => transfer());
  const sponsor = fc.constant(0).map(() => algos());
  const group = fc.array(fc.oneof(wild, tame, sponsor), { minLength: 1, maxLength: 4 });

  test("random transactions are accepted only with one transfer of the price, and none that takes anything back", () => {
    let taken = 0;
    fc.assert(
      fc.property(group, fc.nat(3), (transactions, at) => {
        const index = at % transactions.length;
        const reading = read(payload({ transactions, signers: ACCOUNTS, index }));
        if (reading.kind === "refused") return;
        taken++;
        const paying = transactions[index]?.assetTransfer;
        expect([paying?.amount, paying?.assetIndex, `${paying?.receiver}`]).toEqual([1000n, USDC, `${PAY_TO}`]);
        expect(reading.payer).toBe(transactions[index]?.sender.toString());
        const toPayee = transactions.filter(({ payment, assetTransfer }) =>
          [payment?.receiver, assetTransfer?.receiver].some((to) => to?.toString() === PAY_TO.toString()),
        );
        expect(toPayee).toHaveLength(1);
        for (const { sender, type, payment, assetTransfer, rekeyTo } of transactions) {
          const dangers = [rekeyTo, payment?.closeRemainderTo, assetTransfer?.closeRemainderTo];
          expect([...dangers, assetTransfer?.assetSender].every((danger) => danger === undefined)).toBe(true);
          if (sender.toString() !== FEE_PAYER.addr.toString()) continue;
          expect([type, payment?.amount]).toEqual(["pay", 0n]);
        }
      }),
      RUN,
    );
    // Of 200, some twenty: a run without any would prove nothing.
    expect(taken).toBeGreaterThan(0);
  }, 60_000);
});
