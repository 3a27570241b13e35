/**
 * Brings the example servers of the reference from its public repository. They are their authors' work, so none of them is committed:
 * they are kept under `node_modules`, which git ignores.
 *
 * `FAREBOX_REFERENCE_REPO`: a path or URL of another git repository to take them from.
 *
 * Usage: `node test/scripts/fetch-reference.mjs`
 *
 * @module
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** 21 April 2026, the last one of the repository before the move to another owner: version 2.10. */
const COMMIT = "dd927a26cfefc98c24b3ec38b3a8f204dad0c60d";
const FILES = "https://raw.githubusercontent.com/coinbase/x402";
const DEADLINE_MS = 10_000;

/** What is kept of the repository. */
const SERVERS = "examples/typescript/servers";
export const PATHS = [
  `${SERVERS}/express/index.ts`,
  `${SERVERS}/advanced/all_networks.ts`,
  `${SERVERS}/advanced/bazaar.ts`,
  `${SERVERS}/advanced/custom-money-definition.ts`,
  `${SERVERS}/advanced/dynamic-pay-to.ts`,
  `${SERVERS}/advanced/dynamic-price.ts`,
  `${SERVERS}/advanced/eip2612-gas-sponsoring.ts`,
  `${SERVERS}/advanced/hooks.ts`,
  `${SERVERS}/bazaar/index.ts`,
  `${SERVERS}/custom/index.ts`,
  `${SERVERS}/offer-receipt/eip712-signer.ts`,
  `${SERVERS}/offer-receipt/index.ts`,
  `${SERVERS}/offer-receipt/jws-signer.ts`,
  `${SERVERS}/payment-identifier/index.ts`,
  `${SERVERS}/self-facilitation/index.ts`,
  `${SERVERS}/sign-in-with-x/index.ts`,
  `${SERVERS}/upto/index.ts`,
  "e2e/servers/express/index.ts",
];

/** Where files are kept that git ignores and from which the packages of the workspace can be imported. */
export const CACHE = fileURLToPath(new URL("../../node_modules/.cache/farebox-reference", import.meta.url));

/**
 * Brings the files, unless they are there.
 *
 * @returns The folder that has them, by the repository's own paths; or why they cannot be had.
 */
export async function fetchReference() {
  const folder = join(CACHE, COMMIT);
  if (PATHS.every((path) => existsSync(join(folder, path)))) return { folder };
  try {
    const from = process.env.FAREBOX_REFERENCE_REPO;
    const texts = from === undefined ? await download() : await readRepository(from);
    await keep(folder, texts);
    return { folder };
  } catch (error) {
    const hint = "FAREBOX_REFERENCE_REPO names another git repository to take them from";
    return { reason: `the reference's servers cannot be had: ${error.message.trim().split("\n")[0]}; ${hint}` };
  }
}

async function download() {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  return Promise.all(
    PATHS.map(async (path) => {
      const response = await fetch(`${FILES}/${COMMIT}/${path}`, { signal });
      if (!response.ok) throw new Error(`status ${response.status} for ${path}`);
      return response.text();
    }),
  );
}

/** A repository on this machine is read where it is; it need not be whole. */
async function readRepository(from) {
  if (existsSync(from)) return showFiles(existsSync(join(from, ".git")) ? join(from, ".git") : from);
  const copy = await mkdtemp(join(tmpdir(), "farebox-reference-"));
  try {
    await git("init", "--quiet", "--bare", copy);
    await git("--git-dir", copy, "fetch", "--quiet", "--depth", "1", from, COMMIT);
    return await showFiles(copy);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

function showFiles(folder) {
  return Promise.all(PATHS.map((path) => git("--git-dir", folder, "show", `${COMMIT}:${path}`)));
}

async function git(...args) {
  const env = { ...process.env, GIT_TERMINAL_PROMPT: "0" };
  const { stdout } = await run("git", args, { timeout: DEADLINE_MS, env });
  return stdout;
}

/** All files or none: another process may look for them at the same time. */
async function keep(folder, texts) {
  await mkdir(CACHE, { recursive: true });
  const fresh = await mkdtemp(join(CACHE, "fresh-"));
  for (const [at, path] of PATHS.entries()) {
    await mkdir(dirname(join(fresh, path)), { recursive: true });
    await writeFile(join(fresh, path), texts[at]);
  }
  await rm(folder, { recursive: true, force: true });
  await rename(fresh, folder);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { folder, reason } = await fetchReference();
  console.log(folder ?? reason);
  process.exitCode = folder === undefined ? 1 : 0;
}
