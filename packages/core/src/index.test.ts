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
      "RpcError",
      "PAYMENT_REQUIRED",
      "PAYMENT_RESPONSE",
      "PAYMENT_SIGNATURE",
      "PaymentAbortedError",
      "RELEASABLE",
      "StateError",
      "TRANSITIONS",
      "UNFINISHED",
      "UNKNOWN_RECEIVERS",
      "createHttpFacilitator",
      "createIssues",
      "createRpcNode",
      "createMemoryStore",
      "createPaymentsEngine",
      "createPaymentsGate",
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
