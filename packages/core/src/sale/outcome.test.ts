import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FacilitatorError } from "../errors.js";
import { SILENT } from "../events/logger.js";
import type { Facilitator, FacilitatorRequest } from "../facilitator/facilitator.js";
import { createFacilitatorPool } from "../facilitator/pool.js";
import type { RpcNode } from "../http/rpc-node.js";
import type { SettlementResponse } from "../protocol/documents.js";
import { createOffer } from "../scheme/offer.js";
import type { ChainFinding, SignatureFinding } from "../scheme/scheme.js";
import { CLAIM } from "../store/memory-store.fixture.js";
import { type Attempt, explain, moveMoney, type PendingPayment } from "./outcome.js";
import { createFakeFacilitator, createTestScheme, NETWORK, PAY_TO, PAYER, paymentOf } from "./shop.fixture.js";

const OFFER = createOffer(
  createTestScheme(),
  { asset: { id: "0xA", symbol: "USDC", decimals: 6, extra: {} }, amount: 10_000n, payTo: PAY_TO, isInDollars: true },
  { network: NETWORK, maxTimeoutSeconds: 300, extra: {} },
);
const REQUEST = {
  x402Version: 2,
  paymentPayload: { ...paymentOf(), accepted: OFFER.requirements },
  paymentRequirements: OFFER.requirements,
} as FacilitatorRequest;

const PAYMENT: PendingPayment = {
  claim: { ...CLAIM, identity: "p1", expiresAtMs: 0 },
  payer: PAYER,
  scheme: OFFER.scheme,
  routeKey: "GET /weather",
  facilitatorRequest: REQUEST,
};

const TX = `0x${"ab".repeat(32)}`;
const DONE: SettlementResponse = { success: true, transaction: TX, network: NETWORK };
const NOT_DONE: SettlementResponse = { success: false, transaction: "", network: NETWORK };

function because(errorReason: string, transaction = ""): SettlementResponse {
  return { ...NOT_DONE, errorReason, transaction };
}

function failure(code: string, outcome: "none" | "unknown", more = {}): FacilitatorError {
  return new FacilitatorError("prose", { code, operation: "settle", outcome, ...more } as never);
}

async function settleWith(result: unknown, repeated: boolean, task: Partial<Attempt> = {}) {
  const fake: Facilitator = Object.assign(createFakeFacilitator(), { settles: result });
  const facilitator = createFacilitatorPool([{ facilitator: fake, name: "fake" }]);
  return await moveMoney(
    { payment: PAYMENT, facilitator: undefined, isRepeated: repeated, ...task },
    { facilitator, logger: SILENT, ...CHAINLESS },
  );
}

test.each<[facilitator: string | undefined, expected: object]>([
  [undefined, { payment: "p1", payer: PAYMENT.payer }],
  ["a.example", { payment: "p1", payer: PAYMENT.payer, facilitator: "a.example" }],
])("the pool gets the payment's identity, its payer and its facilitator (%s)", async (facilitator, expected) => {
  const given: unknown[] = [];
  const pool = {
    async settle(...call: readonly unknown[]) {
      given.push(...call);
      return DONE;
    },
  };
  const task = { payment: PAYMENT, facilitator, isRepeated: false };
  expect((await moveMoney(task, { facilitator: pool, logger: SILENT, ...CHAINLESS })).kind).toBe("settled");
  expect(given).toStrictEqual([REQUEST, expected]);
});

/** No node, and no confirmations wanted. */
const CHAINLESS = { rpc: new Map<string, RpcNode>(), confirmationsOn: () => 0, now: () => 0, timer: () => () => {} };

