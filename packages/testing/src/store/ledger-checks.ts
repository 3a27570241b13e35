/**
 * The checks of `ledger`: entries that go with transitions, their order, refunds, counts and cursors.
 *
 * @module
 */
import { setImmediate } from "node:timers/promises";
import {
  type CursorLease,
  type LedgerCount,
  type LedgerEntry,
  type LedgerSearch,
  type NewLedgerEntry,
  type PaymentStore,
  type SharedLedger,
  StoreError,
  type Transition,
} from "@farebox/core";
import { claimOf } from "./sample-payments.js";
import { type Check, concurrently, demandEqual, type Stage } from "./stage.js";

const AT_ONCE = 100;
const DAY_MS = 24 * 60 * 60 * 1000;

/** For stores with `ledger`. */
export const LEDGER_CHECKS: readonly Check[] = [
  { name: "ledger: has the entry of a transition, whole, in all stores at once", run: records },
  { name: "ledger: has no entry of a transition that is refused", run: recordsNothingRefused },
  { name: "ledger: keeps the first entry with an id, and makes the transition", run: recordsOnce },
  { name: "ledger: lists entries in the order of their positions, by pages", run: lists },
  { name: "ledger: finds entries by time, route, payer, network and status, and by all of them", run: searches },
  {
    name: `ledger: shows a reader that goes on each of ${AT_ONCE} entries that are written meanwhile`,
    run: readsMeanwhile,
  },
  { name: "ledger: keeps large amounts and odd texts", run: keepsTexts },
  { name: "ledger: replaces the refunds of an entry that has as many as are known", run: refunds },
  { name: `ledger: takes one of ${AT_ONCE} concurrent refunds`, run: refundsOnce },
  { name: "ledger: removes payer and resource from the entries of a payer, and of no other", run: erases },
  { name: "ledger: adds up counts by day, route, kind and reason", run: counts },
  { name: `ledger: loses none of ${AT_ONCE} concurrent counts`, run: countsAtOnce },
  { name: "ledger: gives the lease of a cursor to one owner until it ends", run: leases },
  { name: `ledger: gives the lease of a cursor to one of ${AT_ONCE} owners`, run: leasesOnce },
  { name: "ledger: moves a cursor for its owner, and never back", run: moves },
  { name: "ledger: begins a new cursor before the first entry, or behind the last", run: begins },
  { name: "ledger: deletes old entries and counts, and gives no position again", run: sweeps },
  { name: "ledger: keeps entries when their payment is forgotten", run: outlives },
];

/** For durable stores with `ledger`. */
export const REOPEN_LEDGER_CHECKS: readonly Check[] = [
  { name: "reopen: entries, refunds, counts and cursors of the ledger stay", run: staysOpen },
];

async function records(stage: Stage): Promise<void> {
  const entry = entryOf(stage);
  demandEqual(await settle(stage, entry), true, "a transition with an entry");
  for (const store of stage.stores) {
    const [listed, ...others] = await ledgerOf(store).list({ limit: 10 });
    demandEqual(others, [], "further entries");
    demandWhole(listed, entry);
    demandWhole(await ledgerOf(store).find(entry.id), entry);
    demandEqual((await ledgerOf(store).find(entry.id))?.position, listed?.position, "the position of an entry");
    demandEqual(await ledgerOf(store).find("0".repeat(32)), undefined, "an entry that is not there");
  }
  // Fields that may be absent.
  const {
    resource: _,
    decimals: __,
    maximum: ___,
    fee: ____,
    facilitator: _____,
    payer: ______,
    ...bare
  } = entryOf(stage, "bare");
  await settle(stage, bare, "owed");
  demandWhole(await ledgerOf(stage.store).find(bare.id), bare);
}

async function recordsNothingRefused(stage: Stage): Promise<void> {
  const entry = entryOf(stage);
  await claim(stage, entry);
  await stage.store.transition({ ...changeOf(entry), from: "claimed", to: "settling" });
  const refused: readonly Partial<Transition>[] = [
    { owner: "another" },
    { from: "claimed" },
    { from: "unknown" },
    { identity: "unclaimed" },
    { to: "metering" },
  ];
  for (const change of refused) {
    const isDone = await stage.store.transition({
      ...changeOf(entry),
      from: "settling",
      to: "settled",
      entry,
      ...change,
    });
    demandEqual(isDone, false, `a transition with ${JSON.stringify(change)}`);
  }
  demandEqual(await ledgerOf(stage.store).list({ limit: 10 }), [], "entries of refused transitions");
}

