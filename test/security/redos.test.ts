/**
 * Regular expressions that are not written in a source file: those that route keys become, and those in the schemas.
 * The written ones are in `test/source/regular-expressions.test.ts`.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { compilePath } from "../../packages/core/src/route/path.js";
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
  ["/f/*a/:b-:c", "two parameters in a segment behind a wildcard"],
  ["/f/*a/:b/*c", "a wildcard on either side of a parameter"],
];

function compiled(path: string): readonly RegExp[] {
  const result = compilePath(path);
  if (!result.ok) throw new TypeError(`${path}: ${result.expected}`);
  return result.forms.flatMap(({ expressions }) => [expressions.exact, expressions.loose]);
}

describe("what a route key becomes", () => {
  test.each(PATHS)("the route key %s becomes linear expressions: %s", async (path) => {
    for (const { source, flags } of compiled(path)) await expectLinear(source, flags);
  });
});

describe("any path that is accepted", () => {
  const pieces = ["/a", "/:p", "/*w", "-:p", ".:p", "-*w", "/x/", "{/:p}", "{-:p}", "/[p]", "/*", "/:p/", "b"];

  const draws = readDraws("regular expressions of paths");

  test(
    "any path that is accepted becomes linear expressions",
    async () => {
      const propertyOf = (randomSeed: number) =>
        fc.asyncProperty(fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 6 }), async (some) => {
          const result = compilePath(`/r${nameApart(some.join(""))}`);
          fc.pre(result.ok && result.forms.length <= 4);
          if (!result.ok) return;
          for (const { expressions } of result.forms) {
            const { source, flags } = expressions.loose;
            await expectLinear(source, flags, randomSeed);
          }
        });
      for (const seed of draws.seeds()) await fc.assert(propertyOf(seed), { seed, numRuns: 20 });
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
