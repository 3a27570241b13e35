/**
 * The ways in which sellers' files import compat: every sub-path, from modules and from CommonJS.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import * as compat from "@farebox/express/compat";
import * as reference from "@x402/express";
import { expect, test } from "vitest";
import { ROOT } from "../scripts/pack.mjs";

const { exports } = JSON.parse(readFileSync(join(ROOT, "packages/express/package.json"), "utf8"));
const SUBPATHS = Object.keys(exports).filter((path) => path.startsWith("./compat"));

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
  const names = SUBPATHS.map((path) => path.replace("./", "@farebox/express/"));
  const options = ["--no-warnings", "--input-type=module", "--eval", CHECK, ...names];
  const { stdout } = await promisify(execFile)(process.execPath, options, { cwd: ROOT });
  expect(stdout.trim().split("\n")).toEqual(names.map((name) => `${name} true`));
});

test.each(Object.entries(NAMES))("@farebox/express/compat%s has what sellers import", async (path, names) => {
  const imported = await import(`@farebox/express/compat${path}`);
  for (const name of names) expect(imported, name).toHaveProperty(name);
});

test("a class is the same in every sub-path", async () => {
  const { HTTPFacilitatorClient } = await import("@farebox/express/compat/core/server");
  expect(HTTPFacilitatorClient).toBe(compat.HTTPFacilitatorClient);
});