async function recordsOnce(stage: Stage): Promise<void> {
  const entry = entryOf(stage);
  await settle(stage, entry);
  const other = { ...entryOf(stage, "other"), id: entry.id, amount: "5" };
  demandEqual(await settle(stage, other, "settled", "other"), true, "a transition with an entry that is there");
  demandEqual((await stage.store.find("other"))?.state, "settled", "the state after it");
  const entries = await ledgerOf(stage.store).list({ limit: 10 });
  demandEqual(entries.length, 1, "entries with one id");
  demandWhole(entries[0], entry);
}

async function lists(stage: Stage): Promise<void> {
  const ledger = ledgerOf(stage.store);
  for (let at = 0; at < 25; at++) await settle(stage, entryOf(stage, `p${at}`));
  const all = await ledger.list({ limit: 100 });
  demandEqual(
    sorted(all),
    all.map(({ position }) => position),
    "positions in order",
  );
  demandEqual(new Set(all.map(({ position }) => position)).size, 25, "different positions");
  const paged: LedgerEntry[] = [];
  for (let after: string | undefined; paged.length <= all.length; ) {
    const page = await ledger.list({ limit: 10, ...(after !== undefined && { after }) });
    paged.push(...page);
    demandEqual(page.length <= 10, true, "a page of at most ten");
    after = page.at(-1)?.position;
    if (after === undefined) break;
  }
  demandEqual(paged, all, "all pages");
  // Written later, although it settled earlier.
  const late = { ...entryOf(stage, "late"), settledAtMs: 1 };
  await settle(stage, late);
  const [last, ...more] = await ledger.list({ limit: 10, after: all.at(-1)?.position ?? "" });
  demandEqual([last?.id, more], [late.id, []], "an entry that is written later");
  demandEqual(await ledger.list({ limit: 100 }), [...all, last], "all entries, an earlier one last");
}

async function searches(stage: Stage): Promise<void> {
  const ledger = ledgerOf(stage.store);
  const nowMs = stage.clock.now();
  const entries = Array.from({ length: 12 }, (_, at) => ({
    ...entryOf(stage, `p${at}`),
    settledAtMs: nowMs + at,
    route: `GET /${at % 2}`,
    payer: `payer ${at % 3}`,
    network: `eip155:${at % 4}`,
  }));
  for (const entry of entries) await settle(stage, entry);
  const refund = { transaction: "0x1", amount: "1", atMs: nowMs };
  for (const at of [2, 8]) {
    const { id = "" } = entries[at] ?? {};
    await ledger.refund({ id, known: 0, refunds: [refund], status: "refunded" });
  }
  const demand = async (search: Omit<LedgerSearch, "limit">, expected: readonly number[], limit = 100) => {
    const found = await ledger.list({ ...search, limit });
    const ids = expected.map((at) => entries[at]?.id);
    demandEqual(
      found.map(({ id }) => id),
      ids,
      `entries for ${JSON.stringify(search)}`,
    );
  };
  await demand({ sinceMs: nowMs + 3, untilMs: nowMs + 6 }, [3, 4, 5]);
  await demand({ route: "GET /1" }, [1, 3, 5, 7, 9, 11]);
  await demand({ payer: "payer 1" }, [1, 4, 7, 10]);
  await demand({ payer: "PAYER 1" }, []);
  await demand({ network: "eip155:3" }, [3, 7, 11]);
  await demand({ status: "refunded" }, [2, 8]);
  await demand({ status: "settled", route: "GET /0" }, [0, 4, 6, 10]);
  await demand({ route: "GET /0", payer: "payer 2", network: "eip155:0", sinceMs: nowMs + 1 }, [8]);
  // The limit counts what matches.
  await demand({ route: "GET /1" }, [1, 3, 5], 3);
  await demand({ route: "GET /_" }, []);
}

