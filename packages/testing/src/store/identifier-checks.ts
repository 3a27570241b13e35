/**
 * The checks of identifiers: only one record has an identifier at a time, and the identifier is free when no record has it.
 *
 * @module
 */
import { type PaymentRecord, RELEASABLE } from "@farebox/core";
import { broughtTo, claimed, claimOf, IDENTIFIER, moved, STATES } from "./sample-payments.js";
import { type Check, concurrently, demandEqual, demandForgotten, demandRecord, type Stage } from "./stage.js";

const CLAIMANTS = 200;

const OTHER = "y".repeat(43);

/** A digest has 43 letters, digits, hyphens and underscores. Each of these is a different one. */
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
  { name: `identifier: belongs to one of ${CLAIMANTS} payments with concurrent claims`, run: one },
  { name: "identifier: is checked only for a new payment", run: takenFirst },
  { name: "identifier: a refused claim takes none", run: refusedTakesNone },
  { name: "identifier: belongs to its payment in every state", run: staysInEveryState },
  { name: "identifier: is free after a release, and not after a refused release", run: released },
  { name: "identifier: is free after a transition with null", run: freed },
  {
    name: "identifier: belongs to its second payment after a release of the first",
    run: handedOn,
  },
  { name: "identifier: a refused transition does not free it", run: refusedFreesNone },
  { name: "identifier: is distinguished from odd identifiers, and from identities", run: odd },
];

/** Claims another payment with the same identifier, and demands that the store refuses it and has no record of it. */
export async function demandIdentifierTaken(
  stage: Stage,
  when: string,
  identifier: string = IDENTIFIER,
): Promise<void> {
  const claim = await stage.store.claim(claimOf(stage, { identity: "of another", identifier }));
  demandEqual(claim, { kind: "identifier_taken" }, `claim of another payment with the same identifier ${when}`);
  await demandForgotten(stage.store, "of another", "of a payment whose identifier was taken");
}

async function one(stage: Stage): Promise<void> {
  const requests = Array.from({ length: CLAIMANTS }, (_, at) =>
    claimOf(stage, { identity: `p${at}`, owner: `run ${at}`, identifier: IDENTIFIER }),
  );
  const claims = await concurrently(stage, CLAIMANTS, (store, at) => store.claim(requests[at] ?? claimOf(stage)));
  const winners = requests.filter((_, at) => claims[at]?.kind === "claimed");
  demandEqual(winners.length, 1, "accepted claims");
  for (const claim of claims) {
    if (claim.kind !== "claimed") demandEqual(claim, { kind: "identifier_taken" }, "refused claim");
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
    demandEqual(claim, { kind: "taken", record }, "claim of a claimed payment");
  }
  demandEqual(await stage.store.claim(claimOf(stage)), { kind: "taken", record }, "claim without an identifier");
  await demandRecord(stage.store, record, "after refused claims");
}

async function refusedTakesNone(stage: Stage): Promise<void> {
  await claimed(stage);
  await stage.store.claim(claimOf(stage, { owner: "next", identifier: IDENTIFIER }));
  await claimed(stage, { identity: "q", identifier: IDENTIFIER });
  await demandIdentifierTaken(stage, "after the second claim took it");
}

async function staysInEveryState(stage: Stage): Promise<void> {
  for (const state of STATES) {
    const identifier = state.padEnd(43, "_");
    const record = await broughtTo(stage, state, { identity: state, identifier });
    await demandRecord(stage.store, record, `of a payment that is ${state}`);
    await demandIdentifierTaken(stage, `as a payment that is ${state}`, identifier);
  }
}

async function released(stage: Stage): Promise<void> {
  for (const state of STATES) {
    const identifier = state.padEnd(43, "_");
    await broughtTo(stage, state, { identity: state, identifier });
    await stage.store.release(state, "other");
    await demandIdentifierTaken(stage, `after a release from ${state} by another run`, identifier);
    await stage.store.release(state, "run");
    if (RELEASABLE.includes(state)) await claimed(stage, { identity: `after ${state}`, identifier });
    else await demandIdentifierTaken(stage, `after a release from ${state}`, identifier);
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
  await demandIdentifierTaken(stage, "after the release of the payment that had it first");
  await demandRecord(stage.store, second, "after the release of the payment that had its identifier first");
}

async function refusedFreesNone(stage: Stage): Promise<void> {
  const record = await claimed(stage, { identifier: IDENTIFIER });
  const change = { identity: "p", from: "claimed", to: "settling", owner: "run", identifier: null } as const;
  for (const mistake of [{ owner: "other" }, { from: "unsent" }, { to: "settled" }] as const) {
    demandEqual(await stage.store.transition({ ...change, ...mistake }), false, "transition that must be refused");
    await demandRecord(stage.store, record, "after a refused transition");
    await demandIdentifierTaken(stage, "after a refused transition");
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
  for (const identifier of ODD_IDENTIFIERS) await demandIdentifierTaken(stage, "that is odd", identifier);
}
