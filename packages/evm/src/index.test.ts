import { expect, test } from "vitest";
import * as evm from "./index.js";

test("the public surface is exactly this", () => {
  expect(Object.keys(evm).sort()).toMatchInlineSnapshot(`
    [
      "ASSETS",
      "exactEvm",
      "gasSponsoringFor",
      "isMessageSignedBy",
      "toChecksum",
      "uptoEvm",
    ]
  `);
});
