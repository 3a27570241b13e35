/**
 * Processes of the benchmark: servers on one core, everything that asks or is asked by them on the other.
 *
 * @module
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { atCount, type Plan } from "../plan.js";
import type { Load, LoadResult } from "./load.js";
import { PAYMENTS_PER_SECOND, readPayments, SignedPayloads } from "./payments.js";
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

/** Puts load on a server. */
export function runLoad(load: Omit<Load, "payloads"> & Paid, core: Core = 1): Promise<LoadResult> {
  const { paymentsPerSecond = PAYMENTS_PER_SECOND, seconds } = load;
  return runPaid("load.js", load, { count: paymentsPerSecond * seconds, core });
}

/** Asks a server, one request after another. A facilitator is asked from where servers are: on the core that they have. */
export function runProbe(probe: Omit<Probe, "payloads"> & Paid, core: Core = 1): Promise<ProbeResult> {
  return runPaid("probe.js", probe, { count: probe.requests + probe.warmUp, core });
}

const signed = new SignedPayloads();

/** How a server is paid. */
interface Paid {
  /** Servers of one name know each other's payments. Default: each server has its own. */
  readonly ledger?: string;
  /** How many payments to prepare. Default: more than any seller serves. */
  readonly paymentsPerSecond?: number;
}

/** How many payloads each server has been paid with, by its origin, or its ledger. */
const taken = new Map<string, number>();

/** Signs what is needed, and runs a child with it. */
async function runPaid<T extends { readonly sent: number }>(
  file: string,
  order: Paid & { readonly url: string; readonly payAt?: string; readonly isRepeated?: boolean },
  { count, core }: { readonly count: number; readonly core: Core },
): Promise<T> {
  const { url, payAt, isRepeated = false } = order;
  if (payAt === undefined) return runChild(file, order, core);
  const server = order.ledger ?? originOf(url);
  const payloads = { file: signed.file, from: taken.get(server) ?? 0, count: isRepeated ? REPEATED : count };
  await signed.ensure(payloads.from + payloads.count, atCount(payAt, 0));
  const result = await runChild<T>(file, { ...order, payloads }, core);
  if (!isRepeated) taken.set(server, payloads.from + result.sent);
  return result;
}

/** How many payments are sent again and again to a server that does not know them again. */
const REPEATED = 500;

/** Signs beforehand what loads of so many seconds take: while it waited, V8 would throw away what it has compiled. */
export function signFor(payAt: string, seconds: number): Promise<void> {
  const from = taken.get(originOf(payAt)) ?? 0;
  return signed.ensure(from + PAYMENTS_PER_SECOND * seconds, atCount(payAt, 0));
}

/** Takes one payment: the value of its `PAYMENT-SIGNATURE`. */
export async function takePayment(payAt: string): Promise<string> {
  const server = originOf(payAt);
  const from = taken.get(server) ?? 0;
  taken.set(server, from + 1);
  await signed.ensure(from + 1, payAt);
  const [payment = ""] = await readPayments(payAt, { file: signed.file, from, count: 1 });
  return payment;
}

function originOf(url: string): string {
  return new URL(url.replace("{n}", "~")).origin;
}

async function runChild<T>(file: string, order: object, core: Core = 1): Promise<T> {
  const child = start(file, JSON.stringify(order), { core });
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
