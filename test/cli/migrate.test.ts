/**
 * `farebox migrate` changes the imports of a file, keeps every other character, and names what will be different.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findImports } from "../../packages/cli/src/migrate/imports.js";
import { type Migration, migrate } from "../../packages/cli/src/migrate/migrate.js";
import { readTokens } from "../../packages/cli/src/migrate/tokens.js";
import { importsOf, walk } from "../scripts/imports.mjs";
import { runFarebox } from "./run-farebox.js";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "farebox-migrate-"));
});

afterAll(() => rmSync(folder, { recursive: true }));

function migrated(source: string, depth: 1 | 2 = 2): Migration {
  const migration = migrate(source, { depth });
  if ("message" in migration) throw new Error(`${migration.line}: ${migration.message}`);
  return migration;
}

/** Runs the command on a file with this text. */
async function run(source: string | Uint8Array, ...options: string[]) {
  const path = join(folder, "server.ts");
  writeFileSync(path, source);
  const ran = await runFarebox(["migrate", ...options, path]);
  return { ...ran, text: readFileSync(path, "utf8") };
}

describe("imports", () => {
  test.each([
    ['import { paymentMiddleware } from "@x402/express";', 'import { paymentMiddleware } from "@farebox/compat";'],
    ["import { paymentMiddleware } from '@x402/express'", "import { paymentMiddleware } from '@farebox/compat'"],
    ['import type { Network } from "@x402/express";', 'import type { Network } from "@farebox/compat";'],
    ['import * as x402 from "@x402/express";', 'import * as x402 from "@farebox/compat";'],
    ['export { paymentMiddleware } from "@x402/express";', 'export { paymentMiddleware } from "@farebox/compat";'],
    ['export * from "@x402/express";', 'export * from "@farebox/compat";'],
    ['const x = await import("@x402/express");', 'const x = await import("@farebox/compat");'],
    ["const x = await import(`@x402/express`);", "const x = await import(`@farebox/compat`);"],
    [
      'const { paymentMiddleware: p } = require("@x402/express")',
      'const { paymentMiddleware: p } = require("@farebox/compat")',
    ],
    ['import x = require("@x402/express");', 'import x = require("@farebox/compat");'],
    ['require.resolve("@x402/express")', 'require.resolve("@farebox/compat")'],
    ['let n: import("@x402/express").Network;', 'let n: import("@farebox/compat").Network;'],
    ['vi.mock("@x402/express", () => ({}));', 'vi.mock("@farebox/compat", () => ({}));'],
    ["`$" + "{await import('@x402/express')}`", "`$" + "{await import('@farebox/compat')}`"],
    ['import.meta.resolve("@x402/express")', 'import.meta.resolve("@farebox/compat")'],
    ['import { paymentMiddleware } from "x402-express";', 'import { paymentMiddleware } from "@farebox/compat/v1";'],
    ['import {\n\ta, // from "@x402/express"\n} from "b";', undefined],
    ['// import { paymentMiddleware } from "@x402/express";', undefined],
    ['/* require("@x402/express") */', undefined],
    ["const text = 'import x from \"@x402/express\"';", undefined],
    ['const text = `import x from "@x402/express"`;', undefined],
    ['my.require("@x402/express"); loader.import("@x402/express");', undefined],
    ['const found = /import x from "@x402\\/express"/;', undefined],
    ['import { paymentMiddleware } from "@x402/express-like";', undefined],
  ])("rewrites %j", (before, after) => {
    expect(migrated(before).text).toBe(after ?? before);
    expect(migrated(before, 1).text).toBe(after ?? before);
  });

  test("keeps line endings, tabs, a byte order mark and a first line for the shell", () => {
    const source =
      '\ufeff#!/usr/bin/env node\r\nimport\t{ paymentMiddleware }\r\n  from "@x402/express" ;\r\n\t// ünïcode 😀\r\n';
    expect(migrated(source).text).toBe(source.replace("@x402/express", "@farebox/compat"));
  });

  test("changes only the middleware at depth 1, and the packages around it at depth 2", () => {
    const source = [
      'import { paymentMiddleware } from "@x402/express";',
      'import { HTTPFacilitatorClient } from "@x402/core/server";',
      'import { ExactEvmScheme } from "@x402/evm/exact/server";',
      'import { ExactStellarScheme } from "@x402/stellar/exact/server";',
      'import { wrapFetchWithPayment } from "@x402/fetch";',
    ].join("\n");
    const [one, two] = [migrated(source, 1), migrated(source, 2)];
    expect(one.changed.map(({ line }) => line)).toEqual([1]);
    expect(two.changed.map(({ line }) => line)).toEqual([1, 2, 3]);
    expect(two.kept.map(({ line, why }) => ({ line, why }))).toEqual([
      { line: 4, why: "has no counterpart; what it exports is taken as it is" },
      { line: 5, why: "belongs to clients, which need no change" },
    ]);
  });

  test("tells modules that are named but not imported, and leaves them as they are", async () => {
    const source = [
      'import { paymentMiddleware } from "@x402/express";',
      'const name = "@x402/express"; await import(name);',
      'declare module "@x402/core/server" {}',
      'import { facilitator } from "@coinbase/x402";',
      'const scheme = "x402";',
    ].join("\n");
    const { text, kept } = migrated(source);
    expect(text).toBe(source.replace("@x402/express", "@farebox/compat"));
    const why = "is named, not imported: change it by hand if it is loaded";
    expect(kept).toEqual([
      { line: 2, module: "@x402/express", why },
      { line: 3, module: "@x402/core/server", why },
      { line: 4, module: "@coinbase/x402", why: "is passed on to HTTPFacilitatorClient as it is" },
    ]);
    expect((await run(source)).out).not.toContain("npm uninstall");
  });

  test("keeps an import of a name that compat has not", () => {
    const { text, kept } = migrated('import { HTTPFacilitatorClient, resolvePaymentFlow } from "@x402/core/server";');
    expect(text).toContain('"@x402/core/server"');
    expect(kept).toEqual([
      { line: 1, module: "@x402/core/server", why: "@farebox/compat/core/server has no resolvePaymentFlow" },
    ]);
  });

  test("finds the modules that the TypeScript compiler finds, in the sources of this repository", () => {
    const folders = ["../../packages/express/src", "../../packages/compat/src", "../scripts"];
    const files = folders.flatMap((folder) => walk(new URL(folder, import.meta.url).pathname).files);
    // Each third one: they are much alike.
    const read = files.filter((name) => /\.m?[tj]s$/.test(name)).filter((_, at) => at % 3 === 0);
    expect(read.length).toBeGreaterThan(20);
    for (const file of read) {
      const tokens = readTokens(readFileSync(file, "utf8"));
      if ("message" in tokens) throw new Error(`${file}: ${tokens.message}`);
      const theirs = importsOf(file).flatMap(({ name }) => name ?? []);
      expect(
        findImports(tokens).map(({ module }) => module),
        file,
      ).toEqual(theirs);
    }
  });

  test("loses no character of any text", () => {
    const bits = fc.constantFrom(
      "`",
      "${",
      "}",
      "'",
      '"',
      "/",
      "//",
      "/*",
      "*/",
      "\\",
      "\n",
      "import ",
      "from ",
      "(",
      ")",
      "[",
      "x",
      " ",
      "😀",
    );
    fc.assert(
      fc.property(fc.array(bits, { maxLength: 60 }), (parts) => {
        const source = parts.join("");
        const migration = migrate(source);
        if ("text" in migration) expect(migration.text).toBe(source);
        else expect(migration.line).toBeGreaterThan(0);
      }),
    );
  });
});

