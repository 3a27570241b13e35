/**
 * A payment as a row of a table: the columns of PostgreSQL and of SQLite are the same.
 *
 * JSON is kept as text, since `jsonb` refuses halves of surrogate pairs.
 *
 * @module
 */
import {
  type ClaimRequest,
  type DeliveryMark,
  type PaymentRecord,
  type PaymentState,
  RELEASABLE,
  type SettleTime,
  sizeOfAnswer,
  type Transition,
  UNFINISHED,
  UNLEASED,
} from "@farebox/core";

/** A delivered response counts as older than any that was not. */
export const DELIVERED_MS: number = 100_000_000_000_000;

/** A record stays this long after its payment has expired. */
export const GRACE_MS: number = 10 * 60 * 1000;

/**
 * When an unfinished record is forgotten: never. Processes of a version that knows fewer unfinished states must not delete it either.
 * The last millisecond of JavaScript's dates.
 */
export const NEVER_MS = 8_640_000_000_000_000;

/** The columns that a claim writes. */
export const CLAIMED_COLUMNS: readonly string[] = [
  ...["identity", "binding", "owner", "expires_at_ms", "mode", "route", "method", "target", "has_body", "identifier"],
  "lease_until_ms",
];

/** The columns of a record. */
export const COLUMNS: string = [
  ...CLAIMED_COLUMNS,
  ...["state", "facilitator", "request", "answer", "body", "mark", "receipt", "paid_by"],
].join(", ");

/** States, as lists in SQL. */
export const UNFINISHED_SQL: string = listOf(UNFINISHED);
export const RELEASABLE_SQL: string = listOf(RELEASABLE);
export const UNLEASED_SQL: string = listOf(UNLEASED);

/** A row as drivers return it: numbers may be texts or bigints, bytes may be a `Buffer`, a `Uint8Array` or an `ArrayBuffer`. */
export type Row = Readonly<Record<string, unknown>>;

/** Reads a row. */
export function readRow(row: Row): PaymentRecord {
  const { facilitator, identifier, request, lease_until_ms: lease, answer, body, receipt, paid_by: transaction } = row;
  const { mark } = row;
  return {
    identity: String(row["identity"]),
    binding: String(row["binding"]),
    state: row["state"] as PaymentState,
    owner: String(row["owner"]),
    expiresAtMs: Number(row["expires_at_ms"]),
    mode: row["mode"] as SettleTime,
    route: String(row["route"]),
    method: String(row["method"]),
    target: String(row["target"]),
    hasBody: Number(row["has_body"]) === 1,
    ...(isPresent(facilitator) && { facilitator: String(facilitator) }),
    ...(isPresent(identifier) && { identifier: String(identifier) }),
    ...(isPresent(request) && { request: JSON.parse(String(request)) }),
    ...(isPresent(lease) && { leaseUntilMs: Number(lease) }),
    ...(isPresent(answer) && { answer: { ...JSON.parse(String(answer)), body: readBytes(body) } }),
    ...(isPresent(mark) && { mark: mark as DeliveryMark }),
    ...(isPresent(receipt) && { receipt: JSON.parse(String(receipt)) }),
    ...(isPresent(transaction) && { transaction: String(transaction) }),
  };
}

/** A value of a column. */
export type Cell = string | number | Uint8Array | null;

/** The values of {@link CLAIMED_COLUMNS}. */
export function claimedValues(request: ClaimRequest): readonly Exclude<Cell, Uint8Array>[] {
  const { identity, binding, owner, expiresAtMs, mode, route, method, target, hasBody } = request;
  const { identifier = null, leaseUntilMs = null } = request;
  return [
    identity,
    binding,
    owner,
    expiresAtMs,
    mode,
    route,
    method,
    target,
    Number(hasBody),
    identifier,
    leaseUntilMs,
  ];
}

/** The columns that a transition writes. @param nowMs - How old a response is that it brings. */
export function writtenColumns(change: Transition, nowMs: number): readonly (readonly [column: string, value: Cell])[] {
  const { to, newOwner, facilitator, identifier, request, leaseUntilMs, answer, mark, receipt, transaction } = change;
  const columns: (readonly [string, Cell])[] = [["state", to]];
  if (newOwner !== undefined) columns.push(["owner", newOwner]);
  if (facilitator !== undefined) columns.push(["facilitator", facilitator]);
  if (identifier !== undefined) columns.push(["identifier", identifier]);
  if (request !== undefined) columns.push(["request", request && JSON.stringify(request)]);
  if (leaseUntilMs !== undefined) columns.push(["lease_until_ms", leaseUntilMs]);
  if (mark !== undefined) columns.push(["mark", mark]);
  if (receipt !== undefined) columns.push(["receipt", JSON.stringify(receipt)]);
  if (transaction !== undefined) columns.push(["paid_by", transaction]);
  if (answer !== undefined) {
    columns.push(["answer", answer && JSON.stringify({ status: answer.status, headers: answer.headers })]);
    columns.push(["body", answer && bufferOf(answer.body)]);
    const keptAtMs = change.delivers === true ? nowMs - DELIVERED_MS : nowMs;
    columns.push(["kept_bytes", answer && sizeOfAnswer(answer)], ["kept_at_ms", answer && keptAtMs]);
  }
  return columns;
}

/** A `Buffer` with the same bytes, not copied: not every driver takes another `Uint8Array`. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function readBytes(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return body instanceof ArrayBuffer ? new Uint8Array(body) : new Uint8Array();
}

function listOf(states: readonly PaymentState[]): string {
  return states.map((state) => `'${state}'`).join(", ");
}

function isPresent(value: unknown): boolean {
  return value !== null && value !== undefined;
}
