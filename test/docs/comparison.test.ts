/**
 * docs/comparison.md has the rows of the corpus: a case that was added or changed has been compared.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CORPUS } from "../bypass/corpus.js";
import { readQuestions, renderQuestion } from "../bypass/document.js";

const DOCUMENT = readFileSync(new URL("../../docs/comparison.md", import.meta.url), "utf8");

test("the comparison has exactly the cases of the corpus", () => {
  expect(readQuestions(DOCUMENT)).toEqual(CORPUS.map(renderQuestion));
});
