import { expect, test } from "vitest";
import * as side from "./index.js";

test("the public surface is exactly this", () => {
  expect(Object.keys(side).sort()).toMatchInlineSnapshot(`
    [
      "CHAIN_TIMES",
      "ChainError",
      "SentTransactions",
      "SettlementDesk",
      "createExactScheme",
      "createTransactionDesk",
      "createTransactionScheme",
      "expectSignature",
      "healthOf",
      "readChainTimes",
      "readSigner",
      "untilPassed",
    ]
  `);
});
