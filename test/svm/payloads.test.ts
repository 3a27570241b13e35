/**
 * Payloads that are no transaction: the seller and the facilitator refuse them with the same reason.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { PAYER, requirements } from "../../packages/svm/src/payments.fixture.js";
import { requestFor } from "../facilitator/unsettled.js";
import { Court, NOW, scheme } from "./court.js";

const DECODED = "invalid_exact_svm_payload_transaction_could_not_be_decoded";

let court: Court;

beforeAll(async () => {
  court = await Court.open();
});

afterAll(() => court.local.close());

afterEach(() => court.expectNothingMoved());

test("unchanged, it is fine", async () => {
  const paid = court.payload();
  expect(scheme.readPayment(paid, requirements(), NOW)).toMatchObject({
    kind: "readable",
    payer: PAYER.publicKey.toBase58(),
  });
  expect(await court.facilitator.verify(requestFor(paid, requirements()))).toMatchObject({ isValid: true });
});

describe("the payload", () => {
  const good = () => court.payload().transaction;
  test.each<[what: string, paid: () => unknown, reason: string]>([
    ["is missing", () => undefined, "invalid_payload"],
    ["is null", () => null, "invalid_payload"],
    ["is a text", () => good(), "invalid_payload"],
    ["is a list", () => [good()], "invalid_payload"],
    ["is empty", () => ({}), "invalid_payload"],
    ["has the field under another name", () => ({ tx: good() }), "invalid_payload"],
    ["has a number", () => ({ transaction: 1 }), "invalid_payload"],
    ["has a list", () => ({ transaction: [good()] }), "invalid_payload"],
    ["has null", () => ({ transaction: null }), "invalid_payload"],
    ["has an object", () => ({ transaction: { good } }), "invalid_payload"],
    ["is another chain's", () => ({ signature: "0x00", authorization: { from: "0x0" } }), "invalid_payload"],
    ["has an empty text", () => ({ transaction: "" }), DECODED],
    ["is not base64", () => ({ transaction: `${good().slice(0, -4)}****` }), DECODED],
    ["has a space behind", () => ({ transaction: `${good()} ` }), DECODED],
    [
      "has a byte more",
      () => ({ transaction: Buffer.from(`${good()}`, "base64").toString("base64").concat("AAAA") }),
      DECODED,
    ],
    ["has half", () => ({ transaction: good().slice(0, 200) }), DECODED],
    ["is a packet too long", () => ({ transaction: Buffer.alloc(1233, 1).toString("base64") }), DECODED],
  ])("%s", async (_, paid, reason) => {
    await court.expectRefused(paid(), reason);
  });
});
