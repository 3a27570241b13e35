/**
 * The checks of how long a store keeps payments: until ten minutes after they have expired, and with a durable or shared store
 * also for the next process. Only an unfinished payment may stay longer: the chain may still say how it ended.
 *
 * @module
 */
import { type PaymentRecord, type PaymentStore, UNFINISHED } from "@farebox/core";
import { demandIdentifierTaken } from "./identifier-checks.js";
import {
  anyOf,
  broughtTo,
  claimed,
  claimOf,
  IDENTIFIER,
  MINUTE_MS,
  moved,
  RECEIPT,
  REQUEST,
  RESPONSE,
  STATES,
} from "./sample-payments.js";
import { type Check, demandEqual, demandForgotten, demandRecord, type Stage } from "./stage.js";
import { demandUnfinished } from "./unfinished-checks.js";

/** The outcome of a settlement may still be requested after the payment has expired. */
const GRACE_MS = 10 * MINUTE_MS;

/** A store may count in minutes. */
const LEEWAY_MS = MINUTE_MS;

/** For every store, also one with its own clock. */
export const KEEPING_CHECKS: readonly Check[] = [
  { name: "expiry: keeps a payment that has expired less than ten minutes ago", run: keepsExpired },
];

/** For stores that accept a clock. */
export const EXPIRY_CHECKS: readonly Check[] = [
  { name: "expiry: keeps a payment in any state until ten minutes after it has expired", run: keeps },
  { name: `expiry: removes a payment after that, unless it is ${anyOf(UNFINISHED)}`, run: forgets },
  { name: "expiry: keeps an unfinished payment whole after that, or removes it", run: keepsOrForgetsUnfinished },
  { name: "expiry: frees an identifier with its payment, and not before", run: freesIdentifier },
  { name: "expiry: an unfinished payment is listed for as long as it is kept", run: listsWhatIsKept },
  { name: "expiry: depends on the current claim, not on a released one", run: afterRelease },
];

async function keepsExpired(stage: Stage): Promise<void> {
  const record = await claimed(stage, { expiresAtMs: stage.clock.now() - GRACE_MS / 2 });
  await sweep(stage);
  await demandRecord(stage.store, record, "five minutes after it has expired");
  const settling = await moved(stage, record, { to: "settling", answer: RESPONSE });
  await sweep(stage);
  await demandRecord(stage.store, settling, "after a transition past its expiry");
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
  const records = (await oneInEachState(stage)).filter(({ state }) => !UNFINISHED.includes(state));
  const later = await claimed(stage, { identity: "later", expiresAtMs: stage.clock.now() + 60 * MINUTE_MS });
  stage.clock.advance(5 * MINUTE_MS + GRACE_MS + LEEWAY_MS);
  await sweep(stage);
  for (const { identity, state } of records) {
    await demandForgotten(stage.store, identity, `of a payment that was ${state}, after its expiry`);
    const change = { identity, from: "claimed", to: "settling", owner: "run" } as const;
    demandEqual(await stage.store.transition(change), false, "transition of a payment that is forgotten");
    const again = await claimed(stage, { identity, owner: "next" });
    await demandRecord(stage.store, again, `of a payment that was ${state}, claimed again`);
  }
  await demandRecord(stage.store, later, "of a payment that expires later");
}

async function keepsOrForgetsUnfinished(stage: Stage): Promise<void> {
  const records = (await oneInEachState(stage)).filter(({ state }) => UNFINISHED.includes(state));
  stage.clock.advance(5 * MINUTE_MS + GRACE_MS + LEEWAY_MS);
  await sweep(stage);
  for (const record of records) {
    const { identity, state } = record;
    if ((await stage.store.find(identity)) === undefined) {
      await claimed(stage, { identity, owner: "next" });
      continue;
    }
    const when = `of a payment that is ${state}, after its expiry`;
    await demandRecord(stage.store, record, when);
    const claim = await stage.store.claim(claimOf(stage, { identity, owner: "next" }));
    demandEqual(claim, { kind: "taken", record }, `claim ${when}`);
    const settling = await moved(stage, record, { to: "settling" });
    await demandRecord(
      stage.store,
      await moved(stage, settling, { to: "settled", receipt: RECEIPT }),
      `${when}, settled`,
    );
  }
}

