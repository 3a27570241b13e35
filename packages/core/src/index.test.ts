import { expect, test } from "vitest";
import * as core from "./index.js";

test("the public surface is exactly this", () => {
  expect(Object.keys(core).sort()).toMatchInlineSnapshot(`
    [
      "AmountError",
      "ConfigError",
      "EXPOSE_HEADERS",
      "FacilitatorError",
      "FareboxError",
      "PAYMENT_REQUIRED",
      "PAYMENT_RESPONSE",
      "PAYMENT_SIGNATURE",
      "PaymentAbortedError",
      "RELEASABLE",
      "RpcError",
      "StateError",
      "TRANSITIONS",
      "UNFINISHED",
      "UNKNOWN_RECEIVERS",
      "createHttpFacilitator",
      "createIssues",
      "createMemoryStore",
      "createPaymentsEngine",
      "createPaymentsGate",
      "createRpcNode",
      "decodePaymentRequired",
      "decodePaymentResponse",
      "decodePaymentSignature",
      "encodePaymentSignature",
      "exposeHeaders",
      "isHost",
      "isJsonObject",
      "isNetwork",
      "isReason",
      "isSettlementOverrides",
      "legible",
      "matchesMount",
      "parseAtomic",
      "parseJson",
      "parsePrice",
      "placeOfRoute",
      "privateCacheControl",
      "samplesOf",
    ]
  `);
});