test("a skip of onBeforeVerify needs no decision: no facilitator is asked, as with the reference", () => {
  const source = [
    'import { x402ResourceServer } from "@x402/express";',
    "const server = new x402ResourceServer(client)",
    "  .onBeforeVerify(async () => ({ skip: true, result: { isValid: true } }))",
    "  .onBeforeSettle(async () => {",
    "    return { skip: true, result };",
    "  });",
  ].join("\n");
  const decided = migrated(source).findings.filter(({ level }) => level === "decide");
  expect(decided).toMatchObject([{ line: 5, difference: "skip" }]);
});

describe("differences", () => {
  const HEAD =
    'import { paymentMiddleware, paymentMiddlewareFromConfig, setSettlementOverrides } from "@x402/express";\n';
  const CORE =
    'import { HTTPFacilitatorClient as Client, x402ResourceServer, x402HTTPResourceServer } from "@x402/core/server"; import { ExactSvmScheme } from "@x402/svm/exact/server";\n';

  test.each([
    ["new Client()", "facilitator-url"],
    ["new Client({ timeoutMs: 1 })", "facilitator-url"],
    ["new x402ResourceServer()", "facilitator-url"],
    ["paymentMiddlewareFromConfig({})", "facilitator-url"],
    ["class Own extends x402HTTPResourceServer {}", "subclasses"],
    ["class Own extends whole.x402HTTPResourceServer {}", "subclasses"],
    ["class Own extends a.whole.x402ResourceServer {}", "subclasses"],
    ["server.onSettleFailure(async () => ({ recovered: true, result }))", "recovered"],
    ["server.onBeforeSettle(() => ({ skip: true, result }))", "skip"],
    ["const always = () => ({ skip: true, result })", "skip"],
    ["hook(() => { required.accepts.push(offer); })", "offers"],
    ['const route = { extra: { paymentFlow: "escrow" } }', "escrow"],
    ['import { UptoSvmScheme } from "@x402/svm/upto/server"; new UptoSvmScheme()', "escrow"],
    ['const route = { price: "$0.0000001" }', "amounts"],
    ["const route = { maxTimeoutSeconds: 5 }", "timeouts"],
    ['import { createSIWxRequestHook } from "@x402/extensions"; createSIWxRequestHook({ storage })', "sign-in-origin"],
    ["await server.processHTTPRequest(context)", "absent-methods"],
    ["setSettlementOverrides(res, { amount: 1.5 })", "overrides"],
  ])("%s needs a decision: %s", (line, difference) => {
    const { findings } = migrated(HEAD + CORE + line);
    expect(findings.filter(({ level }) => level === "decide")).toMatchObject([{ line: 3, difference }]);
  });

  test.each([
    ['const { ExactEvmScheme } = require("@x402/evm/exact/server")', "commonjs"],
    ["server.onBeforeVerify(check)", "hooks-that-throw"],
    ['import { declareSIWxExtension } from "@x402/extensions"; const own = declareSIWxExtension()', "sign-in"],
    ["await server.settlePayment(payload, requirements)", "by-hand"],
    ["await server.verifyPayment(payload, requirements)", "by-hand"],
    ['try { if (a) { b() } setSettlementOverrides(res, { amount: "0" }) } catch {}', "overrides"],
    ['res.setHeader("Settlement-Overrides", text)', "overrides"],
    ["res.setHeader(whole.SETTLEMENT_OVERRIDES_HEADER, text)", "overrides"],
    [
      'import { SETTLEMENT_OVERRIDES_HEADER as H, x402Version } from "@x402/express"; res.setHeader(H, text)',
      "overrides",
    ],
    ["server.onProtectedRequest(async () => { throw 1; })", "hooks-that-throw"],
    ["const { req } = context.adapter as unknown as Own", "adapter"],
    ["paymentMiddleware(routes, server, undefined, undefined, false)", "sync-facilitator-on-start"],
    ["await server.initialize()", "start"],
    ['const routes = { "GET /x": route }', "head"],
    ['const routes = { "ALL /x": route }', "all"],
    ['app.use("/api", paymentMiddleware(routes, server))', "mounts"],
    ['const route = { extra: { paymentFlow: "upfront" } }', "upfront"],
    [`const route = { description: "${"x".repeat(501)}" }`, "descriptions"],
    ['app.get("/x", (req, res) => res.redirect("/y"))', "redirects"],
    ['app.get("/x", (req, res) => res.status(304).end())', "responses-that-are-not-charged"],
    ['app.get("/x", (req, res) => res.writeHead(500).end())', "responses-that-are-not-charged"],
    ["class Night extends ExactSvmScheme {}", "hosted-schemes"],
    ["class Credits implements SchemeNetworkServer {}", "hosted-schemes"],
    ["server.register(network, new ExactSvmScheme({ rpcUrl }))", "rpcurl"],
    ['const routes = { "POST /x/": route }', "keys"],
    ['const routes = { "GET /x/": route }', "keys"],
    ['const routes = { "POST /files/*rest": route }', "keys"],
    ['import { ExactStellarScheme } from "@x402/stellar/exact/server"', "hosted-schemes"],
    ['app.get("/x", (req, res) => read(req.get("X-PAYMENT")))', "the-first-version"],
  ])("%s is noted: %s", (line, difference) => {
    expect(migrated(HEAD + CORE + line).findings).toMatchObject([{ line: 3, difference, level: "note" }]);
  });

  test.each([
    'app.get("/x", (req, res) => read(req.headers["payment-signature"] ?? req.headers["x-payment"]))',
    'app.get("/x", (req, res) => res.writeHead(201).end())',
    "new Client({ url })",
    'try { load() } catch {} setSettlementOverrides(res, { amount: "5" })',
    'import { SETTLEMENT_OVERRIDES_HEADER } from "@x402/express"',
    "new Client(facilitator)",
    "new Client({ ...facilitator })",
    "new Other()",
    'cors({ exposedHeaders: ["PAYMENT-RESPONSE"], allowedHeaders: ["PAYMENT-SIGNATURE"] })',
    'const route = { price: "$0.000001", description: "short", maxTimeoutSeconds: 60 }',
    "paymentMiddleware(routes, server, undefined, undefined, true)",
    'setSettlementOverrides(res, { amount: "50%" })',
    "if (required.accepts === undefined) required.accepts.map(String)",
    '// new Client() recovered: true, "GET /x": y',
    'app.get("/x", (req, res) => res.status(404).end())',
    'app.get("/x", (req, res) => res.status(201).end())',
  ])("%s is not different", (line) => {
    expect(migrated(HEAD + CORE + line).findings).toEqual([]);
  });
});

