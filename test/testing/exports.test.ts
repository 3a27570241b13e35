import * as testing from "@farebox/testing";
import { expect, test } from "vitest";

test("the public surface is exactly this", () => {
  expect(Object.keys(testing).sort()).toMatchInlineSnapshot(`
    [
      "LocalChainError",
      "PayerError",
      "StoreError",
      "anvilAccounts",
      "createPayer",
      "createStoreConformance",
      "createTestFacilitator",
      "pay",
      "startFacilitatorServer",
      "startLocalChain",
      "startLocalSvm",
    ]
  `);
});
