import { expect, test } from "vitest";
import * as queries from "./index.js";

test("the public surface is exactly this", () => {
  expect(Object.keys(queries).sort()).toEqual(["openBooks", "openLedger"]);
});
