import { createMemoryStore, type PaymentRecord, type PaymentStore } from "@farebox/core";
import { describe, expect, test } from "vitest";
import * as databases from "./faulty-databases.fixture.js";
import * as exposure from "./faulty-exposure.fixture.js";
import * as fields from "./faulty-fields.fixture.js";
import * as identifiers from "./faulty-identifiers.fixture.js";
import * as ledger from "./faulty-ledger.fixture.js";
import * as parts from "./faulty-parts.fixture.js";
import * as room from "./faulty-room.fixture.js";
import * as faulty from "./faulty-stores.fixture.js";
import * as transactions from "./faulty-transactions.fixture.js";
import * as unfinished from "./faulty-unfinished.fixture.js";
import { StoreError, type StoreTraits } from "./stage.js";
import { createStoreConformance } from "./store-conformance.js";

const { openDatabase, openMemory } = databases;

type Open = databases.Open;

describe("the store in memory", () => {
  const open: Open = async ({ now }) => {
    return { store: createMemoryStore(now, { maxAnswerBytes: parts.MIB }), close: async () => {} };
  };
  const traits = { exposure: true, ledger: true, maxAnswerBytes: parts.MIB };
  test.each(createStoreConformance(open, traits))("$name", ({ run }) => run());
});

describe("a store in a database", () => {
  test.each(createStoreConformance(openDatabase, { durable: true, shared: true }))("$name", ({ run }) => run());
});

test("check names are unique", () => {
  const names = createStoreConformance(openDatabase, { durable: true, shared: true }).map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});

