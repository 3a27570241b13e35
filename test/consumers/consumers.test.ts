/**
 * What a seller gets from the registry: the packages are packed, installed with npm into an empty folder outside the
 * workspace, and used from ECMAScript modules, CommonJS and TypeScript, on Express 5 and 4.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packAll, ROOT } from "../scripts/pack.mjs";

const run = promisify(execFile);
/** What nothing takes, on any machine: npm installs, and TypeScript compiles. */
const LIMIT_MS = 600_000;
const resolveHere = createRequire(import.meta.url);

/** Nothing of this kind may arrive with a seller's install. */
const CHAIN_LIBRARY = /^(viem|ox|ethers|web3|algosdk|@solana\/.+)$/;
const PACKED = [
  "avm",
  "bazaar",
  "catalog",
  "compat",
  "core",
  "evm",
  "express",
  "extensions",
  "facilitator",
  "farebox",
  "mcp",
  "paywall",
  "stores",
  "svm",
  "testing",
];

const home = mkdtempSync(join(tmpdir(), "farebox-consumers-"));
const tarballs: Record<string, string> = {};
const facilitator = createServer((_req, res) => {
  const kinds = [{ x402Version: 2, scheme: "exact", network: "eip155:84532" }];
  res.setHeader("content-type", "application/json").end(JSON.stringify({ kinds, extensions: [], signers: {} }));
});

beforeAll(async () => {
  await new Promise<void>((listening) => facilitator.listen(0, "127.0.0.1", listening));
  for (const [name, { tarball }] of Object.entries(await packAll(home))) {
    if (PACKED.includes(name.replace("@farebox/", ""))) tarballs[name] = `file:${tarball}`;
  }
}, LIMIT_MS);

afterAll(async () => {
  facilitator.closeAllConnections();
  await promisify(facilitator.close.bind(facilitator))();
  await rm(home, { recursive: true });
}, LIMIT_MS);

describe("a seller", () => {
  const folder = join(home, "seller");
  beforeAll(async () => {
    const others = ["express", "@types/express", "@types/node", "@modelcontextprotocol/sdk", "zod", "express4"];
    await install(folder, ["@farebox/express", "@farebox/facilitator", "@farebox/mcp"], others);
    // A folder in which `express` is Express 4, and everything else is that of the seller.
    const old = join(folder, "on-express-4");
    mkdirSync(join(old, "node_modules"), { recursive: true });
    symlinkSync(join(folder, "node_modules/express4"), join(old, "node_modules/express"), "junction");
    cpSync(join(folder, "seller.mjs"), join(old, "seller.mjs"));
  }, LIMIT_MS);

  test("a seller, a facilitator's operator and a seller of MCP tools install no chain library", () => {
    const installed = packagesIn(join(folder, "node_modules"));
    expect(installed).toContain("express");
    expect(installed.filter((name) => CHAIN_LIBRARY.test(name))).toEqual([]);
    expect(oursIn(folder, "@farebox/express")).toEqual([
      "@farebox/bazaar",
      "@farebox/core",
      "@farebox/express",
      "@farebox/paywall",
    ]);
  });

  test("each package imports what its manifest names, and nothing else", () => {
    expect(expectNamedImports(folder)).toHaveLength(6);
  });

  test(
    "a seller who refuses signatures of other keys installs nothing for it",
    async () => {
      expect(await startChecking(folder)).toEqual({ status: 0, stderr: "" });
    },
    LIMIT_MS,
  );
  test("a seller who writes ECMAScript modules answers 402", () => expectChallenge(folder, "seller.mjs"), LIMIT_MS);
  test("a seller who writes CommonJS answers 402", () => expectChallenge(folder, "seller.cjs"), LIMIT_MS);
  test(
    "a seller who writes TypeScript compiles, and answers 402",
    async () => {
      await compile(folder, "tsconfig.json");
      await expectChallenge(folder, "compiled/seller.js");
    },
    LIMIT_MS,
  );
  test(
    "a seller who writes ECMAScript modules answers 402 on Express 4",
    async () => {
      const old = join(folder, "on-express-4");
      expect(manifestOf(old, "express").version).toMatch(/^4\./);
      expect(satisfiedBy(manifestOf(folder, "@farebox/express").peerDependencies?.["express"])).toContain("4");
      await expectChallenge(old, "seller.mjs");
    },
    LIMIT_MS,
  );
  test(
    "a facilitator's operator loads the package",
    async () => {
      const script = 'console.log(typeof (await import("@farebox/facilitator")));';
      const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: folder });
      expect(stdout.trim()).toBe("object");
    },
    LIMIT_MS,
  );
  test(
    "a seller of MCP tools prices a tool",
    async () => {
      const { stdout } = await run(process.execPath, ["tools.mjs"], { cwd: folder });
      expect(stdout.trim()).toBe("Price: 0.001 USDC (x402, exact, eip155:84532) per call.");
    },
    LIMIT_MS,
  );
});

