/**
 * The tables of docs/reference/events.md name exactly the events, what they say, and the hooks that are in the code.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, test } from "vitest";
import { literalsOf, membersOf } from "./declarations.js";

const DOCUMENT = readFileSync(new URL("../../docs/reference/events.md", import.meta.url), "utf8");

test("every event has one row, in the order of the code, and what it says is in it", () => {
  const rows = rowsOf("Events").map(([name, says]) => [name, [...namesIn(says!)].sort()]);
  const members = membersOf("PaymentEventMap").map(({ name, type }) => [name, saidBy(type).sort()]);
  expect(members.length).toBeGreaterThan(10);
  expect(rows).toEqual(members);
});

test("every hook has one row, in the order of the code", () => {
  const rows = rowsOf("Hooks").map(([name]) => name);
  expect(rows).toEqual(membersOf("PaymentHooks").map(({ name }) => name));
});

test.each([
  ["CancelReason", "cancelled"],
  ["DeniedBy", "denied"],
])("every %s is in the row of %s", (type, event) => {
  const row = rowsOf("Events")
    .find(([name]) => name === event)!
    .join("|");
  const hooks = rowsOf("Hooks").map(([name]) => name);
  const words = literalsOf(type).filter((word) => !hooks.includes(word));
  expect(words.length).toBeGreaterThan(1);
  expect(words.filter((word) => !row.includes(`\`${word}\``))).toEqual([]);
});

test("the facts of a payment are named", () => {
  const sentence = /^`PaymentFacts` are [^:]*:/m.exec(DOCUMENT)?.[0] ?? "";
  const facts = membersOf("PaymentFacts").map(({ name }) => name);
  expect(namesIn(sentence).slice(1)).toEqual(facts);
});

/** The cells of the table below a heading; the first is bare, without its code marks. */
function rowsOf(heading: string): string[][] {
  const section = DOCUMENT.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  return [...section.matchAll(/^\| `(\w+)` \|(.*)\|$/gm)].map(([, name, rest]) => [name!, ...rest!.split("|")]);
}

function namesIn(text: string): string[] {
  return [...text.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
}

/** What is in a type: its own fields, and the names of others that it takes in. */
function saidBy(type: ts.TypeNode): string[] {
  if (ts.isIntersectionTypeNode(type)) return type.types.flatMap(saidBy);
  if (ts.isTypeLiteralNode(type)) return type.members.map((member) => member.name!.getText());
  const text = type.getText();
  return text === "Timed" ? ["durationMs"] : [text.replace(/^Partial<(.*)>$/, "$1")];
}
