import fc from "fast-check";
import { expect, test } from "vitest";
import { CLAIM, createClock, MINUTE, RECEIPT, STATES, unfinishedOf } from "./memory-store.fixture.js";
import {
  type Claim,
  type ClaimRequest,
  type PaymentRecord,
  RELEASABLE,
  type StoredAnswer,
  TRANSITIONS,
  type Transition,
  UNFINISHED,
} from "./payment-store.js";

const SEED = Number(process.env["FAREBOX_SEED"]);
const ROOM = 100;

/**
 * The contract in its simplest form: a list of records, searched each time. `written` lists the kept responses, oldest first, and
 * `delivered` those of them that a client got, in the order in which it got them.
 */
function createModel(now: () => number) {
  let records: PaymentRecord[] = [];
  let written: string[] = [];
  let delivered: string[] = [];
  const find = (identity: string) => records.find((record) => record.identity === identity);
  const put = (record: PaymentRecord) => {
    records = [...records.filter(({ identity }) => identity !== record.identity), record];
  };
  const bytes = () => records.reduce((sum, { answer }) => sum + (answer?.body.byteLength ?? 0), 0);
  const drop = (identity: string) => {
    written = written.filter((other) => other !== identity);
    delivered = delivered.filter((other) => other !== identity);
  };
  const write = (identity: string) => {
    drop(identity);
    written = [...written, identity];
    const own = find(identity)?.answer?.body.byteLength ?? 0;
    if (own > ROOM) return put(withoutAnswer(identity));
    for (const oldest of [...delivered, ...written]) if (bytes() > ROOM) put(withoutAnswer(oldest));
  };
  const withoutAnswer = (identity: string): PaymentRecord => {
    const { answer: _, ...rest } = find(identity) as PaymentRecord;
    drop(identity);
    return rest;
  };
  const forget = (gone: (record: PaymentRecord) => boolean) => {
    records = records.filter((record) => !gone(record));
    for (const identity of written) if (find(identity) === undefined) drop(identity);
  };
  return {
    find,
    unfinished: () => records.filter(({ state }) => UNFINISHED.includes(state)),
    claim(request: ClaimRequest): Claim {
      forget(({ expiresAtMs }) => expiresAtMs + 10 * MINUTE <= now());
      const record = find(request.identity);
      if (record !== undefined) return { kind: "taken", record };
      if (records.some(({ identifier }) => identifier === request.identifier)) return { kind: "identifier_taken" };
      put({ ...request, state: "claimed" });
      return { kind: "claimed" };
    },
    transition(change: Transition): boolean {
      const record = find(change.identity);
      if (record === undefined || !mayBe(record, change)) return false;
      const { identity, transaction } = change;
      const isTaken = (other: PaymentRecord) => other.transaction === transaction && other.identity !== identity;
      if (transaction !== undefined && records.some(isTaken)) return false;
      put(changed(record, change));
      if (change.answer === null) drop(identity);
      if (change.answer) write(identity);
      const isKept = written.includes(identity) && !delivered.includes(identity);
      if (change.delivers === true && isKept) delivered = [...delivered, identity];
      return true;
    },
    release(identity: string, owner: string) {
      forget((record) => record.identity === identity && record.owner === owner && RELEASABLE.includes(record.state));
    },
  };
}

function mayBe({ state, owner }: PaymentRecord, change: Transition): boolean {
  return state === change.from && owner === change.owner && TRANSITIONS[state].includes(change.to);
}

/** A field that is `undefined` stays; `null` removes it. */
function changed(record: PaymentRecord, change: Transition): PaymentRecord {
  const { identity, from: _, to, owner, newOwner = owner, delivers: __, ...fields } = change;
  const merged = Object.entries({ ...record, ...fields, identity, state: to, owner: newOwner });
  return Object.fromEntries(merged.filter(([, value]) => value !== null)) as unknown as PaymentRecord;
}

