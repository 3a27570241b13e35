/**
 * The checks of what a store may have besides its five methods: `renew`, `watch`, `runs` and `keep`; `exposure` is in
 * `exposure-checks.ts`. Each is checked if the traits say that the store has it.
 *
 * @module
 */
import {
  type PaymentRecord,
  type PaymentStore,
  type SharedRun,
  type SharedRuns,
  StoreError,
  UNLEASED,
} from "@farebox/core";
import { anyOf, broughtTo, claimed, claimOf, IDENTIFIER, moved, REQUEST, RESPONSE, STATES } from "./sample-payments.js";
import { type Check, concurrently, demandEqual, demandRecord, type Stage } from "./stage.js";

/** Enough for more than one statement or script. */
const MANY = 1_200;

/** For stores with `renew`. */
export const RENEW_CHECKS: readonly Check[] = [
  { name: `renew: sets the lease of each payment but those that are ${anyOf(UNLEASED)}`, run: renewsStates },
  { name: "renew: changes the records of their owners alone, and nothing but the lease", run: renewsOwned },
  { name: `renew: sets ${MANY} leases in one call`, run: renewsMany },
  { name: "renew: accepts no records, and ones that are gone", run: renewsNothing },
];

async function renewsStates(stage: Stage): Promise<void> {
  const leaseUntilMs = stage.clock.now() + 8_001;
  const records: PaymentRecord[] = [];
  for (const state of STATES) records.push(await broughtTo(stage, state, { identity: state }));
  await renew(stage.store, records, leaseUntilMs);
  for (const record of records) {
    const isRenewed = !UNLEASED.includes(record.state);
    const expected = isRenewed ? { ...record, leaseUntilMs } : record;
    await demandRecord(stage.store, expected, `of a payment that is ${record.state}, after renew`);
  }
}

async function renewsOwned(stage: Stage): Promise<void> {
  const leaseUntilMs = stage.clock.now() + 8_000;
  const first = await claimed(stage, { identifier: IDENTIFIER, leaseUntilMs: 1 });
  const change = { to: "settling", request: REQUEST, answer: RESPONSE, facilitator: "a.example" } as const;
  const mine = await moved(stage, first, change);
  const other = await claimed(stage, { identity: "q", owner: "other", leaseUntilMs: 2 });
  const none = await claimed(stage, { identity: "r", owner: "other" });
  await renew(stage.store, [mine, { ...other, owner: "run" }, { ...none, owner: "run" }], leaseUntilMs);
  await demandRecord(stage.store, { ...mine, leaseUntilMs }, "after renew");
  await demandRecord(stage.store, other, "after renew by another run");
  await demandRecord(stage.store, none, "after renew by another run");
}

async function renewsMany(stage: Stage): Promise<void> {
  const records = await concurrently(stage, MANY, async (store, at) => {
    const request = claimOf(stage, { identity: `p${at}`, owner: `run ${at}`, leaseUntilMs: 1 });
    demandEqual(await store.claim(request), { kind: "claimed" }, "claim of an unclaimed payment");
    return { ...request, state: "claimed" } as const;
  });
  const leaseUntilMs = stage.clock.now() + 8_000;
  await renew(stage.store, records, leaseUntilMs);
  for (const record of records) await demandRecord(stage.store, { ...record, leaseUntilMs }, "after renew of many");
}

async function renewsNothing(stage: Stage): Promise<void> {
  await renew(stage.store, [], 1);
  const record = await claimed(stage);
  await stage.store.release(record.identity, record.owner);
  await renew(stage.store, [record], stage.clock.now());
  demandEqual(await stage.store.find(record.identity), undefined, "find after renew of a released payment");
}

async function renew(store: PaymentStore, records: readonly PaymentRecord[], leaseUntilMs: number): Promise<void> {
  const owned = records.map(({ identity, owner }) => ({ identity, owner }));
  await part(store, "renew").call(store, owned, leaseUntilMs);
}

/** A store that tells nothing for so long fails the check. */
const SOON_MS = 3_000;

/** For stores with `watch`. */
export const WATCH_CHECKS: readonly Check[] = [
  { name: "watch: tells of a transition and of a release by any process", run: watchesChanges },
  { name: "watch: tells every watcher, and none that has left", run: watchesForEach },
  { name: "watch: tells of a change that happens as soon as it has begun", run: watchesAtOnce },
];

