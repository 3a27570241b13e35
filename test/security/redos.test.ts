/**
 * What reads the texts of strangers without being a regular expression in a source file: what route keys become, and the patterns of
 * the schemas. The written expressions are in `test/source/regular-expressions.test.ts`.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { compilePath } from "../../packages/core/src/route/path.js";
import type { PathForm } from "../../packages/core/src/route/path-form.js";
import { readDraws } from "../draws.js";
import { expectLinear } from "../source/expressions.js";

const PATHS: readonly [path: string, why: string][] = [
  ["/", "the root"],
  ["/weather", "text"],
  ["/weather/", "a trailing slash"],
  ["/a.b\\+c", "characters that mean something in an expression"],
  ["/:a", "a parameter"],
  ["/:a/:b/:c/:d/:e/:f/:g/:h/:i/:j", "ten parameters"],
  ["/:from-:to", "two parameters in a segment"],
  ["/:a-:b-:c-:d-:e", "five parameters in a segment"],
  ["/:a.:b.json", "parameters between texts"],
  ["/*rest", "a wildcard"],
  ["/a/*rest/z", "a wildcard before text"],
  ["/*a/x/*b", "two wildcards"],
  ["/*a-*b", "two wildcards in a segment"],
  ["/:a/*b/:c", "a wildcard between parameters"],
  ["/:a-*b", "a parameter and a wildcard in a segment"],
  ["/a{/:b}", "an optional part"],
  ["/a{/:b}{/:c}{/:d}", "three optional parts"],
  ["/a{/:b{/:c{/:d}}}", "optional parts inside each other"],
  ["/a{-:b}{-:c}", "optional parts of a segment"],
  ["/{a/}*rest", "an optional part before a wildcard"],
  ["/[a]/*/[b]", "the older notations"],
  ["/*", "a bare wildcard"],
  ["/a/*/b/*", "two bare wildcards"],
  ["/a/*/b/*/c/*", "three bare wildcards"],
  ["/*/x/*/y/*/z/*/x/*/y/*/z/*/x/*", "eight bare wildcards"],
  ["/*/*/*/*/*/*/*/*", "eight bare wildcards, one behind the other"],
  ["/*/:a/*/:b/*/:c/*/:d", "bare wildcards and parameters in turns"],
  ["/*/x/*a/x/*/x/*b/x/*/x/*c/x/*/x/*d", "wildcards and bare ones in turns"],
  ["/*a/x/*b/y/*c", "three wildcards"],
  ["/*a/x/*b/y/*c/z/*d/x/*e/y/*f/z/*g/x/*h", "eight wildcards"],
  ["/*a/x/*b/x/*c/x/*d/x/*e/x/*f/x/*g/x/*h", "eight wildcards with one text between them"],
  ["/*a/*b/*c/*d/*e/*f/*g/*h", "eight wildcards, one behind the other"],
  ["/*a-*b-*c-*d-*e-*f-*g-*h", "eight wildcards in a segment"],
  ["/*a/x/:b/y/*c-:d/*e", "wildcards and parameters in turns"],
  ["/f/*a/:b-:c", "two parameters in a segment behind a wildcard"],
  ["/f/*a/:b/*c", "a wildcard on either side of a parameter"],
];

function formsOf(path: string): readonly PathForm[] {
  const result = compilePath(path);
  if (!result.ok) throw new TypeError(`${path}: ${result.expected}`);
  return result.forms;
}

/** What a table does with the path of a request. */
function read(forms: readonly PathForm[], path: string): void {
  for (const family of new Set(forms.map((form) => form.family))) family.find(path);
  const [form] = forms;
  form?.matches(path);
  form?.takes(path);
  form?.paramsOf(path);
}

/** What a hostile path repeats: texts of keys, in part and more than once. */
const PARTS = ["a", "/", "/x", "/x/y/z", "-a.", "/a/b-c.d", "/x/a/y/a/z/a/x/a/y", "/y/x/x/y/z/z/x/x"];

