/**
 * What holds in every sequence:
 *
 * 1. No handler runs twice for one payment. A run may be repeated if nothing was charged for it, or if its response could not be kept
 *    and was not delivered: its process died, was stopped, or could not reach the store, or the outcome of its settlement was unknown.
 *    If it went to a duplicate without proof, the client with the payment's token may have one more.
 * 2. No payment settles twice.
 * 3. Nothing that was paid for is lost: the client that comes back with the same payment gets its response. And as no facilitator
 *    refuses here, each payment ends so.
 * 4. Nothing unpaid is delivered.
 * 5. A settlement that is left behind is finished without its client.
 * 6. A death is noticed within 10 seconds, and the time that a busy machine is late by itself.
 * 7. In the end the ledger of the seller has each transfer of the bank once, and nothing else.
 *
 * @module
 */
import { hasOutage, type Played, type PlayedSequence, parse, type Reply } from "./play.js";
import type { Entry, Moved, Run } from "./shop.js";

const PRICE = "10000";

/** Of a death, in milliseconds. */
export const NOTICED_WITHIN_MS = 10_000;

/** How long it took to notice a death, and how late timers were meanwhile. In milliseconds. */
export interface Notice {
  readonly ms: number;
  readonly lateMs: number;
}

/** Each death in a payment that nothing else disturbed. */
export function noticesOf({ payments, faults, outages, lateness }: PlayedSequence): readonly Notice[] {
  const happened = faults.flatMap((fault) => (fault.happened === undefined ? [] : [{ ...fault.happened, fault }]));
  return happened.flatMap(({ atMs, seller, fault }) => {
    if (fault.plan.act !== "die") return [];
    return payments.flatMap((played) => {
      // Its client comes back at once.
      const broken = played.replies.find(
        (reply) => reply.isMain && reply.seller === seller && reply.result === undefined && reply.sentMs <= atMs,
      );
      if (broken === undefined || played.plan.isLate) return [];
      const signs = signsOf(played).filter((signMs) => signMs > broken.atMs);
      const signMs = Math.min(...signs);
      const isDisturbed =
        hasOutage(outages, atMs, signMs) ||
        happened.some((other) => other.fault !== fault && other.atMs > atMs - 15_000 && other.atMs < signMs);
      return isDisturbed || !Number.isFinite(signMs) ? [] : [{ ms: signMs - atMs, lateMs: lateness(atMs, signMs) }];
    });
  });
}

/** When a process worked on the payment: a run, a call of the facilitator, a response. */
function signsOf({ runs, settleCallsMs, replies }: Played): readonly number[] {
  const delivered = replies.filter(({ result }) => result?.status === 200).map(({ atMs }) => atMs);
  return [...runs.map(({ startMs }) => startMs), ...settleCallsMs, ...delivered];
}

/** Yields everything that is wrong with a sequence. */
export function judge(sequence: PlayedSequence, withinMs: number): readonly string[] {
  const late = noticesOf(sequence).filter(({ ms, lateMs }) => ms > withinMs + lateMs);
  return [
    ...sequence.payments.flatMap((played, at) =>
      [...checkRuns(played, sequence), ...checkMoney(played)].map((problem) => `payment ${at}: ${problem}`),
    ),
    ...late.map(
      ({ ms, lateMs }) => `[6] a death was noticed after ${ms} ms, though timers were at most ${lateMs} ms late`,
    ),
  ];
}

/** Whole responses of the handler. */
function deliveredOf({ replies }: Played): readonly (Reply & { readonly run: number })[] {
  return replies.flatMap((reply) => {
    if (reply.result?.status !== 200) return [];
    return [{ ...reply, run: parse(reply.result.text).run ?? -1 }];
  });
}