describe("a seller who comes from @x402/express", () => {
  const folder = join(home, "moved");
  beforeAll(
    () => install(folder, ["@farebox/express", "@farebox/compat"], ["express", "@types/express", "@types/node"]),
    LIMIT_MS,
  );

  test("installs each package of Farebox once, and no chain library", () => {
    const installed = packagesIn(join(folder, "node_modules"));
    expect(installed.filter((name) => CHAIN_LIBRARY.test(name))).toEqual([]);
    expect(expectNamedImports(folder)).toEqual([
      "@farebox/bazaar",
      "@farebox/compat",
      "@farebox/core",
      "@farebox/express",
      "@farebox/extensions",
      "@farebox/paywall",
    ]);
  });

  test(
    "compiles, and answers 402",
    async () => {
      await compile(folder, "tsconfig.moved.json");
      await expectChallenge(folder, "compiled/moved.js");
    },
    LIMIT_MS,
  );
});

describe("somebody at a terminal", () => {
  const folder = join(home, "cli");
  beforeAll(() => install(folder, ["farebox"], []), LIMIT_MS);
  const farebox = (...args: string[]) => run("npx", ["farebox", ...args], { cwd: folder, env: ownEnvironment() });

  test(
    "installs one package, and gets help",
    async () => {
      expect((await farebox("--help")).stdout).toMatch(/^Usage: farebox <command>/);
    },
    LIMIT_MS,
  );

  test(
    "writes a first server, and examines it",
    async () => {
      await farebox("init", "api", "--pay-to", "0x209693Bc6afc0C5328bA36FaF03C514EF312287C");
      const { stdout } = await run("node", ["--test"], { cwd: join(folder, "api"), env: ownEnvironment() }).catch(
        failWithOutput,
      );
      expect(stdout).toMatch(/pass 2\b/);
      const doctor = await farebox("doctor", "http://127.0.0.1:2", "--json").catch(({ stdout: out, code }) => ({
        stdout: out,
        code,
      }));
      expect(doctor).toMatchObject({ code: 1 });
      expect(JSON.parse(doctor.stdout).diagnoses[0].code).toBe("FAREBOX_DOCTOR_UNREACHABLE");
    },
    LIMIT_MS,
  );
});

/**
 * Makes a folder as a stranger would: our packages from the tarballs, the rest from the registry in the versions that
 * the workspace has installed.
 */
async function install(folder: string, ours: string[], others: string[]): Promise<void> {
  cpSync(fileURLToPath(new URL("sellers", import.meta.url)), folder, { recursive: true });
  const dependencies = {
    ...Object.fromEntries(ours.map((name) => [name, tarballs[name]])),
    ...Object.fromEntries(others.map((name) => [name, versionOf(name)])),
  };
  const overrides = Object.fromEntries(Object.entries(tarballs).filter(([name]) => !ours.includes(name)));
  const manifest = { private: true, type: "module", dependencies, overrides };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  const quiet = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
  await run("npm", ["install", ...quiet], { cwd: folder, env: ownEnvironment() }).catch(failWithOutput);
}

function versionOf(name: string): string {
  const { version } = manifestOf(ROOT, name);
  return name === "express4" ? `npm:express@${version}` : version;
}

