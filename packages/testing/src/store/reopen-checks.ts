/**
 * What is asked of a store that outlives its process, or is shared by several: what one wrote, the next one reads.
 *
 * @module
 */
import type { PaymentRecord, PaymentStore } from "@farebox/core";
import { demandEqual, demandForgotten, demandRecord } from "./demand.js";
import { demandTaken } from "./identifier-checks.js";
import {
  ANSWER,
  broughtTo,
  claimed,
  claimOf,
  IDENTIFIER,
  MINUTE_MS,
  moved,
  RECEIPT,
  REQUEST,
  STATES,
} from "./sample-payments.js";
import type { Check, Stage } from "./stage.js";
import { demandUnfinished } from "./unfinished-checks.js";

/** Asked of stores that are durable. */
export const REOPEN_CHECKS: readonly Check[] = [
  { name: "reopen: everything that was written is there", run: everything },
  { name: "reopen: a payment that was left settling is taken over and ended", run: recovery },
  { name: "reopen: what was left unfinished is found, whole", run: findsUnfinished },
  { name: "reopen: an identifier is still its payment's, and free if it was free", run: keepsIdentifiers },
  { name: "reopen: what was released or forgotten stays so", run: nothingComesBack },
];

/** Asked besides of stores that are durable and can be given a clock. */
export const REOPEN_EXPIRY_CHECKS: readonly Check[] = [
  { name: "reopen: a payment that was there before is forgotten in its time", run: forgets },
];

/** Asked of stores that are shared. */
export const SHARED_CHECKS: readonly Check[] = [
  { name: "shared: what one has written, the other reads at once", run: readAtOnce },
  { name: "shared: what one has left unfinished, the other finds and ends", run: endedByAnother },
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

async function findsUnfinished(stage: Stage): Promise<void> {
  const leaseUntilMs = stage.clock.now() + 90_000;
  const fields = { request: REQUEST, leaseUntilMs, facilitator: "a.example", answer: ANSWER };
  const first = await broughtTo(stage, "serving", { identifier: IDENTIFIER });
  const settling = await moved(stage, first, { to: "settling", ...fields });
  const second = await broughtTo(stage, "serving", { identity: "q" });
  const again = await moved(stage, second, { to: "settling", ...fields });
  const unknown = await moved(stage, again, { to: "unknown", leaseUntilMs: null });
  await broughtTo(stage, "settled", { identity: "ended" });
  const store = await stage.reopen();
  for (const record of [settling, unknown]) await demandRecord(store, record, "after reopening");
  await demandUnfinished(store, [settling, unknown], "after reopening");
}

async function keepsIdentifiers(stage: Stage): Promise<void> {
  const [freed, left] = ["f".repeat(43), "l".repeat(43)];
  await claimed(stage, { identifier: IDENTIFIER });
  const settling = await broughtTo(stage, "settling", { identity: "freed", identifier: freed });
  await moved(stage, settling, { to: "rejected", identifier: null });
  await claimed(stage, { identity: "left", identifier: left });
  await stage.store.release("left", "run");
  const reopened = { ...stage, store: await stage.reopen() };
  await demandTaken(reopened, "after reopening");
  await claimed(reopened, { identity: "q", identifier: freed });
  await claimed(reopened, { identity: "r", identifier: left });
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

async function endedByAnother(stage: Stage): Promise<void> {
  const records = [await broughtTo(stage, "settling"), await broughtTo(stage, "unknown", { identity: "q" })];
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
