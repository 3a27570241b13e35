/**
 * Every case of the corpus, sent to Farebox without payment.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collectWarnings } from "../express/shop.js";
import type { Case, Must, Version } from "./case.js";
import { CORPUS, casesByApp } from "./corpus.js";
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

/** Tables that warn of a key, by the first case of their app. */
const WARN: Readonly<Record<string, readonly string[]>> = { "proxy-one-path": ["FAREBOX_KEY_UNREACHABLE"] };

describe.each<Version>([5, 4])("on Express %i, without payment", (version) => {
  test.each(casesByApp(version).map((cases) => [cases[0].name, cases] as const))(
    "every request to the app of '%s' has its verdict",
    async (name, cases) => {
      const warnings = collectWarnings();
      const attempt = stage.build(cases[0], version, farebox);
      const seen: object[] = [];
      // The other way round on Express 4: with its first request a table meets its app.
      for (const subject of version === 4 ? cases.toReversed() : cases) {
        const outcome = await attempt(subject);
        const { key, settlements } = outcome.kind === "answered" ? outcome : { key: undefined, settlements: 0 };
        seen.push({ ...told(subject), verdict: verdictOf(outcome), settlements, by: subject.by && key });
      }
      const required = cases.map((subject) => ({
        ...told(subject),
        verdict: mustOf(subject),
        settlements: 0,
        by: subject.by,
      }));
      expect(version === 4 ? seen.toReversed() : seen).toEqual(required);
      expect(warnings).toEqual(WARN[name] ?? []);
    },
  );
});

function mustOf({ name, must }: Case): Must {
  return (LETS_RAW_BYTES_IN ? OF_RAW_BYTES[name] : undefined) ?? must;
}

function told({ name, request, why }: Case) {
  return { name, request, why };
}

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
    for (const cases of casesByApp(version)) {
      const attempt = stage.build(cases[0], version, unpriced);
      for (const subject of cases) {
        const { name, must } = subject;
        if (must === "refused" || must === "does not start") continue;
        if (verdictOf(await attempt(subject)) !== serves[must]) unserved.push(name);
      }
    }
    expect(unserved).toEqual(PRICED_IN_VAIN);
  });
});

test("the names of the corpus are unique", () => {
  const names = CORPUS.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
