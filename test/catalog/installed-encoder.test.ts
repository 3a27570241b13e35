import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const run = promisify(execFile);
const ROOT = new URL("../..", import.meta.url).pathname;

const APP = `
import { createCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { createFacilitator } from "@farebox/facilitator";
const scheme = { scheme: "exact", network: "eip155:84532", extra: {}, signers: [], verify() {}, settle() {}, health() {} };
const logger = { info: (...line) => console.log(JSON.stringify(line)), warn: console.log, error: console.log };
const embedder = process.argv[2] === "words" ? { embedder: false } : {};
const catalog = createCatalog({ store: createSqliteCatalogStore(), checkOwners: false, logger, ...embedder });
createFacilitator({ schemes: [scheme], catalog, logger });
await catalog.searchesBy;
await catalog.close();
`;

/** Runs an app that has installed these packages, and returns its log. */
async function logOf(packages: readonly string[], ...args: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "farebox-installed-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "node_modules/@farebox"), { recursive: true });
  const modules = join(folder, "node_modules");
  for (const name of packages) symlinkSync(join(ROOT, "packages", name), join(modules, "@farebox", name));
  // A link would find the workspace's own encoder.
  for (const part of ["dist", "assets", "package.json"]) {
    cpSync(join(ROOT, "packages/catalog", part), join(modules, "@farebox/catalog", part), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules/libsql"), join(modules, "libsql"));
  writeFileSync(join(folder, "app.mjs"), APP);
  const { stdout, stderr } = await run(process.execPath, ["app.mjs", ...args], { cwd: folder });
  return stdout + stderr;
}

const WITHOUT = ["core", "bazaar", "facilitator"];
const BY = (by: string) => `["catalog_search",{"by":"${by}"}]\n`;

test("a facilitator searches with the encoder where it is installed, and says so in one line", async () => {
  expect(await logOf([...WITHOUT, "catalog-embeddings"])).toBe(BY("universal-sentence-encoder-lite/4"));
});

test("it searches by words where the encoder is not installed, or not wanted", async () => {
  expect(await logOf(WITHOUT)).toBe(BY("words"));
  expect(await logOf([...WITHOUT, "catalog-embeddings"], "words")).toBe(BY("words"));
});
