/**
 * The checks of the fields of a record: the store keeps each field as written, until it is replaced or removed.
 *
 * @module
 */
import type { DeliveryMark, FacilitatorRequest, PaymentRecord, StoredAnswer } from "@farebox/core";
import {
  broughtTo,
  claimed,
  IDENTIFIER,
  moved,
  RECEIPT,
  REFUSAL,
  REQUEST,
  RESPONSE,
  requestOf,
} from "./sample-payments.js";
import { type Check, demandRecord, type Stage } from "./stage.js";

/** The checks of the fields. */
export const FIELD_CHECKS: readonly Check[] = [
  { name: "fields: a response is kept, replaced, and removed by null", run: response },
  { name: "fields: a facilitator is kept, replaced, and removed by null", run: facilitator },
  { name: "fields: a receipt is kept and replaced", run: receipt },
  { name: "fields: a request is kept, replaced, and removed by null", run: request },
  { name: "fields: a request is returned as it was written", run: wholeRequest },
  { name: "fields: a request is replaced while a response is metered, and kept when it is due", run: meteredRequest },
  { name: "fields: a lease is kept to the millisecond, replaced, and removed by null alone", run: lease },
  { name: "fields: a mark is kept, replaced, and removed by null alone", run: mark },
  { name: "fields: all fields survive a change of owner", run: newOwner },
  { name: "fields: a body is returned byte for byte", run: bodies },
  { name: "fields: headers are returned in their order, as they were written", run: headers },
];

const SHORT_REQUEST: FacilitatorRequest = {
  ...REQUEST,
  paymentPayload: { ...REQUEST.paymentPayload, payload: { transaction: "AQAB" } },
  paymentRequirements: { ...REQUEST.paymentRequirements, amount: "340282366920938463463374607431768211455" },
};

type Change = Parameters<typeof moved>[2];

async function response(stage: Stage): Promise<void> {
  const other: StoredAnswer = { status: 404, headers: [], body: new Uint8Array([0]) };
  await walk(stage, await claimed(stage), [
    { to: "settling", answer: RESPONSE },
    { to: "unknown" },
    { to: "settling", answer: other },
    { to: "unsent", answer: null },
    { to: "settling", answer: null },
    { to: "settled" },
    { to: "settled", answer: RESPONSE },
    { to: "settled", answer: null },
  ]);
}

async function facilitator(stage: Stage): Promise<void> {
  await walk(stage, await claimed(stage), [
    { to: "settling", facilitator: "https://a.example/x402" },
    { to: "unknown" },
    { to: "settling", facilitator: "b.example" },
    { to: "unsent", facilitator: null },
    { to: "settling" },
    { to: "unsent", facilitator: null },
    { to: "settling", facilitator: "ü '☂'" },
  ]);
}

async function receipt(stage: Stage): Promise<void> {
  await walk(stage, await broughtTo(stage, "settling"), [
    { to: "unknown", receipt: REFUSAL },
    { to: "settling" },
    { to: "settled", receipt: RECEIPT },
    { to: "settled", answer: RESPONSE },
    { to: "owed" },
    { to: "settled", answer: null },
  ]);
}

async function request(stage: Stage): Promise<void> {
  await walk(stage, await claimed(stage), [
    { to: "settling", request: SHORT_REQUEST },
    { to: "unknown" },
    { to: "settling", request: { ...SHORT_REQUEST, paymentRequirements: REQUEST.paymentRequirements } },
    { to: "settling", newOwner: "run" },
    { to: "unsent", request: null },
    { to: "settling" },
    { to: "settled", request: null },
  ]);
}

async function wholeRequest(stage: Stage): Promise<void> {
  await walk(stage, await claimed(stage), [{ to: "settling", request: REQUEST }, { to: "unknown" }]);
}

