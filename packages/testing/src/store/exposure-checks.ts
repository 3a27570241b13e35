/**
 * The checks of `exposure`: what metered streams may still cost the seller, summed over all processes.
 *
 * @module
 */
import {
  type ExposureEntry,
  type ExposureSums,
  MOST_DUE,
  type PaymentStore,
  type SharedExposure,
  StoreError,
} from "@farebox/core";
import { ODD_IDENTITIES } from "./claim-checks.js";
import { type Check, concurrently, demandEqual, type Stage } from "./stage.js";

const PUTS = 100;

/** The largest amount of an entry. A float holds nine of them exactly. */
const MOST_MICROS = "999999999999999";

/** For stores with `exposure`. */
export const EXPOSURE_CHECKS: readonly Check[] = [
  { name: "exposure: returns the sums of the payer and of all payers", run: sums },
  { name: "exposure: replaces the entry of a payment once, also that of another payer", run: replaces },
  { name: "exposure: removes the entry of a payment once, and no other", run: removes },
  { name: "exposure: leaves out and forgets entries that have ended, of all payers", run: ends },
  { name: "exposure: follows an end that is moved", run: movesEnds },
  { name: `exposure: names up to ${MOST_DUE} payments that the payer owes, and no others`, run: names },
  { name: `exposure: shows every entry to the last of ${PUTS} concurrent ones`, run: atOnce },
  { name: "exposure: counts a payment once, even if its entries are put and removed concurrently", run: onceAtOnce },
  { name: "exposure: adds large amounts exactly", run: large },
  { name: "exposure: keeps odd payers and identities apart", run: odd },
  { name: "exposure: has the sums of a list of entries after any calls", run: likeAList },
];

/** For durable stores with `exposure`. */
export const REOPEN_EXPOSURE_CHECKS: readonly Check[] = [{ name: "reopen: exposure stays", run: staysOpen }];

async function sums(stage: Stage): Promise<void> {
  await demandSums(stage, entryOf(stage), { payer: "5", total: "5" });
  await demandSums(stage, entryOf(stage, { identity: "q", micros: "0" }), { payer: "5", total: "5" });
  for (const [at, store] of stage.stores.entries()) {
    const entry = entryOf(stage, { identity: `r${at}`, payer: "other", micros: "7" });
    await demandSums({ ...stage, store }, entry, { payer: `${7 * (at + 1)}`, total: `${5 + 7 * (at + 1)}` });
  }
  const all = 5 + 7 * stage.stores.length;
  await demandSums(stage, entryOf(stage, { identity: "s", micros: "1" }), { payer: "6", total: `${all + 1}` });
}

async function replaces(stage: Stage): Promise<void> {
  const last = { ...stage, store: stage.stores.at(-1) ?? stage.store };
  const first = entryOf(stage, { micros: "5", isDue: true });
  await demandSums(stage, first, { payer: "5", total: "5", due: ["p"] });
  await demandSums(last, { ...first, micros: "9" }, { payer: "9", total: "9", due: ["p"] });
  await demandSums(stage, { ...first, micros: "9" }, { payer: "9", total: "9", due: ["p"] });
  await demandSums(last, { ...first, micros: "4", isDue: false }, { payer: "4", total: "4" });
  // The same address, written in another way.
  await demandSums(stage, { ...first, payer: first.payer.toUpperCase() }, { payer: "5", total: "5", due: ["p"] });
  await demandSums(last, entryOf(stage, { identity: "q", micros: "1" }), { payer: "1", total: "6" });
}

async function removes(stage: Stage): Promise<void> {
  const [first, second] = [entryOf(stage, { isDue: true }), entryOf(stage, { identity: "q", micros: "7" })];
  const other = entryOf(stage, { identity: "r", payer: "other", micros: "11" });
  for (const entry of [first, second, other]) await exposureOf(stage.store).put(entry, stage.clock.now());
  const last = stage.stores.at(-1) ?? stage.store;
  for (let at = 0; at < 2; at++) await exposureOf(last).remove(first);
  await exposureOf(last).remove({ identity: "unknown", payer: first.payer });
  await demandSums(stage, { ...first, identity: "s", micros: "0" }, { payer: "7", total: "18", due: ["s"] });
  await exposureOf(last).remove({ identity: "s", payer: first.payer });
  await exposureOf(stage.store).remove(second);
  await demandSums(stage, other, { payer: "11", total: "11" });
  await exposureOf(stage.store).remove(other);
  await demandSums(stage, first, { payer: "5", total: "5", due: ["p"] });
}

