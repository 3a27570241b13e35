import { expect, test } from "vitest";
import * as svm from "./index.js";

test("the public surface is exactly this", () => {
  expect(Object.keys(svm).sort()).toMatchInlineSnapshot(`
    [
      "ASSETS",
      "decodeBase58",
      "encodeBase58",
      "exactSvm",
      "tokenAccountOf",
    ]
  `);
});
