/**
 * What a client sees of a seller, and how two sellers differ in it.
 *
 * @module
 */

/** One exchange, as a client and the ledger see it. */
export interface Observation {
  readonly status: number;
  /** Those that clients read. */
  readonly headers: Readonly<Record<string, string>>;
  /** `PAYMENT-REQUIRED`, decoded. */
  readonly challenge: unknown;
  /** `PAYMENT-RESPONSE`, decoded. */
  readonly receipt: unknown;
  /** JSON as a value, anything else as text. */
  readonly body: unknown;
  /** Further facts: what money moved, how often the handler ran, which hooks were called. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** One place in which two observations differ. */
export interface Difference {
  /** `challenge.accepts.0.amount`. */
  readonly path: string;
  readonly reference: unknown;
  readonly compat: unknown;
}

/** Not there at all. */
export const ABSENT = "(absent)";

const HEADERS = [
  "content-type",
  "cache-control",
  "location",
  "retry-after",
  "access-control-expose-headers",
  "vary",
  "etag",
];

/** Reads a response. */
export async function observe(response: Response, facts: Observation["facts"] = {}): Promise<Observation> {
  const text = await response.text();
  const headers = HEADERS.flatMap((name) => {
    const value = response.headers.get(name);
    // Of an ETag, only whether there is one: it is of a body that may name the time.
    return value === null ? [] : [[name, name === "etag" ? "(etag)" : value] as const];
  });
  return {
    status: response.status,
    headers: Object.fromEntries(headers),
    challenge: decodeHeader(response.headers.get("PAYMENT-REQUIRED")),
    receipt: decodeHeader(response.headers.get("PAYMENT-RESPONSE")),
    body: asJson(text),
    facts,
  };
}

/** A header of the protocol, decoded. A header that is not JSON stays text. */
export function decodeHeader(header: string | null): unknown {
  return header === null ? ABSENT : asJson(Buffer.from(header, "base64").toString("utf8"));
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Replaces what is different at each run: transactions, addresses of payers, ports and times. */
export function normalize<T>(value: T, replaced: Readonly<Record<string, string>>): T {
  let text = JSON.stringify(value);
  for (const [from, to] of Object.entries(replaced)) text = text.replaceAll(new RegExp(from, "gi"), to);
  return JSON.parse(text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "(time)"));
}

/** Every place in which they differ, down to the single values. */
export function compare(reference: unknown, compat: unknown, path = ""): readonly Difference[] {
  if (isObject(reference) && isObject(compat)) {
    const keys = new Set([...Object.keys(reference), ...Object.keys(compat)]);
    return [...keys].flatMap((key) =>
      compare(valueIn(reference, key), valueIn(compat, key), path === "" ? key : `${path}.${key}`),
    );
  }
  return JSON.stringify(reference) === JSON.stringify(compat) ? [] : [{ path, reference, compat }];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function valueIn(object: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(object, key) && object[key] !== undefined ? object[key] : ABSENT;
}
