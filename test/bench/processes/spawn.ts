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
import type { Counted, Counting } from "./counting.js";
import type { Load, LoadResult } from "./load.js";
import { Mint } from "./payments.js";
import type { Probe, ProbeResult } from "./probe.js";
import type { Census, Question, Usage } from "./server.js";
import type { Streams, StreamsResult } from "./streams.js";

/** Whether servers and load get a core each. */
export const PINNED = availableParallelism() > 1 && spawnSync("taskset", ["--version"]).status === 0;

/** Servers have the first, everything else the second. Several processes of a server have both, as all that runs beside them. */
type Core = 0 | 1 | "any";

/** A server that runs. */
export interface RunningServer {
  readonly url: string;
  /** What the process has had so far. */
  usage(): Promise<Usage>;
  /** Counts what a leak would leave in the process. Takes a while, and the server stands still. */
  census(): Promise<Census>;
  /** What the process does while `act` runs. */
  count(what: Counting, act: () => Promise<void>): Promise<Counted>;
  close(): Promise<void>;
}

/** A facilitator that runs. */
export interface RunningFacilitator extends Pick<RunningServer, "url" | "close"> {
  /** Each of its responses takes so many milliseconds from now on. */
  setLatency(ms: number): void;
}

/** How a server is started. */
export interface StartOptions {
  /** The Node that runs it. Default: the one of this process. */
  readonly node?: string;
  readonly flags?: readonly string[];
  readonly core?: Core;
}

/** Starts a server. */
export async function startServer(plan: Plan, options: StartOptions = {}): Promise<RunningServer> {
  const child = start("server.js", JSON.stringify(plan), { core: 0, ...options });
  const { port } = await nextMessage<{ port: number }>(child);
  const ask = <T>(what: Question) => {
    const response = nextMessage<T>(child);
    child.send(what);
    return response;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    usage: () => ask("usage"),
    census: () => ask("census"),
    count: async (what, act) => {
      await ask({ count: what });
      await act();
      return ask("counted");
    },
    close: () => stop(child),
  };
}

/** Starts a facilitator that answers after so many milliseconds. */
export async function startFacilitator(latencyMs: number): Promise<RunningFacilitator> {
  const child = start("facilitator.js", String(latencyMs), { core: 1 });
  const { port } = await nextMessage<{ port: number }>(child);
  return {
    url: `http://127.0.0.1:${port}`,
    setLatency: (ms) => void child.send(ms),
    close: () => stop(child),
  };
}

/** What happens beside a load. */
export interface LoadHooks {
  /** Connections are open and the first payments were served; what counts has not begun. */
  readonly onReady?: () => unknown;
  /** All responses are here; connections are still open. */
  readonly onDone?: () => unknown;
}

/** Puts load on servers. */
export async function runLoad(load: Load, hooks: LoadHooks = {}, core: Core = 1): Promise<LoadResult> {
  const child = start("load.js", JSON.stringify(load), { core });
  await nextMessage(child);
  await hooks.onReady?.();
  child.send("go");
  const result = await nextMessage<LoadResult>(child);
  await hooks.onDone?.();
  await stop(child);
  return result;
}

/** Reads streams of a server, many at once. */
export async function readStreams(streams: Streams, hooks: LoadHooks = {}): Promise<StreamsResult> {
  const child = start("streams.js", JSON.stringify(streams), { core: 1 });
  await nextMessage(child);
  await hooks.onReady?.();
  child.send("go");
  const result = await nextMessage<StreamsResult>(child);
  await hooks.onDone?.();
  await stop(child);
  return result;
}

/** Asks a server, one request after another. A facilitator is asked from where servers are: on the core that they have. */
export async function runProbe(probe: Probe, core: Core = 1): Promise<ProbeResult> {
  const child = start("probe.js", JSON.stringify(probe), { core });
  const result = await nextMessage<ProbeResult>(child);
  await stop(child);
  return result;
}

/** Takes one payment: the value of its `PAYMENT-SIGNATURE`. */
export async function takePayment(payAt: string): Promise<string> {
  return (await Mint.open(payAt)).sign();
}

function start(
  file: string,
  argument: string,
  { core = 1, flags = [], node = process.execPath }: StartOptions,
): ChildProcess {
  const script = fileURLToPath(new URL(file, import.meta.url));
  const command = [node, ...flags, script, argument];
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
