/**
 * The checks of `claim`, `find` and `release`: each payment has one record and one owner. Its owner may release it as long as no
 * money has moved.
 *
 * @module
 */
import { type PaymentRecord, RELEASABLE } from "@farebox/core";
import {
  anyOf,
  BOUND,
  BOUND_OTHERWISE,
  broughtTo,
  claimed,
  claimOf,
  moved,
  RESPONSE,
  STATES,
} from "./sample-payments.js";
import { type Check, concurrently, demandEqual, demandForgotten, demandRecord, type Stage } from "./stage.js";

const CLAIMANTS = 200;

const LONG = "0123456789abcdef".repeat(125);

/**
 * Each is a different payment, although a database may treat some of them as equal. All are well-formed Unicode of 1 to 2000
 * characters without NUL: the gate lets no other identity reach a store.
 */
export const ODD_IDENTITIES: readonly string[] = [
  "eip155:84532|0x036cbd53842c5426634e7929541ec2318f3dcf7e|0x857b|0xf374",
  "__proto__",
  "constructor",
  "toString",
  "null",
  "0",
  "00",
  "a",
  "A",
  "a ",
  " a",
  "a\u0001",
  "a\u0001b",
  "a\nb",
  "a\r\nb",
  "*",
  "a*",
  "%",
  "_",
  "?",
  "{a}",
  "a:b",
  "a/b/../c",
  "'; DROP TABLE payments; --",
  'a"b',
  "a\\b",
  "a`b",
  // The same letter, in one code point and in two.
  "\u00e9",
  "e\u0301",
  "ß",
  "ss",
  "İ",
  "支付",
  "😀",
  "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}",
  "\u202e",
  "\ufeffa",
  LONG,
  `${LONG}0`,
  `${LONG.slice(0, -1)}e`,
];

/** The checks of `claim` and `find`. */
export const CLAIM_CHECKS: readonly Check[] = [
  { name: "find: returns undefined for an unclaimed payment", run: findsNothing },
  {
    name: `claim: gives a payment to one of ${CLAIMANTS} concurrent claims, and shows its record to the others`,
    run: one,
  },
  { name: "claim: accepts concurrent claims of different payments", run: different },
  { name: "claim: distinguishes payments by identity alone", run: byIdentity },
  { name: "claim: returns whole records", run: whole },
  { name: "claim: keeps what it says of the request, through each state", run: bound },
  { name: "claim: keeps a lease to the millisecond", run: lease },
  { name: "claim: distinguishes odd identities, and keeps other odd texts", run: odd },
];

async function findsNothing({ store }: Stage): Promise<void> {
  // The gate compares with `undefined`, so `null` is wrong.
  demandEqual((await store.find("p")) === undefined, true, "find of an unclaimed payment returns undefined");
}

async function one(stage: Stage): Promise<void> {
  const owners = Array.from({ length: CLAIMANTS }, (_, at) => `run ${at}`);
  const request = claimOf(stage);
  const claims = await concurrently(stage, CLAIMANTS, (store, at) =>
    store.claim({ ...request, owner: owners[at] ?? "" }),
  );
  const winners = owners.filter((_, at) => claims[at]?.kind === "claimed");
  demandEqual(winners.length, 1, "accepted claims");

  const record: PaymentRecord = { ...request, owner: winners[0] ?? "", state: "claimed" };
  for (const claim of claims) {
    if (claim.kind !== "claimed") demandEqual(claim, { kind: "taken", record }, "claim of a claimed payment");
  }
  await demandRecord(stage.store, record, "after the claims");
}

async function different(stage: Stage): Promise<void> {
  const requests = Array.from({ length: CLAIMANTS }, (_, at) =>
    claimOf(stage, { identity: `p${at}`, binding: `GET /${at}`, target: `/${at}`, owner: `run ${at}` }),
  );
  const claims = await concurrently(stage, CLAIMANTS, (store, at) => store.claim(requests[at] ?? claimOf(stage)));
  for (const claim of claims) demandEqual(claim, { kind: "claimed" }, "claim of an unclaimed payment");
  await Promise.all(
    requests.map((request) => demandRecord(stage.store, { ...request, state: "claimed" }, "among many")),
  );
}

async function byIdentity(stage: Stage): Promise<void> {
  const record = await claimed(stage);
  const other = claimOf(stage, { ...BOUND_OTHERWISE, owner: "other", expiresAtMs: record.expiresAtMs + 1 });
  demandEqual(await stage.store.claim(other), { kind: "taken", record }, "claim for another route");
  demandEqual(await stage.store.claim(claimOf(stage)), { kind: "taken", record }, "claim by the owner itself");
  await demandRecord(stage.store, record, "after refused claims");
}

async function whole(stage: Stage): Promise<void> {
  const record = await moved(stage, await claimed(stage), {
    to: "settling",
    facilitator: "a.example",
    answer: RESPONSE,
  });
  demandEqual(
    await stage.store.claim(claimOf(stage)),
    { kind: "taken", record },
    "claim of a payment that is settling",
  );
}

