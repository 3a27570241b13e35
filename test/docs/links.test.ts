/**
 * Every relative link in the repository's Markdown leads to a file, and to a heading if it names one.
 *
 * @module
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SKIPPED_FOLDERS = new Set(["node_modules", "dist", ".git"]);

test.each(markdownBelow(ROOT).map((file) => relative(ROOT, file)))("links in %s resolve", (file) => {
  const broken = linksIn(join(ROOT, file)).filter((link) => !resolves(join(ROOT, file), link));
  expect(broken).toEqual([]);
});

test("a broken link and a broken heading are noticed", () => {
  const here = join(ROOT, "docs/errors.md");
  expect(resolves(here, "errors.md#err_farebox_config")).toBe(true);
  expect(resolves(here, "errors.md#no-such-heading")).toBe(false);
  expect(resolves(here, "no-such-file.md")).toBe(false);
});

function markdownBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED_FOLDERS.has(entry.name) ? [] : markdownBelow(path);
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

/** Targets of `[text](target)` and `[name]: target` that carry no scheme, outside code. */
function linksIn(file: string): string[] {
  const text = withoutCode(readFileSync(file, "utf8"));
  const targets = [...text.matchAll(/\]\(<?([^)\s>]+)|^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)/gm)];
  return targets.map((match) => (match[1] ?? match[2])!).filter((target) => !/^[a-z][a-z0-9+.-]*:/i.test(target));
}

function resolves(from: string, link: string): boolean {
  const [path = "", heading] = link.split("#");
  const target = path === "" ? from : resolve(dirname(from), decodeURIComponent(path));
  if (!existsSync(target)) return false;
  return heading === undefined || !statSync(target).isFile() || headingsIn(target).includes(heading);
}

/** Anchors as GitHub makes them: lower case, spaces to hyphens, other punctuation dropped, repeats numbered. */
function headingsIn(file: string): string[] {
  const seen = new Map<string, number>();
  const text = readFileSync(file, "utf8").replace(/^(```|~~~).*?^\1/gms, "");
  return [...text.matchAll(/^#{1,6} +(.+)$/gm)].map((match) => {
    const slug = match[1]!
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replace(/\s/g, "-");
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    return times === 0 ? slug : `${slug}-${times}`;
  });
}

function withoutCode(text: string): string {
  return text.replace(/^(```|~~~).*?^\1/gms, "").replace(/`[^`\n]*`/g, "");
}
