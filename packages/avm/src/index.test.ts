import { expect, test } from "vitest";
import * as avm from "./index.js";

test("the public surface is exactly this", () => {
  expect(Object.keys(avm).sort()).toMatchInlineSnapshot(`
    [
      "ASSETS",
      "exactAvm",
      "isSameNetwork",
      "networkAliases",
    ]
  `);
});