async function ends(stage: Stage): Promise<void> {
  const nowMs = stage.clock.now();
  const first = entryOf(stage, { untilMs: nowMs + 1_000, isDue: true });
  const second = entryOf(stage, { identity: "q", payer: "other", micros: "7", untilMs: nowMs + 5_000 });
  const third = entryOf(stage, { identity: "r", micros: "11", untilMs: nowMs + 9_000 });
  await demandSums(stage, first, { payer: "5", total: "5", due: ["p"] });
  await demandSums(stage, second, { payer: "7", total: "12" });
  await demandSums(stage, third, { payer: "16", total: "23", due: ["p"] }, nowMs + 999);
  await demandSums(stage, third, { payer: "11", total: "18" }, nowMs + 1_000);
  // They are forgotten, not only left out.
  await demandSums(stage, third, { payer: "11", total: "18" }, nowMs);
  await demandSums(stage, third, { payer: "11", total: "11" }, nowMs + 5_000);
  // An entry that ends by now is not added, and the one before it is removed.
  await demandSums(stage, { ...third, untilMs: nowMs }, { payer: "0", total: "0" }, nowMs);
  await demandSums(stage, first, { payer: "5", total: "5", due: ["p"] }, nowMs);
  await exposureOf(stage.store).remove(third);
  await demandSums(stage, first, { payer: "5", total: "5", due: ["p"] }, nowMs);
}

async function movesEnds(stage: Stage): Promise<void> {
  const nowMs = stage.clock.now();
  const none = entryOf(stage, { identity: "q", micros: "0", untilMs: nowMs + 60_000 });
  await demandSums(stage, entryOf(stage, { untilMs: nowMs + 1_000 }), { payer: "5", total: "5" });
  await demandSums(stage, entryOf(stage, { untilMs: nowMs + 8_000 }), { payer: "5", total: "5" });
  await demandSums(stage, none, { payer: "5", total: "5" }, nowMs + 7_999);
  await demandSums(stage, entryOf(stage, { untilMs: nowMs + 3_000 }), { payer: "5", total: "5" });
  await demandSums(stage, none, { payer: "5", total: "5" }, nowMs + 2_999);
  await demandSums(stage, none, { payer: "0", total: "0" }, nowMs + 3_000);
}

async function names(stage: Stage): Promise<void> {
  const due = (at: number) => entryOf(stage, { identity: `p${at}`, isDue: true });
  await exposureOf(stage.store).put(entryOf(stage, { identity: "not due" }), stage.clock.now());
  await exposureOf(stage.store).put(
    entryOf(stage, { identity: "of another", payer: "other", isDue: true }),
    stage.clock.now(),
  );
  const some: string[] = [];
  for (let at = 0; at < MOST_DUE; at++) {
    some.push(`p${at}`);
    const total = `${5 * (at + 3)}`;
    await demandSums(stage, due(at), { payer: `${5 * (at + 2)}`, total, due: some });
  }
  const more = await exposureOf(stage.store).put(due(MOST_DUE), stage.clock.now());
  demandEqual(more.due.length, MOST_DUE, `payments that a payer owes, of ${MOST_DUE + 1}`);
  const owed = new Set([...some, `p${MOST_DUE}`]);
  demandEqual(new Set(more.due.filter((each) => owed.has(each))).size, MOST_DUE, "payments of this payer, each once");
  for (let at = 0; at < MOST_DUE; at++) await exposureOf(stage.store).remove(due(at));
  const last = entryOf(stage, { identity: "not due" });
  await demandSums(stage, last, { payer: "10", total: "15", due: [`p${MOST_DUE}`] });
  await exposureOf(stage.store).put({ ...due(MOST_DUE), isDue: false }, stage.clock.now());
  await demandSums(stage, last, { payer: "10", total: "15" });
}

async function atOnce(stage: Stage): Promise<void> {
  const entries = Array.from({ length: PUTS }, (_, at) =>
    entryOf(stage, { identity: `p${at}`, payer: `payer ${at % 2}`, micros: "3" }),
  );
  const put = (store: PaymentStore, entry: ExposureEntry | undefined) =>
    exposureOf(store).put(entry ?? entryOf(stage), stage.clock.now());
  const seen = await concurrently(stage, PUTS, (store, at) => put(store, entries[at]));
  // One after another, so each sees one more than the one before.
  const expected = entries.map((_, at) => 3 * (at + 1));
  const sorted = (micros: readonly number[]) => micros.toSorted((one, other) => one - other);
  const totals = seen.map(({ total }) => Number(total));
  demandEqual(sorted(totals), expected, "sums that concurrent entries see");
  for (const parity of [0, 1]) {
    const own = seen.filter((_, at) => at % 2 === parity).map(({ payer }) => Number(payer));
    demandEqual(sorted(own), expected.slice(0, PUTS / 2), "sums of the payer that concurrent entries see");
  }
}

