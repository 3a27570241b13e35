/**
 * Every fenced block of code in the repository's Markdown compiles, parses or runs.
 *
 * @module
 */
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createTestFacilitator, startFacilitatorServer } from "@farebox/testing";
import { transform } from "esbuild";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { COMMANDS } from "../../packages/cli/src/commands.js";
import { optionExamples } from "../../packages/core/scripts/generate-options.mjs";
import { collectWarnings } from "../express/shop.js";
import { compile } from "./compile.js";
import { type Block, blocksIn, isCode, markdownFiles, ROOT } from "./markdown.js";

const BLOCKS = markdownFiles().flatMap(blocksIn);
const CODE = BLOCKS.filter(isCode);
/** Keys of 32 zeros, or nearly, in the forms that facilitators take; where nothing listens they sign nothing. */
const KEYS = {
  EVM_KEY: `0x${"1".repeat(64)}`,
  SOLANA_KEY: "111111111111111111111111111111114zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS",
  ALGORAND_KEY: Buffer.from(
    `${"00".repeat(32)}3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29`,
    "hex",
  ).toString("base64"),
};
/** Packages without types that pages import. */
const UNTYPED = ['declare module "cors";'];
/** Where modules of the workspace are found, and no test or build looks. */
const CACHE = join(ROOT, "node_modules/.cache/docs");

const titleOf = ({ file, line }: Block) => `${file}:${line}`;

test("each block has a language that says how it is checked", () => {
  const known = /^(ts|js|json|sh|mermaid|text)$/;
  expect(BLOCKS.filter(({ language }) => !known.test(language)).map(titleOf)).toEqual([]);
});

