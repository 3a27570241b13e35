/**
 * Says where the time of a server on Node 24 goes: by whose code, and by which functions.
 *
 * Usage: `npx -y pnpm@10 bench:profile "paid, facilitator in the process"`, by the title of a case of the benchmark.
 *
 * @module
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { THROUGHPUT_CASES, type ThroughputCase } from "./cases/throughput.js";
import { runLoad, startServer } from "./processes/spawn.js";

/** What `--cpu-prof` writes. */
interface Profile {
  readonly nodes: readonly ProfileNode[];
  /** The node that was at work at each sample. */
  readonly samples: readonly number[];
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

const SECONDS = 10;
const MOST_FUNCTIONS = 30;

const what = THROUGHPUT_CASES.find(({ title }) => title === process.argv[2]);
if (what === undefined) {
  process.stdout.write(`${THROUGHPUT_CASES.map(({ title }) => title).join("\n")}\n`);
  process.exitCode = 1;
} else {
  report(await takeProfile(what));
}

async function takeProfile({
  path,
  plan,
  isPaid = false,
  connections,
  expect = 200,
}: ThroughputCase): Promise<Profile> {
  const folder = mkdtempSync(join(tmpdir(), "farebox-profile-"));
  try {
    const full = { fillers: 0, offers: 1, ...plan, side: "farebox" } as const;
    const server = await startServer(full, { flags: ["--cpu-prof", `--cpu-prof-dir=${folder}`] });
    const url = server.url + path;
    await runLoad({ urls: [url], ...(isPaid ? { payAt: url } : {}), connections, seconds: SECONDS, expect });
    await server.close();
    return JSON.parse(readFileSync(join(folder, readdirSync(folder)[0] ?? ""), "utf8"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function report({ nodes, samples, timeDeltas }: Profile): void {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const [owners, within, whole] = [new Map<string, number>(), new Map<string, number>(), { us: 0 }];
  for (const [at, id] of samples.entries()) {
    const stack = stackOf(id, byId, parents);
    const us = timeDeltas[at] ?? 0;
    if (stack[0] === undefined || stack[0].callFrame.functionName === "(idle)") continue;
    whole.us += us;
    add(owners, ownerOf(stack[0]), us);
    for (const name of new Set(stack.map(nameOf))) add(within, name, us);
  }
  print("by whose code", owners, whole.us);
  print("by function, with all that it calls", within, whole.us);
}

function stackOf(id: number, byId: ReadonlyMap<number, ProfileNode>, parents: ReadonlyMap<number, number>) {
  const stack: ProfileNode[] = [];
  for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
    const node = byId.get(at);
    if (node !== undefined) stack.push(node);
  }
  return stack;
}

function ownerOf({ callFrame: { url, functionName } }: ProfileNode): string {
  if (url.includes("/packages/")) return "Farebox";
  if (url.includes("/node_modules/")) return "Express, and what it is made of";
  if (url.includes("/test/bench/")) return "handlers and facilitator";
  return functionName === "(garbage collector)" ? "garbage collection" : "Node";
}

function nameOf({ callFrame: { url, functionName } }: ProfileNode): string {
  const file = url.replace(/^.*\/(?:packages|node_modules)\//, "").replace("/dist/", "/");
  return `${functionName || "(anonymous)"} ${file}`.trim();
}

function add(sums: Map<string, number>, name: string, us: number): void {
  sums.set(name, (sums.get(name) ?? 0) + us);
}

function print(title: string, sums: ReadonlyMap<string, number>, whole: number): void {
  const largest = [...sums].sort(([, a], [, b]) => b - a).slice(0, MOST_FUNCTIONS);
  const lines = largest.map(([name, us]) => `${((100 * us) / whole).toFixed(1).padStart(5)} %  ${name}`);
  process.stdout.write(`${title}\n${lines.join("\n")}\n\n`);
}
