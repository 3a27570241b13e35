/**
 * Every link in the repository's Markdown that leads into the repository leads to a file, and to a heading if it names one.
 *
 * A package's README is read outside of the repository, too. So its links are absolute, or name a file that is packed with it.
 *
 * @module
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { walk } from "../scripts/imports.mjs";
import { markdownFiles, ROOT } from "./markdown.js";

/** Where the files of the repository are read on the web. */
const WEB = "https://github.com/farebox/farebox/blob/main/";

test.each(markdownFiles())("links in %s resolve", (file) => {
  const broken = linksIn(join(ROOT, file)).filter((link) => !resolves(join(ROOT, file), link));
  expect(broken).toEqual([]);
});

test("a broken link and a broken heading are noticed", () => {
  const here = join(ROOT, "docs/reference/errors.md");
  expect(resolves(here, "errors.md#err_farebox_config")).toBe(true);
  expect(resolves(here, "errors.md#no-such-heading")).toBe(false);
  expect(resolves(here, "no-such-file.md")).toBe(false);
  expect(resolves(here, `${WEB}docs/reference/errors.md#err_farebox_config`)).toBe(true);
  expect(resolves(here, `${WEB}docs/errors.md`)).toBe(false);
});

test.each(
  readdirSync(join(ROOT, "packages")).filter((name) => existsSync(join(ROOT, "packages", name, "package.json"))),
)("links in the README of packages/%s work in its tarball, and its manifest names the repository", (name) => {
  const folder = join(ROOT, "packages", name);
  const { files, repository } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const relative = linksIn(join(folder, "README.md")).filter((link) => !link.startsWith(WEB) && !link.startsWith("#"));
  expect(relative.filter((link) => !files.includes(link))).toEqual([]);
  const url = "git+https://github.com/farebox/farebox.git";
  expect(repository).toEqual({ type: "git", url, directory: `packages/${name}` });
});

test("pages and headings that comments in the code name are there", () => {
  const sources = ["packages", "test", "examples"].flatMap((folder) => walk(join(ROOT, folder)).files);
  const broken = sources
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(file, "utf8");
      const named = text.matchAll(/`(docs\/[a-z-]+\/[a-z-]+\.md)`(?:, "([^"]+)")?/g);
      return [...named].map(([, page = "", heading]) => ({ file, page, heading }));
    })
    .filter(({ page, heading }) => {
      if (!existsSync(join(ROOT, page))) return true;
      return heading !== undefined && !readFileSync(join(ROOT, page), "utf8").includes(`\n## ${heading}\n`);
    });
  expect(broken).toEqual([]);
});

/** Targets of `[text](target)` and `[name]: target` that lead into the repository, outside code. */
function linksIn(file: string): string[] {
  const text = withoutCode(readFileSync(file, "utf8"));
  const targets = [...text.matchAll(/\]\(<?([^)\s>]+)|^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)/gm)];
  return targets
    .map((match) => (match[1] ?? match[2])!)
    .filter((target) => target.startsWith(WEB) || !/^[a-z][a-z0-9+.-]*:/i.test(target));
}

function resolves(from: string, link: string): boolean {
  if (link.startsWith(WEB)) return resolves(join(ROOT, "README.md"), link.slice(WEB.length));
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
