/**
 * Payloads without a group of transactions: the seller and the facilitator refuse them with the same reason.
 */
import { afterAll, afterEach, beforeAll, describe, test } from "vitest";
import { payload } from "../../packages/avm/src/payments.fixture.js";
import { BothSides } from "./both-sides.js";

const BAD = "invalid_exact_avm_invalid_transaction";
const SIZE = "invalid_exact_avm_group_size_exceeded";
const INDEX = "invalid_exact_avm_payment_index";

let sides: BothSides;

beforeAll(async () => {
  sides = await BothSides.open();
});

afterAll(() => sides.local.close());

afterEach(() => sides.expectNothingMoved());

describe("the payload", () => {
  const { paymentGroup, paymentIndex } = payload();
  const [sponsor = "", paying = ""] = paymentGroup;
  const group = (second: unknown) => ({ paymentGroup: [sponsor, second], paymentIndex });
  const index = (at: unknown) => ({ paymentGroup, paymentIndex: at });
  test.each<[what: string, paid: unknown, reason: string]>([
    ["is missing", undefined, "invalid_payload"],
    ["is null", null, "invalid_payload"],
    ["is a text", paying, "invalid_payload"],
    ["is a list", paymentGroup, "invalid_payload"],
    ["is empty", {}, "invalid_payload"],
    ["is another chain's", { transaction: paying }, "invalid_payload"],
    ["has a text for a group", { paymentGroup: paying, paymentIndex: 0 }, "invalid_payload"],
    ["has an object for a group", { paymentGroup: { 0: paying, length: 1 }, paymentIndex: 0 }, "invalid_payload"],
    ["has an empty group", { paymentGroup: [], paymentIndex: 0 }, SIZE],
    ["has a huge group", { paymentGroup: Array.from({ length: 10_000 }, () => paying), paymentIndex: 0 }, SIZE],
    ["has no index", { paymentGroup }, INDEX],
    ["has a text for an index", index("1"), INDEX],
    ["has a negative index", index(-1), INDEX],
    ["has a fraction for an index", index(0.5), INDEX],
    ["has an index beyond", index(2), INDEX],
    ["has a hole", { paymentGroup: new Array(2), paymentIndex: 1 }, BAD],
    ["has a number", group(1), BAD],
    ["has null", group(null), BAD],
    ["has an object", group({ txn: {} }), BAD],
    ["has a list of bytes", group([...Buffer.from(paying, "base64")]), BAD],
    ["has an empty text", group(""), BAD],
    ["is not base64", group(`${paying.slice(0, -4)}****`), BAD],
    ["has a trailing space", group(`${paying} `), BAD],
    ["has no padding", group("gaN0eG4"), BAD],
    ["is base64url", group(paying.replaceAll("+", "-").replaceAll("/", "_").concat("-_-_")), BAD],
    ["has an extra byte", group(Buffer.concat([Buffer.from(paying, "base64"), Buffer.of(1)]).toString("base64")), BAD],
    ["is cut in half", group(paying.slice(0, 200)), BAD],
    ["is too long", group(Buffer.alloc(2000, 0x81).toString("base64")), BAD],
    ["is deeply nested", group(Buffer.alloc(1700, 0x81).toString("base64")), BAD],
  ])("both sides refuse a payload that %s", async (_, paid, reason) => {
    await sides.expectRefused(paid, reason);
  });
});