/** The outcome of a first attempt, and of a repeated one, when an earlier attempt may have moved the money. */
const OUTCOMES: readonly [result: unknown, first: string, repeated: string, why: string][] = [
  [DONE, "settled", "settled", "the required fields"],
  [{ ...DONE, payer: PAYER, amount: "10000" }, "settled", "settled", "all fields"],
  [{ ...DONE, payer: PAYER.toLowerCase() }, "settled", "settled", "addresses have no case"],
  [{ ...DONE, transaction: "" }, "unknown", "unknown", "a success with an empty transaction"],
  [{ success: true, network: NETWORK }, "unknown", "unknown", "a success without a transaction"],
  [{ success: true, transaction: TX }, "settled", "settled", "no network"],
  [{ ...DONE, network: "eip155:1" }, "unknown", "unknown", "on another network"],
  [{ ...DONE, payer: PAY_TO }, "unknown", "unknown", "by another payer"],
  [{ ...DONE, amount: "9999" }, "unknown", "unknown", "another amount"],
  [{ ...DONE, amount: "010000" }, "unknown", "unknown", "another amount, as text"],
  [NOT_DONE, "unknown", "unknown", "neither reason nor transaction"],
  [because("insufficient_funds"), "rejected", "unknown", "the first attempt may have spent the funds"],
  [because("invalid_exact_evm_payload_signature"), "rejected", "rejected", "no attempt can settle it"],
  [because("invalid_exact_evm_payload_signature", TX), "unknown", "unknown", "something was broadcast"],
  [because("invalid_exact_evm_payload_recipient_mismatch"), "rejected", "rejected", "no attempt can settle it"],
  [because("invalid_payload"), "rejected", "rejected", "no attempt can settle it"],
  [because("invalid_exact_evm_payload_authorization_valid_before"), "rejected", "unknown", "the first may be earlier"],
  [because("unsupported_scheme"), "rejected", "unknown", "the facilitator may have been set up anew"],
  [because("a_reason_of_its_own"), "rejected", "unknown", "final"],
  [because("timeout"), "unknown", "unknown", "the facilitator did not wait for the end"],
  [because("transaction_confirmation_timeout"), "unknown", "unknown", "the facilitator did not wait for the end"],
  [
    because("Timed out while waiting for the receipt"),
    "unknown",
    "unknown",
    "the facilitator did not wait for the end",
  ],
  [because("Prose, not a reason"), "rejected", "unknown", "final"],
  [because(""), "unknown", "unknown", "no reason"],
  [because("insufficient_funds", TX), "unknown", "unknown", "something was broadcast"],
  [because("invalid_transaction_state"), "rejected", "unknown", "this or another attempt failed on chain"],
  [because("invalid_transaction_state", TX), "rejected", "unknown", "this or another attempt failed on chain"],
  [because("settlement_pending", TX), "unknown", "unknown", "broadcast, not yet mined"],
  [because("settlement_pending"), "unknown", "unknown", "reported as broadcast"],
  [because("unexpected_settle_error"), "unknown", "unknown", "the facilitator does not know"],
  [because("unexpected_settle_error", TX), "unknown", "unknown", "the facilitator does not know"],
  [because("payment_already_settled", TX), "rejected", "settled", "by another seller's attempt, or by an earlier one"],
  [because("payment_already_settled"), "rejected", "unknown", "the payer may have used it up without paying"],
  [{ ...because("payment_already_settled", TX), payer: PAY_TO }, "rejected", "unknown", "of another payer"],
  [{ ...because("payment_already_settled", TX), network: "eip155:1" }, "rejected", "unknown", "on another network"],
  [{ success: "true", transaction: TX }, "unknown", "unknown", "a text is not a boolean"],
  [{ success: "false" }, "unknown", "unknown", "a text is not a boolean"],
  [undefined, "unknown", "unknown", "undefined"],
  [null, "unknown", "unknown", "null"],
  [{}, "unknown", "unknown", "an empty object"],
  [failure("ERR_FAREBOX_FACILITATOR_UNREACHABLE", "none"), "unsent", "unknown", "this attempt was never sent"],
  [failure("ERR_FAREBOX_FACILITATOR_STATUS", "unknown", { status: 401 }), "unknown", "unknown", "bad credentials"],
  [failure("ERR_FAREBOX_FACILITATOR_UNREACHABLE", "unknown"), "unknown", "unknown", "reset"],
  [failure("ERR_FAREBOX_FACILITATOR_TIMEOUT", "unknown"), "unknown", "unknown", "too slow"],
  [failure("ERR_FAREBOX_FACILITATOR_RESPONSE", "unknown"), "unknown", "unknown", "an invalid response"],
  [new TypeError("of its own"), "unknown", "unknown", "an unknown error"],
];

