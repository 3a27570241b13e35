import { expect, test } from "vitest";
import * as adapter from "./adapter.js";
import * as core from "./index.js";
import * as issues from "./issues.js";
import * as protocol from "./protocol/index.js";

test("@farebox/core exports exactly these values", () => {
  expect(Object.keys(core).sort()).toMatchInlineSnapshot(`
    [
      "AmountError",
      "ConfigError",
      "FacilitatorError",
      "FareboxError",
      "PaymentAbortedError",
      "RELEASABLE",
      "RpcError",
      "StateError",
      "TRANSITIONS",
      "UNFINISHED",
      "createHttpFacilitator",
      "createMemoryStore",
      "createRpcNode",
    ]
  `);
});

test("@farebox/core/adapter exports exactly these values", () => {
  expect(Object.keys(adapter).sort()).toMatchInlineSnapshot(`
    [
      "EXPOSE_HEADERS",
      "UNKNOWN_RECEIVERS",
      "createPaymentsEngine",
      "createPaymentsGate",
      "exposeHeaders",
      "isHost",
      "isSettlementOverrides",
      "matchesMount",
      "placeOfRoute",
      "privateCacheControl",
      "samplesOf",
      "toCanonicalText",
    ]
  `);
});

test("@farebox/core/issues exports exactly these values", () => {
  expect(Object.keys(issues).sort()).toMatchInlineSnapshot(`
    [
      "createIssues",
      "issuePath",
    ]
  `);
});

test("@farebox/core/protocol exports exactly these values", () => {
  expect(Object.keys(protocol).sort()).toMatchInlineSnapshot(`
    [
      "EXTENSION_RESPONSES",
      "PAYMENT_REQUIRED",
      "PAYMENT_RESPONSE",
      "PAYMENT_SIGNATURE",
      "canonicalNetwork",
      "decodeExtensionResponses",
      "decodePaymentRequired",
      "decodePaymentResponse",
      "decodePaymentSignature",
      "encodeExtensionResponses",
      "encodePaymentSignature",
      "isJsonObject",
      "isNetwork",
      "isReason",
      "parseJson",
      "sameNetwork",
    ]
  `);
});
