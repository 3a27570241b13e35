/**
 * Every case of the corpus, sent to Farebox without payment.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Must, Version } from "./case.js";
import { CORPUS } from "./corpus.js";
import { farebox, unpriced } from "./sellers.js";
import { openStage, type Stage, verdictOf } from "./stage.js";

/** Node 20.19.0 and 20.19.1 let raw bytes in. They reach the same prices as any other letters of a path. */
const LETS_RAW_BYTES_IN = Number.parseInt(process.versions["llhttp"] ?? "9", 10) < 9;
const OF_RAW_BYTES: Readonly<Record<string, Must>> = { "param-raw-bytes": "priced", "encoded-key-raw-bytes": "free" };

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});

afterAll(() => stage.close());

describe.each<Version>([5, 4])("on Express %i, without payment", (version) => {
  test.each(CORPUS.filter(({ on }) => on.includes(version)))("$name is $must: $why", async (subject) => {
    const outcome = await stage.run(subject, version, farebox);
    const onOldNode = LETS_RAW_BYTES_IN ? OF_RAW_BYTES[subject.name] : undefined;
    expect(verdictOf(outcome)).toBe(onOldNode ?? subject.must);
    if (outcome.kind === "did not start") return;
    expect(outcome.settlements).toBe(0);
    if (subject.by !== undefined) expect(outcome.key).toBe(subject.by);
  });
});

/** What would not be served anyway, and is priced all the same: neither the table nor the gate before a file server knows that. */
const PRICED_IN_VAIN: readonly string[] = [
  "param-broken-escape",
  "param-broken-utf-8",
  "file-slash",
  "file-capitals",
  "file-dots-backslash",
  "file-dots-raw-backslash",
  "file-dots-twice-encoded",
  "file-above-root",
  "file-backslash",
  "file-encoded-backslash",
  "file-nul",
  "folder-dots-backslash",
  "folder-dots-twice-encoded",
  "folder-dots-last",
  "folder-backslash",
  "folder-encoded-backslash",
  "folder-nul",
];

describe.each<Version>([5, 4])("on Express %i, without a table", (version) => {
  const serves = { priced: "free", free: "free", preflight: "free", "not found": "not found" } as const;

  test("every priced or free path of the corpus is served without a table, and no other", async () => {
    const unserved: string[] = [];
    for (const subject of CORPUS) {
      const { name, on, must } = subject;
      if (must === "refused" || must === "does not start" || !on.includes(version)) continue;
      const verdict = verdictOf(await stage.run(subject, version, unpriced));
      if (verdict !== serves[must]) unserved.push(name);
    }
    expect(unserved).toEqual(PRICED_IN_VAIN);
  });
});

test("the names of the corpus are unique", () => {
  const names = CORPUS.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
