/**
 * How far a request travels: the files and functions of ours that it runs through, which a reader has to walk, and their calls, promises and
 * timers, which a processor has to execute. The counts are exact, the same on every machine and on every Node.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** V8 counts in a process of its own: it would count other tests, too. */
const COUNT = ["--import", "./test/source/journey/load-sources.mjs", "test/source/journey/count.ts"];

/** Far more than it takes, on any machine. */
const LIMIT_MS = 600_000;

/**
 * Of one request to a warm seller who has configured nothing but a route. `paid early`: a seller checks the signatures of its first 64 payments
 * itself. Two of the promises of a paid request are the facilitator's.
 *
 * These numbers may only fall. A count below its ceiling fails as well: otherwise the next change could take back, unseen, what this one has gained.
 */
const CEILINGS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  free: { files: 3, functions: 4, calls: 4, promises: 0, timers: 0 },
  unpaid: { files: 14, functions: 26, calls: 26, promises: 0, timers: 0 },
  "paid early": { files: 54, functions: 170, calls: 227, promises: 28, timers: 1 },
  paid: { files: 51, functions: 162, calls: 211, promises: 28, timers: 1 },
};

test(
  "a request runs through no more of the sources than before",
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [...COUNT, "--json"], { cwd: ROOT });
    const counted: typeof CEILINGS = JSON.parse(stdout);
    expect(Object.keys(counted)).toEqual(Object.keys(CEILINGS));
    const findings = Object.entries(CEILINGS).flatMap(([kind, ceilings]) =>
      Object.entries(ceilings).flatMap(([what, ceiling]) =>
        compare(`${what}, ${kind}`, counted[kind]?.[what], ceiling),
      ),
    );
    expect(findings, `node ${COUNT.join(" ")} lists the functions`).toEqual([]);
  },
  LIMIT_MS,
);

function compare(what: string, count: number | undefined, ceiling: number): readonly string[] {
  if (count === undefined || count > ceiling) return [`${what}: ${count}, more than ${ceiling}`];
  return count < ceiling ? [`${what}: ${count}. Lower the ceiling, which is ${ceiling}`] : [];
}
