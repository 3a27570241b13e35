/**
 * Reads the Markdown of the repository: its files, and the fenced blocks in them.
 *
 * An HTML comment right above a fence says what a block needs that its page does not show:
 *
 * - `<!-- given … -->`: code in front of the block, such as `declare const app: Express;`. The block is compiled, not run.
 * - `<!-- given on this page … -->`, anywhere: the same for each block of the page.
 * - `<!-- continues -->`: the blocks of the page so far that this one goes on from.
 * - `<!-- run GET /weather 402 -->`: a request to the app that the block starts, and the status of its response.
 * - `<!-- compile only: reason -->`: why a complete block is not run.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const ROOT: string = fileURLToPath(new URL("../..", import.meta.url));

const SKIPPED_FOLDERS = new Set(["node_modules", "dist", ".git"]);

/** Every Markdown file, by its path from the root. */
export function markdownFiles(folder = ROOT): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED_FOLDERS.has(entry.name) ? [] : markdownFiles(path);
    return entry.name.endsWith(".md") ? [relative(ROOT, path)] : [];
  });
}

/** A request to the app of a block. */
export interface Probe {
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

/** A fenced block of code. */
export interface Block {
  readonly file: string;
  /** Of the first line of the code, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  /** What stands in front of the code when it is compiled. */
  readonly given: string;
  readonly isComplete: boolean;
  /** Whether the page says why the block is not run. */
  readonly isCompileOnly: boolean;
  readonly probes: readonly Probe[];
}

const FENCE = /((?:^<!--(?:(?!-->)[\s\S])*-->\n+)*)^( *)```([^\n`]*)\n([\s\S]*?)^ *```$/gm;

/** The fenced blocks of one file. */
export function blocksIn(file: string): Block[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  const [, everywhere] = /<!-- given on this page\n([\s\S]*?)-->/.exec(text) ?? [];
  const blocks: Block[] = [];
  for (const { 0: whole, 1: comments = "", 2: indent = "", 3: language = "", 4: body = "", index } of text.matchAll(
    FENCE,
  )) {
    const notes = [...comments.matchAll(/<!--\s*([\s\S]*?)\s*-->/g)].map(([, note = ""]) => note);
    const own = notes.filter((note) => /^given\n/.test(note)).map((note) => note.slice("given".length));
    const earlier = notes.includes("continues") ? blocks.findLast(isCode) : undefined;
    const before = earlier === undefined ? (everywhere ?? "") : `${earlier.given}\n${earlier.code}`;
    const isBeforeComplete = earlier === undefined ? everywhere === undefined : earlier.isComplete;
    blocks.push({
      file,
      line: text.slice(0, index + whole.indexOf("```")).split("\n").length + 1,
      language: language.trim(),
      code: body.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
      given: [before, ...own].join("\n"),
      isComplete: own.length === 0 && isBeforeComplete,
      isCompileOnly: notes.some((note) => note.startsWith("compile only:")),
      probes: notes.flatMap(readProbe),
    });
  }
  return blocks;
}

/** Whether a block is compiled. */
export function isCode({ language }: Block): boolean {
  return language === "ts" || language === "js";
}

function readProbe(note: string): Probe[] {
  const [, method, path, status] = /^run ([A-Z]+) (\S+) (\d{3})$/.exec(note) ?? [];
  return method === undefined ? [] : [{ method, path: path!, status: Number(status) }];
}
