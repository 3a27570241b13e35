/**
 * docs/reference/lifecycle.md says which states a payment has and which may follow which; so does the code.
 */
import { readFileSync } from "node:fs";
import { RELEASABLE, TRANSITIONS } from "@farebox/core";
import { expect, test } from "vitest";

const DOCUMENT = readFileSync(new URL("../../docs/reference/lifecycle.md", import.meta.url), "utf8");

test("the table of states is the one in the code", () => {
  const rows = DOCUMENT.matchAll(/^\| `(\w+)` \| .+ \| (.*)\|$/gm);
  const documented = Object.fromEntries(
    [...rows].map(([, state, next = ""]) => [state, [...next.matchAll(/`(\w+)`/g)].map(([, name]) => name)]),
  );
  expect(documented).toEqual(TRANSITIONS);
});

test("the drawing has the transitions of the code, and releases only where a record may be released", () => {
  const drawing = /```mermaid\nstateDiagram-v2\n([\s\S]*?)```/.exec(DOCUMENT)?.[1] ?? "";
  const arrows = [...drawing.matchAll(/^ *(\S+) --> (\S+): /gm)].map(([, from, to]) => [from!, to!] as const);
  const drawn = Object.keys(TRANSITIONS).map((state) => [
    state,
    arrows.flatMap(([from, to]) => (from === state && to !== "[*]" ? [to] : [])).sort(),
  ]);
  expect(Object.fromEntries(drawn)).toEqual(
    Object.fromEntries(Object.entries(TRANSITIONS).map(([from, next]) => [from, [...next].sort()])),
  );
  expect(arrows.filter(([, to]) => to === "[*]").map(([from]) => from)).toEqual(RELEASABLE);
  expect(arrows.filter(([from]) => from === "[*]")).toEqual([["[*]", "claimed"]]);
});
