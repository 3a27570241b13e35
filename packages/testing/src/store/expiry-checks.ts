/**
 * What is asked of a store as time passes: records stay until ten minutes after their payment has expired, and go then.
 *
 * @module
 */
import { type PaymentRecord, UNFINISHED } from "@farebox/core";
import { demandEqual, demandForgotten, demandRecord } from "./demand.js";
import { demandTaken } from "./identifier-checks.js";
import { ANSWER, broughtTo, claimed, claimOf, IDENTIFIER, MINUTE_MS, moved, STATES } from "./sample-payments.js";
import type { Check, Stage } from "./stage.js";
import { demandUnfinished } from "./unfinished-checks.js";

/** An outcome that is unknown when the payment expires may yet be asked for. */
const GRACE_MS = 10 * MINUTE_MS;

/** A store may count by the minute. */
const LEEWAY_MS = MINUTE_MS;

/** Asked of every store, whatever clock it goes by. */
export const KEEPING_CHECKS: readonly Check[] = [
  { name: "expiry: keeps a payment that has expired less than ten minutes ago", run: keepsExpired },
];

/** Asked of stores that can be given a clock. */
export const EXPIRY_CHECKS: readonly Check[] = [
  { name: "expiry: keeps a payment in any state until ten minutes after it has expired", run: keeps },
  { name: "expiry: forgets a payment in any state after that", run: forgets },
  { name: "expiry: frees an identifier with its payment, and not before", run: freesIdentifier },
  { name: "expiry: a payment that is forgotten is not unfinished any more", run: endsUnfinished },
  { name: "expiry: goes by the payment that is there, not by one that was released", run: afterRelease },
];

async function keepsExpired(stage: Stage): Promise<void> {
  const record = await claimed(stage, { expiresAtMs: stage.clock.now() - GRACE_MS / 2 });
  await sweep(stage);
  await demandRecord(stage.store, record, "five minutes after it has expired");
  const serving = await moved(stage, record, { to: "serving", answer: ANSWER });
  await sweep(stage);
  await demandRecord(stage.store, serving, "after a transition past its expiry");
}

async function keeps(stage: Stage): Promise<void> {
  const records = await oneInEachState(stage);
  stage.clock.advance(5 * MINUTE_MS + GRACE_MS - 1);
  await sweep(stage);
  for (const record of records) {
    const { identity, state } = record;
    await demandRecord(stage.store, record, `of a payment that is ${state}, just before it may be forgotten`);
    const claim = await stage.store.claim(claimOf(stage, { identity, owner: "next" }));
    demandEqual(
      claim,
      { kind: "taken", record },
      `claim of a payment that is ${state}, just before it may be forgotten`,
    );
  }
}

async function forgets(stage: Stage): Promise<void> {
  const records = await oneInEachState(stage);
  const later = await claimed(stage, { identity: "later", expiresAtMs: stage.clock.now() + 60 * MINUTE_MS });
  stage.clock.advance(5 * MINUTE_MS + GRACE_MS + LEEWAY_MS);
  await sweep(stage);
  for (const { identity, state } of records) {
    await demandForgotten(stage.store, identity, `of a payment that was ${state}, after its time`);
    const change = { identity, from: "claimed", to: "serving", owner: "run" } as const;
    demandEqual(await stage.store.transition(change), false, "transition of a payment that is forgotten");
    const again = await claimed(stage, { identity, owner: "next" });
    await demandRecord(stage.store, again, `of a payment that was ${state}, claimed again`);
  }
  await demandRecord(stage.store, later, "of a payment that expires later");
}

async function freesIdentifier(stage: Stage): Promise<void> {
  await broughtTo(stage, "unknown", { identifier: IDENTIFIER });
  stage.clock.advance(5 * MINUTE_MS + GRACE_MS - 1);
  await demandTaken(stage, "just before the payment may be forgotten");
  stage.clock.advance(LEEWAY_MS + 1);
  await sweep(stage);
  const record = await claimed(stage, { identity: "q", identifier: IDENTIFIER });
  await demandRecord(stage.store, record, "with the identifier of a payment that is forgotten");
}

async function endsUnfinished(stage: Stage): Promise<void> {
  const records = await oneInEachState(stage);
  const unfinished = records.filter(({ state }) => UNFINISHED.includes(state));
  stage.clock.advance(5 * MINUTE_MS + GRACE_MS - 1);
  await sweep(stage);
  await demandUnfinished(stage.store, unfinished, "just before they may be forgotten");
  stage.clock.advance(LEEWAY_MS + 1);
  await sweep(stage);
  await demandUnfinished(stage.store, [], "after their time");
}

async function afterRelease(stage: Stage): Promise<void> {
  await claimed(stage);
  await stage.store.release("p", "run");
  const record = await claimed(stage, { expiresAtMs: stage.clock.now() + 60 * MINUTE_MS });
  stage.clock.advance(5 * MINUTE_MS + GRACE_MS + LEEWAY_MS);
  await sweep(stage);
  await demandRecord(stage.store, record, "after the time of a claim that was released");
  stage.clock.advance(55 * MINUTE_MS);
  await sweep(stage);
  await demandForgotten(stage.store, "p", "after its time");
}

async function oneInEachState(stage: Stage): Promise<readonly PaymentRecord[]> {
  const records: PaymentRecord[] = [];
  for (const state of STATES) records.push(await broughtTo(stage, state, { identity: `was ${state}` }));
  return records;
}

/** A store may wait for a claim before it forgets. */
async function sweep(stage: Stage): Promise<void> {
  const identity = `at ${stage.clock.now()}`;
  await stage.store.claim(claimOf(stage, { identity }));
}
