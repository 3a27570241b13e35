/**
 * Headers for a facilitator, most often credentials: checked when they are given, never quoted.
 *
 * @module
 */
import { type HeaderValues, isHeader, isPlain, mergeHeaders } from "../http/header-values.js";
import { headersMissing, type Operation } from "./http-failures.js";

/** Headers of each call, for credentials that are only good for one: `{ verify: { authorization: "…" }, settle: … }`. */
export type HeadersByOperation = { readonly [operation in Operation]?: HeaderValues | undefined };

/** Headers to send along with every call, or by call; a function is asked before each and may return either. */
export type FacilitatorHeaders =
  | HeaderValues
  | HeadersByOperation
  | ((operation: Operation) => HeaderValues | HeadersByOperation | Promise<HeaderValues | HeadersByOperation>);

/** What headers have to be, for an error message. */
export const HEADERS_EXPECTED =
  "header names with string values, the same by call ({ verify, settle, supported }), or a function that returns either";

/** Yields the headers of one call. Rejects with a `FacilitatorError` of outcome `"none"` when there are none to be had. */
export type HeaderSource = (operation: Operation) => Promise<HeaderValues>;

const OPERATIONS: readonly Operation[] = ["verify", "settle", "supported"];

/** Whether headers are of a form that can be sent; what a function returns is seen when it is asked. */
export function isFacilitatorHeaders(value: unknown): value is FacilitatorHeaders {
  if (typeof value === "function") return true;
  return isPlain(value) && (isFlat(value) || (isByOperation(value) && Object.keys(value).every(isOperation)));
}

/** Prepares headers; those that are given once are read once. */
export function createHeaderSource(headers: FacilitatorHeaders): HeaderSource {
  if (typeof headers === "function") return (operation) => ask(headers, operation);
  const prepared = new Map(OPERATIONS.map((operation) => [operation, complete(headers, operation)]));
  return async (operation) => prepared.get(operation) ?? complete({}, operation);
}

async function ask(
  headers: Extract<FacilitatorHeaders, (...operation: never) => unknown>,
  operation: Operation,
): Promise<HeaderValues> {
  let given: unknown;
  try {
    given = await headers(operation);
    if (isPlain(given) && (isFlat(given) || isByOperation(given))) return complete(given, operation);
  } catch (error) {
    throw headersMissing(operation, error);
  }
  throw headersMissing(operation, new TypeError("not headers"));
}

/** The seller's headers win over ours, in whatever case they are written. */
function complete(given: HeaderValues | HeadersByOperation, operation: Operation): HeaderValues {
  return mergeHeaders(OWN_HEADERS, isFlat(given) ? given : (given[operation] ?? {}));
}

const OWN_HEADERS: HeaderValues = { accept: "application/json", "content-type": "application/json" };

/** Names of the headers that are not the seller's. */
export const OWN_HEADER_NAMES: readonly string[] = Object.keys(OWN_HEADERS);

/** `{ verify: "Bearer …" }` is more likely a mistake than a header of that name. */
function isFlat(value: object): value is HeaderValues {
  return Object.entries(value).every(([name, text]) => !isOperation(name) && isHeader(name, text));
}

/** Functions written for other libraries also return credentials for calls that are not made here. */
function isByOperation(value: object): value is HeadersByOperation {
  const sets: readonly unknown[] = Object.values(value);
  const wellFormed = sets.every((set) => set === undefined || (isPlain(set) && Object.entries(set).every(isEntry)));
  return wellFormed && Object.keys(value).some(isOperation);
}

function isOperation(name: string): boolean {
  return OPERATIONS.some((operation) => operation === name);
}

function isEntry([name, value]: readonly [string, unknown]): boolean {
  return isHeader(name, value);
}
