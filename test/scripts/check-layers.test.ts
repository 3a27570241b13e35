/**
 * The layer check finds what it says it finds: each case plants one fault in a small workspace. This tree is checked by `pnpm check`.
 *
 * @module
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { checkLayers } from "./check-layers.mjs";

/** A workspace without a fault. */
const SOUND: Record<string, string> = {
  "packages/core/package.json": manifest("core", {
    "./adapter": { default: "./dist/adapter.js" },
    "./facilitator": { default: "./dist/facilitator-side/index.js" },
    "./internal": { default: "./dist/internal.js" },
    "./issues": { default: "./dist/issues.js" },
    "./ledger": { default: "./dist/ledger-queries/index.js" },
    "./protocol": { default: "./dist/protocol/index.js" },
    "./scheme": { default: "./dist/scheme/index.js" },
  }),
  "packages/core/src/index.ts": 'export { sale } from "./sale/sale.js";',
  "packages/core/src/adapter.ts": 'export { sale } from "./sale/sale.js";',
  "packages/core/src/internal.ts": 'export * from "./index.js";',
  "packages/core/src/issues.ts": 'export { word } from "./protocol/word.js";',
  "packages/core/src/ledger-queries/index.ts": "export const books = 1;",
  "packages/core/src/protocol/index.ts": 'export { word } from "./word.js";',
  "packages/core/src/scheme/index.ts": 'export { word } from "../protocol/word.js";',
  "packages/core/src/sale/sale.ts": 'import { word } from "../protocol/word.js";\nexport const sale = word;',
  "packages/core/src/engine.ts":
    'export type { Desk } from "./facilitator-side/desk.js";\nexport const open = () => import("./facilitator-side/index.js");',
  "packages/core/src/facilitator-side/index.ts": 'export { type Desk, desk } from "./desk.js";',
  "packages/core/src/facilitator-side/desk.ts":
    'import { word } from "../protocol/word.js";\nexport const desk = word;\nexport type Desk = string;',
  "packages/core/src/protocol/word.ts": 'export const word = "word";',
  "packages/avm/package.json": manifest("avm", { "./facilitator": { default: "./dist/facilitator/index.js" } }),
  "packages/avm/src/index.ts": 'export { sale } from "@farebox/core";',
  "packages/avm/src/facilitator/index.ts": 'export { Algodv2 } from "algosdk";',
  "packages/evm/package.json": manifest("evm", { "./facilitator": { default: "./dist/facilitator/index.js" } }),
  "packages/evm/src/index.ts":
    'export { sale } from "@farebox/core";\nexport { check } from "./signatures/check-signature.js";',
  "packages/evm/src/signatures/check-signature.ts": "export const check = 1;",
  "packages/evm/src/facilitator/index.ts": 'export { verifyTypedData } from "viem";',
  "packages/svm/package.json": manifest("svm", { "./facilitator": { default: "./dist/facilitator/index.js" } }),
  "packages/svm/src/index.ts": 'export { sale } from "@farebox/core";',
  "packages/svm/src/facilitator/index.ts": 'export { Connection } from "@solana/web3.js";',
  "packages/express/package.json": manifest("express"),
  "packages/express/src/index.ts": 'export { sale } from "@farebox/evm";',
  "packages/compat/package.json": manifest("compat"),
  "packages/compat/src/index.ts": 'export { sale } from "@farebox/express";',
  "packages/extensions/package.json": manifest("extensions", { "./internal": { default: "./dist/internal.js" } }),
  "packages/extensions/src/index.ts": 'export { sale } from "@farebox/evm";',
  "packages/extensions/src/internal.ts": 'export * from "./index.js";',
  "packages/paywall/package.json": manifest("paywall"),
  "packages/paywall/src/index.ts": 'export { sale } from "@farebox/core";',
  "packages/mcp/package.json": manifest("mcp"),
  "packages/mcp/src/index.ts": 'export { sale } from "@farebox/core";',
};

