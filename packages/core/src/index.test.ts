import { expect, test } from "vitest";
import * as adapter from "./adapter.js";
import * as core from "./index.js";
import * as issues from "./issues.js";
import * as protocol from "./protocol/index.js";

test("the public surface of @farebox/core is exactly this", () => {
  expect(Object.keys(core).sort()).toMatchInlineSnapshot(`
    [
      "AmountError",
      "BodyNotParsedError",
      "ConfigError",
      "FacilitatorError",
      "FareboxError",
      "LedgerError",
      "MAX_ANSWER_BYTES",
      "MOST_DUE",
      "PaymentAbortedError",
      "PriceError",
      "RELEASABLE",
      "ResponseError",
      "RpcError",
      "SchemeError",
      "StateError",
      "StoreError",
      "TRANSITIONS",
      "UNFINISHED",
      "UNLEASED",
      "createHttpFacilitator",
      "createMemoryStore",
      "createRpcNode",
      "price",
      "sizeOfAnswer",
      "usd",
    ]
  `);
});

test("the public surface of @farebox/core/adapter is exactly this", () => {
  expect(Object.keys(adapter).sort()).toMatchInlineSnapshot(`
    [
      "EXPOSED_HEADERS",
      "EXPOSE_HEADERS",
      "IS_IDLE",
      "IS_TOLD",
      "RECEIPTS_PATH",
      "WHOLE_ONLY",
      "asksForPayment",
      "belowThatMount",
      "createLogger",
      "createPaymentsEngine",
      "createPaymentsGate",
      "describeThrown",
      "escapeHtml",
      "exposeHeaders",
      "formBelow",
      "formsOf",
      "isHost",
      "isMoreSpecific",
      "isOfPayments",
      "isSettlementOverrides",
      "joinValues",
      "matchesMount",
      "mentionsPayments",
      "networkOf",
      "placeOfRoute",
      "privateCacheControl",
      "settledFor",
      "streamTrailers",
      "writeCanonicalText",
    ]
  `);
});

test("the public surface of @farebox/core/issues is exactly this", () => {
  expect(Object.keys(issues).sort()).toMatchInlineSnapshot(`
    [
      "createIssues",
      "issuePath",
    ]
  `);
});

test("the public surface of @farebox/core/protocol is exactly this", () => {
  expect(Object.keys(protocol).sort()).toMatchInlineSnapshot(`
    [
      "EXTENSION_RESPONSES",
      "PAYMENT_IDENTIFIER",
      "PAYMENT_REQUIRED",
      "PAYMENT_RESPONSE",
      "PAYMENT_RETRY_TOKEN",
      "PAYMENT_SIGNATURE",
      "canonicalNetwork",
      "declarePaymentIdentifier",
      "decodeExtensionResponses",
      "decodePaymentRequired",
      "decodePaymentResponse",
      "decodePaymentSignature",
      "encodeExtensionResponses",
      "encodePaymentSignature",
      "isJsonObject",
      "isNetwork",
      "isReason",
      "matchesTemplate",
      "networkByName",
      "parseJson",
      "piecesOf",
      "problemOfTemplate",
      "sameNetwork",
    ]
  `);
});
