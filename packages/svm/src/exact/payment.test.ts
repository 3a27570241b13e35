import { describe, expect, test } from "vitest";
import { PAYER, payload, requirements } from "../payments.fixture.js";
import { readTransferPayment } from "./payment.js";

const NOW = 1_800_000_000;

describe("an ordinary payment", () => {
  test.each(["legacy", 0] as const)(
    "a payment in a message of version %s is readable, and its payer is the transfer's authority",
    (version) => {
      const paid = payload({ version });
      expect(readTransferPayment(paid, requirements(), NOW)).toEqual({
        kind: "readable",
        payload: paid,
        identity: expect.stringMatching(/^solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1\|[0-9a-f]{64}$/),
        payer: PAYER.publicKey.toBase58(),
        expiresAtSeconds: NOW + 300,
        settleBySeconds: NOW + 40,
        expiredReason: "invalid_transaction_state",
      });
    },
  );

  test.each([
    [60, 180, "shorter than a transaction can live"],
    [300, 300, "longer"],
    [86_400, 3600, "a day"],
  ])("a payment with a timeout of %i seconds is remembered for %i: %s", (maxTimeoutSeconds, remembered) => {
    const reading = readTransferPayment(payload(), requirements({ maxTimeoutSeconds }), NOW);
    expect(reading).toMatchObject({ expiresAtSeconds: NOW + remembered });
  });
});

test("a payment is passed on without a signature of its fee payer, and without other fields", () => {
  const paid = payload();
  const wire = Buffer.from(paid.transaction, "base64").fill(9, 1, 65);
  const spelled = { signature: "0x", transaction: wire.toString("base64"), more: {} };
  expect(readTransferPayment(spelled, requirements(), NOW)).toEqual(readTransferPayment(paid, requirements(), NOW));
});

describe("two payments", () => {
  const identityOf = (paid: unknown, change = {}) => {
    const reading = readTransferPayment(paid, requirements(change), NOW);
    return reading.kind === "refused" ? reading.reason : reading.identity;
  };

  test("payments that differ only in their signatures have one identity", () => {
    const wire = Buffer.from(payload().transaction, "base64").fill(9, 1, 65);
    expect(identityOf({ transaction: wire.toString("base64") })).toBe(identityOf(payload()));
  });

  test("payments that differ in a byte of their messages have two identities", () => {
    const other = payload({ blockhash: PAYER.publicKey.toBase58() });
    expect(identityOf(other)).not.toBe(identityOf(payload()));
  });

  test("payments on two networks have two identities", () => {
    const testnet = { network: "solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z" };
    expect(identityOf(payload(), testnet)).not.toBe(identityOf(payload()));
  });
});
