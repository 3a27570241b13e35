/**
 * The drawings in docs/background/design.md say what the code says.
 *
 * @module
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { walk } from "../scripts/imports.mjs";
import { blocksIn, markdownFiles, ROOT } from "./markdown.js";

const DESIGN = "docs/background/design.md";

test("the packages' arrows are their imports", () => {
  const drawing = blocksIn(DESIGN).find(({ code }) => code.startsWith("graph "))?.code ?? "";
  const arrows = [...drawing.matchAll(/^ *([\w-]+) --> ([\w-]+)$/gm)].map(([, from, to]) => `${from} --> ${to}`);
  const packages = readdirSync(join(ROOT, "packages")).filter((name) =>
    existsSync(join(ROOT, "packages", name, "src")),
  );
  expect(arrows.sort()).toEqual(packages.flatMap(importsOfPackage).sort());
});

test("every drawing is of a kind that GitHub draws", () => {
  const drawings = markdownFiles()
    .flatMap(blocksIn)
    .filter(({ language }) => language === "mermaid");
  expect(drawings.length).toBeGreaterThan(2);
  for (const { code } of drawings) expect(code).toMatch(/^(sequenceDiagram|stateDiagram-v2|graph LR|flowchart TD)\n/);
});

function importsOfPackage(name: string): string[] {
  const { files } = walk(join(ROOT, "packages", name, "src"));
  const sources = files.filter((file: string) => /\.ts$/.test(file) && !/\.(test|test-d|fixture)\.ts$/.test(file));
  const names = sources.flatMap((file: string) =>
    ts.preProcessFile(readFileSync(file, "utf8")).importedFiles.map(({ fileName }) => fileName),
  );
  const others = names.flatMap((module) => /^@farebox\/([^/]+)/.exec(module)?.[1] ?? []);
  return [...new Set(others)].filter((other) => other !== name).map((other) => `${name} --> ${other}`);
}
