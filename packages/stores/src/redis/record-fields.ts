/**
 * A payment as the fields of a Redis hash.
 *
 * Some clients decode all that they read as UTF-8, so a body is kept in base64. JSON is kept as its text.
 *
 * @module
 */
import type { ClaimRequest, DeliveryMark, PaymentRecord, PaymentState, SettleTime, Transition } from "@farebox/core";

/** The fields, short because each record has them. The scripts know `s`, `o`, `e`, `i` and `l`. */
const FIELDS = {
  identity: "p",
  binding: "b",
  state: "s",
  owner: "o",
  expiresAtMs: "e",
  mode: "m",
  route: "k",
  method: "g",
  target: "u",
  hasBody: "d",
  facilitator: "f",
  identifier: "i",
  request: "q",
  leaseUntilMs: "l",
  answer: "h",
  body: "y",
  mark: "a",
  receipt: "r",
  transaction: "t",
} as const;

/** The fields of a new record, and their values by turns. */
export function fieldsOfClaim(request: ClaimRequest): readonly string[] {
  const { identity, binding, owner, expiresAtMs, mode, route, method, target, hasBody } = request;
  const { identifier, leaseUntilMs } = request;
  const fields: string[] = [FIELDS.identity, identity, FIELDS.binding, binding, FIELDS.state, "claimed"];
  fields.push(FIELDS.owner, owner, FIELDS.expiresAtMs, String(expiresAtMs), FIELDS.mode, mode);
  fields.push(FIELDS.route, route, FIELDS.method, method, FIELDS.target, target);
  if (hasBody) fields.push(FIELDS.hasBody, "1");
  if (identifier !== undefined) fields.push(FIELDS.identifier, identifier);
  if (leaseUntilMs !== undefined) fields.push(FIELDS.leaseUntilMs, String(leaseUntilMs));
  return fields;
}

/** The fields that a transition writes, by turns with their values, and those that it removes; without the state. */
export function fieldsOfChange(change: Transition): { written: readonly string[]; removed: readonly string[] } {
  const written: string[] = [];
  const removed: string[] = [];
  const add = (field: string, value: string | null | undefined) => {
    if (value === null) removed.push(field);
    else if (value !== undefined) written.push(field, value);
  };
  const { newOwner, facilitator, identifier, request, leaseUntilMs, answer, mark, receipt, transaction } = change;
  add(FIELDS.owner, newOwner);
  add(FIELDS.facilitator, facilitator);
  add(FIELDS.identifier, identifier);
  add(FIELDS.request, request && JSON.stringify(request));
  add(FIELDS.leaseUntilMs, typeof leaseUntilMs === "number" ? String(leaseUntilMs) : leaseUntilMs);
  add(FIELDS.mark, mark);
  add(FIELDS.receipt, receipt && JSON.stringify(receipt));
  add(FIELDS.transaction, transaction);
  add(FIELDS.answer, answer && JSON.stringify({ status: answer.status, headers: answer.headers }));
  add(FIELDS.body, answer && base64Of(answer.body));
  return { written, removed };
}

/** Reads fields and values by turns. Returns `undefined` for none. */
export function readRecord(reply: readonly unknown[]): PaymentRecord | undefined {
  if (reply.length === 0) return undefined;
  const fields = new Map<string, string>();
  // A client may be set to return Buffers.
  for (let at = 0; at < reply.length; at += 2) fields.set(String(reply[at]), String(reply[at + 1]));
  const required = (field: string) => fields.get(field) ?? "";
  const facilitator = fields.get(FIELDS.facilitator);
  const identifier = fields.get(FIELDS.identifier);
  const request = fields.get(FIELDS.request);
  const lease = fields.get(FIELDS.leaseUntilMs);
  const answer = fields.get(FIELDS.answer);
  const mark = fields.get(FIELDS.mark);
  const receipt = fields.get(FIELDS.receipt);
  const transaction = fields.get(FIELDS.transaction);
  return {
    identity: required(FIELDS.identity),
    binding: required(FIELDS.binding),
    state: required(FIELDS.state) as PaymentState,
    owner: required(FIELDS.owner),
    expiresAtMs: Number(required(FIELDS.expiresAtMs)),
    mode: required(FIELDS.mode) as SettleTime,
    route: required(FIELDS.route),
    method: required(FIELDS.method),
    target: required(FIELDS.target),
    hasBody: fields.has(FIELDS.hasBody),
    ...(facilitator !== undefined && { facilitator }),
    ...(identifier !== undefined && { identifier }),
    ...(request !== undefined && { request: JSON.parse(request) }),
    ...(lease !== undefined && { leaseUntilMs: Number(lease) }),
    ...(answer !== undefined && {
      answer: { ...JSON.parse(answer), body: Buffer.from(required(FIELDS.body), "base64") },
    }),
    ...(mark !== undefined && { mark: mark as DeliveryMark }),
    ...(receipt !== undefined && { receipt: JSON.parse(receipt) }),
    ...(transaction !== undefined && { transaction }),
  };
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