async function readsMeanwhile(stage: Stage): Promise<void> {
  const seen: string[] = [];
  let isOver = false;
  const read = async (store: PaymentStore) => {
    for (let after = "0"; ; ) {
      // A store in this process would leave no turn to the writers.
      await setImmediate();
      const wasOver = isOver;
      const page = await ledgerOf(store).list({ after, limit: 7 });
      seen.push(...page.map(({ id }) => id));
      if (seen.length > stage.stores.length * AT_ONCE) throw new StoreError("a reader that goes on sees entries twice");
      after = page.at(-1)?.position ?? after;
      if (wasOver && page.length === 0) return;
    }
  };
  const reading = Promise.all(stage.stores.map(read));
  const entries = Array.from({ length: AT_ONCE }, (_, at) => entryOf(stage, `p${at}`));
  await concurrently(stage, AT_ONCE, async (store, at) => {
    const entry = entries[at];
    if (entry !== undefined) await settle({ ...stage, store }, entry);
  });
  isOver = true;
  await reading;
  const expected = stage.stores.flatMap(() => entries.map(({ id }) => id)).sort();
  demandEqual(seen.toSorted(), expected, "entries that each reader has seen");
}

async function keepsTexts(stage: Stage): Promise<void> {
  const odd = `e\u0301 \u00e9 \u2028 😀 "'\\ % _ {} \u202e ${"x".repeat(1_900)}`;
  const most = "9".repeat(78);
  const texts = { route: odd, resource: odd, payer: odd, payee: odd, transaction: odd, facilitator: odd };
  const entry: NewLedgerEntry = { ...entryOf(stage), ...texts, amount: most, maximum: most, fee: most };
  await settle(stage, entry);
  demandWhole(await ledgerOf(stage.store).find(entry.id), entry);
  demandEqual(
    (await ledgerOf(stage.store).list({ payer: odd, route: odd, limit: 5 })).length,
    1,
    "entries of an odd payer",
  );
  const refunds = [{ transaction: odd, amount: most, atMs: stage.clock.now() }];
  await ledgerOf(stage.store).refund({ id: entry.id, known: 0, refunds, status: "refunded" });
  demandWhole(await ledgerOf(stage.store).find(entry.id), entry, { refunds, status: "refunded" });
}

async function refunds(stage: Stage): Promise<void> {
  const [entry, other] = [entryOf(stage), entryOf(stage, "other")];
  for (const one of [entry, other]) await settle(stage, one);
  const { id } = entry;
  const last = ledgerOf(stage.stores.at(-1) ?? stage.store);
  const first = { transaction: "0x1", amount: "4", atMs: 1_000 };
  const second = { transaction: "0x2", amount: "6", atMs: 2_000 };
  const ledger = ledgerOf(stage.store);
  demandEqual(
    await ledger.refund({ id, known: 1, refunds: [first], status: "settled" }),
    false,
    "one refund too many known",
  );
  demandEqual(await ledger.refund({ id, known: 0, refunds: [first], status: "settled" }), true, "the first refund");
  demandWhole(await last.find(id), entry, { refunds: [first], status: "settled" });
  demandEqual(
    await last.refund({ id, known: 0, refunds: [second], status: "refunded" }),
    false,
    "a refund with none known",
  );
  const both = [first, second];
  demandEqual(await last.refund({ id, known: 1, refunds: both, status: "refunded" }), true, "the second refund");
  demandWhole(await ledger.find(id), entry, { refunds: both, status: "refunded" });
  demandWhole(await ledger.find(other.id), other);
  const unknown = { id: "0".repeat(32), known: 0, refunds: [first], status: "settled" } as const;
  demandEqual(await ledger.refund(unknown), false, "a refund of an entry that is not there");
}

async function refundsOnce(stage: Stage): Promise<void> {
  const entry = entryOf(stage);
  await settle(stage, entry);
  const taken = await concurrently(stage, AT_ONCE, (store, at) => {
    const refund = { transaction: `0x${at}`, amount: "1", atMs: 1_000 };
    return ledgerOf(store).refund({ id: entry.id, known: 0, refunds: [refund], status: "settled" });
  });
  demandEqual(taken.filter(Boolean).length, 1, "refunds that were taken");
  const { refunds = [] } = (await ledgerOf(stage.store).find(entry.id)) ?? {};
  demandEqual(
    refunds.map(({ transaction }) => transaction),
    [`0x${taken.indexOf(true)}`],
    "the refund of the entry",
  );
}

