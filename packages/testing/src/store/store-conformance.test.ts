import { createMemoryStore, type PaymentRecord, type PaymentStore } from "@farebox/core";
import { describe, expect, test } from "vitest";
import * as databases from "./faulty-databases.fixture.js";
import * as fields from "./faulty-fields.fixture.js";
import * as identifiers from "./faulty-identifiers.fixture.js";
import * as faulty from "./faulty-stores.fixture.js";
import * as unfinished from "./faulty-unfinished.fixture.js";
import type { StoreTraits } from "./stage.js";
import { createStoreConformance } from "./store-conformance.js";
import { StoreError } from "./store-error.js";

const { openDatabase, openMemory } = databases;

type Open = databases.Open;

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
    const store = faulty.broken(now, { release: async () => {} });
    return { store, close: async () => void closed++ };
  });
  await failuresOf(checks);
  expect([opened, closed]).toEqual([checks.length, checks.length]);
});

type Faulty = readonly [fault: string, store: (now: () => number) => PaymentStore, check: RegExp];

const FAULTY_STORES: readonly Faulty[] = [
  ["what is not there is null", faulty.findsNull, /nobody has claimed/],
  ["claims that look before they write", faulty.looksThenClaims, /one of 1000 who ask at once/],
  ["transitions that look before they write", faulty.looksThenChanges, /one of 100 runs take over/],
  ["a second claim that takes the payment", faulty.lastClaimWins, /tells payments apart/],
  [
    "claims that see no record",
    (now) => faulty.broken(now, { claim: faulty.seesNothing }),
    /shows it to the others|shows a record/,
  ],
  ["anybody may change the state", faulty.ignoresOwner, /those who are mistaken/],
  ["any state may follow any", faulty.acceptsAnyTransition, /from settled only to/],
  ["the state that a change comes from is not looked at", faulty.ignoresFrom, /those who are mistaken/],
  ["a change that is refused leaves its answer", faulty.writesBeforeItRefuses, /from rejected only to nothing/],
  ["a new owner is not written down", faulty.ignoresNewOwner, /take over/],
  ["answers are not kept", (now) => faulty.changing(now, ({ answer: _, ...rest }) => rest), /an answer is kept/],
  ["answers cannot be forgotten", (now) => faulty.changing(now, fields.withoutNull("answer")), /an answer is kept/],
  [
    "facilitators cannot be forgotten",
    (now) => faulty.changing(now, fields.withoutNull("facilitator")),
    /a facilitator is kept/,
  ],
  ["receipts are not kept", (now) => faulty.changing(now, ({ receipt: _, ...rest }) => rest), /a receipt is kept/],
  ["an answer left out is an answer forgotten", faulty.forgetsWhatIsLeftOut, /an answer is kept/],
  ["bodies are kept as text", (now) => fields.answering(now, fields.bodyAsText), /byte for byte/],
  ["bodies are kept with the buffer they lie in", (now) => fields.answering(now, fields.wholeBuffer), /byte for byte/],
  ["headers are sorted", (now) => fields.answering(now, fields.sortedHeaders), /headers come back/],
  ["headers are an object", (now) => fields.answering(now, fields.headersAsObject), /headers come back/],
  ["names of headers are in lower case", (now) => fields.answering(now, fields.lowerCaseHeaders), /headers come back/],
  ["a list of header values is joined", (now) => fields.answering(now, fields.joinedHeaders), /headers come back/],
  [
    "nothing can be released",
    (now) => faulty.broken(now, { release: async () => {} }),
    /claimed or serving or rejected/,
  ],
  ["anybody may release", faulty.anybodyReleases, /release: is for the owner alone/],
  ["anything may be released", faulty.releasesAnything, /and no other/],
  ["releases that look before they delete", faulty.looksThenReleases, /comes before settlement/],
  ["an answer outlasts a release", fields.keepsAnswersApart, /leaves nothing to the next claim/],
  ["what was rejected cannot be released", faulty.keepsRejected, /claimed or serving or rejected/],
  [
    "a take-over of what is settling is none",
    faulty.skipsWhatIsDone,
    /take over from one that left its payment settling/,
  ],
  [
    "a former owner may end a settlement",
    faulty.letsFormerOwnerEnd,
    /take over from one that left its payment settling/,
  ],
  ["requests are not kept", (now) => faulty.changing(now, ({ request: _, ...rest }) => rest), /a request is kept/],
  ["requests cannot be forgotten", (now) => faulty.changing(now, fields.withoutNull("request")), /a request is kept/],
  [
    "requests are copied by assignment",
    (now) => fields.requesting(now, fields.assignedPayload),
    /a request comes back/,
  ],
  ["requests have no NUL in them", (now) => fields.requesting(now, fields.payloadWithoutNul), /a request comes back/],
  ["requests are in Latin-1", (now) => fields.requesting(now, fields.payloadInLatin1), /a request comes back/],
  [
    "requests are cut where they are deep",
    (now) => fields.requesting(now, fields.shallowPayload),
    /a request comes back/,
  ],
  ["leases cannot be forgotten", (now) => faulty.changing(now, fields.withoutNull("leaseUntilMs")), /a lease is kept/],
  ["leases are in seconds", (now) => faulty.changing(now, fields.leaseInSeconds), /a lease is kept to the millisecond/],
  ["a lease until 0 is none", (now) => faulty.changing(now, fields.leaseUnlessZero), /a lease is kept/],
  ["leases that are over are not shown", fields.hidesPastLeases, /forgotten by null alone/],
  ["nothing expires", () => createMemoryStore(() => 0), /forgets a payment in any state/],
  ["payments expire without grace", (now) => createMemoryStore(() => now() + 10 * 60_000), /until ten minutes after/],
  ["payments expire with the first claim", faulty.expiresWithFirstClaim, /not by one that was released/],
  ["identities in lower case", (now) => faulty.renaming(now, (identity) => identity.toLowerCase()), /odd identities/],
  ["identities are trimmed", (now) => faulty.renaming(now, (identity) => identity.trimEnd()), /odd identities/],
  ["identities end at a NUL", (now) => faulty.renaming(now, (identity) => identity.split("\0")[0]!), /odd identities/],
  ["identities are cut", (now) => faulty.renaming(now, (identity) => identity.slice(0, 255)), /odd identities/],
  ["identities are normalised", (now) => faulty.renaming(now, (identity) => identity.normalize()), /odd identities/],
];

