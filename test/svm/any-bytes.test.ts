/**
 * Payments made of any bytes: nothing throws, and an accepted payment does exactly what its terms say.
 * `FAREBOX_SEED` repeats a run.
 */
import type { PaymentReading } from "@farebox/core";
import { exactSvm } from "@farebox/svm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  instruction,
  LIGHTHOUSE,
  LIMIT,
  MEMO,
  memo,
  ordinary,
  PAY_TO,
  PAYER,
  PRICE,
  PublicKey,
  payload,
  requirements,
  STRANGER,
  SystemProgram,
  TOKEN,
  TOKEN_2022,
  tokenAccount,
  transfer,
  USDC,
} from "../../packages/svm/src/payments.fixture.js";
import { NOW } from "./both-sides.js";

const seed = Number(process.env["FAREBOX_SEED"]);
const RUN = { seed, numRuns: 150 };

const scheme = exactSvm();
const read = (paid: unknown): PaymentReading => scheme.readPayment(paid, requirements(), NOW);

const GOOD = Buffer.from(payload().transaction, "base64");
const IDENTITY = identityOf(read(payload()));
/** The only bytes that may change: the fee payer's signature, which is written at the end. */
const FEE_PAYER_SIGNATURE = { from: 1, to: 65 };

function identityOf(reading: PaymentReading): string {
  return reading.kind === "refused" ? "" : reading.identity;
}

function encoded(wire: Uint8Array): { readonly transaction: string } {
  return { transaction: Buffer.from(wire).toString("base64") };
}

describe("a payment", () => {
  // Two or three bits of each byte; another seed draws other ones.
  test(`a payment with any flipped bit is refused, except in the fee payer's signature, where it stays the same payment (FAREBOX_SEED=${seed})`, () => {
    for (let bit = seed % 3; bit < GOOD.length * 8; bit += 3) {
      const wire = Buffer.from(GOOD);
      wire[bit >> 3] = (wire[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const isMeaningless = bit >> 3 >= FEE_PAYER_SIGNATURE.from && bit >> 3 < FEE_PAYER_SIGNATURE.to;
      expect(identityOf(read(encoded(wire))), `bit ${bit}`).toBe(isMeaningless ? IDENTITY : "");
    }
  });

  test("a payment with any inserted, removed or replaced bytes is refused", () => {
    const change = fc.record({ at: fc.nat(GOOD.length), cut: fc.nat(80), put: fc.uint8Array({ maxLength: 80 }) });
    fc.assert(
      fc.property(change, ({ at, cut, put }) => {
        const wire = Buffer.concat([GOOD.subarray(0, at), put, GOOD.subarray(at + cut)]);
        const reading = read(encoded(wire));
        const isSame =
          wire.length === GOOD.length && wire.subarray(65).equals(GOOD.subarray(65)) && wire[0] === GOOD[0];
        expect(identityOf(reading)).toBe(isSame ? IDENTITY : "");
      }),
      RUN,
    );
  });
});

test("readPayment refuses any payload and any bytes without throwing", () => {
  const bytes = fc.uint8Array({ maxLength: 1400 });
  const some = fc.oneof(
    fc.anything(),
    fc.record({ transaction: fc.anything() }),
    bytes.map(encoded),
    fc.string().map((text) => ({ transaction: text })),
  );
  fc.assert(
    fc.property(some, (paid) => void expect(read(paid).kind).toBe("refused")),
    RUN,
  );
});

describe("random instructions, all signed by the payer", () => {
  const keys = [PAYER.publicKey, STRANGER.publicKey, PAY_TO, USDC, tokenAccount(PAYER.publicKey), tokenAccount(PAY_TO)];
  const account = fc
    .record({ pubkey: fc.constantFrom(...keys), isWritable: fc.boolean() })
    .map(({ pubkey, isWritable }) => ({
      pubkey,
      isWritable,
      isSigner: pubkey.equals(PAYER.publicKey),
    }));
  const program = fc.constantFrom(TOKEN, TOKEN_2022, MEMO, LIGHTHOUSE, SystemProgram.programId, LIMIT.programId);
  const wild = fc
    .tuple(program, fc.uint8Array({ maxLength: 12 }), fc.array(account, { maxLength: 5 }))
    .map(([id, data, accounts]) => instruction(id, data, accounts));
  const own = fc.constantFrom(...ordinary(), memo("m"), transfer({ amount: 1n }), transfer({ mint: new PublicKey(7) }));
  const tail = fc.array(fc.oneof(own, wild), { maxLength: 4 });

  test("random instructions are accepted only with one transfer of the price, and nothing else that moves tokens or SOL", () => {
    let taken = 0;
    fc.assert(
      fc.property(
        fc.oneof(
          tail,
          tail.map((more) => [LIMIT, PRICE, transfer(), ...more]),
        ),
        (instructions) => {
          const needsPayer = instructions.some(({ keys: all }) => all.some(({ isSigner }) => isSigner));
          const reading = read(payload({ instructions, signers: needsPayer ? [PAYER] : [] }));
          if (reading.kind === "refused") return;
          taken++;
          expect(reading.payer).toBe(PAYER.publicKey.toBase58());
          const moving = instructions.filter(
            ({ programId }) => programId.equals(TOKEN) || programId.equals(TOKEN_2022),
          );
          expect(moving.map(({ data }) => data)).toEqual([transfer().data]);
          expect(moving[0]?.keys.map(({ pubkey }) => pubkey)).toEqual(transfer().keys.map(({ pubkey }) => pubkey));
          expect(instructions.some(({ programId }) => programId.equals(SystemProgram.programId))).toBe(false);
        },
      ),
      RUN,
    );
    expect(taken).toBeGreaterThan(5);
  });
});
