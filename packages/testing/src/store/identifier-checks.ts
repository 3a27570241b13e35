/**
 * What is asked of identifiers: of the records that are there, one has it, and it is free as soon as none has it.
 *
 * @module
 */
import { type PaymentRecord, RELEASABLE } from "@farebox/core";
import { demandEqual, demandForgotten, demandRecord } from "./demand.js";
import { broughtTo, claimed, claimOf, IDENTIFIER, moved, STATES } from "./sample-payments.js";
import { atOnce, type Check, type Stage } from "./stage.js";

const CLAIMANTS = 1_000;

const OTHER = "y".repeat(43);

/** Digests are 43 letters, digits, hyphens and underscores, and every one of these is another. */
const ODD_IDENTIFIERS: readonly string[] = [
  "a".repeat(43),
  "A".repeat(43),
  `A${"a".repeat(42)}`,
  `${"a".repeat(42)}A`,
  "_".repeat(43),
  "-".repeat(43),
  `-${"_".repeat(42)}`,
  "0".repeat(43),
  `1${"0".repeat(42)}`,
  `__proto__${"_".repeat(34)}`,
];

/** The checks of identifiers. */
export const IDENTIFIER_CHECKS: readonly Check[] = [
  { name: `identifier: goes to one of ${CLAIMANTS} payments that are claimed with it at once`, run: one },
  { name: "identifier: is looked at only for a payment that is not there", run: takenFirst },
  { name: "identifier: a claim that is refused takes none", run: refusedTakesNone },
  { name: "identifier: stays its payment's in every state", run: staysInEveryState },
  { name: "identifier: is free once its payment is released, and not when a release is refused", run: released },
  { name: "identifier: is free once a transition says null", run: freed },
  {
    name: "identifier: stays its second payment's when the first, which it was taken from, is released",
    run: handedOn,
  },
  { name: "identifier: a transition that is refused does not free it", run: refusedFreesNone },
  { name: "identifier: is told apart from odd ones, and from identities", run: odd },
];

/** Claims another payment with the same identifier, and demands that it is refused and not there. */
export async function demandTaken(stage: Stage, when: string, identifier: string = IDENTIFIER): Promise<void> {
  const claim = await stage.store.claim(claimOf(stage, { identity: "of another", identifier }));
  demandEqual(claim, { kind: "identifier_taken" }, `claim of another payment with the same identifier ${when}`);
  await demandForgotten(stage.store, "of another", "of a payment whose identifier was taken");
}

async function one(stage: Stage): Promise<void> {
  const requests = Array.from({ length: CLAIMANTS }, (_, at) =>
    claimOf(stage, { identity: `p${at}`, owner: `run ${at}`, identifier: IDENTIFIER }),
  );
  const claims = await atOnce(stage, CLAIMANTS, (store, at) => store.claim(requests[at] ?? claimOf(stage)));
  const winners = requests.filter((_, at) => claims[at]?.kind === "claimed");
  demandEqual(winners.length, 1, "claims that were given");
  for (const claim of claims) {
    if (claim.kind !== "claimed") demandEqual(claim, { kind: "identifier_taken" }, "claim that was refused");
  }
  for (const request of requests) {
    if (winners.includes(request))
      await demandRecord(stage.store, { ...request, state: "claimed" }, "after the claims");
    else await demandForgotten(stage.store, request.identity, "of a payment whose identifier was taken");
  }
}

async function takenFirst(stage: Stage): Promise<void> {
  const record = await claimed(stage, { identifier: IDENTIFIER });
  await claimed(stage, { identity: "q", identifier: OTHER });
  for (const identifier of [IDENTIFIER, OTHER, "z".repeat(43)]) {
    const claim = await stage.store.claim(claimOf(stage, { owner: "next", identifier }));
    demandEqual(claim, { kind: "taken", record }, "claim of a payment that is taken");
  }
  demandEqual(await stage.store.claim(claimOf(stage)), { kind: "taken", record }, "claim without an identifier");
  await demandRecord(stage.store, record, "after claims that were refused");
}

async function refusedTakesNone(stage: Stage): Promise<void> {
  await claimed(stage);
  await stage.store.claim(claimOf(stage, { owner: "next", identifier: IDENTIFIER }));
  await claimed(stage, { identity: "q", identifier: IDENTIFIER });
  await demandTaken(stage, "after it was given to the second who asked");
}

async function staysInEveryState(stage: Stage): Promise<void> {
  for (const state of STATES) {
    const identifier = state.padEnd(43, "_");
    const record = await broughtTo(stage, state, { identity: state, identifier });
    await demandRecord(stage.store, record, `of a payment that is ${state}`);
    await demandTaken(stage, `as a payment that is ${state}`, identifier);
  }
}

async function released(stage: Stage): Promise<void> {
  for (const state of STATES) {
    const identifier = state.padEnd(43, "_");
    await broughtTo(stage, state, { identity: state, identifier });
    await stage.store.release(state, "other");
    await demandTaken(stage, `after a release from ${state} by another run`, identifier);
    await stage.store.release(state, "run");
    if (RELEASABLE.includes(state)) await claimed(stage, { identity: `after ${state}`, identifier });
    else await demandTaken(stage, `after a release from ${state}`, identifier);
  }
}

async function freed(stage: Stage): Promise<void> {
  const settling = await broughtTo(stage, "settling", { identifier: IDENTIFIER });
  const rejected = await moved(stage, settling, { to: "rejected", identifier: null });
  await demandRecord(stage.store, rejected, "after its identifier was freed");
  const record = await claimed(stage, { identity: "q", identifier: IDENTIFIER });
  await demandRecord(stage.store, record, "with an identifier that was freed");
}

async function handedOn(stage: Stage): Promise<void> {
  const settling = await broughtTo(stage, "settling", { identifier: IDENTIFIER });
  await moved(stage, settling, { to: "rejected", identifier: null });
  const second = await claimed(stage, { identity: "q", identifier: IDENTIFIER });
  await stage.store.release("p", "run");
  await demandTaken(stage, "after the release of the payment that had it first");
  await demandRecord(stage.store, second, "after the release of the payment that had its identifier first");
}

async function refusedFreesNone(stage: Stage): Promise<void> {
  const record = await claimed(stage, { identifier: IDENTIFIER });
  const change = { identity: "p", from: "claimed", to: "serving", owner: "run", identifier: null } as const;
  for (const mistake of [{ owner: "other" }, { from: "serving", to: "settling" }, { to: "settled" }] as const) {
    demandEqual(await stage.store.transition({ ...change, ...mistake }), false, "transition that is to be refused");
    await demandRecord(stage.store, record, "after a transition that was refused");
    await demandTaken(stage, "after a transition that was refused");
  }
}

async function odd(stage: Stage): Promise<void> {
  const records: PaymentRecord[] = [];
  for (const [at, identifier] of ODD_IDENTIFIERS.entries()) {
    // Each identity is the identifier of the payment before.
    const identity = ODD_IDENTIFIERS.at(at - 1) ?? "";
    records.push(await claimed(stage, { identity, identifier }));
  }
  for (const record of records) await demandRecord(stage.store, record, "of an odd identifier");
  for (const identifier of ODD_IDENTIFIERS) await demandTaken(stage, "that is odd", identifier);
}
