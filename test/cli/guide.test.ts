/**
 * The guide for sellers who come from the reference, the page of differences, and the command say the same.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { migrate } from "farebox";
import { describe, expect, test } from "vitest";
import { NAMES_FILE, namesText } from "../../packages/cli/scripts/generate-names.mjs";
import { command } from "../../packages/cli/src/migrate/command.js";
import { replacedModules, replacementOf } from "../../packages/cli/src/migrate/modules.js";
import { MEANT } from "../compat/differential/differences.js";
import { blocksIn, ROOT } from "../docs/markdown.js";

const GUIDE = "docs/get-started/from-x402-express.md";
const PAGE = readFileSync(join(ROOT, "docs/reference/compat-differences.md"), "utf8");
const HEADINGS = [...PAGE.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading as string);

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, "")
    .replaceAll(" ", "-");
}

test("the guide shows a file before and after the command, and what the command says of it", () => {
  const [before, after] = blocksIn(GUIDE).filter(({ language }) => language === "ts");
  const migration = migrate(before!.code, { depth: 2 });
  if ("message" in migration) throw new Error(migration.message);
  expect(migration.text).toBe(after!.code);
  const told = blocksIn(GUIDE).find(({ language }) => language === "text")!.code;
  for (const { line, text, difference } of migration.findings)
    expect(told).toContain(`${line}  ${text} (#${difference})`);
  expect(told.trim().split("\n").length).toBe(migration.findings.length + 1);
});

test("the README of the command has its options", () => {
  const readme = readFileSync(join(ROOT, "packages/cli/README.md"), "utf8");
  const options = Object.entries(command.options).flatMap(([name, { choices }]) =>
    choices === undefined ? [`--${name}`] : choices.map((each) => `--${name} ${each}`),
  );
  expect(options).toHaveLength(4);
  for (const option of options) expect(readme).toContain(`\`${option}\``);
});

describe("each difference has a section of its own in the page", () => {
  const source = ["differences.ts", "migrate.ts"]
    .map((name) => readFileSync(join(ROOT, "packages/cli/src/migrate", name), "utf8"))
    .join("\n");
  const named = new Set(
    [...source.matchAll(/(?:(?:note|decide)\(\s*|difference: )"([a-z-]+)"/g)].map(([, id]) => id as string),
  );

  test("those that the command names", () => {
    expect([...named].filter((id) => !HEADINGS.map(slugOf).includes(id))).toEqual([]);
  });

  test("those that the generated sellers find", () => {
    expect(MEANT.map(({ heading }) => heading).filter((heading) => !HEADINGS.includes(heading))).toEqual([]);
  });

  test("and no section is told without either", () => {
    const meant = MEANT.map(({ heading }) => heading);
    // What no generated seller can do is tried in test/bypass, and in repeated and contexts of test/compat.
    const elsewhere = ["Order of keys", "Middleware per request", "Streams", "Contexts", "Echoes"];
    const untested = HEADINGS.filter(
      (heading) => !meant.includes(heading) && !named.has(slugOf(heading)) && !elsewhere.includes(heading),
    );
    expect(untested).toEqual([]);
  });
});

test("the names that the command knows are those that compat exports", () => {
  // Written anew by: node packages/cli/scripts/generate-names.mjs
  expect(readFileSync(NAMES_FILE, "utf8")).toBe(namesText());
});

describe("each replacement can be imported", () => {
  test.each(replacedModules())("%s", (module) => {
    expect(import.meta.resolve(replacementOf(module)!.module)).toMatch(/^file:/);
  });
});