const identity = fc.constantFrom("a", "b", "c");
const owner = fc.constantFrom("run", "other");
const state = fc.constantFrom(...STATES);
const answer = fc.option(
  fc.nat(120).map((bytes): StoredAnswer => ({ status: 200, headers: [], body: new Uint8Array(bytes) })),
  { nil: null },
);
const identifier = fc.constantFrom("x", "y", "z");
const chosen = fc.record(
  {
    answer,
    delivers: fc.boolean(),
    newOwner: owner,
    identifier: fc.constant(null),
    facilitator: fc.constantFrom("a.example", "b.example", null),
    leaseUntilMs: fc.constantFrom(1, 2, null),
    mark: fc.constantFrom("undelivered", "unproven", null),
    receipt: fc.constantFrom(RECEIPT, { ...RECEIPT, transaction: "0x2" }),
  },
  { requiredKeys: [] },
);

type Stage = ReturnType<typeof createStage>;

/** A store, and a model of it, by one clock. */
function createStage() {
  const { store, clock } = createClock({ maxAnswerBytes: ROOM });
  return { store, clock, model: createModel(() => clock.ms) };
}

const claim = fc.record({ identity, owner, identifier }).map((asked) => async ({ store, model, clock }: Stage) => {
  const request = { ...CLAIM, ...asked, expiresAtMs: clock.ms + 5 * MINUTE };
  expect(await store.claim(request)).toEqual(model.claim(request));
});

/** By the record's owner, to a state that may follow. */
const move = fc.record({ identity, at: fc.nat(), chosen }).map((asked) => async ({ store, model }: Stage) => {
  const record = model.find(asked.identity);
  const targets = record === undefined ? [] : TRANSITIONS[record.state];
  const to = targets[asked.at % targets.length];
  if (record === undefined || to === undefined) return;
  const change = { identity: record.identity, from: record.state, to, owner: record.owner, ...asked.chosen };
  expect([await store.transition(change), model.transition(change)]).toEqual([true, true]);
});

/** To a state that may follow, paid by a transaction that may have paid another one. */
const pay = fc
  .record({ identity, transaction: fc.constantFrom("t", "u") })
  .map((asked) => async ({ store, model }: Stage) => {
    const record = model.find(asked.identity);
    const to = record === undefined ? undefined : TRANSITIONS[record.state].at(-1);
    // Of a record that has one, it never changes.
    if (record === undefined || to === undefined || record.transaction !== undefined) return;
    const change = { ...asked, from: record.state, to, owner: record.owner };
    expect(await store.transition(change)).toBe(model.transition(change));
  });

/** By any owner, from any state to any other. */
const blindMove = fc.record({ identity, owner, from: state, to: state, answer }).map((change) => {
  return async ({ store, model }: Stage) => {
    expect(await store.transition(change)).toBe(model.transition(change));
  };
});

const release = fc.record({ identity, owner }).map((asked) => async ({ store, model }: Stage) => {
  await store.release(asked.identity, asked.owner);
  model.release(asked.identity, asked.owner);
});

const wait = fc.nat(12).map((minutes) => async ({ clock }: Stage) => {
  clock.ms += minutes * MINUTE;
});

const step = fc.oneof(
  { weight: 3, arbitrary: claim },
  { weight: 12, arbitrary: move },
  { weight: 2, arbitrary: pay },
  { weight: 2, arbitrary: blindMove },
  { weight: 1, arbitrary: release },
  { weight: 1, arbitrary: wait },
);

test(`the store behaves like a list of records, for any sequence of calls (FAREBOX_SEED=${SEED} repeats this)`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80, size: "max" }), async (steps) => {
      const stage = createStage();
      const got: [record: PaymentRecord, then: PaymentRecord][] = [];
      for (const carryOut of steps) {
        await carryOut(stage);
        const { store, model } = stage;
        for (const name of ["a", "b", "c"]) {
          const record = await store.find(name);
          expect(record).toEqual(model.find(name));
          if (record !== undefined) got.push([record, { ...record }]);
        }
        expect(byIdentity(await unfinishedOf(store))).toEqual(byIdentity(model.unfinished()));
      }
      // What a caller got stays as it was.
      for (const [record, then] of got) expect(record).toEqual(then);
    }),
    { seed: SEED, numRuns: 120 },
  );
});

function byIdentity(records: readonly PaymentRecord[]): readonly PaymentRecord[] {
  return records.toSorted((one, other) => (one.identity < other.identity ? -1 : 1));
}