/** Fails where the slowest path of four times the length takes more than some five times the steps. */
function expectLinearReading(forms: readonly PathForm[], start = ""): void {
  expect(mostSteps(forms, start, 640)).toBeLessThan(5 * mostSteps(forms, start, 160) + 1_000);
}

function mostSteps(forms: readonly PathForm[], start: string, length: number): number {
  const begun = ["", ...PARTS].map((part) => `${start}/${part.repeat(length)}`.slice(0, part === "" ? 1 : length / 2));
  // By its end, most keys do not take it: it is read as often as there are ways to spell it.
  const paths = begun.flatMap((one) => PARTS.map((part) => `${`${one}${part.repeat(length)}`.slice(0, length)}/x/`));
  return Math.max(...paths.map((path) => countSteps(() => read(forms, path))));
}

/** A matcher looks at a path by this one function. */
function countSteps(act: () => void): number {
  const looks = String.prototype.startsWith;
  let steps = 0;
  String.prototype.startsWith = function (...asked) {
    steps += 1;
    return looks.apply(this, asked);
  };
  act();
  String.prototype.startsWith = looks;
  return steps;
}

test.each(PATHS)("the route key %s reads a path in a time in proportion to its length: %s", (path) => {
  expectLinearReading(formsOf(path));
});

describe("any key that is accepted", () => {
  const pieces = ["/a", "/:p", "/*w", "-:p", ".:p", "-*w", "/x/", "{/:p}", "{-:p}", "/[p]", "/*", "/:p/", "b"];

  const draws = readDraws("paths of any key");

  test(
    "any key that is accepted reads a path in a time in proportion to its length",
    () => {
      const property = fc.property(fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 9 }), (some) => {
        const result = compilePath(`/r${nameApart(some.join(""))}`);
        fc.pre(result.ok && result.forms.length <= 12);
        if (result.ok) expectLinearReading(result.forms, "/r");
      });
      for (const seed of draws.seeds()) fc.assert(property, { seed, numRuns: 20 });
    },
    draws.timeoutMs,
  );

  /** Names are told apart by their position. */
  const nameApart = (path: string) => path.replace(/(?<=[:*])[pw]/g, (name, at) => `${name}${at}`);
});

test("the patterns of the schemas are linear", async () => {
  const folder = new URL("../../packages/core/src/protocol/schema/", import.meta.url);
  const schemas = readdirSync(folder).filter((name) => name.endsWith(".schema.json"));
  const texts = schemas.map((name) => readFileSync(new URL(name, folder), "utf8")).join();
  const patterns = new Set([...texts.matchAll(/"pattern": ("(?:[^"\\]|\\.)*")/g)].map((match) => match[1]!));
  expect(patterns.size).toBeGreaterThan(2);
  for (const pattern of patterns) await expectLinear(JSON.parse(pattern), "u");
});

test("no other expression is made at run time", () => {
  const files = ["core", "evm", "express"]
    .map((name) => fileURLToPath(new URL(`../../packages/${name}/src/`, import.meta.url)))
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => folder + file))
    .filter((file) => /(?<!\.test|\.test-d|\.fixture|\.generated)\.ts$/.test(file));
  expect(files.length).toBeGreaterThan(40);
  expect(files.filter((file) => makesExpressions(readFileSync(file, "utf8")))).toEqual([]);
});

/** `new RegExp(…)` or `RegExp(…)`. */
function makesExpressions(text: string): boolean {
  if (!/RegExp/.test(text)) return false;
  let found = false;
  const visit = (node: ts.Node): void => {
    const callee = ts.isNewExpression(node) || ts.isCallExpression(node) ? node.expression : undefined;
    if (callee !== undefined && ts.isIdentifier(callee) && callee.text === "RegExp") found = true;
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("file.ts", text, ts.ScriptTarget.Latest));
  return found;
}
