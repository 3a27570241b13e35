/**
 * The ways in which sellers' files import compat: every sub-path, from modules and from CommonJS.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as compat from "@farebox/compat";
import * as reference from "@x402/express";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "../scripts/pack.mjs";

const { exports } = JSON.parse(readFileSync(join(ROOT, "packages/compat/package.json"), "utf8"));

/** What sellers import, by the module of the reference that has it. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  "": Object.keys(reference),
  "/express": Object.keys(reference),
  "/core/server": ["HTTPFacilitatorClient", "x402ResourceServer", "x402HTTPResourceServer"],
  "/core/http": ["HTTPFacilitatorClient", "decodePaymentSignatureHeader", "encodePaymentResponseHeader"],
  "/core/types": ["VerifyError", "SettleError", "FacilitatorResponseError"],
  "/core/utils": ["parseMoney", "convertToTokenAmount"],
  "/evm/exact/server": ["ExactEvmScheme", "registerExactEvmScheme"],
  "/evm/upto/server": ["UptoEvmScheme"],
  "/svm/exact/server": ["ExactSvmScheme", "registerExactSvmScheme"],
  "/svm/upto/server": ["UptoSvmScheme"],
  "/evm/batch-settlement/server": ["BatchSettlementEvmScheme"],
  "/avm/exact/server": ["ExactAvmScheme"],
  "/extensions": [
    "declareDiscoveryExtension",
    "declareEip2612GasSponsoringExtension",
    "declarePaymentIdentifierExtension",
  ],
  "/extensions/bazaar": ["declareDiscoveryExtension", "bazaarResourceServerExtension"],
  "/paywall": ["createPaywall", "evmPaywall"],
  "/v1": ["paymentMiddleware"],
};

const CHECK = `
  import { createRequire } from "node:module";
  const require = createRequire(process.cwd() + "/");
  for (const name of process.argv.slice(1)) {
    const imported = await import(name);
    const required = require(name);
    const names = Object.keys(imported);
    const same = names.filter((each) => required[each] === imported[each]);
    console.log(name, names.length > 0 && same.length === names.length);
  }`;

test("each sub-path can be imported and required, and yields the same objects", async () => {
  const names = Object.keys(exports).map((path) => path.replace(".", "@farebox/compat"));
  const options = ["--no-warnings", "--input-type=module", "--eval", CHECK, ...names];
  const { stdout } = await promisify(execFile)(process.execPath, options, { cwd: ROOT });
  expect(stdout.trim().split("\n")).toEqual(names.map((name) => `${name} true`));
});

test.each(Object.entries(NAMES))("@farebox/compat%s has what sellers import", async (path, names) => {
  const imported = await import(`@farebox/compat${path}`);
  for (const name of names) expect(imported, name).toHaveProperty(name);
});

test("a class is the same in every sub-path", async () => {
  const { HTTPFacilitatorClient } = await import("@farebox/compat/core/server");
  expect(HTTPFacilitatorClient).toBe(compat.HTTPFacilitatorClient);
});

/** A seller's file of the reference, which bundlers read with an alias. */
const SELLER = `
  import { HTTPFacilitatorClient, x402ResourceServer } from "@x402/core/server";
  import { ExactEvmScheme } from "@x402/evm/exact/server";
  import { paymentMiddleware } from "@x402/express";
  import { declareDiscoveryExtension } from "@x402/extensions/bazaar";
  import { createPaywall } from "@x402/paywall";
  import { evmPaywall } from "@x402/paywall/evm";
  import express from "express";

  const supported = { kinds: [{ x402Version: 2, scheme: "exact", network: "eip155:84532" }], extensions: [], signers: {} };
  const client = new HTTPFacilitatorClient({ url: "https://facilitator.example" });
  client.getSupported = async () => supported;
  const server = new x402ResourceServer(client).register("eip155:84532", new ExactEvmScheme());
  const accepts = { scheme: "exact", price: "$0.01", network: "eip155:84532", payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" };
  const extensions = declareDiscoveryExtension({ output: { example: { weather: "sunny" } } });
  const paywall = createPaywall().withNetwork(evmPaywall).build();
  const app = express();
  app.use(paymentMiddleware({ "GET /weather": { accepts, extensions } }, server, undefined, paywall));
  app.get("/weather", (_req, res) => res.json({ weather: "sunny" }));
  const listening = app.listen(0, async () => {
    const response = await fetch("http://127.0.0.1:" + listening.address().port + "/weather");
    process.stdout.write("status " + response.status, () => process.exit());
  });`;

test.each([
  ["esm", false],
  ["cjs", true],
] as const)("an alias of a bundler makes one file for Node, as %s, minified: %j", async (format, minify) => {
  const folder = mkdtempSync(join(tmpdir(), "farebox-bundle-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const outfile = join(folder, format === "esm" ? "seller.mjs" : "seller.cjs");
  // Express is CommonJS, which requires modules of Node.
  const banner = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
  await build({
    stdin: { contents: SELLER, resolveDir: join(ROOT, "test") },
    ...{ alias: { "@x402": "@farebox/compat" }, bundle: true, format, minify, outfile, platform: "node" },
    ...(format === "esm" ? { banner: { js: banner } } : {}),
    logLevel: "silent",
  });
  const { stdout } = await promisify(execFile)(process.execPath, [outfile], { cwd: folder });
  expect(stdout).toContain("status 402");
});
