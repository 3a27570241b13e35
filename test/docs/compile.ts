/**
 * Compiles texts as if each were a module of the workspace, all in one run of the compiler.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ROOT } from "./markdown.js";

/** Where modules of the workspace are found, and no test or build looks. */
const FOLDER = join(ROOT, "node_modules/.cache/docs-types");
/** TypeScript 7 is a program for each platform. Elsewhere TypeScript 5 does, in five times as long. */
const NATIVE = join(ROOT, `node_modules/@typescript/typescript-${process.platform}-${process.arch}/lib/tsc`);
const TSC = existsSync(NATIVE)
  ? ([NATIVE] as const)
  : ([process.execPath, fileURLToPath(import.meta.resolve("typescript/bin/tsc"))] as const);

const OPTIONS = {
  target: "es2023",
  lib: ["es2023"],
  module: "nodenext",
  moduleResolution: "nodenext",
  moduleDetection: "force",
  types: ["node"],
  strict: true,
  allowJs: true,
  checkJs: true,
  noEmit: true,
  skipLibCheck: true,
  incremental: true,
  tsBuildInfoFile: "tsconfig.tsbuildinfo",
};

/** What is wrong, and where. */
export interface Problem {
  /** The name of the text; `undefined`: the compiler could not be run as it should. */
  readonly name: string | undefined;
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

/** @param texts - By their names, such as `readme.ts`. */
export async function compile(texts: ReadonlyMap<string, string>): Promise<readonly Problem[]> {
  mkdirSync(FOLDER, { recursive: true });
  for (const [name, text] of texts) writeFileSync(join(FOLDER, name), text);
  writeFileSync(join(FOLDER, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(FOLDER, "tsconfig.json"), JSON.stringify({ compilerOptions: OPTIONS, files: [...texts.keys()] }));
  const [program, ...argv] = TSC;
  const output = await new Promise<string>((resolve, reject) => {
    const given = [...argv, "-p", FOLDER, "--pretty", "false"];
    execFile(program, given, { cwd: FOLDER, maxBuffer: 1e8 }, (error, stdout, stderr) => {
      // Exit codes 1 and 2 say that there are problems.
      if (error !== null && typeof error.code !== "number") reject(error);
      else resolve(stdout + stderr);
    });
  });
  return output
    .split(/\n(?! )/)
    .filter((line) => line !== "")
    .map(readProblem);
}

function readProblem(text: string): Problem {
  const [, name, line, message = text] = /^([^\n(]+)\((\d+),\d+\): ([\s\S]*)$/.exec(text) ?? [];
  return { name, line: Number(line ?? 0), message };
}