const WRONG_ABOUT_IDENTIFIERS: readonly Faulty[] = [
  ["nobody looks at identifiers", identifiers.ignoresIdentifiers, /goes to one of 1000 payments/],
  ["identifiers are looked for before they are written", identifiers.looksThenIdentifies, /one of 1000 payments/],
  ["identifiers are looked at first", identifiers.looksAtIdentifiersFirst, /only for a payment that is not there/],
  ["a claim that is refused takes its identifier", identifiers.reservesBeforeItRefuses, /is refused takes none/],
  ["a claim that is refused leaves a record", identifiers.recordsWhatItRefuses, /goes to one of 1000 payments/],
  ["records do not show identifiers", identifiers.hidesIdentifiers, /its payment's in every state/],
  ["settlement frees an identifier", identifiers.freesWhatIsSettled, /its payment's in every state/],
  ["identifiers outlast a release", identifiers.neverFreedByRelease, /free once its payment is released/],
  ["a release that is refused frees an identifier", identifiers.freedByAnyRelease, /not when a release is refused/],
  ["identifiers cannot be freed", identifiers.neverFreedByNull, /free once a transition says null/],
  [
    "a release frees what was another's by then",
    identifiers.freedByFormerPayment,
    /its second payment's when the first/,
  ],
  ["a change that is refused frees an identifier", identifiers.freedByRefusedTransition, /refused does not free it/],
  ["identifiers outlast their payment", identifiers.neverFreedByExpiry, /frees an identifier with its payment/],
  ["identifiers in lower case", identifiers.identifiersInLowerCase, /is told apart from odd ones/],
  ["identifiers among identities", identifiers.identifiersAmongIdentities, /and from identities/],
];

const WRONG_ABOUT_UNFINISHED: readonly Faulty[] = [
  ["nothing is unfinished", unfinished.listsNothing, /yields what is settling or unknown/],
  ["everything is unfinished", unfinished.listsEverything, /and nothing else/],
  ["only what is settling is unfinished", unfinished.listsSettling, /yields what is settling or unknown/],
  ["only what is unknown is unfinished", unfinished.listsUnknown, /yields what is settling or unknown/],
  ["what is leased is not unfinished", unfinished.listsWhatIsNotLeased, /yields records whole/],
  ["what is unfinished has no request", unfinished.listsColumns, /yields records whole/],
  ["a thousand are enough", unfinished.listsThousand, /yields each of 3000 once/],
  ["pages begin at a number", unfinished.listsByOffset, /misses none while 100 others end/],
  ["what is written anew is yielded anew", unfinished.listsWhatIsWrittenAnew, /none twice that is taken over/],
  ["all who walk share a cursor", unfinished.sharesCursor, /begins anew each time/],
  ["nobody writes while one walks", unfinished.locksWhileWalked, /may claim, settle and find meanwhile/],
  ["what has ended is unfinished for good", unfinished.remembersWhatHasEnded, /whose settlement has ended/],
  ["what is forgotten is unfinished for good", unfinished.remembersWhatIsForgotten, /is not unfinished any more/],
];

const ALL_FAULTY_STORES: readonly Faulty[] = [...FAULTY_STORES, ...WRONG_ABOUT_IDENTIFIERS, ...WRONG_ABOUT_UNFINISHED];

type FaultyDatabase = readonly [fault: string, open: Open, check: RegExp];

const FAULTY_DATABASES: readonly FaultyDatabase[] = [
  ["reopened, it is empty", databases.reopensEmpty, /everything that was written/],
  ["reopened, what was released is back", databases.reopensEarlier, /released or forgotten stays so/],
  ["reopened, it does not forget any more", databases.reopensForGood, /forgotten in its time/],
  ["reopened, it knows nothing of what is unfinished", databases.reopensWithoutList, /left unfinished is found, whole/],
  ["reopened, all identifiers are free", databases.reopensWithoutIdentifiers, /an identifier is still its payment's/],
  ["each process lists its own unfinished payments", databases.listsItsOwn, /the other finds and ends/],
  ["two processes do not see each other", databases.joinsAnother, /the other reads at once/],
  ["each process has a lock of its own", databases.lockPerProcess, /one of 1000 who ask at once/],
];

/** Fails everything, and so proves little of each check. */
const USELESS_STORE: Faulty = [
  "it throws",
  (now) => faulty.broken(now, { find: () => Promise.reject(new TypeError("no such table")) }),
  /nobody has/,
];

/** What each faulty store fails. Found out once: who asks second gets the same. */
const found = new Map<string, ReturnType<typeof failuresOf>>();

function failuresWith(fault: string, open: Open, traits?: StoreTraits) {
  const failures = found.get(fault) ?? failuresOf(createStoreConformance(open, traits));
  found.set(fault, failures);
  return failures;
}

const ofStore = ([fault, store]: Faulty) => failuresWith(`store: ${fault}`, opening(store));
const ofDatabase = ([fault, open]: FaultyDatabase) =>
  failuresWith(`database: ${fault}`, open, { durable: true, shared: true });

describe("a broken store is caught:", () => {
  test.each([...ALL_FAULTY_STORES, USELESS_STORE].map((row) => [row[0], row] as const))("%s", async (_, row) => {
    const failures = await ofStore(row);
    expect(failures.map(({ name }) => name)).toContainEqual(expect.stringMatching(row[2]));
    for (const { error } of failures) expect(error).toMatchObject({ name: "StoreError", code: "ERR_FAREBOX_STORE" });
  });

  test.each(FAULTY_DATABASES.map((row) => [row[0], row] as const))("%s", async (_, row) => {
    const failures = await ofDatabase(row);
    expect(failures.map(({ name }) => name)).toContainEqual(expect.stringMatching(row[2]));
  });

  test("and no check is there that catches none", async () => {
    const caught = new Set<string>();
    for (const row of ALL_FAULTY_STORES) for (const { name } of await ofStore(row)) caught.add(name);
    for (const row of FAULTY_DATABASES) for (const { name } of await ofDatabase(row)) caught.add(name);
    const checks = createStoreConformance(openDatabase, { durable: true, shared: true });
    expect(checks.map(({ name }) => name).filter((name) => !caught.has(name))).toEqual([]);
  });
});

describe("an error", () => {
  test("says what was asked, what would be right and what was received", async () => {
    const store = (now: () => number) => fields.answering(now, fields.sortedHeaders);
    const [failure] = await failuresOf(createStoreConformance(opening(store)));
    expect(failure?.error.message).toMatch(/^find after change 1 of 2: expected .*X-Zebra.*, received .*"10","ten"/);
    expect(failure?.error.message.length).toBeLessThan(400);
  });

  test("has what the store threw as its cause", async () => {
    const cause = new TypeError("no such table");
    const store = faulty.broken(Date.now, { find: () => Promise.reject(cause) });
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
    "expiry: frees an identifier with its payment, and not before",
    "expiry: a payment that is forgotten is not unfinished any more",
    "expiry: goes by the payment that is there, not by one that was released",
  ]);
});

test("rows without a prototype, bodies that are Buffers and fields in another order are as good as any", async () => {
  const row = (record: PaymentRecord): PaymentRecord => {
    const { answer } = record;
    const fields = { ...record, ...(answer && { answer: { ...answer, body: Buffer.from(answer.body) } }) };
    return Object.assign(Object.create(null), Object.fromEntries(Object.entries(fields).reverse()));
  };
  const open: Open = async ({ now }) => ({ store: faulty.reading(createMemoryStore(now), row), close: async () => {} });
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
