import { expect, test } from "vitest";
import * as surface from "./index.js";

test("@farebox/express exports exactly these values", () => {
  expect(Object.keys(surface).sort()).toMatchInlineSnapshot(`
    [
      "ConfigError",
      "FareboxError",
      "PaymentAbortedError",
      "createPayments",
      "paymentMiddleware",
      "price",
      "setSettlementOverrides",
      "usd",
    ]
  `);
});