describe("the command", () => {
  const SOURCE =
    'import { paymentMiddleware } from "@x402/express";\nconst routes = { "GET /x": route, "GET /y": route,\n"GET /z": route };\n';

  test("shows a diff, writes nothing and exits with 0", async () => {
    const { code, out, err, text } = await run(SOURCE);
    expect({ code, err, text }).toEqual({ code: 0, err: "", text: SOURCE });
    expect(out).toContain(
      '-import { paymentMiddleware } from "@x402/express";\n+import { paymentMiddleware } from "@farebox/compat";',
    );
    expect(out).toContain("  2, 3  HEAD is priced like GET");
    expect(out).toContain("Install: npm install @farebox/express @farebox/compat\n");
  });

  test("writes the file with --write", async () => {
    const { code, text } = await run(SOURCE, "--write", "--depth=1");
    expect(code).toBe(0);
    expect(text).toBe(SOURCE.replace("@x402/express", "@farebox/compat"));
    expect((await run(text, "--write")).out).toContain("nothing to change");
  });

  test("exits with 1 when a place needs a decision", async () => {
    const { code, out } = await run(
      'import { HTTPFacilitatorClient } from "@x402/core/server";\nnew HTTPFacilitatorClient();\n',
    );
    expect(code).toBe(1);
    expect(out).toMatch(/To decide:\n +2 {2}HTTPFacilitatorClient needs a url/);
  });

  test.each([
    [["--depth", "3"], '--depth is 1 or 2, not "3"'],
    [["--speed"], 'there is no option "--speed"'],
    [["--write", "--dry-run"], "exclude each other"],
  ])("exits with 2 on %j", async (options, message) => {
    const { code, out, err } = await run(SOURCE, ...options);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(message);
  });

  test.each([
    [
      "a comment that does not end",
      'import "@x402/express";\n/* …',
      /server\.ts:2: cannot be read: a comment does not end/,
    ],
    ["a template that does not end", "const a = `${b", /server\.ts:1: cannot be read: a template literal does not end/],
    ["bytes that are not text", new Uint8Array([0xff, 0xfe, 0x00]), /server\.ts: cannot be read: it is not UTF-8/],
  ])("exits with 2 on %s", async (_what, source, message) => {
    const { code, err } = await run(source, "--write");
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });

  test("exits with 2 on a folder, a missing file and no file", async () => {
    const calls = [[folder], [join(folder, "none.ts")], []].map((args) => runFarebox(["migrate", ...args]));
    const ran = await Promise.all(calls);
    const codes = ran.map(({ code }) => code);
    const errors = ran.map(({ err }) => err);
    expect(codes).toEqual([2, 2, 2]);
    expect(errors.join("")).toMatch(/it is a folder.+there is no such file.+name a file/s);
  });

  test("is a program of the package, with a line for the shell", () => {
    const program = new URL("../../packages/cli/dist/farebox.js", import.meta.url).pathname;
    const path = join(folder, "seller.cjs");
    writeFileSync(path, 'const { paymentMiddleware } = require("@x402/express");\n');
    expect(readFileSync(program, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
    const ran = spawnSync(process.execPath, [program, "migrate", "--write", path], { encoding: "utf8" });
    expect(ran).toMatchObject({ status: 0, stderr: "" });
    expect(readFileSync(path, "utf8")).toBe('const { paymentMiddleware } = require("@farebox/compat");\n');
  });
});