async function meteredRequest(stage: Stage): Promise<void> {
  const leaseUntilMs = stage.clock.now() + 8_000;
  await walk(stage, await claimed(stage, { identifier: IDENTIFIER, leaseUntilMs }), [
    { to: "metering", request: requestOf("0") },
    { to: "metering", request: requestOf("9007199254740993"), leaseUntilMs: leaseUntilMs + 1 },
    { to: "metering" },
    { to: "settling", request: REQUEST, facilitator: "a.example" },
    { to: "due", receipt: REFUSAL, leaseUntilMs: null },
    { to: "settling", newOwner: "next", leaseUntilMs },
    { to: "due", facilitator: null, leaseUntilMs: null },
    { to: "rejected", request: null },
  ]);
}

async function lease(stage: Stage): Promise<void> {
  const nowMs = stage.clock.now();
  await walk(stage, await claimed(stage), [
    { to: "settling", leaseUntilMs: nowMs + 90_001 },
    { to: "settling" },
    { to: "settling", leaseUntilMs: nowMs + 7 },
    // The store also keeps a lease that has ended.
    { to: "settling", leaseUntilMs: nowMs - 1 },
    { to: "unknown", leaseUntilMs: null },
    { to: "settling", leaseUntilMs: 0 },
    { to: "settled", leaseUntilMs: null },
  ]);
}

async function mark(stage: Stage): Promise<void> {
  // A later version may have marks that this one does not know.
  const unknown = "delivered twice" as DeliveryMark;
  await walk(stage, await broughtTo(stage, "settled"), [
    { to: "settled", mark: "undelivered", newOwner: "next" },
    { to: "settled", answer: RESPONSE },
    { to: "settled", mark: "unproven", newOwner: "run" },
    { to: "settled", newOwner: "next" },
    { to: "settled", mark: "for_payer" },
    { to: "owed" },
    { to: "settled", mark: unknown },
    { to: "settled", mark: null },
    { to: "settled", mark: null },
  ]);
}

async function newOwner(stage: Stage): Promise<void> {
  await walk(stage, await claimed(stage, { identifier: IDENTIFIER }), [
    { to: "settling", answer: RESPONSE, facilitator: "a.example", request: REQUEST, leaseUntilMs: stage.clock.now() },
    { to: "unknown", receipt: REFUSAL, mark: "unproven" },
    { to: "settling", newOwner: "next" },
    { to: "settled" },
  ]);
}

async function bodies(stage: Stage): Promise<void> {
  const all = Uint8Array.from({ length: 256 * 1024 }, (_, at) => at % 256);
  const some: readonly Uint8Array[] = [
    all,
    new Uint8Array(),
    // Not valid as UTF-8.
    Uint8Array.of(0xff, 0xfe, 0x00, 0xc3, 0x28, 0xed, 0xa0, 0x80),
    Uint8Array.of(0, 0, 0),
    // A view into a larger buffer, as Node's own buffers are.
    all.subarray(40, 50),
    Buffer.from("☂ as a Buffer"),
  ];
  const changes = some.map((body): Change => ({ to: "settled", answer: { status: 200, headers: [], body } }));
  await walk(stage, await broughtTo(stage, "settled"), changes);
}

async function headers(stage: Stage): Promise<void> {
  const written: StoredAnswer["headers"] = [
    ["X-Zebra", "1"],
    ["content-TYPE", "text/html; charset=utf-8"],
    ["Set-Cookie", ["b=2; Path=/", "a=1, still a"]],
    ["ETag", '"a\\b"'],
    ["Link", ["only one"]],
    ["X-Empty", ""],
    ["X-None", []],
    ["X-Latin-1", "caf\u00e9"],
    ["__proto__", "a name like any other"],
    ["10", "ten"],
    ["9", "nine"],
    ["A", "last"],
  ];
  const body = new Uint8Array();
  await walk(stage, await broughtTo(stage, "settled"), [
    { to: "settled", answer: { status: 206, headers: written, body } },
    { to: "settled", answer: { status: 206, headers: written.toReversed(), body } },
  ]);
}

/** Makes the changes one after another, and checks the record after each. */
async function walk(stage: Stage, record: PaymentRecord, changes: readonly Change[]): Promise<void> {
  let expected = record;
  for (const [at, change] of changes.entries()) {
    expected = await moved(stage, expected, change);
    await demandRecord(stage.store, expected, `after change ${at + 1} of ${changes.length}`);
  }
}