async function bound(stage: Stage): Promise<void> {
  const modes = ["after", "before", "metered"] as const;
  const claims = modes.flatMap((mode) => [BOUND, BOUND_OTHERWISE].map((request) => ({ ...request, mode })));
  for (const [at, claim] of claims.entries()) {
    for (const state of STATES) {
      const record = await broughtTo(stage, state, { ...claim, identity: `${at} ${state}` });
      await demandRecord(stage.store, record, `of a payment that is ${state}`);
    }
  }
}

async function lease(stage: Stage): Promise<void> {
  for (const leaseUntilMs of [stage.clock.now() + 8_001, 0]) {
    const identity = `until ${leaseUntilMs}`;
    const record = await claimed(stage, { identity, leaseUntilMs });
    await demandRecord(stage.store, record, "with a lease");
    const settling = await moved(stage, record, { to: "settling" });
    await demandRecord(stage.store, settling, "with the lease of its claim");
  }
}

async function odd(stage: Stage): Promise<void> {
  const records: PaymentRecord[] = [];
  for (const identity of ODD_IDENTITIES) {
    const texts = { binding: `${identity}?`, route: identity, method: `${identity} `, target: `${identity}/` };
    const request = claimOf(stage, { identity, owner: `${identity}!`, ...texts });
    const claim = await stage.store.claim(request);
    demandEqual(claim, { kind: "claimed" }, `claim of ${JSON.stringify(identity)}, which is unclaimed`);
    records.push({ ...request, state: "claimed" });
  }
  for (const record of records) await demandRecord(stage.store, record, "of an odd identity");
  for (const { identity, owner } of records) await stage.store.release(identity, owner);
  for (const { identity } of records) await demandForgotten(stage.store, identity, "after its release");
}

const RACES = 100;

/** The checks of `release`. */
export const RELEASE_CHECKS: readonly Check[] = [
  { name: `release: removes a payment that is ${anyOf(RELEASABLE)}, and no other`, run: whereItMay },
  { name: "release: works for the owner only", run: ownerAlone },
  { name: "release: leaves no field to the next claim", run: nothingLeft },
  { name: "release: frees the payment for one of the concurrent claims", run: againstClaims },
  ...(["claimed", "metering"] as const).map((from) => ({
    name: `release: happens before the settlement of a payment that is ${from}, or not at all`,
    run: (stage: Stage) => againstSettling(stage, from),
  })),
];

async function whereItMay(stage: Stage): Promise<void> {
  for (const state of STATES) {
    const record = await broughtTo(stage, state, { identity: state });
    await stage.store.release(state, "run");
    const when = `after a release from ${state}`;
    if (RELEASABLE.includes(state)) await demandForgotten(stage.store, state, when);
    else await demandRecord(stage.store, record, when);
  }
}

async function ownerAlone(stage: Stage): Promise<void> {
  const first = await claimed(stage);
  await stage.store.release("p", "other");
  await stage.store.release("q", "run");
  await demandRecord(stage.store, first, "after a release by another run");

  await stage.store.release("p", "run");
  const second = await claimed(stage, { owner: "next" });
  await stage.store.release("p", "run");
  await demandRecord(stage.store, second, "after a second release by the owner before");
}

async function nothingLeft(stage: Stage): Promise<void> {
  const full = { facilitator: "a.example", answer: RESPONSE, mark: "undelivered" } as const;
  const settling = await moved(stage, await claimed(stage), { to: "settling", ...full });
  await moved(stage, settling, { to: "rejected" });
  await stage.store.release("p", "run");
  const expiresAtMs = stage.clock.now() + 1_000;
  const record = await claimed(stage, { ...BOUND_OTHERWISE, owner: "next", expiresAtMs });
  await demandRecord(stage.store, record, "after a release and another claim");
}

async function againstClaims(stage: Stage): Promise<void> {
  await claimed(stage);
  const request = claimOf(stage);
  const claims = await concurrently(stage, RACES, async (store, at) => {
    if (at !== RACES / 2) return store.claim({ ...request, owner: `run ${at}` });
    await store.release("p", "run");
    return undefined;
  });
  const winners = claims.flatMap((claim, at) => (claim?.kind === "claimed" ? [`run ${at}`] : []));
  // No winner is right too: all claims may come before the release.
  demandEqual(winners.length > 1, false, "more than one accepted claim");
  const [owner] = winners;
  const when = "after a release among claims";
  if (owner === undefined) await demandForgotten(stage.store, "p", when);
  else await demandRecord(stage.store, { ...request, owner, state: "claimed" }, when);
}

async function againstSettling(stage: Stage, from: "claimed" | "metering"): Promise<void> {
  for (let at = 0; at < RACES; at++) {
    const identity = `p${at}`;
    const before = await broughtTo(stage, from, { identity });
    const settle = { identity, from, to: "settling", owner: "run" } as const;
    // Each of the two calls is first half of the time.
    const results = await concurrently<boolean | undefined>(stage, 2, async (store, turn) => {
      if (turn === at % 2) return store.transition(settle);
      await store.release(identity, "run");
      return undefined;
    });
    const when = "after a release at the moment of settling";
    if (results[at % 2] === true) await demandRecord(stage.store, { ...before, state: "settling" }, when);
    else await demandForgotten(stage.store, identity, when);
  }
}
