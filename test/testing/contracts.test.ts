import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

test("the generated code of the contracts is current", () => {
  const script = new URL("../../packages/testing/scripts/compile-contracts.mjs", import.meta.url).pathname;
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});
