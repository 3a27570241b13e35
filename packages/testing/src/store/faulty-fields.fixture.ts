/** Payment stores that change the fields they should keep, each in one way. */
import {
  type ClaimRequest,
  createMemoryStore,
  type FacilitatorRequest,
  type PaymentRecord,
  type PaymentStore,
  type StoredAnswer,
  type Transition,
} from "@farebox/core";
import { changing, claiming, reading } from "./faulty-stores.fixture.js";

export function withoutNull(field: "answer" | "facilitator" | "request" | "leaseUntilMs" | "mark") {
  return (change: Transition): Transition => {
    const { [field]: value, ...rest } = change;
    return value === null ? rest : change;
  };
}

type RequestField = "mode" | "route" | "method" | "target" | "hasBody";

export function claimsWithout(field: RequestField) {
  return (now: () => number): PaymentStore =>
    claiming(now, ({ [field]: _, ...rest }) => rest as unknown as ClaimRequest);
}

/** Keeps a field of a claim until the first transition. */
export function losesWithTheClaim(field: RequestField) {
  return (now: () => number): PaymentStore =>
    reading(createMemoryStore(now), (record) => {
      if (record.state === "claimed") return record;
      const { [field]: _, ...rest } = record;
      return rest as unknown as PaymentRecord;
    });
}

/** Keeps the marks that it knows. */
export function knownMark(change: Transition): Transition {
  const known: readonly unknown[] = ["undelivered", "for_payer", "unproven", null, undefined];
  return known.includes(change.mark) ? change : { ...change, mark: null };
}

/** A change without a mark removes the mark. */
export function onlyNewMark(change: Transition): Transition {
  return { ...change, mark: change.mark ?? null };
}

/** Changes every response before it is stored. */
export function answering(now: () => number, other: (answer: StoredAnswer) => StoredAnswer): PaymentStore {
  return changing(now, (change) => (change.answer ? { ...change, answer: other(change.answer) } : change));
}

/** Changes every request before it is stored. */
export function requesting(now: () => number, other: (payload: Payload) => Payload): PaymentStore {
  return changing(now, (change) => {
    const { request } = change;
    if (!request) return change;
    const paymentPayload = { ...request.paymentPayload, payload: other(request.paymentPayload.payload) };
    return { ...change, request: { ...request, paymentPayload } };
  });
}

type Payload = FacilitatorRequest["paymentPayload"]["payload"];

/** A copy by assignment loses the key `__proto__`. */
export function assignedPayload(payload: Payload): Payload {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(payload)) copy[name] = value;
  return copy;
}

export function payloadWithoutHalves(payload: Payload): Payload {
  return JSON.parse(JSON.stringify(payload).replaceAll("\\ud800", "\ufffd"));
}

export function payloadInLatin1(payload: Payload): Payload {
  return JSON.parse(JSON.stringify(payload).replaceAll(/[^ -\u00ff]/g, "?"));
}

export function shallowPayload(payload: Payload): Payload {
  const cut = (value: unknown, depth: number): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if (depth === 10) return Array.isArray(value) ? "[Array]" : "[Object]";
    if (Array.isArray(value)) return value.map((one) => cut(one, depth + 1));
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cut(one, depth + 1)]));
  };
  return cut(payload, 0) as Payload;
}

/** Stores seconds. */
export function leaseInSeconds(change: Transition): Transition {
  const { leaseUntilMs } = change;
  return leaseUntilMs ? { ...change, leaseUntilMs: Math.floor(leaseUntilMs / 1000) * 1000 } : change;
}

/** Treats 0 as absent. */
export function leaseUnlessZero(change: Transition): Transition {
  const { leaseUntilMs, ...rest } = change;
  return leaseUntilMs ? change : { ...rest, leaseUntilMs: null };
}

/** Hides ended leases. */
export function hidesPastLeases(now: () => number): PaymentStore {
  return reading(createMemoryStore(now), ({ leaseUntilMs, ...rest }) => ({
    ...rest,
    ...(leaseUntilMs !== undefined && leaseUntilMs >= now() ? { leaseUntilMs } : {}),
  }));
}

export function bodyAsText(answer: StoredAnswer): StoredAnswer {
  return { ...answer, body: Buffer.from(Buffer.from(answer.body).toString("utf8")) };
}

export function wholeBuffer(answer: StoredAnswer): StoredAnswer {
  return { ...answer, body: new Uint8Array(answer.body.buffer) };
}

export function sortedHeaders(answer: StoredAnswer): StoredAnswer {
  return { ...answer, headers: answer.headers.toSorted(([one], [other]) => (one < other ? -1 : 1)) };
}

export function headersAsObject(answer: StoredAnswer): StoredAnswer {
  return { ...answer, headers: Object.entries(Object.fromEntries(answer.headers)) };
}

export function lowerCaseHeaders(answer: StoredAnswer): StoredAnswer {
  return { ...answer, headers: answer.headers.map(([name, value]) => [name.toLowerCase(), value]) };
}

export function joinedHeaders(answer: StoredAnswer): StoredAnswer {
  return { ...answer, headers: answer.headers.map(([name, value]) => [name, String(value)]) };
}

/** Keeps responses in their own table, which a release does not touch. */
export function keepsAnswersApart(now: () => number): PaymentStore {
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