async function freesIdentifier(stage: Stage): Promise<void> {
  await broughtTo(stage, "settled", { identifier: IDENTIFIER });
  stage.clock.advance(5 * MINUTE_MS + GRACE_MS - 1);
  await demandIdentifierTaken(stage, "just before the payment may be forgotten");
  stage.clock.advance(LEEWAY_MS + 1);
  await sweep(stage);
  const record = await claimed(stage, { identity: "q", identifier: IDENTIFIER });
  await demandRecord(stage.store, record, "with the identifier of a payment that is forgotten");
}

async function listsWhatIsKept(stage: Stage): Promise<void> {
  const records = await oneInEachState(stage);
  const unfinished = records.filter(({ state }) => UNFINISHED.includes(state));
  stage.clock.advance(5 * MINUTE_MS + GRACE_MS - 1);
  await sweep(stage);
  await demandUnfinished(stage.store, unfinished, "just before they may be forgotten");
  stage.clock.advance(LEEWAY_MS + 1);
  await sweep(stage);
  const kept: PaymentRecord[] = [];
  for (const record of unfinished) if ((await stage.store.find(record.identity)) !== undefined) kept.push(record);
  await demandUnfinished(stage.store, kept, "after their time");
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

/** A store may remove expired records only when it gets a claim. */
async function sweep(stage: Stage): Promise<void> {
  const identity = `at ${stage.clock.now()}`;
  await stage.store.claim(claimOf(stage, { identity }));
}

/** For durable stores. */
export const REOPEN_CHECKS: readonly Check[] = [
  { name: "reopen: all written records are present", run: everything },
  { name: "reopen: a payment that is settling is taken over and settled", run: recovery },
  { name: "reopen: unfinished payments are found, whole", run: findsUnfinished },
  { name: "reopen: an identifier still belongs to its payment, and is free if it was free", run: keepsIdentifiers },
  { name: "reopen: released payments and removed fields stay removed", run: nothingComesBack },
];

/** For durable stores that accept a clock. */
export const REOPEN_EXPIRY_CHECKS: readonly Check[] = [
  { name: "reopen: an earlier payment is removed when it expires", run: forgetsAfterReopening },
];

/** For shared stores. */
export const SHARED_CHECKS: readonly Check[] = [
  { name: "shared: a record is read by the other store at once", run: readAtOnce },
  { name: "shared: an unfinished payment is found and settled by the other store", run: endedByAnother },
];

async function everything(stage: Stage): Promise<void> {
  const records: PaymentRecord[] = [];
  for (const state of STATES) records.push(await broughtTo(stage, state, { identity: state }));
  records.push(await fullRecord(stage));
  const store = await stage.reopen();
  for (const record of records) await demandRecord(store, record, "after reopening");
}

async function recovery(stage: Stage): Promise<void> {
  const settling = await moved(stage, await claimed(stage), {
    to: "settling",
    facilitator: "a.example",
    answer: RESPONSE,
  });
  const reopened = { ...stage, store: await stage.reopen() };
  const claim = await reopened.store.claim(claimOf(stage, { owner: "next" }));
  demandEqual(claim, { kind: "taken", record: settling }, "claim of a payment that was settling, after reopening");
  const unknown = await moved(reopened, settling, { to: "unknown", newOwner: "next" });
  const again = await moved(reopened, unknown, { to: "settling" });
  const settled = await moved(reopened, again, { to: "settled", answer: null, receipt: RECEIPT });
  await demandRecord(reopened.store, settled, "after its recovery");
}

async function findsUnfinished(stage: Stage): Promise<void> {
  const leaseUntilMs = stage.clock.now() + 90_000;
  const fields = { request: REQUEST, leaseUntilMs, facilitator: "a.example", answer: RESPONSE };
  const first = await claimed(stage, { identifier: IDENTIFIER });
  const settling = await moved(stage, first, { to: "settling", ...fields });
  const second = await claimed(stage, { identity: "q" });
  const again = await moved(stage, second, { to: "settling", ...fields });
  const unknown = await moved(stage, again, { to: "unknown", leaseUntilMs: null });
  const third = await claimed(stage, { identity: "r" });
  const metering = await moved(stage, third, { to: "metering", ...fields });
  const due = await broughtTo(stage, "due", { identity: "s" });
  await broughtTo(stage, "settled", { identity: "ended" });
  const store = await stage.reopen();
  const all = [settling, unknown, metering, due];
  for (const record of all) await demandRecord(store, record, "after reopening");
  await demandUnfinished(store, all, "after reopening");
}

async function keepsIdentifiers(stage: Stage): Promise<void> {
  const [freed, left] = ["f".repeat(43), "l".repeat(43)];
  await claimed(stage, { identifier: IDENTIFIER });
  const settling = await broughtTo(stage, "settling", { identity: "freed", identifier: freed });
  await moved(stage, settling, { to: "rejected", identifier: null });
  await claimed(stage, { identity: "left", identifier: left });
  await stage.store.release("left", "run");
  const reopened = { ...stage, store: await stage.reopen() };
  await demandIdentifierTaken(reopened, "after reopening");
  await claimed(reopened, { identity: "q", identifier: freed });
  await claimed(reopened, { identity: "r", identifier: left });
}

async function nothingComesBack(stage: Stage): Promise<void> {
  await claimed(stage);
  await stage.store.release("p", "run");
  const settled = await moved(stage, await broughtTo(stage, "settled", { identity: "q" }), {
    to: "settled",
    answer: RESPONSE,
    facilitator: "a.example",
  });
  const bare = await moved(stage, settled, { to: "settled", answer: null, facilitator: null });
  const store = await stage.reopen();
  await demandForgotten(store, "p", "of a payment that was released, after reopening");
  await demandRecord(store, bare, "of a payment whose response was removed, after reopening");
}

async function forgetsAfterReopening(stage: Stage): Promise<void> {
  await broughtTo(stage, "settled");
  const store = await stage.reopen();
  // Five minutes to its expiry, ten minutes of grace, and one minute for a store that counts in minutes.
  stage.clock.advance(16 * MINUTE_MS);
  await store.claim(claimOf(stage, { identity: "q" }));
  await demandForgotten(store, "p", "after its time");
}

async function readAtOnce(stage: Stage): Promise<void> {
  const record = await fullRecord(stage);
  for (const store of stage.stores) await demandRecord(store, record, "by the other store");
  const last = stage.stores.at(-1) as PaymentStore;
  const settled = await moved({ ...stage, store: last }, record, { to: "settled", answer: null });
  await demandRecord(stage.store, settled, "after the other store has written");
}

async function endedByAnother(stage: Stage): Promise<void> {
  const records: PaymentRecord[] = [];
  for (const state of UNFINISHED) records.push(await broughtTo(stage, state, { identity: state }));
  const last = stage.stores.at(-1) as PaymentStore;
  await demandUnfinished(last, records, "by the other store");
  for (const record of records) {
    const taken = await moved({ ...stage, store: last }, record, { to: "settling", newOwner: "next" });
    await moved({ ...stage, store: last }, taken, { to: "settled" });
  }
  await demandUnfinished(stage.store, [], "after the other store has ended all");
}

async function fullRecord(stage: Stage): Promise<PaymentRecord> {
  const settled = await broughtTo(stage, "settled", { identity: "full" });
  const body = Uint8Array.from({ length: 256 }, (_, at) => at);
  const headers = [["Set-Cookie", ["b=2", "a=1"]] as const, ["A", "1"] as const];
  const answer = { status: 201, headers, body };
  return await moved(stage, settled, { to: "settled", answer, receipt: RECEIPT, facilitator: "a.example" });
}
