/**
 * Payloads without a transaction: the seller and the facilitator refuse them with the same reason.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { PAYER, requirements } from "../../packages/svm/src/payments.fixture.js";
import { requestFor } from "../facilitator/unsettled.js";
import { BothSides, NOW, scheme } from "./both-sides.js";

const DECODED = "invalid_exact_svm_payload_transaction_could_not_be_decoded";

let sides: BothSides;

beforeAll(async () => {
  sides = await BothSides.open();
});

afterAll(() => sides.local.close());

afterEach(() => sides.expectNothingMoved());

test("both sides accept the payload unchanged", async () => {
  const paid = sides.payload();
  expect(scheme.readPayment(paid, requirements(), NOW)).toMatchObject({
    kind: "readable",
    payer: PAYER.publicKey.toBase58(),
  });
  expect(await sides.facilitator.verify(requestFor(paid, requirements()))).toMatchObject({ isValid: true });
});

describe("the payload", () => {
  const good = () => sides.payload().transaction;
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
    ["has a trailing space", () => ({ transaction: `${good()} ` }), DECODED],
    [
      "has a byte more",
      () => ({ transaction: Buffer.from(`${good()}`, "base64").toString("base64").concat("AAAA") }),
      DECODED,
    ],
    ["is cut in half", () => ({ transaction: good().slice(0, 200) }), DECODED],
    ["is a packet too long", () => ({ transaction: Buffer.alloc(1233, 1).toString("base64") }), DECODED],
  ])("both sides refuse a payload that %s", async (_, paid, reason) => {
    await sides.expectRefused(paid(), reason);
  });
});