interface Manifest {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

function manifestOf(folder: string, name: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8"));
}

/** Our packages that come with one of them, and that one. */
function oursIn(folder: string, name: string): readonly string[] {
  const { dependencies = {} } = manifestOf(folder, name);
  const others = Object.keys(dependencies).filter((each) => each.startsWith("@farebox/"));
  return [...new Set([name, ...others.flatMap((each) => oursIn(folder, each))])].sort();
}

/** Each of our packages imports what its manifest names. Returns their names, nested ones too. */
function expectNamedImports(folder: string): readonly string[] {
  const installed = packagesIn(join(folder, "node_modules")).filter((name) => name.startsWith("@farebox/"));
  for (const name of installed) {
    const { dependencies = {}, peerDependencies = {} } = manifestOf(folder, name);
    const named = [name, ...Object.keys({ ...dependencies, ...peerDependencies })];
    const imported = importsOf(join(folder, "node_modules", name, "dist"));
    expect(imported.length, name).toBeGreaterThan(0);
    expect(
      imported.filter((each) => !named.includes(each)),
      name,
    ).toEqual([]);
  }
  return installed.sort();
}

/** Names of the packages that the code in a folder imports, without those of Node. */
function importsOf(folder: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".js"));
  const found = files.flatMap((file) => [
    ...readFileSync(join(folder, file), "utf8").matchAll(/^(?:import|export)\b[^;"]*?"([^".][^"]*)"/gm),
    ...readFileSync(join(folder, file), "utf8").matchAll(/\bimport\("([^".][^"]*)"\)/g),
  ]);
  const names = found.map(([, specifier = ""]) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier);
  return [...new Set(names)].filter((name) => !name.startsWith("node:"));
}

/** The majors in a range such as `^4.21.0 || ^5.0.0`. */
function satisfiedBy(range = ""): readonly string[] {
  return range.split("||").map((part) => /\d+/.exec(part)?.[0] ?? "");
}

/** Without what pnpm hands to its scripts, which npm would take for its own settings; the registry stays. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_(?!config_registry$)/.test(name));
  return Object.fromEntries(kept);
}

/** Names of all installed packages, nested ones too. */
function packagesIn(modules: string, scope = ""): string[] {
  const folders = readdirSync(modules, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith("."),
  );
  return folders.flatMap((entry) => {
    const path = join(modules, entry.name);
    if (entry.name.startsWith("@")) return packagesIn(path, `${entry.name}/`);
    const nested = readdirSync(path).includes("node_modules") ? packagesIn(join(path, "node_modules")) : [];
    return [scope + entry.name, ...nested];
  });
}

async function compile(folder: string, project: string): Promise<void> {
  const tsc = resolveHere.resolve("typescript/bin/tsc");
  await run(process.execPath, [tsc, "--project", project], { cwd: folder }).catch(failWithOutput);
}

/** Runs a seller, who ends by itself once its server is closed, and looks at the answer it got without paying. */
async function expectChallenge(folder: string, script: string): Promise<void> {
  const { port } = facilitator.address() as AddressInfo;
  const env = { ...ownEnvironment(), FACILITATOR_URL: `http://127.0.0.1:${port}` };
  const { stdout } = await run(process.execPath, [script], { cwd: folder, env }).catch(failWithOutput);
  const { status, challenge } = JSON.parse(stdout);
  expect(status).toBe(402);
  expect(JSON.parse(Buffer.from(challenge, "base64").toString("utf8"))).toMatchObject({
    x402Version: 2,
    accepts: [{ scheme: "exact", network: "eip155:84532", amount: "1000" }],
  });
}

/** Starts a seller who refuses signatures of other keys, and ends at once. */
async function startChecking(folder: string): Promise<{ readonly status: number; readonly stderr: string }> {
  const script = `
    import { paymentMiddleware } from "@farebox/express";
    const accepts = { price: "$0.01", network: "eip155:84532", payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" };
    paymentMiddleware({ "GET /x": { accepts } }, { facilitator: "http://localhost:1", verifySignatures: true });
    process.exit();`;
  const options = { cwd: folder, env: { ...ownEnvironment(), NODE_ENV: "production" } };
  return run(process.execPath, ["--input-type=module", "-e", script], options).then(
    ({ stderr }) => ({ status: 0, stderr }),
    ({ code, stderr }) => ({ status: code, stderr }),
  );
}

function failWithOutput(error: Error & { stdout?: string; stderr?: string }): never {
  throw new Error(`${error.message}\n${error.stdout ?? ""}\n${error.stderr ?? ""}`);
}
