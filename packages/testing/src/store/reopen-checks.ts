/**
 * What is asked of a store that outlives its process, or is shared by several: what one wrote, the next one reads.
 *
 * @module
 */
import type { PaymentRecord, PaymentStore } from "@farebox/core";
import { demandEqual, demandForgotten, demandRecord } from "./demand.js";
import { ANSWER, broughtTo, claimed, claimOf, MINUTE_MS, moved, RECEIPT, STATES } from "./sample-payments.js";
import type { Check, Stage } from "./stage.js";

/** Asked of stores that are durable. */
export const REOPEN_CHECKS: readonly Check[] = [
  { name: "reopen: everything that was written is there", run: everything },
  { name: "reopen: a payment that was left settling is taken over and ended", run: recovery },
  { name: "reopen: what was released or forgotten stays so", run: nothingComesBack },
];

/** Asked besides of stores that are durable and can be given a clock. */
export const REOPEN_EXPIRY_CHECKS: readonly Check[] = [
  { name: "reopen: a payment that was there before is forgotten in its time", run: forgets },
];

/** Asked of stores that are shared. */
export const SHARED_CHECKS: readonly Check[] = [
  { name: "shared: what one has written, the other reads at once", run: readAtOnce },
];

async function everything(stage: Stage): Promise<void> {
  const records: PaymentRecord[] = [];
  for (const state of STATES) records.push(await broughtTo(stage, state, { identity: state }));
  records.push(await fullRecord(stage));
  const store = await stage.reopen();
  for (const record of records) await demandRecord(store, record, "after reopening");
}

async function recovery(stage: Stage): Promise<void> {
  const serving = await broughtTo(stage, "serving");
  const settling = await moved(stage, serving, { to: "settling", facilitator: "a.example", answer: ANSWER });
  const reopened = { ...stage, store: await stage.reopen() };
  const claim = await reopened.store.claim(claimOf(stage, { owner: "next" }));
  demandEqual(claim, { kind: "taken", record: settling }, "claim of a payment that was settling, after reopening");
  const unknown = await moved(reopened, settling, { to: "unknown", newOwner: "next" });
  const again = await moved(reopened, unknown, { to: "settling" });
  const settled = await moved(reopened, again, { to: "settled", answer: null, receipt: RECEIPT });
  await demandRecord(reopened.store, settled, "after its recovery");
}

async function nothingComesBack(stage: Stage): Promise<void> {
  await claimed(stage);
  await stage.store.release("p", "run");
  const settled = await moved(stage, await broughtTo(stage, "settled", { identity: "q" }), {
    to: "settled",
    answer: ANSWER,
    facilitator: "a.example",
  });
  const bare = await moved(stage, settled, { to: "settled", answer: null, facilitator: null });
  const store = await stage.reopen();
  await demandForgotten(store, "p", "of a payment that was released, after reopening");
  await demandRecord(store, bare, "of a payment whose answer was taken, after reopening");
}

async function forgets(stage: Stage): Promise<void> {
  await broughtTo(stage, "settled");
  const store = await stage.reopen();
  // Five minutes to its expiry, ten of grace, and one for a store that counts by the minute.
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

async function fullRecord(stage: Stage): Promise<PaymentRecord> {
  const settled = await broughtTo(stage, "settled", { identity: "full" });
  const body = Uint8Array.from({ length: 256 }, (_, at) => at);
  const headers = [["Set-Cookie", ["b=2", "a=1"]] as const, ["A", "1"] as const];
  const answer = { status: 201, headers, body };
  return await moved(stage, settled, { to: "settled", answer, receipt: RECEIPT, facilitator: "a.example" });
}
