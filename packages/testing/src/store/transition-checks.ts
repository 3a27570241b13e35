/**
 * The checks of `transition`: from state to state as TRANSITIONS allows, and only by the owner.
 *
 * @module
 */
import { type PaymentState, TRANSITIONS, type Transition, UNFINISHED } from "@farebox/core";
import { broughtTo, claimed, moved, RECEIPT, RESPONSE, STATES } from "./sample-payments.js";
import { type Check, concurrently, demandEqual, demandForgotten, demandRecord, type Stage } from "./stage.js";

const CONTENDERS = 100;

/** The checks of `transition`. */
export const TRANSITION_CHECKS: readonly Check[] = [
  ...STATES.map((from) => ({
    name: `transition: from ${from} only to ${TRANSITIONS[from].join(", ") || "nothing"}`,
    run: (stage: Stage) => goesWhereItMay(stage, from),
  })),
  { name: "transition: changes nothing for a wrong owner, state or identity", run: mistaken },
  ...UNFINISHED.map((from) => ({
    name: `transition: lets one of ${CONTENDERS} owners take over a payment that is ${from}`,
    run: (stage: Stage) => takeOver(stage, from),
  })),
  { name: `transition: gives a stored response to one of ${CONTENDERS} concurrent owners`, run: takeAnswer },
  { name: `transition: happens once for ${CONTENDERS} concurrent calls of its owner`, run: once },
  { name: "transition: does not change other payments", run: others },
];

/** The fields that a refused transition must not write. */
const REFUSED_FIELDS = { newOwner: "thief", facilitator: "z.example", answer: RESPONSE, receipt: RECEIPT } as const;

async function goesWhereItMay(stage: Stage, from: PaymentState): Promise<void> {
  for (const to of STATES) {
    const before = await broughtTo(stage, from, { identity: to });
    const may = TRANSITIONS[from].includes(to);
    const change = { identity: to, from, to, owner: "run" };
    const taken = await stage.store.transition(may ? change : { ...change, ...REFUSED_FIELDS });
    demandEqual(taken, may, `transition from ${from} to ${to}`);
    await demandRecord(stage.store, may ? { ...before, state: to } : before, `after ${from} to ${to}`);
  }
}

async function mistaken(stage: Stage): Promise<void> {
  const record = await claimed(stage);
  const change: Transition = { identity: "p", from: "claimed", to: "settling", owner: "run", ...REFUSED_FIELDS };
  const mistakes: Readonly<Record<string, Partial<Transition>>> = {
    "by another owner": { owner: "other" },
    "by an owner with a similar name": { owner: "ru" },
    "by the new owner": { owner: "thief" },
    "from another state": { from: "unsent" },
    "of an unclaimed payment": { identity: "q" },
  };
  for (const [what, mistake] of Object.entries(mistakes)) {
    demandEqual(await stage.store.transition({ ...change, ...mistake }), false, `transition ${what}`);
    await demandRecord(stage.store, record, `after a transition ${what}`);
  }
  await demandForgotten(stage.store, "q", "of an unclaimed payment");
}

async function takeOver(stage: Stage, from: PaymentState): Promise<void> {
  const before = await broughtTo(stage, from);
  const leaseUntilMs = stage.clock.now() + 90_000;
  const winner = await contest(stage, { identity: "p", from, to: "settling", owner: "run", leaseUntilMs });
  const after = { ...before, state: "settling", owner: winner, leaseUntilMs } as const;
  await demandRecord(stage.store, after, "after the takeover");

  for (const to of TRANSITIONS.settling) {
    const late = { identity: "p", from: "settling", to, owner: "run", newOwner: "run", leaseUntilMs: null } as const;
    demandEqual(await stage.store.transition(late), false, `transition to ${to} by the former owner`);
  }
  await stage.store.release("p", "run");
  await demandRecord(stage.store, after, "after all calls of the former owner");
  await moved(stage, after, { to: "settled" });
}

async function takeAnswer(stage: Stage): Promise<void> {
  const settled = await broughtTo(stage, "settled");
  const { answer: _, ...rest } = await moved(stage, settled, { to: "settled", answer: RESPONSE, receipt: RECEIPT });
  const change = { identity: "p", from: "settled", to: "settled", owner: "run", answer: null } as const;
  const owner = await contest(stage, change);
  await demandRecord(stage.store, { ...rest, owner }, "after its response was removed");
}

/** Returns the owner that won. */
async function contest(stage: Stage, change: Transition): Promise<string> {
  const runs = Array.from({ length: CONTENDERS }, (_, at) => `run ${at}`);
  const taken = await concurrently(stage, CONTENDERS, (store, at) =>
    store.transition({ ...change, newOwner: runs[at] ?? "" }),
  );
  const winners = runs.filter((_, at) => taken[at]);
  demandEqual(winners.length, 1, "owners that took over the payment");
  return winners[0] ?? "";
}

async function once(stage: Stage): Promise<void> {
  const before = await claimed(stage);
  const change = { identity: "p", from: "claimed", to: "settling", owner: "run" } as const;
  const taken = await concurrently(stage, CONTENDERS, (store) => store.transition(change));
  demandEqual(taken.filter(Boolean).length, 1, "transitions from claimed to settling");
  await demandRecord(stage.store, { ...before, state: "settling" }, "after one transition");
}

async function others(stage: Stage): Promise<void> {
  const mine = await claimed(stage);
  const other = await claimed(stage, { identity: "q" });
  await moved(stage, mine, { to: "settling", facilitator: "a.example", answer: RESPONSE });
  await demandRecord(stage.store, other, "after a transition of another payment");
}