async function onceAtOnce(stage: Stage): Promise<void> {
  const { put, remove } = {
    put: (store: PaymentStore, identity: string, micros: string) =>
      exposureOf(store).put(entryOf(stage, { identity, micros, isDue: true }), stage.clock.now()),
    remove: (store: PaymentStore, identity: string) => exposureOf(store).remove(entryOf(stage, { identity })),
  };
  await concurrently(stage, PUTS, async (store, at) => {
    const identity = `p${at % 5}`;
    if (at % 3 === 0) await remove(store, identity);
    else await put(store, identity, `${at}`);
  });
  for (let at = 0; at < 4; at++) await put(stage.store, `p${at}`, "1");
  await exposureOf(stage.store).remove(entryOf(stage, { identity: "p4" }));
  const due = ["p0", "p1", "p2", "p3"];
  await demandSums(stage, entryOf(stage, { identity: "p0", micros: "1", isDue: true }), {
    payer: "4",
    total: "4",
    due,
  });
}

async function large(stage: Stage): Promise<void> {
  const count = 40;
  for (let at = 0; at < count; at++) {
    const sum = String(BigInt(MOST_MICROS) * BigInt(at + 1));
    await demandSums(stage, entryOf(stage, { identity: `p${at}`, micros: MOST_MICROS }), { payer: sum, total: sum });
  }
  for (let at = 1; at < count; at++) await exposureOf(stage.store).remove(entryOf(stage, { identity: `p${at}` }));
  const sum = String(BigInt(MOST_MICROS) + 1n);
  await demandSums(stage, entryOf(stage, { identity: "q", micros: "1" }), { payer: sum, total: sum });
}

async function odd(stage: Stage): Promise<void> {
  const texts = [...ODD_IDENTITIES, "h", "l", "t", "total", "1:a", "aa", "a|b"];
  for (const [at, text] of texts.entries()) {
    const entry = entryOf(stage, { identity: text, payer: text, micros: "1", isDue: true });
    await demandSums(stage, entry, { payer: "1", total: `${at + 1}`, due: [text] });
  }
  for (const text of texts.slice(1)) await exposureOf(stage.store).remove({ identity: text, payer: text });
  const [text = ""] = texts;
  await demandSums(stage, entryOf(stage, { identity: "z", payer: text, micros: "1" }), {
    payer: "2",
    total: "2",
    due: [text],
  });
}

async function likeAList(stage: Stage): Promise<void> {
  const startMs = stage.clock.now();
  // The same sequence each time.
  let seed = 42;
  const next = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  let entries: ExposureEntry[] = [];
  let nowMs = startMs;
  for (let at = 0; at < 150; at++) {
    nowMs += next(3);
    const entry = entryOf(stage, {
      identity: `p${next(12)}`,
      payer: `payer ${next(3)}`,
      micros: String(next(1_000)),
      untilMs: nowMs + next(40),
      isDue: next(3) === 0,
    });
    entries = entries.filter(({ identity, untilMs }) => identity !== entry.identity && untilMs > nowMs);
    if (next(5) === 0) {
      await exposureOf(stage.stores[at % stage.stores.length] ?? stage.store).remove(entry);
      continue;
    }
    if (entry.untilMs > nowMs) entries.push(entry);
    const own = entries.filter(({ payer }) => payer === entry.payer);
    const sum = (some: readonly ExposureEntry[]) => String(some.reduce((micros, each) => micros + +each.micros, 0));
    const due = own.filter(({ isDue }) => isDue).map(({ identity }) => identity);
    await demandSums(stage, entry, { payer: sum(own), total: sum(entries), due }, nowMs);
  }
}

async function staysOpen(stage: Stage): Promise<void> {
  await demandSums(stage, entryOf(stage, { isDue: true }), { payer: "5", total: "5", due: ["p"] });
  await exposureOf(stage.store).put(entryOf(stage, { identity: "q" }), stage.clock.now());
  await exposureOf(stage.store).remove(entryOf(stage, { identity: "q" }));
  const reopened = { ...stage, store: await stage.reopen() };
  const entry = entryOf(stage, { identity: "r", micros: "1" });
  await demandSums(reopened, entry, { payer: "6", total: "6", due: ["p"] });
}

function entryOf(stage: Stage, change: Partial<ExposureEntry> = {}): ExposureEntry {
  const untilMs = stage.clock.now() + 60_000;
  return { identity: "p", payer: "0x857b", micros: "5", untilMs, isDue: false, ...change };
}

async function demandSums(
  { store, clock }: Pick<Stage, "store" | "clock">,
  entry: ExposureEntry,
  expected: Partial<ExposureSums>,
  nowMs: number = clock.now(),
): Promise<void> {
  const { payer, total, due } = await exposureOf(store).put(entry, nowMs);
  const sorted = { payer, total, due: due.toSorted() };
  demandEqual(sorted, { due: [], ...expected, ...(expected.due && { due: expected.due.toSorted() }) }, "exposure");
}

/** The traits were compared with the store before. */
function exposureOf({ exposure }: PaymentStore): SharedExposure {
  if (exposure === undefined) throw new StoreError('the store has no "exposure"');
  return exposure;
}
