/**
 * Each code of an error or a finding has a heading in `docs/reference/errors.md`, with its cause, its fix and a snippet; and
 * each heading there is a code.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { literalsOf } from "./declarations.js";

const DOCUMENT = readFileSync(new URL("../../docs/reference/errors.md", import.meta.url), "utf8");

const codes = [...literalsOf("FareboxErrorCode"), ...literalsOf("FindingCode")];
const headings = [...DOCUMENT.matchAll(/^## +`?([^`\n]+)`?$/gm)].map((match) => match[1]!);

test("the codes are read from the unions", () => {
  expect(codes).toEqual(expect.arrayContaining(["ERR_FAREBOX_CONFIG", "FAREBOX_KEY_UNREACHABLE"]));
});

test("every code has a heading in docs/reference/errors.md", () => {
  expect(codes.filter((code) => !headings.includes(code))).toEqual([]);
});

test("every heading in docs/reference/errors.md is a code, once", () => {
  expect(headings.filter((heading, at) => !codes.includes(heading) || headings.indexOf(heading) !== at)).toEqual([]);
});

test("every code has its cause, its fix and a snippet", () => {
  const sections = DOCUMENT.split(/^## /m).slice(1);
  const whole = /^\S+\n\n\*\*Cause:\*\* [\s\S]*?\n\n\*\*Fix:\*\* [\s\S]*?\n\n(<!--[\s\S]*?-->\n)?```/;
  expect(sections.filter((section) => !whole.test(section)).map((section) => section.split("\n", 1)[0])).toEqual([]);
});
