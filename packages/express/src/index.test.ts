import { expect, test } from "vitest";
import * as surface from "./index.js";

test("the public surface is exactly this", () => {
  expect(Object.keys(surface).sort()).toMatchInlineSnapshot(`
    [
      "AmountError",
      "ConfigError",
      "FareboxError",
      "PaymentAbortedError",
      "StateError",
      "createPayments",
      "paymentMiddleware",
      "setSettlementOverrides",
    ]
  `);
});
