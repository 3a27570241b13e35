import { expect, test } from "vitest";
import * as scheme from "./index.js";

test("the public surface is exactly this", () => {
  expect(Object.keys(scheme).sort()).toMatchInlineSnapshot(`
    [
      "CHAIN_TIMES",
      "ChainError",
      "SIGNATURE_BYTES",
      "SentTransactions",
      "SettlementDesk",
      "accept",
      "askAtMost",
      "compileTerms",
      "createExactScheme",
      "createTransactionDesk",
      "createTransactionScheme",
      "expectSignature",
      "fieldsOf",
      "formatAmount",
      "healthOf",
      "isSignedBy",
      "legible",
      "orUnclear",
      "parseAtomic",
      "parsePrice",
      "priceTerms",
      "pricingById",
      "readChainTimes",
      "readSigner",
      "readUint64",
      "refuse",
      "unclear",
      "untilPassed",
    ]
  `);
});
