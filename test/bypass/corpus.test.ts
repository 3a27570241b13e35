/**
 * Every case of the corpus, sent to Farebox without payment.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collectWarnings } from "../express/shop.js";
import type { Case, Must, Version } from "./case.js";
import { ALL_CASES, CORPUS, casesByApp } from "./corpus.js";
import { farebox, lenientFarebox, type Seller, unpriced } from "./sellers.js";
import { openStage, type Stage, verdictOf } from "./stage.js";

/** Node 20.19.0 and 20.19.1 let raw bytes in. They reach the same prices as any other letters of a path. */
const LETS_RAW_BYTES_IN = Number.parseInt(process.versions["llhttp"] ?? "9", 10) < 9;
const OF_RAW_BYTES: Readonly<Record<string, Must>> = { "param-raw-bytes": "priced", "encoded-key-raw-bytes": "free" };

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});

afterAll(() => stage.close());

/** A key may be priced by path alone, which is worth a warning. */
const UNREACHABLE = "FAREBOX_KEY_UNREACHABLE";

const MODES: readonly (readonly [version: Version, mode: string, seller: Seller])[] = [
  [5, "without ready", farebox],
  [4, "without ready", farebox],
  [5, "with ready", lenientFarebox],
  [4, "with ready", lenientFarebox],
];

describe.each(MODES)("on Express %i %s, without payment", (version, mode, seller) => {
  const isReady = mode === "with ready";
  test.each(casesByApp(version, ALL_CASES).map((cases) => [cases[0].name, cases] as const))(
    "every request to the app of '%s' has its verdict",
    async (_name, cases) => {
      const warnings = collectWarnings();
      const attempt = stage.build(cases[0], version, seller, isReady);
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
      expect(warnings.filter((code) => code !== UNREACHABLE)).toEqual([]);
    },
  );
});

function mustOf({ name, must }: Case): Must {
  return (LETS_RAW_BYTES_IN ? OF_RAW_BYTES[name] : undefined) ?? must;
}

function told({ name, request, why }: Case) {
  return { name, request, why };
}

describe.each<Version>([5, 4])("on Express %i, without a table", (version) => {
  const serves: Readonly<Partial<Record<Must, Must>>> = {
    ...{ priced: "free", free: "free", denied: "free" },
    ...{ allowed: "allowed", "not found": "not found" },
  };

  test("every priced or free path of the corpus is served without a table, and no other", async () => {
    const unserved: string[] = [];
    // The layouts are the same on both.
    const cases = version === 5 ? ALL_CASES : CORPUS;
    for (const group of casesByApp(version, cases)) {
      const attempt = stage.build(group[0], version, unpriced);
      for (const subject of group) {
        const { name, must } = subject;
        if (serves[must] !== undefined && verdictOf(await attempt(subject)) !== serves[must]) unserved.push(name);
      }
    }
    const inVain = cases.filter(({ on, vain }) => vain && on.includes(version)).map(({ name }) => name);
    expect(unserved).toEqual(inVain);
  });
});

test("the names of the corpus are unique", () => {
  const names = ALL_CASES.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});