function checkRuns(played: Played, { outages }: PlayedSequence): readonly string[] {
  const { runs, plan, transfers } = played;
  const found: string[] = [];
  const paidMs = transfers[0]?.atMs ?? Number.POSITIVE_INFINITY;
  const isDelivered = (run: Run, { isMain = false } = {}) =>
    deliveredOf(played).some((reply) => reply.run === run.id && (reply.isMain || !isMain));
  const isOfDuplicate = (run: Run) => deliveredOf(played).some((reply) => reply.run === run.id && !reply.isMain);
  for (const [at, run] of runs.entries()) {
    for (const earlier of runs.slice(0, at)) {
      const isExcused = isDisturbed(earlier, run.startMs, outages);
      const names = `run ${run.id} began`;
      // Whoever reads a prepaid response slowly, without proof, does not keep the payer waiting.
      const isOwedAtOnce = plan.proof === "token" && plan.route === "before" && isOfDuplicate(earlier);
      if (!isExcused && !isOwedAtOnce && (earlier.endMs ?? Number.POSITIVE_INFINITY) > run.startMs)
        found.push(`[1] ${names} while run ${earlier.id} was at work`);
      const isCharged = paidMs < run.startMs;
      if (isCharged && plan.route === "after")
        found.push(`[1] ${names} for money that run ${earlier.id} had been charged for`);
      // Its settlement had an unknown outcome, and its response was too large to keep.
      const isLost = plan.route === "large" && !isDelivered(earlier);
      // The earlier response went to a duplicate without proof, and cannot be kept: the payer's token buys one more run.
      const isOwed = plan.proof === "token" && plan.route !== "after" && !isDelivered(earlier, { isMain: true });
      if (isCharged && !isExcused && !isLost && !isOwed)
        found.push(`[1] ${names} for the money of run ${earlier.id}, whose process lived`);
      if (isDelivered(run) && isDelivered(earlier) && !isExcused && !isOwed)
        found.push(`[1] run ${run.id} and run ${earlier.id} were both delivered`);
    }
  }
  return found;
}

/** Processes write down times at most that late. */
const CLOCK_MS = 2_000;

/** Whether the process of a run died, was stopped, or could not reach the store between the run's start and a time. */
function isDisturbed({ seller, startMs }: Run, untilMs: number, outages: PlayedSequence["outages"]): boolean {
  const { killedMs, stops } = seller;
  if (killedMs !== undefined && killedMs <= untilMs) return true;
  return hasOutage(stops, startMs, untilMs) || hasOutage(outages, startMs, untilMs);
}

function checkMoney(played: Played): readonly string[] {
  const { transfers, replies, wasLeft } = played;
  const found: string[] = [];
  const [transfer] = transfers;
  if (transfers.length > 1) found.push(`[2] it was settled ${transfers.length} times`);
  if (transfer !== undefined && transfer.amount !== PRICE) found.push(`[2] it was settled for ${transfer.amount}`);
  const delivered = deliveredOf(played);
  if (delivered.length === 0) {
    const last = replies.filter(({ isMain }) => isMain).at(-1)?.result;
    const end =
      last === undefined
        ? "a broken connection"
        : `${last.status} ${last.text.slice(0, 150)} ${last.challenge?.error ?? ""}`;
    found.push(
      `[3] ${transfer === undefined ? "it was never served" : "it was paid and lost"}: the last response was ${end}`,
    );
  }
  for (const { run, atMs, result } of delivered) {
    if (!played.runs.some(({ id }) => id === run))
      found.push(`[4] it got the response of run ${run}, which is not its own`);
    if (transfer === undefined || transfer.atMs > atMs)
      found.push(`[4] run ${run} was delivered before the money had moved`);
    const { success, transaction } = result?.receipt ?? {};
    if (success !== true || transaction !== transfer?.transaction) found.push(`[4] run ${run} has another receipt`);
  }
  found.push(...checkOrder(played));
  if (wasLeft) found.push("[5] its settlement was left as it was for 14 s");
  return found;
}

/** What differs between the bank and the ledger of the seller, for one payer. Nothing is under way any more. */
export function compareBooks(key: string, moved: readonly Moved[], entries: readonly Entry[]): readonly string[] {
  const lineOf = ({ transaction, amount }: Pick<Entry, "transaction" | "amount">) => `${amount} by ${transaction}`;
  const [paid, written] = [moved, entries.filter(({ payer }) => payer === key)].map((some) => some.map(lineOf).sort());
  if (String(paid) === String(written)) return [];
  return [`[7] of ${key} the bank has moved ${paid}, and the ledger has ${written}`];
}

/** On a route that settles first, no run begins before. */
function checkOrder({ plan, runs, transfers }: Played): readonly string[] {
  const paidMs = transfers[0]?.atMs ?? Number.POSITIVE_INFINITY;
  const early = runs.filter(({ startMs }) => plan.route === "before" && startMs < paidMs - CLOCK_MS);
  return early.map(({ id }) => `[4] run ${id} began before the money had moved`);
}