async function erases(stage: Stage): Promise<void> {
  const payers = ["0xa", "0xb", "0xa", "0xA"];
  const entries = payers.map((payer, at) => ({ ...entryOf(stage, `p${at}`), payer }));
  for (const entry of entries) await settle(stage, entry);
  const ledger = ledgerOf(stage.stores.at(-1) ?? stage.store);
  demandEqual(await ledger.erase("0xc"), 0, "entries of a payer that has none");
  demandEqual(await ledger.erase("0xa"), 2, "entries of a payer");
  demandEqual(await ledger.erase("0xa"), 0, "entries of a payer that was erased");
  for (const [at, entry] of entries.entries()) {
    const { payer: _, resource: __, ...rest } = entry;
    demandWhole(await ledgerOf(stage.store).find(entry.id), at % 2 === 0 && at < 3 ? rest : entry);
  }
}

async function counts(stage: Stage): Promise<void> {
  const [ledger, last] = [ledgerOf(stage.store), ledgerOf(stage.stores.at(-1) ?? stage.store)];
  await ledger.count([]);
  await ledger.count([countOf(), countOf({ count: 4 }), countOf({ reason: "other" })]);
  await last.count([countOf({ kind: "uncharged" }), countOf({ route: "GET /b" }), countOf({ day: "2026-11-26" })]);
  await last.count([countOf({ day: "2026-11-28", count: 3_000_000_000 }), countOf({ day: "2026-11-29" })]);
  const all = [
    countOf({ day: "2026-11-26" }),
    countOf({ count: 5 }),
    countOf({ reason: "other" }),
    countOf({ kind: "uncharged" }),
    countOf({ route: "GET /b" }),
    countOf({ day: "2026-11-28", count: 3_000_000_000 }),
    countOf({ day: "2026-11-29" }),
  ];
  const days = { sinceDay: "1970-01-01", untilDay: "9999-12-31" };
  demandEqual(await ledger.counts(days), all, "all counts");
  const some = { sinceDay: "2026-11-27", untilDay: "2026-11-28" };
  demandEqual(await last.counts(some), all.slice(1, 6), "counts of two days");
  demandEqual(await ledger.counts({ sinceDay: "2027-01-01", untilDay: "2027-12-31" }), [], "counts of other days");
}

async function countsAtOnce(stage: Stage): Promise<void> {
  await concurrently(stage, AT_ONCE, (store, at) =>
    ledgerOf(store).count([countOf({ route: `GET /${at % 2}` }), countOf({ route: `GET /${(at + 1) % 2}`, count: 2 })]),
  );
  const found = await ledgerOf(stage.store).counts({ sinceDay: "1970-01-01", untilDay: "9999-12-31" });
  const expected = [0, 1].map((at) => countOf({ route: `GET /${at}`, count: (AT_ONCE / 2) * 3 }));
  demandEqual(found, expected, "counts of concurrent calls");
}

async function leases(stage: Stage): Promise<void> {
  const [ledger, last] = [ledgerOf(stage.store), ledgerOf(stage.stores.at(-1) ?? stage.store)];
  const nowMs = stage.clock.now();
  const lease = leaseOf(nowMs);
  demandEqual(await ledger.hold(lease), "0", "a lease that nobody has");
  demandEqual(await last.hold({ ...lease, owner: "other" }), undefined, "a lease that another owner has");
  demandEqual(await last.hold({ ...lease, name: "b", owner: "other" }), "0", "the lease of another cursor");
  const later = { ...lease, nowMs: nowMs + 999, untilMs: nowMs + 5_000 };
  demandEqual(await last.hold({ ...later, owner: "other" }), undefined, "a lease that has not ended");
  demandEqual(await ledger.hold(later), "0", "a lease that is renewed");
  demandEqual(
    await last.hold({ ...later, nowMs: nowMs + 1_000, owner: "other" }),
    undefined,
    "a lease that was renewed",
  );
  const ended = { ...lease, nowMs: nowMs + 5_000, untilMs: nowMs + 9_000 };
  demandEqual(await last.hold({ ...ended, owner: "other" }), "0", "a lease that has ended");
  demandEqual(await ledger.hold(ended), undefined, "a lease that was lost");
  demandEqual(await last.hold({ ...ended, owner: "other", untilMs: ended.nowMs }), "0", "a lease that is given back");
  demandEqual(await ledger.hold(ended), "0", "a lease that was given back");
}

