import fc from "fast-check";
import { expect, test } from "vitest";
import { CLAIM, createClock, MINUTE, STATES, unfinishedOf } from "./memory-store.fixture.js";
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

/** The contract in its simplest form: a list of records, searched each time. `written` lists the kept responses, oldest first. */
function createModel(now: () => number) {
  let records: PaymentRecord[] = [];
  let written: string[] = [];
  const find = (identity: string) => records.find((record) => record.identity === identity);
  const put = (record: PaymentRecord) => {
    records = [...records.filter(({ identity }) => identity !== record.identity), record];
  };
  const bytes = () => records.reduce((sum, { answer }) => sum + (answer?.body.byteLength ?? 0), 0);
  const write = (identity: string) => {
    written = [...written.filter((other) => other !== identity), identity];
    const own = find(identity)?.answer?.body.byteLength ?? 0;
    if (own > ROOM) return put(withoutAnswer(identity));
    for (const oldest of written) if (bytes() > ROOM) put(withoutAnswer(oldest));
  };
  const withoutAnswer = (identity: string): PaymentRecord => {
    const { answer: _, ...rest } = find(identity) as PaymentRecord;
    written = written.filter((other) => other !== identity);
    return rest;
  };
  const forget = (gone: (record: PaymentRecord) => boolean) => {
    records = records.filter((record) => !gone(record));
    written = written.filter((identity) => find(identity) !== undefined);
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
      put(changed(record, change));
      if (change.answer === null) written = written.filter((other) => other !== change.identity);
      if (change.answer) write(change.identity);
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

function changed(record: PaymentRecord, { to, newOwner, answer, identifier }: Transition): PaymentRecord {
  const { answer: answerBefore, identifier: identifierBefore, ...rest } = record;
  const next = {
    answer: answer === undefined ? answerBefore : answer,
    identifier: identifier === undefined ? identifierBefore : identifier,
  };
  return {
    ...rest,
    state: to,
    owner: newOwner ?? record.owner,
    ...(next.answer && { answer: next.answer }),
    ...(next.identifier && { identifier: next.identifier }),
  };
}

const identity = fc.constantFrom("a", "b", "c");
const owner = fc.constantFrom("run", "other");
const state = fc.constantFrom(...STATES);
const answer = fc.option(
  fc.nat(120).map((bytes): StoredAnswer => ({ status: 200, headers: [], body: new Uint8Array(bytes) })),
  { nil: null },
);
const identifier = fc.constantFrom("x", "y", "z");
const chosen = fc.record({ answer, newOwner: owner, identifier: fc.constant(null) }, { requiredKeys: [] });

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
  { weight: 2, arbitrary: blindMove },
  { weight: 1, arbitrary: release },
  { weight: 1, arbitrary: wait },
);

test(`the store behaves like a list of records, for any sequence of calls (FAREBOX_SEED=${SEED} repeats this)`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
      const stage = createStage();
      for (const carryOut of steps) {
        await carryOut(stage);
        const { store, model } = stage;
        for (const name of ["a", "b", "c"]) expect(await store.find(name)).toEqual(model.find(name));
        expect(byIdentity(await unfinishedOf(store))).toEqual(byIdentity(model.unfinished()));
      }
    }),
    { seed: SEED, numRuns: 120 },
  );
});

function byIdentity(records: readonly PaymentRecord[]): readonly PaymentRecord[] {
  return records.toSorted((one, other) => (one.identity < other.identity ? -1 : 1));
}
