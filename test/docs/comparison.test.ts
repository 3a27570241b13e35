/**
 * docs/background/comparison.md has the rows of its cases: a case that was added or changed has been compared.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CORPUS } from "../bypass/corpus.js";
import { readQuestions, renderQuestion } from "../bypass/document.js";
import { FAILURES } from "../faults/compare/failures.js";
import { readFailures, renderFailure } from "../faults/compare/table.js";

const DOCUMENT = readFileSync(new URL("../../docs/background/comparison.md", import.meta.url), "utf8");

test("the comparison has exactly the failures that are compared", () => {
  expect(readFailures(DOCUMENT)).toEqual(FAILURES.map(renderFailure));
});

test("the comparison has exactly the paths of the corpus", () => {
  expect(readQuestions(DOCUMENT)).toEqual(CORPUS.map(renderQuestion));
});
