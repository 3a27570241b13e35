import { expect, test } from "vitest";
import * as scheme from "./index.js";

test("the public surface is exactly this", () => {
  expect(Object.keys(scheme).sort()).toMatchInlineSnapshot(`
    [
      "SIGNATURE_BYTES",
      "SettlementDesk",
      "accept",
      "createTransactionDesk",
      "createTransactionScheme",
      "fieldsOf",
      "isSignedBy",
      "orUnclear",
      "priceTerms",
      "readSigningKey",
      "refuse",
      "unclear",
    ]
  `);
});
