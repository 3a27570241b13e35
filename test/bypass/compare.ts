/**
 * Tries every case of the corpus with Farebox and with the reference.
 *
 * @module
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Case, Version } from "./case.js";
import { CORPUS } from "./corpus.js";
import type { Compared, Tried } from "./document.js";
import type { Outcome } from "./stage.js";
import type { Trial } from "./worker.js";

const TIME_LIMIT_SECONDS = 60;

let worker: ChildProcess | undefined;

/** Tries all cases, one after the other. */
export async function comparePaths(): Promise<readonly Compared[]> {
  const compared: Compared[] = [];
  for (const subject of CORPUS) {
    const reference = await tryOnAll(subject, "reference");
    compared.push({ subject, reference, farebox: await tryOnAll(subject, "farebox") });
  }
  worker?.disconnect();
  worker = undefined;
  return compared;
}

async function tryOnAll({ name, on }: Case, library: Trial["library"]): Promise<ReadonlyMap<Version, Tried>> {
  const tries = new Map<Version, Tried>();
  for (const version of on.toSorted().reverse()) tries.set(version, await tryOne({ name, version, library }));
  return tries;
}

/** The worker is used again until it hangs or ends; then the next case gets another. */
async function tryOne(trial: Trial): Promise<Tried> {
  worker ??= await startWorker();
  const current = worker;
  current.send(trial);
  const tried = await outcomeFrom(current);
  if (tried.kind === "no answer" || tried.kind === "process ended") {
    current.kill("SIGKILL");
    worker = undefined;
  }
  return tried;
}

async function startWorker(): Promise<ChildProcess> {
  // What the libraries log is not compared.
  const started = fork(new URL("./worker.js", import.meta.url), { stdio: ["ignore", "ignore", "ignore", "ipc"] });
  await once(started, "message");
  return started;
}

/** Messages come one at a time: the next one is the answer, unless the time or the process ends before. */
function outcomeFrom(current: ChildProcess): Promise<Tried> {
  return new Promise((resolve) => {
    const settle = (tried: Tried) => {
      clearTimeout(limit);
      current.removeAllListeners();
      resolve(tried);
    };
    const limit = setTimeout(
      () => settle({ kind: "no answer", seconds: TIME_LIMIT_SECONDS }),
      TIME_LIMIT_SECONDS * 1000,
    );
    current.once("message", (outcome) => settle(outcome as Outcome));
    current.once("exit", (code) => settle({ kind: "process ended", code }));
  });
}