test("every fence is read", () => {
  const fences = markdownFiles().flatMap(
    (file) => readFileSync(join(ROOT, file), "utf8").match(/^ *(```|~~~)/gm) ?? [],
  );
  expect(fences.length).toBe(2 * BLOCKS.length);
});

test("a block of text holds no code", () => {
  const code = /\b(import|const|await|function)\b.*[;({]$/m;
  const texts = BLOCKS.filter(({ language }) => language === "text");
  expect(texts.filter((block) => code.test(block.code)).map(titleOf)).toEqual([]);
});

test("blocks of JSON are JSON", () => {
  for (const { code } of BLOCKS.filter(({ language }) => language === "json"))
    expect(() => JSON.parse(code)).not.toThrow();
});

describe("commands", () => {
  const SCRIPTS = Object.keys(readJson("package.json")["scripts"] as object);
  const PACKAGES = readdirSync(join(ROOT, "packages"))
    .filter((name) => existsSync(join(ROOT, "packages", name, "package.json")))
    .map((name) => readJson(`packages/${name}/package.json`)["name"]);
  const optionsByCommand = new Map<string, readonly string[]>();
  beforeAll(async () => {
    for (const { name, load } of COMMANDS) optionsByCommand.set(name, Object.keys((await load()).command.options));
  });
  /** Whether there is such a command, with all of these options. */
  const isCallOfFarebox = (args: readonly string[]) => {
    const flags = args.flatMap((arg) => /^--([\w-]+)/.exec(arg)?.[1] ?? []);
    if (!/^\w/.test(args[0] ?? "")) return flags.every((flag) => ["help", "version"].includes(flag));
    const options = optionsByCommand.get(args.slice(0, 2).join(" ")) ?? optionsByCommand.get(args[0] ?? "");
    return options !== undefined && flags.every((flag) => ["help", ...options].includes(flag));
  };
  /** Programs that are not ours, and what is looked at of their arguments. */
  const PROGRAMS: Readonly<Record<string, (args: string[]) => boolean>> = {
    npx: ([yes, pnpm, script = "", ...args]) =>
      yes === "farebox"
        ? isCallOfFarebox([pnpm ?? "", script, ...args])
        : yes === "-y" && pnpm === "pnpm@10" && ["install", ...SCRIPTS].includes(script),
    npm: ([install, ...names]) =>
      /^(un)?install$/.test(install ?? "") &&
      names.filter((name) => name.startsWith("@farebox/")).every((name) => PACKAGES.includes(name)),
    node: ([file = ""]) => existsSync(join(ROOT, file.replace(/dist\/(.*)\.js$/, "$1.ts"))) || file === "server.mjs",
    bash: ([file = ""]) => existsSync(join(ROOT, file)),
    curl: () => true,
    git: () => true,
    goal: () => true,
    "spl-token": () => true,
  };
  const lines = BLOCKS.filter(({ language }) => language === "sh").flatMap((block) =>
    block.code
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .flatMap((line) => line.split(" && "))
      .map((line) => ({ line, where: titleOf(block) })),
  );

  test.each(lines)("$where: $line", ({ line }) => {
    const words = line.split(" #")[0]!.trim().split(/\s+/);
    const [program = "", ...args] = words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word)));
    expect(Object.keys(PROGRAMS)).toContain(program);
    expect(PROGRAMS[program]!(args)).toBe(true);
  });
});

test("TypeScript and JavaScript compile, and so do the examples of options", async () => {
  const sources = new Map(CODE.map((block, at) => [`block-${at}.${block.language}`, block]));
  const texts = new Map([...sources].map(([name, { given, code }]) => [name, `${given}\n${code}\nexport {};\n`]));
  texts.set("examples.ts", optionExamples()).set("untyped.d.ts", UNTYPED.join("\n"));
  const problems = (await compile(texts)).map(({ name, line, message }) => {
    const block = sources.get(name ?? "");
    const where =
      block === undefined ? `${name}:${line}` : `${block.file}:${block.line + line - 1 - lineCount(block.given)}`;
    return `${where} ${message}`;
  });
  expect(problems, problems.join("\n")).toEqual([]);
});

describe("complete blocks run", () => {
  const facilitator = createTestFacilitator();
  let facilitatorUrl: string;

  beforeAll(async () => {
    rmSync(CACHE, { recursive: true, force: true });
    mkdirSync(CACHE, { recursive: true });
    const server = await startFacilitatorServer({ facilitator });
    facilitatorUrl = server.url;
    vi.stubEnv("FACILITATOR_URL", facilitatorUrl);
    for (const [name, key] of Object.entries(KEYS)) vi.stubEnv(name, key);
    const quiet = muteFarebox();
    return async () => {
      quiet.mockRestore();
      vi.unstubAllEnvs();
      await server.close();
    };
  });

  const complete = CODE.filter(({ isComplete, isCompileOnly }) => isComplete && !isCompileOnly);

  test.each(complete.map((block) => [titleOf(block), block] as const))("%s", async (_, block) => {
    collectWarnings();
    const { servers, lines } = observe();
    const listen = block.probes.length > 0 && !/\.listen\(/.test(block.code) ? "app.listen(0);" : "";
    const code = `${block.given}\n${block.code}\n${listen}`
      .replaceAll(/https:\/\/(x402\.org\/facilitator|facilitator\.example\.com)/g, facilitatorUrl)
      .replaceAll('"catalog.db"', JSON.stringify(join(CACHE, "catalog.db")));
    const file = join(CACHE, `${titleOf(block).replaceAll(/[^\w]/g, "-")}.mjs`);
    writeFileSync(file, (await transform(code, { loader: "ts", format: "esm", target: "es2023" })).code);
    await import(/* @vite-ignore */ pathToFileURL(file).href);

    const expected = [...code.matchAll(/console\.log\(.*\); \/\/ (.+)$/gm)].map(([, output]) => output);
    if (expected.length > 0) expect(lines).toEqual(expected);
    for (const { method, path, status } of block.probes) {
      const server = servers.at(-1)!;
      if (!server.listening) await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
      await response.arrayBuffer();
      expect(response.status).toBe(status);
    }
    if (/\.listen\(/.test(block.code)) expect(block.probes).not.toEqual([]);
  });

  /** Servers listen on a free port in place of the block's own, and end with the test. */
  function observe() {
    const servers: Server[] = [];
    const lines: string[] = [];
    const { listen } = Server.prototype;
    const listening = vi.spyOn(Server.prototype, "listen").mockImplementation(function (
      this: Server,
      ...args: unknown[]
    ) {
      servers.push(this);
      const listener = args.find((arg) => typeof arg === "function") as (() => void) | undefined;
      return listen.call(this, { port: 0, host: "127.0.0.1" } as never, listener);
    } as typeof listen);
    const logging = vi.spyOn(console, "log").mockImplementation((...args) => void lines.push(args.map(show).join(" ")));
    onTestFinished(async () => {
      listening.mockRestore();
      logging.mockRestore();
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((closed) => server.close(closed));
      }
    });
    return { servers, lines };
  }
});

/** Blocks log as sellers do, and some tables of theirs are in no app. */
function muteFarebox() {
  const { stderr } = process;
  const write = stderr.write.bind(stderr) as (...args: unknown[]) => boolean;
  const filter = (...args: unknown[]) => String(args[0]).startsWith("[farebox] ") || write(...args);
  return vi.spyOn(stderr, "write").mockImplementation(filter as typeof stderr.write);
}

function show(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function lineCount(text: string): number {
  return text.split("\n").length;
}

function readJson(path: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8"));
}