async function leasesOnce(stage: Stage): Promise<void> {
  const held = await concurrently(stage, AT_ONCE, (store, at) =>
    ledgerOf(store).hold({ ...leaseOf(stage.clock.now()), owner: `owner ${at}` }),
  );
  demandEqual(held.filter((position) => position !== undefined).length, 1, "owners that got the lease");
}

async function moves(stage: Stage): Promise<void> {
  const [ledger, last] = [ledgerOf(stage.store), ledgerOf(stage.stores.at(-1) ?? stage.store)];
  const lease = leaseOf(stage.clock.now());
  await ledger.hold(lease);
  demandEqual(await ledger.hold({ ...lease, position: "9" }), "9", "a cursor that moves");
  demandEqual(await last.hold({ ...lease, owner: "other", position: "20" }), undefined, "a move of another owner");
  demandEqual(await last.hold({ ...lease, position: "10" }), "10", "a position with another number of digits");
  demandEqual(await ledger.hold({ ...lease, position: "9" }), "10", "a cursor that would move back");
  demandEqual(await ledger.hold({ ...lease, untilMs: lease.nowMs }), "10", "a cursor that is left");
  demandEqual(await last.hold({ ...lease, owner: "other" }), "10", "a cursor that another owner takes up");
  const large = "123456789012";
  demandEqual(await last.hold({ ...lease, owner: "other", position: large }), large, "a large position");
}

async function begins(stage: Stage): Promise<void> {
  const ledger = ledgerOf(stage.store);
  const lease = leaseOf(stage.clock.now());
  for (let at = 0; at < 3; at++) await settle(stage, entryOf(stage, `p${at}`));
  const from = (await ledger.hold({ ...lease, name: "now", from: "now" })) ?? "";
  const start = (await ledger.hold({ ...lease, name: "start" })) ?? "";
  demandEqual((await ledger.list({ after: start, limit: 10 })).length, 3, "entries from the start");
  const next = entryOf(stage, "next");
  await settle(stage, next);
  const found = await ledger.list({ after: from, limit: 10 });
  demandEqual(
    found.map(({ id }) => id),
    [next.id],
    "entries from now on",
  );
  demandEqual(await ledger.hold({ ...lease, name: "now", from: "now" }), from, "a cursor that is not new");
}

async function sweeps(stage: Stage): Promise<void> {
  const ledger = ledgerOf(stage.store);
  const nowMs = stage.clock.now();
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const entries = Array.from({ length: 8 }, (_, at) => ({
    ...entryOf(stage, `p${at}`),
    settledAtMs: nowMs - at * DAY_MS,
  }));
  for (const entry of entries) await settle(stage, entry);
  await ledger.count([countOf({ day: day(nowMs - 5 * DAY_MS) }), countOf({ day: day(nowMs) })]);
  const highest = (await ledger.list({ limit: 100 })).at(-1)?.position ?? "";
  await sweepAll(ledger, nowMs - 3 * DAY_MS);
  const left = await ledger.list({ limit: 100 });
  demandEqual(
    left.map(({ id }) => id).toSorted(),
    entries
      .slice(0, 4)
      .map(({ id }) => id)
      .toSorted(),
    "entries that are left",
  );
  for (const { id } of entries.slice(4)) demandEqual(await ledger.find(id), undefined, "an entry that was deleted");
  const days = { sinceDay: "1970-01-01", untilDay: "9999-12-31" };
  demandEqual(await ledger.counts(days), [countOf({ day: day(nowMs) })], "counts that are left");
  await sweepAll(ledger, nowMs + 1);
  demandEqual(await ledger.list({ limit: 100 }), [], "entries when all are old");
  const next = entryOf(stage, "next");
  await settle(stage, next);
  const found = await ledger.list({ after: highest, limit: 10 });
  demandEqual(
    found.map(({ id }) => id),
    [next.id],
    "entries behind a position that was given before all were deleted",
  );
}

async function sweepAll(ledger: SharedLedger, beforeMs: number): Promise<void> {
  for (let times = 0; times < 20; times++) if ((await ledger.sweep(beforeMs)) === 0) return;
  throw new StoreError("sweep does not come to an end");
}

