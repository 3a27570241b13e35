import { expect, test } from "vitest";
import * as scheme from "./index.js";

test("the public surface is exactly this", () => {
  expect(Object.keys(scheme).sort()).toMatchInlineSnapshot(`
    [
      "SIGNATURE_BYTES",
      "accept",
      "askAtMost",
      "compileTerms",
      "fieldsOf",
      "formatAmount",
      "isSignedBy",
      "legible",
      "orUnclear",
      "parseAtomic",
      "parsePrice",
      "priceTerms",
      "pricingById",
      "readUint64",
      "refuse",
      "unclear",
    ]
  `);
});
