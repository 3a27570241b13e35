/**
 * Brings about every failure with both libraries.
 *
 * @module
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Facts, Failure, Library, Seen } from "./failure.js";
import { FAILURES } from "./failures.js";
import { BROKEN_OFF, type OpenScene, openScene } from "./scene.js";

/** A failure, and its outcome with each library. */
export interface ComparedFailure {
  readonly subject: Failure;
  readonly reference: Facts;
  readonly farebox: Facts;
}

/** How long a process may take to end once its connections have. */
const END_MS = 1_000;

/** Most of the time is spent waiting for a response. */
const AT_ONCE = 3;

/** Brings about all failures, some at the same time. */
export async function compareFailures(): Promise<readonly ComparedFailure[]> {
  const compared: ComparedFailure[] = [];
  const left = FAILURES.entries();
  const work = async () => {
    for (const [at, subject] of left) compared[at] = await compare(subject);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return compared;
}

async function compare(subject: Failure): Promise<ComparedFailure> {
  const [reference, farebox] = await Promise.all([bringAbout(subject, "reference"), bringAbout(subject, "farebox")]);
  return { subject, reference, farebox };
}

async function bringAbout(subject: Failure, library: Library): Promise<Facts> {
  const open = await openScene(subject, library);
  try {
    return await watch(subject, open);
  } finally {
    await open.close();
  }
}

async function watch(subject: Failure, { scene, debits, runsOfSecond }: OpenScene): Promise<Facts> {
  const { seller } = scene;
  const end = seller.ended.then((code): Seen => ({ answers: [`the process ended with code ${code}`] }));
  if (seller.url === undefined) {
    const notStarted: Seen = { answers: ["did not start"] };
    return { ...(await Promise.race([end, delay(END_MS, notStarted)])), runs: 0, debits: debits() };
  }
  const seen = await Promise.race([end, subject.act(scene)]);
  const isBroken = seen.answers.some((answer) => String(answer).endsWith(BROKEN_OFF));
  const last = isBroken ? await Promise.race([end, delay(END_MS, seen)]) : seen;
  const runs = await Promise.race([seller.usage().then((usage) => usage.runs), end.then(() => 0)]);
  return { ...last, runs: runs + (await runsOfSecond()), debits: debits() };
}
