/**
 * The checks of transactions: one transaction pays for one record.
 *
 * @module
 */
import type { PaymentRecord } from "@farebox/core";
import { broughtTo, IDENTIFIER, MINUTE_MS, moved, RECEIPT } from "./sample-payments.js";
import { type Check, concurrently, demandEqual, demandRecord, type Stage } from "./stage.js";

const PAYMENTS = 16;

const TRANSACTION = `eip155:84532|0x${"5f1c".repeat(16)}`;

/** Each of these is a different one. */
const ODD_TRANSACTIONS: readonly string[] = [
  "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1|aB",
  "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1|ab",
  "eip155:1|0x5f1c",
  "eip155:10|0x5f1c",
  "eip155:1|",
  "eip155:1|0x5f1c ",
  "eip155:1|0x5f1c:p",
  `eip155:1|${"x".repeat(200)}`,
  `eip155:1|${"x".repeat(199)}y`,
  "eip155:1|\u652f\u4ed8 \u{1f600} '\"\\ %_",
  "__proto__",
];

/** The checks of transactions. */
export const TRANSACTION_CHECKS: readonly Check[] = [
  { name: `transaction: pays for one of ${PAYMENTS} payments with concurrent transitions`, run: one },
  { name: "transaction: is kept by later transitions, and refuses other payments after each", run: stays },
  { name: "transaction: a refused transition changes nothing, and may be made without it", run: refused },
  { name: "transaction: a transition that is refused for its owner or state takes none", run: takesNone },
  { name: "transaction: is distinguished from odd ones, and from identities and identifiers", run: odd },
];

/** Demands that no other payment can be settled by a transaction. */
async function demandPaid(stage: Stage, transaction: string, when: string): Promise<void> {
  const identity = `another ${when}`;
  const record = await broughtTo(stage, "settling", { identity });
  const change = { identity, from: "settling", to: "settled", owner: "run", transaction } as const;
  demandEqual(await stage.store.transition(change), false, `transition of another payment by it, ${when}`);
  await demandRecord(stage.store, record, `after a refused transition, ${when}`);
}

async function one(stage: Stage): Promise<void> {
  const records: PaymentRecord[] = [];
  for (let at = 0; at < PAYMENTS; at++) records.push(await broughtTo(stage, "settling", { identity: `p${at}` }));
  const taken = await concurrently(stage, PAYMENTS, (store, at) =>
    store.transition({
      ...{ identity: `p${at}`, from: "settling", to: "settled", owner: "run" },
      ...{ receipt: RECEIPT, transaction: TRANSACTION },
    }),
  );
  demandEqual(taken.filter((isTaken) => isTaken).length, 1, "accepted transitions");
  for (const [at, record] of records.entries()) {
    const paid = { ...record, state: "settled", receipt: RECEIPT, transaction: TRANSACTION } as const;
    await demandRecord(stage.store, taken[at] === true ? paid : record, "after the transitions");
  }
}

async function stays(stage: Stage): Promise<void> {
  const settling = await broughtTo(stage, "settling", { identifier: IDENTIFIER });
  let record = await moved(stage, settling, { to: "settled", receipt: RECEIPT, transaction: TRANSACTION });
  await demandRecord(stage.store, record, "that a transaction has paid");
  await demandPaid(stage, TRANSACTION, "when it has settled");
  for (const to of ["settled", "owed", "settled"] as const) {
    record = await moved(stage, record, { to, newOwner: `owner as ${to}` });
    await demandRecord(stage.store, record, "after a later transition");
  }
  // Its own transaction once more, as of a call that is repeated.
  record = await moved(stage, record, { to: "owed", transaction: TRANSACTION });
  await demandRecord(stage.store, record, "after its own transaction was written again");
  await stage.store.release(record.identity, record.owner);
  await demandPaid(stage, TRANSACTION, "after a refused release");
  stage.clock.advance(5 * MINUTE_MS);
  await demandPaid(stage, TRANSACTION, "when the payment has expired");
}

async function refused(stage: Stage): Promise<void> {
  const first = await broughtTo(stage, "settling");
  await moved(stage, first, { to: "settled", transaction: TRANSACTION });
  await demandPaid(stage, TRANSACTION, "at once");
  const second = await broughtTo(stage, "settling", { identity: "q", identifier: IDENTIFIER });
  const change = { identity: "q", from: "settling", to: "settled", owner: "run", identifier: null } as const;
  const isTaken = await stage.store.transition({ ...change, receipt: RECEIPT, transaction: TRANSACTION });
  demandEqual(isTaken, false, "transition by a transaction that has paid");
  await demandRecord(stage.store, second, "after a refused transition");
  const unknown = await moved(stage, second, { to: "unknown" });
  const again = await moved(stage, unknown, { to: "settling" });
  await demandRecord(stage.store, await moved(stage, again, { to: "settled" }), "that was settled without it");
}

async function takesNone(stage: Stage): Promise<void> {
  await broughtTo(stage, "settling");
  const change = { identity: "p", from: "settling", to: "settled", owner: "run", transaction: TRANSACTION } as const;
  for (const mistake of [{ owner: "other" }, { from: "unknown" }, { to: "claimed" }, { identity: "none" }] as const) {
    demandEqual(await stage.store.transition({ ...change, ...mistake }), false, "transition that must be refused");
  }
  const other = await broughtTo(stage, "settling", { identity: "q" });
  await moved(stage, other, { to: "owed", transaction: TRANSACTION });
  demandEqual(await stage.store.transition(change), false, "transition by a transaction that has paid");
}

async function odd(stage: Stage): Promise<void> {
  const records: PaymentRecord[] = [];
  for (const [at, transaction] of ODD_TRANSACTIONS.entries()) {
    // Each identity is the transaction of the payment before.
    const identity = ODD_TRANSACTIONS.at(at - 1) ?? "";
    const identifier = String(at).padEnd(43, "_");
    const settling = await broughtTo(stage, "settling", { identity, identifier });
    records.push(await moved(stage, settling, { to: "settled", transaction }));
  }
  for (const record of records) await demandRecord(stage.store, record, "of an odd transaction");
  const settling = await broughtTo(stage, "settling", { identity: "another" });
  for (const paid of ODD_TRANSACTIONS) {
    const change = { identity: "another", from: "settling", to: "settled", owner: "run", transaction: paid } as const;
    demandEqual(await stage.store.transition(change), false, "transition of another payment by an odd transaction");
  }
  // The text of an identifier is another thing.
  const transaction = "0".padEnd(43, "_");
  await demandRecord(stage.store, await moved(stage, settling, { to: "settled", transaction }), "paid by such a text");
}
