/**
 * The checks of the room for kept responses: the oldest delivered ones are dropped first, and no record is.
 *
 * @module
 */
import type { PaymentRecord, PaymentState, StoredAnswer } from "@farebox/core";
import { broughtTo, claimOf, moved, RECEIPT } from "./sample-payments.js";
import { type Check, concurrently, demandEqual, demandRecord, type Stage } from "./stage.js";

/** For stores with a bound. Each response is a part of it that no store can overlook. */
export function roomChecks(maxAnswerBytes: number): readonly Check[] {
  const part = 8 * Math.floor(maxAnswerBytes / PARTS / 8);
  return [
    {
      name: "room: drops the oldest response, and nothing else of its record",
      run: (stage) => dropsOldest(stage, part),
    },
    { name: "room: drops delivered responses before all others", run: (stage) => dropsDelivered(stage, part) },
    { name: "room: keeps no response that is larger than all of it", run: (stage) => refuses(stage, maxAnswerBytes) },
    { name: "room: counts responses that are replaced, removed or released once", run: (stage) => counts(stage, part) },
    { name: "room: holds for concurrent transitions", run: (stage) => atOnce(stage, part) },
  ];
}

const PARTS = 4;

function responseOf(bytes: number): StoredAnswer {
  return { status: 200, headers: [], body: new Uint8Array(bytes).fill(7) };
}

/** Settles a payment. Its response is kept from the settlement on, as that of a payment with an identifier. */
async function kept(
  stage: Stage,
  identity: string,
  bytes: number,
  to: PaymentState = "settled",
): Promise<PaymentRecord> {
  stage.clock.advance(1_000);
  const claimed = await broughtTo(stage, "claimed", { identity });
  const settling = await moved(stage, claimed, { to: "settling", answer: responseOf(bytes) });
  return to === "settling" ? settling : moved(stage, settling, { to, ...(to === "settled" && { receipt: RECEIPT }) });
}

async function delivered(stage: Stage, record: PaymentRecord): Promise<PaymentRecord> {
  const taken = await stage.store.transition({ ...keysOf(record), to: "settled", receipt: RECEIPT, delivers: true });
  demandEqual(taken, true, `transition from ${record.state} to settled, with a delivery`);
  return { ...record, state: "settled", receipt: RECEIPT };
}

function keysOf({ identity, owner, state }: PaymentRecord) {
  return { identity, owner, from: state } as const;
}

function withoutAnswer({ answer: _, ...rest }: PaymentRecord): PaymentRecord {
  return rest;
}

/** Demands all records, and the responses of some. */
async function demandKept(stage: Stage, records: readonly PaymentRecord[], identities: string): Promise<void> {
  for (const store of stage.stores) {
    for (const record of records) {
      const isKept = identities.includes(record.identity);
      const when = `of a payment whose response is ${isKept ? "kept" : "dropped"} (kept: ${identities})`;
      await demandRecord(store, isKept ? record : withoutAnswer(record), when);
    }
  }
}

async function dropsOldest(stage: Stage, part: number): Promise<void> {
  const states = ["unknown", "settled", "unsent", "settling", "settled"] as const;
  const records: PaymentRecord[] = [];
  for (const [at, state] of states.entries()) records.push(await kept(stage, "abcde"[at] ?? "", part, state));
  await demandKept(stage, records, "bcde");
  records.push(await kept(stage, "f", 2 * part));
  await demandKept(stage, records, "def");
  const [first] = records;
  const claim = await stage.store.claim(claimOf(stage, { identity: "a", owner: "next" }));
  demandEqual(
    claim,
    { kind: "taken", record: first && withoutAnswer(first) },
    "claim of a payment whose response is dropped",
  );
}

async function dropsDelivered(stage: Stage, part: number): Promise<void> {
  const first = await kept(stage, "a", part);
  const second = await delivered(stage, await kept(stage, "b", part, "settling"));
  // A response may also be written when its client has it.
  const third = await moved(stage, await kept(stage, "c", 1, "settling"), {
    ...{ to: "settled", answer: responseOf(part), receipt: RECEIPT, delivers: true },
  });
  const fourth = await kept(stage, "d", part, "unknown");
  const records = [first, second, third, fourth, await kept(stage, "e", part)];
  await demandKept(stage, records, "acde");
  records.push(await kept(stage, "f", part));
  await demandKept(stage, records, "adef");
  records.push(await kept(stage, "g", part));
  await demandKept(stage, records, "defg");
}

async function refuses(stage: Stage, maxAnswerBytes: number): Promise<void> {
  const records = [await kept(stage, "a", maxAnswerBytes)];
  await demandKept(stage, records, "a");
  records.push(await kept(stage, "b", maxAnswerBytes + 1));
  await demandKept(stage, records, "a");
  const [first] = records;
  if (first !== undefined)
    records[0] = await moved(stage, first, { to: "settled", answer: responseOf(maxAnswerBytes + 1) });
  await demandKept(stage, records, "");
}

async function counts(stage: Stage, part: number): Promise<void> {
  const records: PaymentRecord[] = [];
  for (const identity of "abc") records.push(await kept(stage, identity, part));
  for (const [at, bytes] of [part, undefined, 1].entries()) {
    const record = records[at];
    stage.clock.advance(1_000);
    const answer = bytes === undefined ? null : responseOf(bytes);
    if (record !== undefined) records[at] = await moved(stage, record, { to: "settled", answer });
  }
  const rejected = await kept(stage, "r", part, "rejected");
  await stage.store.release(rejected.identity, rejected.owner);
  // There is room for all but one byte of three parts.
  for (const identity of "de") records.push(await kept(stage, identity, part));
  records.push(await kept(stage, "f", part - 1));
  await demandKept(stage, records, "acdef");
  // A store may look from time to time, and not for each byte.
  records.push(await kept(stage, "g", part / 8));
  await demandKept(stage, records, "cdefg");
}

async function atOnce(stage: Stage, part: number): Promise<void> {
  const count = 4 * PARTS;
  const claimed: PaymentRecord[] = [];
  for (let at = 0; at < count; at++) claimed.push(await broughtTo(stage, "claimed", { identity: `p${at}` }));
  const answer = responseOf(part);
  const taken = await concurrently(stage, count, (store, at) =>
    store.transition({ identity: `p${at}`, owner: "run", from: "claimed", to: "settling", answer }),
  );
  demandEqual(taken, Array(count).fill(true), "transitions with a response");
  // In a store that looks from time to time, the last one to look may have come before the last one to write.
  const last = await kept(stage, "last", part);
  await demandRecord(stage.store, last, "of the last payment");
  const found = await Promise.all(claimed.map(({ identity }) => stage.store.find(identity)));
  for (const [at, record] of found.entries()) demandEqual(record?.state, "settling", `state of payment ${at}`);
  demandEqual(found.filter((record) => record?.answer !== undefined).length, PARTS - 1, "responses besides the last");
}