async function outlives(stage: Stage): Promise<void> {
  const entry = entryOf(stage);
  await settle(stage, entry);
  stage.clock.advance(60 * 60_000);
  // A claim may delete what is old.
  await claim(stage, entryOf(stage, "next"));
  demandWhole(await ledgerOf(stage.store).find(entry.id), entry);
}

async function staysOpen(stage: Stage): Promise<void> {
  const entry = entryOf(stage);
  await settle(stage, entry);
  const refunds = [{ transaction: "0x1", amount: "4", atMs: 1_000 }];
  const lease = leaseOf(stage.clock.now());
  const before = ledgerOf(stage.store);
  await before.refund({ id: entry.id, known: 0, refunds, status: "settled" });
  await before.count([countOf()]);
  await before.hold({ ...lease, position: "7" });
  const after = ledgerOf(await stage.reopen());
  demandWhole(await after.find(entry.id), entry, { refunds, status: "settled" });
  demandEqual(await after.counts({ sinceDay: "2026-11-27", untilDay: "2026-11-27" }), [countOf()], "counts");
  demandEqual(await after.hold({ ...lease, owner: "other" }), undefined, "a lease that has not ended");
  demandEqual(await after.hold(lease), "7", "a cursor");
}

function entryOf(stage: Stage, name = "p"): NewLedgerEntry {
  return {
    id: Buffer.from(name).toString("hex").padStart(32, "0").slice(-32),
    settledAtMs: stage.clock.now(),
    route: "GET /weather/:city",
    resource: "https://shop.example/weather/paris",
    payer: "0x857b06519e91e3a54538791bdbb0e22373e36b66",
    payee: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    scheme: "upto",
    network: "eip155:84532",
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    decimals: 6,
    amount: "10000",
    maximum: "340282366920938463463374607431768211455",
    fee: "0",
    transaction: "0x5f1c",
    facilitator: "facilitator.example",
    latencyMs: 0,
    attempt: 1,
  };
}

function nameOf({ id }: NewLedgerEntry): string {
  return Buffer.from(id, "hex").toString().replaceAll("\0", "");
}

function changeOf(entry: NewLedgerEntry): Pick<Transition, "identity" | "owner"> {
  return { identity: nameOf(entry), owner: "run" };
}

async function claim(stage: Stage, entry: NewLedgerEntry, identity = nameOf(entry)): Promise<void> {
  await stage.store.claim(claimOf(stage, { identity, expiresAtMs: stage.clock.now() + 60_000 }));
}

/** Claims the payment of an entry, and settles it. Returns whether the last transition was made. */
async function settle(
  stage: Stage,
  entry: NewLedgerEntry,
  to: "settled" | "owed" = "settled",
  identity = nameOf(entry),
): Promise<boolean> {
  await claim(stage, entry, identity);
  await stage.store.transition({ identity, owner: "run", from: "claimed", to: "settling" });
  return stage.store.transition({ identity, owner: "run", from: "settling", to, entry });
}

function countOf(change: Partial<LedgerCount> = {}): LedgerCount {
  return { day: "2026-11-27", route: "GET /a", kind: "refused", reason: "insufficient_funds", count: 1, ...change };
}

function leaseOf(nowMs: number): CursorLease {
  return { name: "a", owner: "owner", nowMs, untilMs: nowMs + 1_000, from: "start" };
}

/** Demands that an entry is what was recorded. */
function demandWhole(
  received: LedgerEntry | undefined,
  entry: NewLedgerEntry,
  { refunds, status }: Pick<LedgerEntry, "refunds" | "status"> = { refunds: [], status: "settled" },
): void {
  const { position = "", ...rest } = received ?? {};
  demandEqual(rest, { ...entry, refunds, status }, "an entry");
  if (!/^\d{1,18}$/.test(position)) throw new StoreError(`the position of an entry is not digits: ${position}`);
}

function sorted(entries: readonly LedgerEntry[]): readonly string[] {
  return entries.map(({ position }) => position).toSorted((one, other) => (BigInt(one) < BigInt(other) ? -1 : 1));
}

/** The traits were compared with the store before. */
function ledgerOf({ ledger }: PaymentStore): SharedLedger {
  if (ledger === undefined) throw new StoreError('the store has no "ledger"');
  return ledger;
}