test("every check opens one store and closes it, even when it fails", async () => {
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
  ["an unclaimed payment is null", faulty.findsNull, /for an unclaimed payment/],
  ["claims that look before they write", faulty.looksThenClaims, /one of 200 concurrent claims/],
  ["transitions that look before they write", faulty.looksThenChanges, /one of 100 owners take over/],
  ["a second claim that takes the payment", faulty.lastClaimWins, /distinguishes payments/],
  [
    "claims that see no record",
    (now) => faulty.broken(now, { claim: faulty.seesNothing }),
    /shows its record to the others|returns whole records/,
  ],
  [
    "claims drop their lease",
    (now) => faulty.claiming(now, ({ leaseUntilMs: _, ...rest }) => rest),
    /claim: keeps a lease/,
  ],
  ...(["mode", "route", "method", "target", "hasBody"] as const).flatMap((field): Faulty[] => [
    [`claims drop their ${field}`, fields.claimsWithout(field), /claim: keeps what it says of the request/],
    [`transitions drop the ${field}`, fields.losesWithTheClaim(field), /claim: keeps what it says of the request/],
  ]),
  ["marks are not kept", (now) => faulty.changing(now, ({ mark: _, ...rest }) => rest), /a mark is kept/],
  ["marks cannot be removed", (now) => faulty.changing(now, fields.withoutNull("mark")), /a mark is kept/],
  ["a change without a mark removes it", (now) => faulty.changing(now, fields.onlyNewMark), /removed by null alone/],
  ["marks of later versions are dropped", (now) => faulty.changing(now, fields.knownMark), /a mark is kept/],
  ["any owner may change the state", faulty.ignoresOwner, /wrong owner, state or identity/],
  ["any state may follow any", faulty.acceptsAnyTransition, /from settled only to/],
  ["the former state is not checked", faulty.ignoresFrom, /wrong owner, state or identity/],
  ["a refused transition leaves its response", faulty.writesBeforeItRefuses, /from rejected only to nothing/],
  ["a new owner is not stored", faulty.ignoresNewOwner, /take over/],
  ["responses are not kept", (now) => faulty.changing(now, ({ answer: _, ...rest }) => rest), /a response is kept/],
  ["responses cannot be removed", (now) => faulty.changing(now, fields.withoutNull("answer")), /a response is kept/],
  [
    "facilitators cannot be removed",
    (now) => faulty.changing(now, fields.withoutNull("facilitator")),
    /a facilitator is kept/,
  ],
  ["receipts are not kept", (now) => faulty.changing(now, ({ receipt: _, ...rest }) => rest), /a receipt is kept/],
  ["an absent response removes the stored one", faulty.forgetsWhatIsLeftOut, /a response is kept/],
  ["bodies are kept as text", (now) => fields.answering(now, fields.bodyAsText), /byte for byte/],
  ["bodies are kept with the buffer they lie in", (now) => fields.answering(now, fields.wholeBuffer), /byte for byte/],
  ["headers are sorted", (now) => fields.answering(now, fields.sortedHeaders), /headers are returned/],
  ["headers are an object", (now) => fields.answering(now, fields.headersAsObject), /headers are returned/],
  ["header names are in lower case", (now) => fields.answering(now, fields.lowerCaseHeaders), /headers are returned/],
  ["a list of header values is joined", (now) => fields.answering(now, fields.joinedHeaders), /headers are returned/],
  [
    "nothing can be released",
    (now) => faulty.broken(now, { release: async () => {} }),
    /claimed, metering or rejected/,
  ],
  ["any owner may release", faulty.anybodyReleases, /release: works for the owner only/],
  ["any state may be released", faulty.releasesAnything, /and no other/],
  ["releases that look before they delete", faulty.looksThenReleases, /happens before the settlement of .* claimed/],
  ["releases of metered payments that look before they delete", faulty.looksThenReleases, /settlement of .* metering/],
  ["a response survives a release", fields.keepsAnswersApart, /leaves no field to the next claim/],
  ["a rejected payment cannot be released", faulty.keepsRejected, /claimed, metering or rejected/],
  ["a metered payment cannot be released", faulty.keepsMetered, /claimed, metering or rejected/],
  ["an amount is counted once", faulty.countsOnce, /replaced while a response is metered/],
  ["a settling payment cannot be taken over", faulty.skipsWhatIsDone, /take over a payment that is settling/],
  ["a former owner may end a settlement", faulty.letsFormerOwnerEnd, /take over a payment that is settling/],
  ["requests are not kept", (now) => faulty.changing(now, ({ request: _, ...rest }) => rest), /a request is kept/],
  ["requests cannot be removed", (now) => faulty.changing(now, fields.withoutNull("request")), /a request is kept/],
  [
    "requests are copied by assignment",
    (now) => fields.requesting(now, fields.assignedPayload),
    /a request is returned/,
  ],
  [
    "requests lose half characters",
    (now) => fields.requesting(now, fields.payloadWithoutHalves),
    /a request is returned/,
  ],
  ["requests are stored in Latin-1", (now) => fields.requesting(now, fields.payloadInLatin1), /a request is returned/],
  ["deep requests are cut", (now) => fields.requesting(now, fields.shallowPayload), /a request is returned/],
  ["leases cannot be removed", (now) => faulty.changing(now, fields.withoutNull("leaseUntilMs")), /a lease is kept/],
  [
    "leases are stored in seconds",
    (now) => faulty.changing(now, fields.leaseInSeconds),
    /a lease is kept to the millisecond/,
  ],
  ["a lease until 0 is dropped", (now) => faulty.changing(now, fields.leaseUnlessZero), /a lease is kept/],
  ["ended leases are hidden", fields.hidesPastLeases, /removed by null alone/],
  ["nothing expires", () => createMemoryStore(() => 0), /removes a payment after that/],
  ["payments expire without grace", (now) => createMemoryStore(() => now() + 10 * 60_000), /until ten minutes after/],
  ["payments expire with the first claim", faulty.expiresWithFirstClaim, /not on a released one/],
  ["identities in lower case", (now) => faulty.renaming(now, (identity) => identity.toLowerCase()), /odd identities/],
  ["identities are trimmed", (now) => faulty.renaming(now, (identity) => identity.trimEnd()), /odd identities/],
  [
    "identities end at a control character",
    (now) => faulty.renaming(now, (identity) => identity.split("\u0001")[0]!),
    /odd identities/,
  ],
  ["identities are cut", (now) => faulty.renaming(now, (identity) => identity.slice(0, 255)), /odd identities/],
  ["identities are normalised", (now) => faulty.renaming(now, (identity) => identity.normalize()), /odd identities/],
];

const WRONG_ABOUT_TRANSACTIONS: readonly Faulty[] = [
  ["transactions are ignored", transactions.ignoresTransactions, /pays for one of 16 payments/],
  ["transactions are not returned", transactions.hidesTransactions, /kept by later transitions/],
  ["transactions are read before they are written", transactions.looksThenPays, /pays for one of 16 payments/],
  ["a refused transition takes its transaction", transactions.paysBeforeItRefuses, /takes none/],
  ["a refused transition is made without it", transactions.settlesAnyway, /pays for one of 16|changes nothing/],
  ["transactions are in lower case", transactions.transactionsInLowerCase, /odd ones/],
];

const WRONG_ABOUT_IDENTIFIERS: readonly Faulty[] = [
  ["identifiers are ignored", identifiers.ignoresIdentifiers, /belongs to one of 200 payments/],
  ["identifiers are read before they are written", identifiers.looksThenIdentifies, /one of 200 payments/],
  ["identifiers are checked first", identifiers.looksAtIdentifiersFirst, /only for a new payment/],
  ["a refused claim takes its identifier", identifiers.reservesBeforeItRefuses, /refused claim takes none/],
  ["a refused claim leaves a record", identifiers.recordsWhatItRefuses, /belongs to one of 200 payments/],
  ["records do not show identifiers", identifiers.hidesIdentifiers, /its payment in every state/],
  ["settlement frees an identifier", identifiers.freesWhatIsSettled, /its payment in every state/],
  ["identifiers survive a release", identifiers.neverFreedByRelease, /free after a release/],
  ["a refused release frees an identifier", identifiers.freedByAnyRelease, /not after a refused release/],
  ["identifiers cannot be freed", identifiers.neverFreedByNull, /free after a transition with null/],
  [
    "a release frees the identifier of another payment",
    identifiers.freedByFormerPayment,
    /its second payment after a release/,
  ],
  [
    "a refused transition frees an identifier",
    identifiers.freedByRefusedTransition,
    /refused transition does not free it/,
  ],
  ["identifiers survive their payment", identifiers.neverFreedByExpiry, /frees an identifier with its payment/],
  ["identifiers in lower case", identifiers.identifiersInLowerCase, /is distinguished from odd identifiers/],
  ["identifiers share a table with identities", identifiers.identifiersAmongIdentities, /and from identities/],
];

const WRONG_ABOUT_UNFINISHED: readonly Faulty[] = [
  ["nothing is unfinished", unfinished.listsNothing, /yields payments that are metering, settling, due or unknown/],
  ["everything is unfinished", unfinished.listsEverything, /and nothing else/],
  ["only settling payments are unfinished", unfinished.listsSettling, /yields payments that are metering/],
  ["only unknown payments are unfinished", unfinished.listsUnknown, /yields payments that are metering/],
  ["metered payments are not unfinished", unfinished.listsNothingMetered, /yields payments that are metering/],
  ["released payments stay unfinished", unfinished.remembersWhatIsReleased, /no metered payment that was released/],
  ["leased payments are not unfinished", unfinished.listsWhatIsNotLeased, /yields whole records/],
  ["unfinished payments have no request", unfinished.listsColumns, /yields whole records/],
  ["only a thousand are listed", unfinished.listsThousand, /yields each of 1100 once/],
  ["pages begin at an offset", unfinished.listsByOffset, /misses none while 100 others end/],
  ["a rewritten record is yielded again", unfinished.listsWhatIsWrittenAnew, /no payment twice during a takeover/],
  ["all iterations share a cursor", unfinished.sharesCursor, /starts again each time/],
  ["an iteration blocks writes", unfinished.locksWhileWalked, /allows claims, transitions and finds/],
  ["ended payments stay unfinished", unfinished.remembersWhatHasEnded, /whose settlement has ended/],
  ["removed payments stay unfinished", unfinished.remembersWhatIsForgotten, /listed for as long as it is kept/],
];

const ALL_FAULTY_STORES: readonly Faulty[] = [
  ...FAULTY_STORES,
  ...WRONG_ABOUT_TRANSACTIONS,
  ...WRONG_ABOUT_IDENTIFIERS,
  ...WRONG_ABOUT_UNFINISHED,
];

type FaultyDatabase = readonly [fault: string, open: Open, check: RegExp];

const FAULTY_DATABASES: readonly FaultyDatabase[] = [
  ["reopened, it is empty", databases.reopensEmpty, /all written records/],
  ["reopened, released payments are back", databases.reopensEarlier, /removed fields stay removed/],
  ["reopened, expired payments stay", databases.reopensForGood, /removed when it expires/],
  ["reopened, it lists no unfinished payment", databases.reopensWithoutList, /unfinished payments are found, whole/],
  [
    "reopened, all identifiers are free",
    databases.reopensWithoutIdentifiers,
    /an identifier still belongs to its payment/,
  ],
  ["each process lists its own unfinished payments", databases.listsItsOwn, /found and settled by the other store/],
  ["two processes do not see each other", databases.joinsAnother, /by the other store at once/],
  ["each process has a lock of its own", databases.lockPerProcess, /one of 200 concurrent claims/],
];

const FAULTY_PARTS: readonly FaultyDatabase[] = [
  ["leases are renewed in every state", parts.renewsEveryState, /renew: sets the lease of each payment but/],
  ["leases of due payments are renewed", parts.renewsDue, /renew: sets the lease of each payment but/],
  ["leases are renewed for any owner", parts.renewsForAnybody, /renew: changes the records of their owners alone/],
  ["only a thousand leases are renewed", parts.renewsThousand, /renew: sets 1200 leases/],
  ["nothing cannot be renewed", parts.renewsAtLeastOne, /renew: accepts no records/],
  ["each process tells of its own changes", parts.tellsOwnChanges, /a transition and of a release by any process/],
  ["releases are not told", parts.tellsNoReleases, /watch: tells of a change that happens as soon as/],
  ["only the last watcher is told", parts.tellsLastWatcher, /watch: tells every watcher/],
  ["watchers that have left are told", parts.tellsWhoHasLeft, /and none that has left/],
  ["watching begins later", parts.watchesLater, /watch: tells of a change that happens as soon as/],
  ["runs of all payers are one list", parts.runsOfEveryone, /runs: returns each run of the payer, and of no other/],
  ["each process has its own runs", parts.runsOfProcess, /runs: returns each run of the payer/],
  ["runs cannot be removed", parts.runsStay, /runs: replaces a run with the same id, and removes one/],
  ["ended runs are hidden and not forgotten", parts.endedRunsAreHidden, /runs: leaves out and forgets runs/],
  ["runs are written before they are read", parts.looksThenRuns, /the last of 100 concurrent ones/],
  ["runs are normalised", parts.runsByTrimmedPayer, /runs: keeps odd payers/],
  ["each process has its own exposure", exposure.exposureOfProcess, /exposure: returns the sums of the payer/],
  ["exposure lies in the connection", exposure.exposureOfProcess, /reopen: exposure stays/],
  ["exposure is told apart by payer", exposure.exposureByPayer, /also that of another payer/],
  ["exposure cannot be removed", exposure.exposureStays, /exposure: removes the entry of a payment once/],
  ["all exposure of a payer is removed", exposure.exposureOfPayerIsRemoved, /once, and no other/],
  ["ended exposure is hidden and not forgotten", exposure.endedExposureIsHidden, /exposure: leaves out and forgets/],
  ["ended exposure of other payers stays", exposure.endedExposureOfOthersStays, /ended, of all payers/],
  ["exposure ends by the second", exposure.exposureInSeconds, /exposure: leaves out and forgets/],
  ["the first end of exposure stays", exposure.firstEndStays, /exposure: follows an end that is moved/],
  ["exposure is a float", exposure.exposureIsFloat, /exposure: adds large amounts exactly/],
  ["payments that others owe are named", exposure.dueOfEveryone, /exposure: names up to 16/],
  ["all payments that are owed are named", exposure.dueWithoutEnd, /exposure: names up to 16/],
  ["payments that are not owed are named", exposure.everythingIsDue, /exposure: names up to 16/],
  ["exposure of payers in lower case", exposure.exposureInLowerCase, /exposure: keeps odd payers/],
  ["exposure is written before it is read", exposure.exposesThenLooks, /the last of 100 concurrent ones/],
  ["exposure is read before it is written", exposure.looksThenExposes, /the last of 100 concurrent ones/],
  ["replaced exposure is read before it is written", exposure.looksThenSums, /counts a payment once/],
  ["each process has its own ledger", ledger.ledgerOfProcess, /ledger: has the entry of a transition, whole, in all/],
  ["the ledger lies in the connection", ledger.ledgerOfProcess, /reopen: entries, refunds, counts and cursors/],
  ["cursors lie in the connection", ledger.cursorsOfConnection, /reopen: entries, refunds, counts and cursors/],
  ["entries lose a field", ledger.entriesWithoutFee, /ledger: has the entry of a transition, whole/],
  ["fields that are absent are null", ledger.entriesWithNull, /ledger: has the entry of a transition, whole/],
  ["an entry is written before the transition is refused", ledger.writesEntryFirst, /no entry of a transition that is/],
  ["the last entry with an id stays", ledger.lastEntryStays, /ledger: keeps the first entry with an id/],
  ["a transition with an entry that is there is refused", ledger.refusesEntryThatIsThere, /keeps the first entry/],
  ["entries are listed by time", ledger.listsByTime, /ledger: lists entries in the order of their positions/],
  ["a page begins with the last entry", ledger.pagesBeginWithTheLast, /ledger: lists entries .* by pages/],
  ["the limit counts what does not match", ledger.limitsBeforeItSearches, /ledger: finds entries by time/],
  ["the status is not searched for", ledger.ignoresStatus, /ledger: finds entries by time/],
  ["the network is not searched for", ledger.ignoresNetwork, /ledger: finds entries by time/],
  ["the end of a time is not searched for", ledger.ignoresUntil, /ledger: finds entries by time/],
  ["routes are patterns", ledger.searchesByPattern, /ledger: finds entries by time/],
  [
    "numbers are taken before entries are seen",
    ledger.numbersBeforeItWrites,
    /shows a reader that goes on each of 100/,
  ],
  ["amounts are floats", ledger.amountsAreNumbers, /ledger: keeps large amounts/],
  ["texts of the ledger are cut", ledger.textsAreCut, /odd texts/],
  ["texts of the ledger are normalised", ledger.textsAreNormalised, /odd texts/],
  ["refunds with a line separator are lost", ledger.refundsOfOneLine, /odd texts/],
  ["the last refund wins", ledger.lastRefundWins, /ledger: replaces the refunds of an entry that has as many/],
  ["refunds are read before they are written", ledger.looksThenRefunds, /ledger: takes one of 100 concurrent refunds/],
  ["nothing is erased", ledger.erasesNothing, /ledger: removes payer and resource/],
  ["only payers are erased", ledger.erasesPayerOnly, /ledger: removes payer and resource/],
  ["payers are erased in any case", ledger.erasesInLowerCase, /and of no other/],
  ["the last count stays", ledger.lastCountStays, /ledger: adds up counts/],
  ["counts have 32 bits", ledger.countsIn32Bits, /ledger: adds up counts/],
  ["counts are read before they are written", ledger.looksThenCounts, /ledger: loses none of 100 concurrent counts/],
  ["leases of cursors never end", ledger.leasesNeverEnd, /to one owner until it ends/],
  ["anybody gets the lease of a cursor", ledger.leasesForAnybody, /to one owner until it ends/],
  ["leases of cursors are read before they are taken", ledger.looksThenHolds, /a cursor to one of 100 owners/],
  ["cursors move back", ledger.cursorsMoveBack, /ledger: moves a cursor for its owner, and never back/],
  ["positions are compared as texts", ledger.positionsAreTexts, /ledger: moves a cursor for its owner/],
  ["anybody moves a cursor", ledger.anybodyMoves, /ledger: moves a cursor for its owner/],
  ["new cursors begin before the first entry", ledger.alwaysFromTheStart, /ledger: begins a new cursor/],
  ["old entries stay", ledger.sweepsNothing, /ledger: deletes old entries and counts/],
  ["old counts stay", ledger.sweepsEntriesOnly, /ledger: deletes old entries and counts/],
  ["positions begin again", ledger.positionsBeginAgain, /and gives no position again/],
  ["entries are forgotten with their payment", ledger.forgottenWithTheirPayment, /when their payment is forgotten/],
  ["the last value is kept", parts.keepsLast, /keep: returns the value of the first/],
  ["values are read before they are kept", parts.looksThenKeeps, /keep: returns the value of the first/],
  ["names of values in lower case", parts.keepsInLowerCase, /keep: distinguishes names/],
  ["reopened, no value is kept", parts.keepsInConnection, /reopen: a kept value stays/],
  ["there is no end of kept responses", room.keepsAll, /room: (drops the oldest|counts|holds)/],
  ["a response that is larger than the room is kept", room.keepsOneByteMore, /room: keeps no response that is larger/],
  ["delivered responses are like others", room.keepsDelivered, /room: drops delivered responses before/],
  ["records are dropped with their responses", room.dropsRecords, /room: drops .* nothing else of its record/],
  ["receipts are dropped with their responses", room.dropsReceipts, /room: drops delivered|nothing else/],
];

const FULL: StoreTraits = {
  durable: true,
  shared: true,
  renew: true,
  watch: true,
  runs: true,
  exposure: true,
  ledger: true,
  keep: true,
  maxAnswerBytes: parts.MIB,
};

/** It fails every check, so it proves little about each. */
const USELESS_STORE: Faulty = [
  "it throws",
  (now) => faulty.broken(now, { find: () => Promise.reject(new TypeError("no such table")) }),
  /for an unclaimed/,
];

interface Broken {
  readonly fault: string;
  /** The checks of which one finds the fault. */
  readonly wanted: RegExp;
  readonly checks: ReturnType<typeof createStoreConformance>;
}

const brokenStore = ([fault, store, wanted]: Faulty): Broken => {
  return { fault, wanted, checks: createStoreConformance(opening(store)) };
};
const brokenDatabase = ([fault, open, wanted]: FaultyDatabase): Broken => {
  return { fault, wanted, checks: createStoreConformance(open, { durable: true, shared: true }) };
};
/** Only the checks of these parts. */
const brokenPart = ([fault, open, wanted]: FaultyDatabase): Broken => {
  const checks = createStoreConformance(open, FULL).filter(({ name }) =>
    /^(renew|watch|runs|exposure|ledger|keep|room):|kept|exposure|ledger/.test(name),
  );
  return { fault, wanted, checks };
};

const BROKEN: readonly Broken[] = [
  ...ALL_FAULTY_STORES.map(brokenStore),
  ...FAULTY_DATABASES.map(brokenDatabase),
  ...FAULTY_PARTS.map(brokenPart),
];

/** The findings of the wanted checks, computed once. To run all checks of each store takes half a minute. */
const found = new Map<Broken, ReturnType<typeof failuresOf>>();

function failuresOfWanted(broken: Broken) {
  const failures = found.get(broken) ?? failuresOf(broken.checks.filter(({ name }) => broken.wanted.test(name)));
  found.set(broken, failures);
  return failures;
}

describe("broken stores", () => {
  test.concurrent.each([...BROKEN, brokenStore(USELESS_STORE)].map((broken) => [broken.fault, broken] as const))(
    "the checks catch a broken store: %s",
    async (_, broken) => {
      const failures = await failuresOfWanted(broken);
      expect(failures).not.toEqual([]);
      for (const { error } of failures) expect(error).toMatchObject({ name: "StoreError", code: "ERR_FAREBOX_STORE" });
    },
  );

  test("every check catches a broken store", async () => {
    const caught = new Set<string>();
    for (const broken of BROKEN) for (const { name } of await failuresOfWanted(broken)) caught.add(name);
    const all = createStoreConformance(parts.openFull(), FULL).map(({ name }) => name);
    const left: string[] = [];
    // Few: most are wanted by a fault.
    for (const name of all.filter((each) => !caught.has(each))) if (!(await catchesOne(name))) left.push(name);
    expect(left).toEqual([]);
  });

  async function catchesOne(name: string): Promise<boolean> {
    for (const { checks } of BROKEN) {
      const own = checks.filter((check) => check.name === name);
      if ((await failuresOf(own)).length > 0) return true;
    }
    return false;
  }
});

describe("StoreError", () => {
  test("the message names the call, the expected and the received value", async () => {
    const store = (now: () => number) => fields.answering(now, fields.sortedHeaders);
    const [failure] = await failuresOf(createStoreConformance(opening(store)));
    expect(failure?.error.message).toMatch(/^find after change 1 of 2: expected .*X-Zebra.*, received .*"10","ten"/);
    expect(failure?.error.message.length).toBeLessThan(400);
  });

  test("the error of the store is the cause", async () => {
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
    [{ renew: true }, openMemory, 'the traits say renew: true, but the opened store has no "renew"'],
    [
      { durable: true, shared: true, renew: true, watch: true, runs: true, exposure: true, ledger: true },
      parts.openFull(),
      'the opened store has "keep", but the traits do not say keep: true',
    ],
  ])("a mismatch of the traits %j with the opened store is an error", async (traits, open, message) => {
    const [check] = createStoreConformance(open, traits);
    await expect(check!.run()).rejects.toThrow(new StoreError(message));
  });
});

test("a store that has everything passes", async () => {
  expect(await failuresOf(createStoreConformance(parts.openFull(), FULL))).toEqual([]);
});

test("a store may keep unfinished payments until they end", async () => {
  expect(await failuresOf(createStoreConformance(opening(unfinished.keepsUnfinished)))).toEqual([]);
});

test("ownClock leaves out the checks of expiry", async () => {
  const open: Open = async () => ({ store: createMemoryStore(), close: async () => {} });
  expect(await failuresOf(createStoreConformance(open, { ownClock: true, exposure: true, ledger: true }))).toEqual([]);
  const left = await failuresOf(createStoreConformance(open, { exposure: true, ledger: true }));
  expect(left.map(({ name }) => name)).toEqual([
    "expiry: removes a payment after that, unless it is metering, settling, due or unknown",
    "expiry: frees an identifier with its payment, and not before",
    "expiry: depends on the current claim, not on a released one",
  ]);
});

test("records may have no prototype, bodies that are Buffers, and fields in any order", async () => {
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