async function watchesChanges(stage: Stage): Promise<void> {
  for (const [at, writer] of stage.stores.entries()) {
    const record = await claimed(stage, { identity: `p${at}` });
    const changed = await watched(stage.store, record.identity);
    const settling = await moved({ ...stage, store: writer }, record, { to: "settling" });
    await changed.demand("after a transition");
    await moved({ ...stage, store: writer }, settling, { to: "rejected" });
    await changed.demand("after another transition");
    await writer.release(record.identity, record.owner);
    await changed.demand("after a release");
    changed.stop();
  }
}

async function watchesForEach(stage: Stage): Promise<void> {
  const record = await claimed(stage);
  const [stays, leaves, other] = [
    await watched(stage.store, "p"),
    await watched(stage.store, "p"),
    await watched(stage.stores.at(-1) ?? stage.store, "p"),
  ];
  leaves.stop();
  // Twice is as good as once.
  leaves.stop();
  // A watcher may be told without a change, as long as it watches.
  const toldBefore = leaves.count();
  const settling = await moved(stage, record, { to: "settling" });
  await stays.demand("after a transition");
  await other.demand("after a transition, by the other store");
  demandEqual(leaves.count() - toldBefore, 0, "calls of a watcher that has left");
  stays.stop();
  const again = await watched(stage.store, "p");
  await moved(stage, settling, { to: "settled" });
  await again.demand("after all others have left");
  for (const each of [other, again]) each.stop();
}

async function watchesAtOnce(stage: Stage): Promise<void> {
  for (let at = 0; at < 20; at++) {
    const record = await claimed(stage, { identity: `p${at}` });
    const changed = await watched(stage.store, record.identity);
    const writer = stage.stores[at % stage.stores.length] ?? stage.store;
    await writer.release(record.identity, record.owner);
    await changed.demand("after a release at once");
    changed.stop();
  }
}

interface Watched {
  /** Waits until the watcher was called after the last time it was demanded. */
  demand(when: string): Promise<void>;
  count(): number;
  stop(): void;
}

async function watched(store: PaymentStore, identity: string): Promise<Watched> {
  let calls = 0;
  let wake = () => {};
  const stop = await part(store, "watch").call(store, identity, () => {
    calls += 1;
    wake();
  });
  return {
    stop,
    count: () => calls,
    async demand(when) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<"late">((resolve) => {
        timer = setTimeout(() => resolve("late"), SOON_MS);
      });
      const called = calls > 0 ? "called" : new Promise<"called">((resolve) => (wake = () => resolve("called")));
      const first = await Promise.race([called, late]);
      clearTimeout(timer);
      if (first === "late") throw new StoreError(`watch: expected a call ${when}, received none in ${SOON_MS} ms`);
      calls = 0;
    },
  };
}

/** For stores with `runs`. */
export const RUN_CHECKS: readonly Check[] = [
  { name: "runs: returns each run of the payer, and of no other", run: runsOfPayer },
  { name: "runs: replaces a run with the same id, and removes one", run: runsChange },
  { name: "runs: leaves out and forgets runs that have ended", run: runsEnd },
  { name: "runs: shows every run to the last of 100 concurrent ones", run: runsAtOnce },
  { name: "runs: keeps odd payers, ids, identities and assets", run: runsOdd },
];

async function runsOfPayer(stage: Stage): Promise<void> {
  const [first, second, third] = [
    runOf(stage),
    runOf(stage, { id: "b", isAbandoned: true }),
    runOf(stage, { id: "c" }),
  ];
  await demandRuns(stage, first, [first]);
  await demandRuns(stage, { ...third, payer: "other" }, [{ ...third, payer: "other" }]);
  for (const store of stage.stores) await demandRuns({ ...stage, store }, second, [first, second]);
  await runsOf(stage.store).remove({ id: "b", payer: "other" });
  await demandRuns(stage, third, [first, second, third]);
}

async function runsChange(stage: Stage): Promise<void> {
  const [first, second] = [runOf(stage), runOf(stage, { id: "b" })];
  await demandRuns(stage, first, [first]);
  const changed = { ...first, amount: "7", isAbandoned: true, untilMs: first.untilMs + 1 };
  await demandRuns(stage, changed, [changed]);
  await demandRuns(stage, second, [changed, second]);
  const last = stage.stores.at(-1) ?? stage.store;
  await runsOf(last).remove(first);
  await runsOf(last).remove(first);
  await demandRuns(stage, second, [second]);
}

async function runsEnd(stage: Stage): Promise<void> {
  const nowMs = stage.clock.now();
  const first = runOf(stage, { untilMs: nowMs + 1_000 });
  const second = runOf(stage, { id: "b", untilMs: nowMs + 5_000 });
  const third = runOf(stage, { id: "c", untilMs: nowMs + 9_000 });
  await demandRuns(stage, first, [first]);
  await demandRuns(stage, second, [first, second], nowMs + 999);
  await demandRuns(stage, third, [second, third], nowMs + 1_000);
  // The first is forgotten, not only left out.
  await demandRuns(stage, third, [second, third], nowMs);
}