const FAULTS: { why: string; file: string; text: string; finding: string }[] = [
  {
    why: "an inner folder of core imports an outer one",
    file: "packages/core/src/protocol/bad.ts",
    text: 'import type { sale } from "../sale/sale.js";\nexport type Bad = typeof sale;',
    finding: "protocol may not import sale",
  },
  {
    why: "a folder of core is not in the table",
    file: "packages/core/src/wallet/key.ts",
    text: 'import "../errors.js";',
    finding: "wallet may not import errors",
  },
  {
    why: "core loads a room with itself",
    file: "packages/core/src/index.ts",
    text: 'export { desk } from "./facilitator-side/index.js";',
    finding: "index.ts: loads facilitator-side with itself",
  },
  {
    why: "core loads a room with itself for a type",
    file: "packages/core/src/index.ts",
    text: 'import { type Desk } from "./facilitator-side/index.js";\nexport type Named = Desk;',
    finding: "index.ts: loads facilitator-side with itself",
  },
  {
    why: "core loads another file of a room than its index.ts",
    file: "packages/core/src/index.ts",
    text: 'export const open = () => import("./facilitator-side/desk.js");',
    finding: "index.ts: loads desk.ts of facilitator-side",
  },
  {
    why: "an inner package imports an outer one",
    file: "packages/evm/src/bad.ts",
    text: 'export { sale } from "@farebox/express";',
    finding: "package evm may not import package express",
  },
  {
    why: "a package reaches into another's files by name",
    file: "packages/express/src/bad.ts",
    text: 'export { sale } from "@farebox/core/dist/sale/sale.js";',
    finding: "reaches into @farebox/core/dist/sale/sale.js",
  },
  {
    why: "a test reaches into another package's files by path",
    file: "packages/express/src/bad.test.ts",
    text: 'export { sale } from "../../core/src/sale/sale.js";',
    finding: "reaches into packages/core/src/sale/sale.ts by a path",
  },
  {
    why: "two files import each other",
    file: "packages/core/src/protocol/word.ts",
    text: 'export { word } from "./other.js";',
    finding: "in a circle: packages/core/src/protocol/word.ts -> packages/core/src/protocol/other.ts",
  },
  {
    why: "the seller's entry reaches a chain library",
    file: "packages/evm/src/index.ts",
    text: 'export const later = () => import("./facilitator/index.js");',
    finding: "@farebox/express reaches viem through packages/express/src/index.ts -> packages/evm/src/index.ts",
  },
  {
    why: "the seller's entry needs a chain library's types",
    file: "packages/evm/src/index.ts",
    text: 'export type Hex = import("viem").Hex;',
    finding: "@farebox/evm reaches viem",
  },
  {
    why: "a chain library is required by a file that may not",
    file: "packages/evm/src/index.ts",
    text: 'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);\nexport const viem = require("viem/utils");',
    finding: "@farebox/express reaches viem/utils",
  },
  {
    why: "a chain library is loaded when it is needed",
    file: "packages/evm/src/signatures/check-signature.ts",
    text: 'export const check = () => import("viem/utils");',
    finding: "@farebox/evm reaches viem/utils",
  },
  {
    why: "a chain library is needed by a type",
    file: "packages/evm/src/signatures/check-signature.ts",
    text: 'export const check = 1;\nexport type Viem = typeof import("viem/utils");',
    finding: "@farebox/evm reaches viem/utils",
  },
  {
    why: "a chain library is required",
    file: "packages/evm/src/signatures/check-signature.ts",
    text: 'import { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);\nexport const check = require("ethers");',
    finding: "@farebox/evm reaches ethers",
  },
  {
    why: "the seller's side of a chain gets its library",
    file: "packages/svm/src/index.ts",
    text: 'export { Connection } from "@solana/web3.js";',
    finding: "@farebox/svm reaches @solana/web3.js",
  },
  {
    why: "an import is computed",
    file: "packages/core/src/protocol/bad.ts",
    text: 'const name = "vi" + "em";\nexport const load = () => import(name);',
    finding: "imports a computed name",
  },
  {
    why: "a folder is called utils",
    file: "packages/core/src/utils/word.ts",
    text: "export {};",
    finding: "packages/core/src/utils: this name says nothing",
  },
];

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true });
});

test("a workspace whose imports all point inwards passes", () => {
  expect(check(SOUND)).toEqual([]);
});

test.each(FAULTS)("a workspace fails when $why", ({ file, text, finding }) => {
  const other = { "packages/core/src/protocol/other.ts": 'export { word } from "./word.js";' };
  const found = check({ ...SOUND, ...(file.endsWith("word.ts") ? other : {}), [file]: text });
  expect(found.join("\n")).toContain(finding);
});

function manifest(name: string, more: Record<string, unknown> = {}): string {
  return JSON.stringify({ name: `@farebox/${name}`, exports: { ".": { default: "./dist/index.js" }, ...more } });
}

function check(files: Record<string, string>): readonly string[] {
  const root = mkdtempSync(join(tmpdir(), "farebox-layers-"));
  made.push(root);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return checkLayers(root).findings;
}
