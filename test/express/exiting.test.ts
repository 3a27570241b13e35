/**
 * What a facilitator's time limit does to a process: it stays until a call has ended, and nothing keeps it after that.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const SELLER = fileURLToPath(new URL("exiting-seller.mjs", import.meta.url));
/** The longest that there are: no test lasts as long. */
const DEADLINES = { verifyMs: 120_000, settleMs: 120_000, supportedMs: 120_000 };
const SHORTEST_MS = 100;

async function sell(silentAt?: "verify" | "settle"): Promise<string[]> {
  const deadlines = silentAt === undefined ? DEADLINES : { ...DEADLINES, [`${silentAt}Ms`]: SHORTEST_MS };
  // Rejects if the process ends while it waits for something.
  const { stdout } = await promisify(execFile)(process.execPath, [SELLER, JSON.stringify({ silentAt, deadlines })]);
  return stdout.trim().split("\n");
}

test("a process ends when its sale has ended, long before the limit of a call", async () => {
  expect(await sell()).toEqual(["verified", "settled"]);
});

test.each([
  ["verify", ["refused"]],
  ["settle", ["verified", "refused"]],
] as const)("a process lives on until the limit of a call to %s that gets no response", async (silentAt, outcomes) => {
  expect(await sell(silentAt)).toEqual(outcomes);
});
