import { setImmediate } from "node:timers/promises";
import {
  type Claim,
  createMemoryStore,
  type PaymentRecord,
  type PaymentState,
  type PaymentStore,
  type StoredAnswer,
  TRANSITIONS,
  type Transition,
} from "@farebox/core";
import { describe, expect, test } from "vitest";
import type { OpenedStore, StoreClock, StoreTraits } from "./stage.js";
import { createStoreConformance } from "./store-conformance.js";
import { StoreError } from "./store-error.js";

type Open = (clock: StoreClock) => Promise<OpenedStore>;

const openMemory: Open = async ({ now }) => ({ store: createMemoryStore(now), close: async () => {} });

/** A memory that is reopened and joined, as if it lay in a database. */
const openDatabase: Open = async ({ now }) => {
  const database = createMemoryStore(now);
  const connect = async () => connectionTo(database);
  return { store: await connect(), reopen: connect, join: connect, close: async () => {} };
};

describe("the store in memory", () => {
  test.each(createStoreConformance(openMemory))("$name", ({ run }) => run());
});

describe("a store in a database", () => {
  test.each(createStoreConformance(openDatabase, { durable: true, shared: true }))("$name", ({ run }) => run());
});

test("every check has a name of its own", () => {
  const names = createStoreConformance(openDatabase, { durable: true, shared: true }).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test("every check opens one store and closes it, also one that fails", async () => {
  let [opened, closed] = [0, 0];
  const checks = createStoreConformance(async ({ now }) => {
    opened++;
    const store = broken(now, { release: async () => {} });
    return { store, close: async () => void closed++ };
  });
  await failuresOf(checks);
  expect([opened, closed]).toEqual([checks.length, checks.length]);
});

type Faulty = readonly [fault: string, store: (now: () => number) => PaymentStore, check: RegExp];

const FAULTY_STORES: readonly Faulty[] = [
  ["what is not there is null", findsNull, /nobody has claimed/],
  ["claims that look before they write", looksThenClaims, /one of 1000 who ask at once/],
  ["transitions that look before they write", looksThenChanges, /one of 100 runs take over/],
  ["a second claim that takes the payment", lastClaimWins, /tells payments apart/],
  ["claims that see no record", (now) => broken(now, { claim: seesNothing }), /shows it to the others|shows a record/],
  ["anybody may change the state", ignoresOwner, /those who are mistaken/],
  ["any state may follow any", acceptsAnyTransition, /from settled only to/],
  ["the state that a change comes from is not looked at", ignoresFrom, /those who are mistaken/],
  ["a change that is refused leaves its answer", writesBeforeItRefuses, /from rejected only to nothing/],
  ["a new owner is not written down", ignoresNewOwner, /take over/],
  ["answers are not kept", (now) => changing(now, ({ answer: _, ...rest }) => rest), /an answer is kept/],
  ["answers cannot be forgotten", (now) => changing(now, withoutNull("answer")), /an answer is kept/],
  ["facilitators cannot be forgotten", (now) => changing(now, withoutNull("facilitator")), /a facilitator is kept/],
  ["receipts are not kept", (now) => changing(now, ({ receipt: _, ...rest }) => rest), /a receipt is kept/],
  ["an answer left out is an answer forgotten", forgetsWhatIsLeftOut, /an answer is kept/],
  ["bodies are kept as text", (now) => answering(now, bodyAsText), /byte for byte/],
  ["bodies are kept with the buffer they lie in", (now) => answering(now, wholeBuffer), /byte for byte/],
  ["headers are sorted", (now) => answering(now, sortedHeaders), /headers come back/],
  ["headers are an object", (now) => answering(now, headersAsObject), /headers come back/],
  ["names of headers are in lower case", (now) => answering(now, lowerCaseHeaders), /headers come back/],
  ["a list of header values is joined", (now) => answering(now, joinedHeaders), /headers come back/],
  ["nothing can be released", (now) => broken(now, { release: async () => {} }), /claimed or serving/],
  ["anybody may release", anybodyReleases, /release: is for the owner alone/],
  ["anything may be released", releasesAnything, /and no other/],
  ["releases that look before they delete", looksThenReleases, /comes before settlement/],
  ["an answer outlasts a release", keepsAnswersApart, /leaves nothing to the next claim/],
  ["nothing expires", () => createMemoryStore(() => 0), /forgets a payment in any state/],
  ["payments expire without grace", (now) => createMemoryStore(() => now() + 10 * 60_000), /until ten minutes after/],
  ["payments expire with the first claim", expiresWithFirstClaim, /not by one that was released/],
  ["identities in lower case", (now) => renaming(now, (identity) => identity.toLowerCase()), /odd identities/],
  ["identities are trimmed", (now) => renaming(now, (identity) => identity.trimEnd()), /odd identities/],
  ["identities end at a NUL", (now) => renaming(now, (identity) => identity.split("\0")[0]!), /odd identities/],
  ["identities are cut", (now) => renaming(now, (identity) => identity.slice(0, 255)), /odd identities/],
  ["identities are normalised", (now) => renaming(now, (identity) => identity.normalize()), /odd identities/],
];

const FAULTY_DATABASES: readonly (readonly [fault: string, open: Open, check: RegExp])[] = [
  ["reopened, it is empty", reopensEmpty, /everything that was written/],
  ["reopened, what was released is back", reopensEarlier, /released or forgotten stays so/],
  ["reopened, it does not forget any more", reopensForGood, /forgotten in its time/],
  ["two processes do not see each other", joinsAnother, /the other reads at once/],
  ["each process has a lock of its own", lockPerProcess, /one of 1000 who ask at once/],
];

/** Fails everything, and so proves little of each check. */
const USELESS_STORE: Faulty = [
  "it throws",
  (now) => broken(now, { find: () => Promise.reject(new TypeError("no such table")) }),
  /nobody has/,
];

describe("a broken store is caught:", () => {
  test.each([...FAULTY_STORES, USELESS_STORE])("%s", async (_, store, check) => {
    const failures = await failuresOf(createStoreConformance(opening(store)));
    expect(failures.map(({ name }) => name)).toContainEqual(expect.stringMatching(check));
    for (const { error } of failures) expect(error).toMatchObject({ name: "StoreError", code: "ERR_FAREBOX_STORE" });
  });

  test.each(FAULTY_DATABASES)("%s", async (_, open, check) => {
    const failures = await failuresOf(createStoreConformance(open, { durable: true, shared: true }));
    expect(failures.map(({ name }) => name)).toContainEqual(expect.stringMatching(check));
  });

  test("and no check is there that catches none", async () => {
    const all = [
      ...FAULTY_STORES.map(([, store]) => createStoreConformance(opening(store))),
      ...FAULTY_DATABASES.map(([, open]) => createStoreConformance(open, { durable: true, shared: true })),
    ];
    const caught = new Set((await failuresOf(all.flat())).map(({ name }) => name));
    const checks = createStoreConformance(openDatabase, { durable: true, shared: true });
    expect(checks.map(({ name }) => name).filter((name) => !caught.has(name))).toEqual([]);
  });
});

describe("an error", () => {
  test("says what was asked, what would be right and what was received", async () => {
    const store = (now: () => number) => answering(now, sortedHeaders);
    const [failure] = await failuresOf(createStoreConformance(opening(store)));
    expect(failure?.error.message).toMatch(/^find after change 1 of 2: expected .*X-Zebra.*, received .*"10","ten"/);
    expect(failure?.error.message.length).toBeLessThan(400);
  });

  test("has what the store threw as its cause", async () => {
    const cause = new TypeError("no such table");
    const store = broken(Date.now, { find: () => Promise.reject(cause) });
    const [failure] = await failuresOf(createStoreConformance(async () => ({ store, close: async () => {} })));
    expect(failure?.error).toMatchObject({ message: "the store failed: no such table", cause });
  });

  test.each<[traits: StoreTraits, open: Open, message: string]>([
    [{ durable: true }, openMemory, 'the traits say durable: true, but the opened store has no "reopen"'],
    [{ shared: true }, openMemory, 'the traits say shared: true, but the opened store has no "join"'],
    [{ shared: true }, openDatabase, 'the opened store has "reopen", but the traits do not say durable: true'],
    [{ durable: true }, openDatabase, 'the opened store has "join", but the traits do not say shared: true'],
  ])("says that %j does not fit what was opened", async (traits, open, message) => {
    const [check] = createStoreConformance(open, traits);
    await expect(check!.run()).rejects.toThrow(new StoreError(message));
  });
});

test("a store with a clock of its own is not asked to forget by another", async () => {
  const open: Open = async () => ({ store: createMemoryStore(), close: async () => {} });
  expect(await failuresOf(createStoreConformance(open, { ownClock: true }))).toEqual([]);
  const left = await failuresOf(createStoreConformance(open));
  expect(left.map(({ name }) => name)).toEqual([
    "expiry: forgets a payment in any state after that",
    "expiry: goes by the payment that is there, not by one that was released",
  ]);
});

test("rows without a prototype, bodies that are Buffers and fields in another order are as good as any", async () => {
  const row = (record: PaymentRecord): PaymentRecord => {
    const { answer } = record;
    const fields = { ...record, ...(answer && { answer: { ...answer, body: Buffer.from(answer.body) } }) };
    return Object.assign(Object.create(null), Object.fromEntries(Object.entries(fields).reverse()));
  };
  const open: Open = async ({ now }) => ({ store: reading(createMemoryStore(now), row), close: async () => {} });
  expect(await failuresOf(createStoreConformance(open))).toEqual([]);
});

async function failuresOf(checks: ReturnType<typeof createStoreConformance>) {
  const failures: { name: string; error: Error }[] = [];
  for (const { name, run } of checks) {
    await run().catch((error: Error) => failures.push({ name, error }));
  }
  return failures;
}

function opening(store: (now: () => number) => PaymentStore): Open {
  return async ({ now }) => ({ store: store(now), close: async () => {} });
}

function connectionTo(store: PaymentStore): PaymentStore {
  return {
    claim: (request) => store.claim(request),
    find: (identity) => store.find(identity),
    transition: (change) => store.transition(change),
    release: (identity, owner) => store.release(identity, owner),
    unfinished: () => store.unfinished(),
  };
}

function broken(now: () => number, fault: Partial<PaymentStore>): PaymentStore {
  return { ...connectionTo(createMemoryStore(now)), ...fault };
}

async function seesNothing(): Promise<Claim> {
  return { kind: "claimed" };
}

/** A map without rules, for stores that have others. */
function createRecords() {
  const records = new Map<string, PaymentRecord>();
  const put = (record: PaymentRecord, change: Partial<PaymentRecord> = {}) =>
    void records.set(record.identity, { ...record, ...change });
  return { records, put };
}

function looksThenClaims(now: () => number): PaymentStore {
  const { records, put } = createRecords();
  return broken(now, {
    async claim(request) {
      const record = records.get(request.identity);
      await setImmediate();
      if (record !== undefined) return { kind: "taken", record };
      put({ ...request, state: "claimed" });
      return { kind: "claimed" };
    },
    find: async (identity) => records.get(identity),
  });
}

function looksThenChanges(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  return {
    ...connectionTo(store),
    async transition(change) {
      const record = await store.find(change.identity);
      await setImmediate();
      if (record?.state !== change.from || record.owner !== change.owner) return false;
      await store.transition(change);
      return true;
    },
  };
}

function lastClaimWins(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  return {
    ...connectionTo(store),
    async claim(request) {
      const record = await store.find(request.identity);
      if (record !== undefined) await store.release(request.identity, record.owner);
      return store.claim(request);
    },
  };
}

/** Asks on behalf of the owner, whoever asks. */
function ignoresOwner(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const transition = async (change: Transition) => {
    const owner = (await store.find(change.identity))?.owner ?? change.owner;
    return store.transition({ ...change, owner });
  };
  return { ...connectionTo(store), transition };
}

function ignoresFrom(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const transition = async (change: Transition) => {
    const from = (await store.find(change.identity))?.state ?? change.from;
    return store.transition({ ...change, from: TRANSITIONS[from].includes(change.to) ? from : change.from });
  };
  return { ...connectionTo(store), transition };
}

function acceptsAnyTransition(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const states = new Map<string, PaymentState>();
  return {
    ...reading(store, (record) => ({ ...record, state: states.get(record.identity) ?? record.state })),
    async transition({ identity, to }) {
      states.set(identity, to);
      return true;
    },
  };
}

function writesBeforeItRefuses(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const answers = new Map<string, StoredAnswer>();
  return {
    ...reading(store, (record) => {
      const answer = record.answer ?? answers.get(record.identity);
      return { ...record, ...(answer && { answer }) };
    }),
    async transition(change) {
      if (change.answer) answers.set(change.identity, change.answer);
      return store.transition(change);
    },
  };
}

/** Makes every change another one. */
function changing(now: () => number, other: (change: Transition) => Transition): PaymentStore {
  const store = createMemoryStore(now);
  return { ...connectionTo(store), transition: (change) => store.transition(other(change)) };
}

function ignoresNewOwner(now: () => number): PaymentStore {
  return changing(now, ({ newOwner: _, ...rest }) => rest);
}

function forgetsWhatIsLeftOut(now: () => number): PaymentStore {
  return changing(now, (change) => ({ answer: null, facilitator: null, ...change }));
}

function withoutNull(field: "answer" | "facilitator") {
  return (change: Transition): Transition => {
    const { [field]: value, ...rest } = change;
    return value === null ? rest : change;
  };
}

/** Keeps every answer as another one. */
function answering(now: () => number, other: (answer: StoredAnswer) => StoredAnswer): PaymentStore {
  return changing(now, (change) => (change.answer ? { ...change, answer: other(change.answer) } : change));
}

function bodyAsText(answer: StoredAnswer): StoredAnswer {
  return { ...answer, body: Buffer.from(Buffer.from(answer.body).toString("utf8")) };
}

function wholeBuffer(answer: StoredAnswer): StoredAnswer {
  return { ...answer, body: new Uint8Array(answer.body.buffer) };
}

function sortedHeaders(answer: StoredAnswer): StoredAnswer {
  return { ...answer, headers: answer.headers.toSorted(([one], [other]) => (one < other ? -1 : 1)) };
}

function headersAsObject(answer: StoredAnswer): StoredAnswer {
  return { ...answer, headers: Object.entries(Object.fromEntries(answer.headers)) };
}

function lowerCaseHeaders(answer: StoredAnswer): StoredAnswer {
  return { ...answer, headers: answer.headers.map(([name, value]) => [name.toLowerCase(), value]) };
}

function joinedHeaders(answer: StoredAnswer): StoredAnswer {
  return { ...answer, headers: answer.headers.map(([name, value]) => [name, String(value)]) };
}

function anybodyReleases(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const release = async (identity: string) => {
    await store.release(identity, (await store.find(identity))?.owner ?? "");
  };
  return { ...connectionTo(store), release };
}

function releasesAnything(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const released = new Set<string>();
  return {
    ...connectionTo(store),
    find: async (identity) => (released.has(identity) ? undefined : store.find(identity)),
    async release(identity, owner) {
      if ((await store.find(identity))?.owner === owner) released.add(identity);
    },
  };
}

function looksThenReleases(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const released = new Set<string>();
  return {
    ...connectionTo(store),
    find: async (identity) => (released.has(identity) ? undefined : store.find(identity)),
    async release(identity, owner) {
      const record = await store.find(identity);
      await setImmediate();
      if (record?.owner === owner && (record.state === "claimed" || record.state === "serving")) released.add(identity);
    },
  };
}

/** In a table of their own, which a release does not touch. */
function keepsAnswersApart(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const answers = new Map<string, StoredAnswer>();
  const withAnswer = (record: PaymentRecord) => {
    const answer = answers.get(record.identity);
    return { ...record, ...(answer && { answer }) };
  };
  return {
    ...reading(store, withAnswer),
    async transition({ answer, ...change }) {
      const taken = await store.transition(change);
      if (taken && answer === null) answers.delete(change.identity);
      if (taken && answer) answers.set(change.identity, answer);
      return taken;
    },
  };
}

function expiresWithFirstClaim(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const expiries = new Map<string, number>();
  return {
    ...connectionTo(store),
    async claim(request) {
      expiries.set(request.identity, expiries.get(request.identity) ?? request.expiresAtMs);
      return store.claim(request);
    },
    async find(identity) {
      return now() < (expiries.get(identity) ?? 0) + 10 * 60_000 ? store.find(identity) : undefined;
    },
  };
}

/** Keeps payments under another identity than they have. */
function renaming(now: () => number, rename: (identity: string) => string): PaymentStore {
  const store = createMemoryStore(now);
  return {
    claim: (request) => store.claim({ ...request, identity: rename(request.identity) }),
    find: (identity) => store.find(rename(identity)),
    transition: (change) => store.transition({ ...change, identity: rename(change.identity) }),
    release: (identity, owner) => store.release(rename(identity), owner),
    unfinished: () => store.unfinished(),
  };
}

function findsNull(now: () => number): PaymentStore {
  const store = createMemoryStore(now);
  const find = async (identity: string) => ((await store.find(identity)) ?? null) as PaymentRecord | undefined;
  return { ...connectionTo(store), find };
}

/** Shows every record as another one. */
function reading(store: PaymentStore, other: (record: PaymentRecord) => PaymentRecord): PaymentStore {
  return {
    ...connectionTo(store),
    async find(identity) {
      const record = await store.find(identity);
      return record && other(record);
    },
    async claim(request) {
      const claim = await store.claim(request);
      return claim.kind === "taken" ? { kind: "taken", record: other(claim.record) } : claim;
    },
  };
}

async function reopensEmpty(clock: StoreClock): Promise<OpenedStore> {
  return { ...(await openDatabase(clock)), reopen: async () => createMemoryStore(clock.now) };
}

async function reopensForGood(clock: StoreClock): Promise<OpenedStore> {
  const opened = await openDatabase(clock);
  return { ...opened, reopen: async () => ({ ...connectionTo(opened.store), claim: seesNothing }) };
}

async function joinsAnother(clock: StoreClock): Promise<OpenedStore> {
  return { ...(await openDatabase(clock)), join: async () => createMemoryStore(clock.now) };
}

/** What it wrote last is lost: a release, or the end of an answer. */
async function reopensEarlier({ now }: StoreClock): Promise<OpenedStore> {
  const [store, disk] = [createMemoryStore(now), createMemoryStore(now)];
  const written: PaymentStore = {
    ...connectionTo(store),
    claim: async (request) => {
      await disk.claim(request);
      return store.claim(request);
    },
    transition: async (change) => {
      await disk.transition(change);
      return store.transition(change);
    },
  };
  const join = async () => written;
  return { store: written, reopen: async () => disk, join, close: async () => {} };
}

/** What each connection does is done in turn; what two do is not. */
async function lockPerProcess({ now }: StoreClock): Promise<OpenedStore> {
  const { records, put } = createRecords();
  const connect = (): PaymentStore => {
    let turn: Promise<unknown> = Promise.resolve();
    const claim = async (request: Parameters<PaymentStore["claim"]>[0]): Promise<Claim> => {
      const record = records.get(request.identity);
      await setImmediate();
      if (record !== undefined) return { kind: "taken", record };
      put({ ...request, state: "claimed" });
      return { kind: "claimed" };
    };
    return broken(now, {
      claim(request) {
        const mine = turn.then(() => claim(request));
        turn = mine;
        return mine;
      },
      find: async (identity) => records.get(identity),
    });
  };
  return { store: connect(), join: async () => connect(), reopen: async () => connect(), close: async () => {} };
}
