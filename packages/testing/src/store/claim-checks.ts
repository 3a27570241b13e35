/**
 * What is asked of `claim` and `find`: one payment, one record, one owner.
 *
 * @module
 */
import type { PaymentRecord } from "@farebox/core";
import { demandEqual, demandForgotten, demandRecord } from "./demand.js";
import { ANSWER, broughtTo, claimed, claimOf, moved } from "./sample-payments.js";
import { atOnce, type Check, type Stage } from "./stage.js";

const CLAIMANTS = 1_000;

const LONG = "0123456789abcdef".repeat(125);

/** Every one is another payment, though a database may be set up to take some of them for the same. */
const ODD_IDENTITIES: readonly string[] = [
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
  "a\u0000",
  "a\u0000b",
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
  { name: "find: knows nothing of a payment that nobody has claimed", run: findsNothing },
  { name: `claim: gives a payment to one of ${CLAIMANTS} who ask at once, and shows it to the others`, run: one },
  { name: "claim: gives different payments to all who ask at once", run: different },
  { name: "claim: tells payments apart by their identity alone", run: byIdentity },
  { name: "claim: shows a record whole", run: whole },
  { name: "claim: tells odd identities apart, and keeps odd bindings and owners", run: odd },
];

async function findsNothing({ store }: Stage): Promise<void> {
  // Neither `null` nor an empty record: the gate asks whether it is `undefined`.
  demandEqual((await store.find("p")) === undefined, true, "find of no payment yields undefined");
}

async function one(stage: Stage): Promise<void> {
  const owners = Array.from({ length: CLAIMANTS }, (_, at) => `run ${at}`);
  const request = claimOf(stage);
  const claims = await atOnce(stage, CLAIMANTS, (store, at) => store.claim({ ...request, owner: owners[at] ?? "" }));
  const winners = owners.filter((_, at) => claims[at]?.kind === "claimed");
  demandEqual(winners.length, 1, "claims that were given");

  const record: PaymentRecord = { ...request, owner: winners[0] ?? "", state: "claimed" };
  for (const claim of claims) {
    if (claim.kind !== "claimed") demandEqual(claim, { kind: "taken", record }, "claim of a payment that is taken");
  }
  await demandRecord(stage.store, record, "after the claims");
}

async function different(stage: Stage): Promise<void> {
  const requests = Array.from({ length: CLAIMANTS }, (_, at) =>
    claimOf(stage, { identity: `p${at}`, binding: `GET /${at}`, owner: `run ${at}` }),
  );
  const claims = await atOnce(stage, CLAIMANTS, (store, at) => store.claim(requests[at] ?? claimOf(stage)));
  for (const claim of claims) demandEqual(claim, { kind: "claimed" }, "claim of a payment that is not there");
  await Promise.all(
    requests.map((request) => demandRecord(stage.store, { ...request, state: "claimed" }, "among many")),
  );
}

async function byIdentity(stage: Stage): Promise<void> {
  const record = await claimed(stage);
  const other = claimOf(stage, { binding: "GET /other", owner: "other", expiresAtMs: record.expiresAtMs + 1 });
  demandEqual(await stage.store.claim(other), { kind: "taken", record }, "claim for another route");
  demandEqual(await stage.store.claim(claimOf(stage)), { kind: "taken", record }, "claim by the owner itself");
  await demandRecord(stage.store, record, "after claims that were refused");
}

async function whole(stage: Stage): Promise<void> {
  const serving = await broughtTo(stage, "serving");
  const record = await moved(stage, serving, { to: "settling", facilitator: "a.example", answer: ANSWER });
  demandEqual(
    await stage.store.claim(claimOf(stage)),
    { kind: "taken", record },
    "claim of a payment that is settling",
  );
}

async function odd(stage: Stage): Promise<void> {
  const records: PaymentRecord[] = [];
  for (const identity of ODD_IDENTITIES) {
    const request = claimOf(stage, { identity, binding: `${identity}?`, owner: `${identity}!` });
    const claim = await stage.store.claim(request);
    demandEqual(claim, { kind: "claimed" }, `claim of ${JSON.stringify(identity)}, which is not there`);
    records.push({ ...request, state: "claimed" });
  }
  for (const record of records) await demandRecord(stage.store, record, "of an odd identity");
  for (const { identity, owner } of records) await stage.store.release(identity, owner);
  for (const { identity } of records) await demandForgotten(stage.store, identity, "after its release");
}