describe("the outcome of a settlement", () => {
  test.each<[finding: SignatureFinding, kind: string]>([
    [{ kind: "signed" }, "unknown"],
    [{ kind: "unclear" }, "rejected"],
    [{ kind: "other_key", reason: "invalid_exact_evm_payload_signature" }, "rejected"],
  ])("the outcome of a repeated settlement whose signature is refused, and %o here, is %s", async (finding, kind) => {
    const payment = { ...PAYMENT, scheme: createTestScheme({ checkSignature: () => finding }) };
    const refused = because("invalid_exact_evm_payload_signature");
    expect((await settleWith(refused, true, { payment })).kind).toBe(kind);
  });

  test.each(OUTCOMES)(
    "the outcome of %o is %s the first time and %s when repeated: %s",
    async (result, first, repeated) => {
      expect((await settleWith(result, false)).kind).toBe(first);
      expect((await settleWith(result, true)).kind).toBe(repeated);
    },
  );

  test.each<[found: ChainFinding, kind: string]>([
    [{ kind: "moved", transaction: TX }, "settled"],
    [{ kind: "never" }, "rejected"],
    [{ kind: "open" }, "unknown"],
    [{ kind: "unclear", problem: "silent" }, "unknown"],
  ])("a success without a transaction is searched on chain where there is a node: %o is %s", async (found, kind) => {
    const scheme = createTestScheme({ findPayment: async () => found });
    const facilitator = { settle: async () => ({ ...DONE, transaction: "" }) };
    const rpc = new Map([[NETWORK, {} as RpcNode]]);
    const task = { payment: { ...PAYMENT, scheme }, facilitator: undefined, isRepeated: false };
    const outcome = await moveMoney(task, { facilitator, logger: SILENT, ...CHAINLESS, rpc });
    expect(outcome.kind).toBe(kind);
    if (outcome.kind === "settled") expect(outcome.receipt.transaction).toBe(TX);
  });

  test("a settlement has a receipt of known fields and the transaction", async () => {
    const result = { ...DONE, payer: PAYER.toLowerCase(), errorMessage: "prose", secret: "s" };
    const receipt = { success: true, payer: PAYER, transaction: TX, network: NETWORK, amount: "10000" };
    expect(await settleWith(result, false)).toEqual({ kind: "settled", receipt });
    const before = because("payment_already_settled", TX);
    expect(await settleWith(before, true)).toEqual({ kind: "settled", receipt });
  });

  test.each<[reason: string, reported: string]>([
    ["insufficient_funds", "insufficient_funds"],
    ["Sorry, <b>no</b>", "unexpected_settle_error"],
  ])("reports the reason %j to the client as %s, without the facilitator's prose", async (reason, reported) => {
    const result = { ...NOT_DONE, errorMessage: "secret", errorReason: reason };
    const receipt = { success: false, errorReason: reported, payer: PAYER, transaction: "", network: NETWORK };
    expect(await settleWith(result, false)).toEqual({ kind: "rejected", receipt });
  });

  test("an unsent or unknown settlement has the facilitator's Retry-After, or five seconds", async () => {
    const asked = failure("ERR_FAREBOX_FACILITATOR_UNAVAILABLE", "none", { retryAfterSeconds: 40 });
    expect(await settleWith(asked, false)).toEqual({ kind: "unsent", retryAfterSeconds: 40 });
    expect(await settleWith(asked, true)).toEqual({ kind: "unknown", retryAfterSeconds: 40 });
    expect(await settleWith(undefined, false)).toEqual({ kind: "unknown", retryAfterSeconds: 5 });
  });

  test("the outcome is unknown when the scheme throws on the response", async () => {
    const scheme = createTestScheme({
      sameAddress: () => {
        throw new RangeError("no address");
      },
    });
    const result = { ...DONE, payer: "?" };
    expect((await settleWith(result, false, { payment: { ...PAYMENT, scheme } })).kind).toBe("unknown");
  });

  test("the outcome is only settled or rejected for a plain success or refusal, for any response", async () => {
    const fields = fc.record(
      {
        success: fc.oneof(fc.boolean(), fc.anything()),
        transaction: fc.oneof(fc.constantFrom("", TX), fc.anything()),
        network: fc.oneof(fc.constant(NETWORK), fc.anything()),
        errorReason: fc.oneof(fc.constantFrom("settlement_pending", "payment_already_settled"), fc.anything()),
        payer: fc.oneof(fc.constant(PAYER), fc.anything()),
        amount: fc.oneof(fc.constant("10000"), fc.anything()),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.anything(), fields), fc.boolean(), async (result, repeated) => {
        const plain = (result ?? {}) as SettlementResponse;
        const { kind } = await settleWith(() => result, repeated);
        if (kind === "settled") {
          expect(plain.success === true || repeated).toBe(true);
          expect(plain.transaction).toMatch(/./s);
        }
        if (kind === "rejected") expect([plain.success, repeated]).toEqual([false, false]);
        expect(kind).not.toBe("unsent");
      }),
    );
  });
});

describe("explain", () => {
  test.each<[error: unknown, explanation: object]>([
    [
      failure("ERR_FAREBOX_FACILITATOR_TIMEOUT", "unknown"),
      { code: "ERR_FAREBOX_FACILITATOR_TIMEOUT", message: "prose" },
    ],
    [new TypeError("secret"), { code: "ERR_FAREBOX_FACILITATOR_RESPONSE", message: "TypeError" }],
    ["secret", { code: "ERR_FAREBOX_FACILITATOR_RESPONSE", message: "not an error" }],
  ])("explains %o for the log", (error, explanation) => {
    expect(explain(error)).toEqual(explanation);
  });
});
