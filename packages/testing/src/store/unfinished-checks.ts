/**
 * The checks of `unfinished`: it misses no settlement with an unknown outcome, even while other payments change.
 *
 * @module
 */
import { type PaymentRecord, type PaymentStore, UNFINISHED } from "@farebox/core";
import { anyOf, broughtTo, claimed, claimOf, IDENTIFIER, moved, REQUEST, RESPONSE, STATES } from "./sample-payments.js";
import { type Check, concurrently, demandEqual, type Stage } from "./stage.js";

const MANY = 1_100;
const CHANGES = 100;

/** The checks of `unfinished`. */
export const UNFINISHED_CHECKS: readonly Check[] = [
  { name: `unfinished: yields payments that are ${anyOf(UNFINISHED)}, and nothing else`, run: byState },
  { name: "unfinished: yields whole records", run: whole },
  { name: "unfinished: yields no payment whose settlement has ended", run: ended },
  { name: "unfinished: yields no metered payment that was released, or that is due no more", run: meteredEnded },
  { name: `unfinished: yields each of ${MANY} once`, run: many },
  {
    name: `unfinished: misses none while ${CHANGES} others end, and yields none twice`,
    run: whileOthersEnd,
  },
  { name: "unfinished: yields no payment twice during a takeover", run: whileTakenOver },
  { name: "unfinished: starts again each time, even after an early end", run: leftEarly },
  { name: "unfinished: allows claims, transitions and finds during an iteration", run: atWork },
];

/** Demands that `unfinished` yields exactly these payments, each once and whole. */
export async function demandUnfinished(
  store: PaymentStore,
  expected: readonly PaymentRecord[],
  when: string,
): Promise<void> {
  const found: PaymentRecord[] = [];
  for await (const record of store.unfinished()) found.push(record);
  demandEqual(byIdentity(found), byIdentity(expected), `unfinished ${when}`);
}

async function byState(stage: Stage): Promise<void> {
  await demandUnfinished(stage.store, [], "of an empty store");
  const records: PaymentRecord[] = [];
  for (const state of STATES) records.push(await broughtTo(stage, state, { identity: state }));
  const unfinished = records.filter(({ state }) => UNFINISHED.includes(state));
  for (const store of stage.stores) await demandUnfinished(store, unfinished, "with a payment in each state");
}

async function whole(stage: Stage): Promise<void> {
  const record = await claimed(stage, { identifier: IDENTIFIER });
  const leaseUntilMs = stage.clock.now() + 90_000;
  const full = { request: REQUEST, leaseUntilMs, facilitator: "a.example", answer: RESPONSE };
  const settling = await moved(stage, record, { to: "settling", ...full });
  await demandUnfinished(stage.store, [settling], "with a payment that is settling");
  const unknown = await moved(stage, settling, { to: "unknown", leaseUntilMs: null });
  await demandUnfinished(stage.store, [unknown], "with a payment that is unknown");
  const next = await claimed(stage, { identity: "q" });
  const metering = await moved(stage, next, { to: "metering", request: REQUEST, leaseUntilMs });
  await demandUnfinished(stage.store, [unknown, metering], "with a payment that is metering");
}

async function ended(stage: Stage): Promise<void> {
  for (const to of ["settled", "owed", "rejected", "unsent"] as const) {
    const before = await broughtTo(stage, "unknown", { identity: to });
    const settling = await moved(stage, before, { to: "settling" });
    await demandUnfinished(stage.store, [settling], "with one that is settling again");
    await moved(stage, settling, { to });
    await demandUnfinished(stage.store, [], `after its settlement has ended ${to}`);
  }
  await stage.store.release("rejected", "run");
  const again = await claimed(stage, { identity: "rejected" });
  await demandUnfinished(stage.store, [], "after a release and another claim");
  await demandUnfinished(stage.store, [await moved(stage, again, { to: "settling" })], "with one that was released");
}

async function meteredEnded(stage: Stage): Promise<void> {
  const metering = await broughtTo(stage, "metering");
  const counted = await moved(stage, metering, { to: "metering", request: REQUEST });
  await demandUnfinished(stage.store, [counted], "with one that is metering");
  await stage.store.release("p", "run");
  await demandUnfinished(stage.store, [], "after its release");
  const again = await claimed(stage);
  await demandUnfinished(stage.store, [], "after its release and another claim");
  await demandUnfinished(stage.store, [await moved(stage, again, { to: "metering" })], "with one that was released");
  await stage.store.release("p", "run");
  const due = await broughtTo(stage, "due", { identity: "q" });
  await demandUnfinished(stage.store, [due], "with one that is due");
  await moved(stage, due, { to: "rejected" });
  await demandUnfinished(stage.store, [], "after its time is over");
}

