/**
 * docs/lifecycle.md says which states a payment has and which may follow which; so does the code.
 */
import { readFileSync } from "node:fs";
import { TRANSITIONS } from "@farebox/core";
import { expect, test } from "vitest";

const DOCUMENT = readFileSync(new URL("../../docs/lifecycle.md", import.meta.url), "utf8");

test("the table of states is the one in the code", () => {
  const rows = DOCUMENT.matchAll(/^\| `(\w+)` \| .+ \| (.*)\|$/gm);
  const documented = Object.fromEntries(
    [...rows].map(([, state, next = ""]) => [state, [...next.matchAll(/`(\w+)`/g)].map(([, name]) => name)]),
  );
  expect(documented).toEqual(TRANSITIONS);
});

test("the diagram names every state", () => {
  const diagram = /```\n([\s\S]*?)```/.exec(DOCUMENT)?.[1] ?? "";
  expect(Object.keys(TRANSITIONS).filter((state) => !diagram.includes(state))).toEqual([]);
});