async function runsAtOnce(stage: Stage): Promise<void> {
  const count = 100;
  const runs = Array.from({ length: count }, (_, at) => runOf(stage, { id: String(at).padStart(3, "0") }));
  const seen = await concurrently(stage, count, (store, at) => {
    return runsOf(store).put(runs[at] ?? runOf(stage), stage.clock.now());
  });
  // One after another, so each sees one more than the one before.
  const counts = seen.map(({ length }) => length).sort((one, other) => one - other);
  demandEqual(
    counts,
    runs.map((_, at) => at + 1),
    "runs that concurrent ones see",
  );
  demandEqual(byId(seen.find(({ length }) => length === count) ?? []), runs, "runs that the last one sees");
}

async function runsOdd(stage: Stage): Promise<void> {
  const odd = ["__proto__", "{a}", "a|b", "'\"\\", "e\u0301☂😀", "a ", "0", "İ"];
  for (const text of odd) {
    const run = runOf(stage, { id: text, payer: text, identity: text, asset: text });
    await demandRuns(stage, run, [run]);
  }
  for (const text of odd) await runsOf(stage.store).remove({ id: text, payer: text });
  const after = runOf(stage, { id: "z", payer: "__proto__" });
  await demandRuns(stage, after, [after]);
}

function runOf(stage: Stage, change: Partial<SharedRun> = {}): SharedRun {
  const asset = "eip155:84532/0x036CbD53842c5426634e7929541eC2318f3dCF7e";
  const untilMs = stage.clock.now() + 60_000;
  const amount = "340282366920938463463374607431768211455";
  return { id: "a", payer: "0x857b", identity: "p", asset, amount, untilMs, isAbandoned: false, ...change };
}

async function demandRuns(
  stage: Stage,
  run: SharedRun,
  expected: readonly SharedRun[],
  nowMs: number = stage.clock.now(),
): Promise<void> {
  demandEqual(byId(await runsOf(stage.store).put(run, nowMs)), expected, "runs of the payer");
}

function runsOf(store: PaymentStore): SharedRuns {
  return part(store, "runs");
}

function byId(runs: readonly SharedRun[]): readonly SharedRun[] {
  return runs.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

/** For stores with `keep`. */
export const KEEP_CHECKS: readonly Check[] = [
  { name: "keep: returns the value of the first of 100 concurrent calls to all", run: keepsFirst },
  { name: "keep: distinguishes names, and keeps odd values", run: keepsNames },
];

/** For durable stores with `keep`. */
export const REOPEN_KEEP_CHECKS: readonly Check[] = [{ name: "reopen: a kept value stays", run: keepsForGood }];

async function keepsFirst(stage: Stage): Promise<void> {
  const values = await concurrently(stage, 100, (store, at) =>
    part(store, "keep").call(store, "secret", `value ${at}`),
  );
  demandEqual(new Set(values).size, 1, "values that concurrent calls of keep return");
  const [value = ""] = values;
  demandEqual(/^value \d+$/.test(value), true, "keep returns one of the values");
  for (const store of stage.stores) demandEqual(await part(store, "keep").call(store, "secret", "late"), value, "keep");
}

async function keepsNames(stage: Stage): Promise<void> {
  const names = ["a", "A", "a ", "__proto__", "schema", "a:b", "{a}", "☂"];
  for (const name of names)
    demandEqual(await keep(stage, name, `${name} '"\\ e\u0301`), `${name} '"\\ e\u0301`, "keep");
  for (const name of names) demandEqual(await keep(stage, name, "other"), `${name} '"\\ e\u0301`, "keep, again");
  demandEqual(await stage.store.find("a"), undefined, "find of a payment with the name of a value");
}

async function keepsForGood(stage: Stage): Promise<void> {
  await keep(stage, "secret", "first");
  const store = await stage.reopen();
  demandEqual(await keep({ ...stage, store }, "secret", "second"), "first", "keep, after reopening");
}

async function keep({ store }: Pick<Stage, "store">, name: string, value: string): Promise<string> {
  return part(store, "keep").call(store, name, value);
}

/** The traits were compared with the store before. */
function part<Name extends "renew" | "watch" | "runs" | "keep">(
  store: PaymentStore,
  name: Name,
): NonNullable<PaymentStore[Name]> {
  const found = store[name];
  if (found === undefined) throw new StoreError(`the store has no "${name}"`);
  return found;
}