async function many(stage: Stage): Promise<void> {
  const records = await settleAtOnce(stage, MANY);
  for (const store of stage.stores) await demandUnfinished(store, records, `with ${MANY} payments`);
}

async function whileOthersEnd(stage: Stage): Promise<void> {
  const records = await settleAtOnce(stage, 3 * CHANGES);
  // One payment in three ends, so that the others lie between them.
  const ending = records.filter((_, at) => at % 3 === 0);
  const staying = records.filter((_, at) => at % 3 !== 0);
  const found: PaymentRecord[] = [];
  let changes: Promise<readonly boolean[]> = Promise.resolve([]);
  for await (const record of stage.store.unfinished()) {
    found.push(record);
    if (found.length === 1) changes = endAtOnce(stage, ending);
    // Halfway, all changes have ended. A store that reads pages then continues with a shorter list.
    if (found.length === CHANGES / 2) await changes;
  }
  demandEqual((await changes).filter(Boolean).length, CHANGES, "transitions during an iteration of unfinished");
  demandOnce(found);
  const stayed = found.filter(({ identity }) => staying.some((record) => record.identity === identity));
  demandEqual(byIdentity(stayed), byIdentity(staying), "unfinished while others end");
  await demandUnfinished(stage.store, staying, "after others have ended");
}

async function whileTakenOver(stage: Stage): Promise<void> {
  const records = await settleAtOnce(stage, 10);
  const found: PaymentRecord[] = [];
  for await (const record of stage.store.unfinished()) {
    found.push(record);
    const settling = await moved(stage, record, { to: "settling", newOwner: "next" });
    await moved(stage, settling, { to: "unknown" });
    // Ends the loop for a store that yields payments again and again.
    if (found.length > records.length) break;
  }
  demandOnce(found);
  demandEqual(found.length, records.length, "payments that unfinished yielded while they were taken over");
}

async function leftEarly(stage: Stage): Promise<void> {
  const records = await settleAtOnce(stage, 10);
  for await (const record of stage.store.unfinished()) {
    demandEqual(record.state, "settling", "state of the first of ten");
    break;
  }
  await demandUnfinished(stage.store, records, "after it was left early");
  await concurrently(stage, 2, (store) => demandUnfinished(store, records, "iterated twice concurrently"));
}

async function atWork(stage: Stage): Promise<void> {
  const records = await settleAtOnce(stage, 10);
  const found: PaymentRecord[] = [];
  for await (const record of stage.store.unfinished()) {
    found.push(record);
    await claimed(stage, { identity: `after ${record.identity}` });
    demandEqual(await stage.store.find(record.identity), record, "find of the payment that unfinished yields");
    await moved(stage, record, { to: "settled" });
  }
  demandEqual(byIdentity(found), byIdentity(records), "unfinished while each is settled");
  await demandUnfinished(stage.store, [], "after each was settled");
}

/** Claims payments concurrently, and moves them to settling. */
async function settleAtOnce(stage: Stage, count: number): Promise<readonly PaymentRecord[]> {
  return concurrently(stage, count, async (store, at) => {
    const request = claimOf(stage, { identity: `p${at}` });
    demandEqual(await store.claim(request), { kind: "claimed" }, "claim of an unclaimed payment");
    return moved({ ...stage, store }, { ...request, state: "claimed" }, { to: "settling" });
  });
}

function endAtOnce(stage: Stage, records: readonly PaymentRecord[]): Promise<readonly boolean[]> {
  return concurrently(stage, records.length, async (store, at) => {
    const { identity = "", owner = "" } = records[at] ?? {};
    return store.transition({ identity, from: "settling", to: "settled", owner });
  });
}

function demandOnce(found: readonly PaymentRecord[]): void {
  const identities = found.map(({ identity }) => identity);
  const again = identities.filter((identity, at) => identities.indexOf(identity) !== at);
  demandEqual(again, [], "payments that unfinished yielded more than once");
}

function byIdentity(records: readonly PaymentRecord[]): readonly PaymentRecord[] {
  return records.toSorted((one, other) => (one.identity < other.identity ? -1 : 1));
}
