import { expect, test } from "vitest";
import * as mcp from "./index.js";

test("the public surface is exactly this", () => {
  expect(Object.keys(mcp)).toEqual(["createPaidTools"]);
});
