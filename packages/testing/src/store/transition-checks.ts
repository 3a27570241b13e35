/**
 * What is asked of `transition`: from state to state as TRANSITIONS says, and by nobody but the owner.
 *
 * @module
 */
import { type PaymentState, TRANSITIONS, type Transition, UNFINISHED } from "@farebox/core";
import { demandEqual, demandForgotten, demandRecord } from "./demand.js";
import { ANSWER, broughtTo, claimed, moved, RECEIPT, STATES } from "./sample-payments.js";
import { atOnce, type Check, type Stage } from "./stage.js";

const CONTENDERS = 100;

/** The checks of `transition`. */
export const TRANSITION_CHECKS: readonly Check[] = [
  ...STATES.map((from) => ({
    name: `transition: from ${from} only to ${TRANSITIONS[from].join(", ") || "nothing"}`,
    run: (stage: Stage) => goesWhereItMay(stage, from),
  })),
  { name: "transition: changes nothing for those who are mistaken about the record", run: mistaken },
  ...UNFINISHED.map((from) => ({
    name: `transition: lets one of ${CONTENDERS} runs take over from one that left its payment ${from}`,
    run: (stage: Stage) => takeOver(stage, from),
  })),
  { name: `transition: hands a kept answer to one of ${CONTENDERS} who ask for it at once`, run: takeAnswer },
  { name: `transition: is made once, though its owner asks ${CONTENDERS} times at once`, run: once },
  { name: "transition: leaves other payments as they are", run: others },
];

/** What a change that is refused would have written. */
const BAGGAGE = { newOwner: "thief", facilitator: "z.example", answer: ANSWER, receipt: RECEIPT } as const;

async function goesWhereItMay(stage: Stage, from: PaymentState): Promise<void> {
  for (const to of STATES) {
    const before = await broughtTo(stage, from, { identity: to });
    const may = TRANSITIONS[from].includes(to);
    const change = { identity: to, from, to, owner: "run" };
    const taken = await stage.store.transition(may ? change : { ...change, ...BAGGAGE });
    demandEqual(taken, may, `transition from ${from} to ${to}`);
    await demandRecord(stage.store, may ? { ...before, state: to } : before, `after ${from} to ${to}`);
  }
}

async function mistaken(stage: Stage): Promise<void> {
  const record = await claimed(stage);
  const change: Transition = { identity: "p", from: "claimed", to: "serving", owner: "run", ...BAGGAGE };
  const mistakes: Readonly<Record<string, Partial<Transition>>> = {
    "by a run that is not the owner": { owner: "other" },
    "by a run whose name begins alike": { owner: "ru" },
    "by the run that would be the owner": { owner: "thief" },
    "from a state that it is not in": { from: "serving", to: "settling" },
    "of a payment that nobody has claimed": { identity: "q" },
  };
  for (const [who, mistake] of Object.entries(mistakes)) {
    demandEqual(await stage.store.transition({ ...change, ...mistake }), false, `transition ${who}`);
    await demandRecord(stage.store, record, `after a transition ${who}`);
  }
  await demandForgotten(stage.store, "q", "of a payment that nobody has claimed");
}

async function takeOver(stage: Stage, from: PaymentState): Promise<void> {
  const before = await broughtTo(stage, from);
  const leaseUntilMs = stage.clock.now() + 90_000;
  const winner = await contest(stage, { identity: "p", from, to: "settling", owner: "run", leaseUntilMs });
  const after = { ...before, state: "settling", owner: winner, leaseUntilMs } as const;
  await demandRecord(stage.store, after, "after it was taken over");

  for (const to of TRANSITIONS.settling) {
    const late = { identity: "p", from: "settling", to, owner: "run", newOwner: "run", leaseUntilMs: null } as const;
    demandEqual(await stage.store.transition(late), false, `transition to ${to} by the run that lost the payment`);
  }
  await stage.store.release("p", "run");
  await demandRecord(stage.store, after, "after all that the run that lost it may try");
  await moved(stage, after, { to: "settled" });
}

async function takeAnswer(stage: Stage): Promise<void> {
  const settled = await broughtTo(stage, "settled");
  const { answer: _, ...rest } = await moved(stage, settled, { to: "settled", answer: ANSWER, receipt: RECEIPT });
  const change = { identity: "p", from: "settled", to: "settled", owner: "run", answer: null } as const;
  const owner = await contest(stage, change);
  await demandRecord(stage.store, { ...rest, owner }, "after its answer was taken");
}

/** Yields the one who got it. */
async function contest(stage: Stage, change: Transition): Promise<string> {
  const runs = Array.from({ length: CONTENDERS }, (_, at) => `run ${at}`);
  const taken = await atOnce(stage, CONTENDERS, (store, at) =>
    store.transition({ ...change, newOwner: runs[at] ?? "" }),
  );
  const winners = runs.filter((_, at) => taken[at]);
  demandEqual(winners.length, 1, "runs that took the payment over");
  return winners[0] ?? "";
}

async function once(stage: Stage): Promise<void> {
  const before = await claimed(stage);
  const change = { identity: "p", from: "claimed", to: "serving", owner: "run" } as const;
  const taken = await atOnce(stage, CONTENDERS, (store) => store.transition(change));
  demandEqual(taken.filter(Boolean).length, 1, "transitions from claimed to serving");
  await demandRecord(stage.store, { ...before, state: "serving" }, "after one transition");
}

async function others(stage: Stage): Promise<void> {
  const mine = await claimed(stage);
  const other = await claimed(stage, { identity: "q" });
  await moved(stage, mine, { to: "serving", facilitator: "a.example", answer: ANSWER });
  await demandRecord(stage.store, other, "after a transition of another payment");
}
