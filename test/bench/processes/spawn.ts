/**
 * Processes of the benchmark: servers on one core, everything that asks or is asked by them on the other.
 *
 * @module
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import type { Plan } from "../plan.js";
import type { Load, LoadResult } from "./load.js";
import type { Probe, ProbeResult } from "./probe.js";

/** Whether servers and load get a core each. */
export const PINNED = availableParallelism() > 1 && spawnSync("taskset", ["--version"]).status === 0;

/** Servers have the first, everything else the second. Several processes of a server have both, as all that runs beside them. */
type Core = 0 | 1 | "any";

/** What a server has used since it was started. */
export interface Usage {
  /** The most memory it has had. */
  readonly peakBytes: number;
  /** Of all its threads. */
  readonly cpuSeconds: number;
}

/** A server that runs. */
export interface RunningServer {
  readonly url: string;
  /** What the process has had so far. */
  usage(): Promise<Usage>;
  close(): Promise<void>;
}

/** Starts a server. */
export async function startServer(plan: Plan, flags: readonly string[] = [], core: Core = 0): Promise<RunningServer> {
  const child = start("server.js", JSON.stringify(plan), { core, flags });
  const { port } = await nextMessage<{ port: number }>(child);
  return {
    url: `http://127.0.0.1:${port}`,
    usage() {
      const answered = nextMessage<Usage>(child);
      child.send("usage");
      return answered;
    },
    close: () => stop(child),
  };
}

/** Starts a facilitator that answers after so many milliseconds. */
export async function startFacilitator(latencyMs: number): Promise<Pick<RunningServer, "url" | "close">> {
  const child = start("facilitator.js", String(latencyMs), { core: 1 });
  const { port } = await nextMessage<{ port: number }>(child);
  return { url: `http://127.0.0.1:${port}`, close: () => stop(child) };
}

/** Every payment of one run of the benchmark is another. */
let payments = 0;

/** Puts load on a server. */
export function runLoad(load: Omit<Load, "firstPayment">, core: Core = 1): Promise<LoadResult> {
  return runChild("load.js", load, core);
}

/** Asks a server, one request after another. A facilitator is asked from where servers are: on the core that they have. */
export function runProbe(probe: Omit<Probe, "firstPayment">, core: Core = 1): Promise<ProbeResult> {
  return runChild("probe.js", probe, core);
}

async function runChild<T>(file: string, order: object, core: Core = 1): Promise<T> {
  payments += 10_000_000;
  const child = start(file, JSON.stringify({ ...order, firstPayment: payments }), { core });
  const measured = await nextMessage<T>(child);
  if (child.exitCode === null) await once(child, "exit");
  return measured;
}

function start(
  file: string,
  argument: string,
  { core, flags = [] }: { readonly core: Core; readonly flags?: readonly string[] },
): ChildProcess {
  const script = fileURLToPath(new URL(file, import.meta.url));
  const command = [process.execPath, ...flags, script, argument];
  const [program = "", ...rest] = PINNED && core !== "any" ? ["taskset", "-c", String(core), ...command] : command;
  const env = { ...process.env, NODE_ENV: "production" };
  // What a side logs is not what is measured; what ends a process is seen.
  return spawn(program, rest, { env, stdio: ["ignore", "ignore", "inherit", "ipc"] });
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`a process of the benchmark ended with ${code}`));
    child.once("exit", onExit);
    child.once("message", (message) => {
      child.off("exit", onExit);
      resolve(message as T);
    });
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.disconnect();
  await once(child, "exit");
}
