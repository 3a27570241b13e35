/**
 * The journal: each request that goes through the gate, step by step, as the proxy and the facilitator see it.
 *
 * @module
 */
import type { FacilitatorRequest } from "@farebox/core";
import { decodePaymentSignature } from "@farebox/core/protocol";

/** A step of a request. */
export interface JournalStep {
  readonly name: "challenge" | "verify" | "run" | "settle" | "fault" | "response";
  /** Milliseconds since the request came. */
  readonly atMs: number;
  /** `undefined`: it is under way. */
  readonly tookMs: number | undefined;
  readonly detail: string;
}

/** A request. */
export interface JournalEntry {
  readonly id: number;
  readonly method: string;
  readonly path: string;
  /** Unix milliseconds. */
  readonly startedMs: number;
  readonly isPaid: boolean;
  readonly status: number | undefined;
  readonly steps: readonly JournalStep[];
}

/** An entry that is written. */
interface OpenEntry {
  entry: JournalEntry;
  /** When the facilitator's last call ended, since when the handler runs. */
  verifiedAtMs: number | undefined;
}

const MAX_ENTRIES = 200;

/** Writes down requests. */
export class Journal {
  readonly #entries = new Map<number, OpenEntry>();
  readonly #byPayment = new Map<string, number>();
  readonly #listeners = new Set<(entry: JournalEntry) => void>();
  #lastId = 0;

  /** The latest requests, oldest first. */
  get entries(): readonly JournalEntry[] {
    return [...this.#entries.values()].map(({ entry }) => entry);
  }

  /** Calls a function with each change, until the returned function is called. */
  listen(listener: (entry: JournalEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A request came. Returns its id. */
  begin(method: string, path: string, payment: string | undefined): number {
    const id = ++this.#lastId;
    const key = keyOfHeader(payment);
    if (key !== undefined) this.#byPayment.set(key, id);
    const entry = {
      id,
      method,
      path,
      startedMs: Date.now(),
      isPaid: payment !== undefined,
      status: undefined,
      steps: [],
    };
    this.#entries.set(id, { entry, verifiedAtMs: undefined });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= MAX_ENTRIES) break;
      this.#entries.delete(oldest);
    }
    for (const [each, of] of this.#byPayment) if (!this.#entries.has(of)) this.#byPayment.delete(each);
    this.#tell(id);
    return id;
  }

  /** The facilitator is called. Returns a function for the end of the call. */
  call(operation: "verify" | "settle", { paymentPayload }: FacilitatorRequest): (detail: string) => void {
    const open = this.#entries.get(this.#byPayment.get(keyOf(paymentPayload.payload)) ?? 0);
    if (open === undefined) return () => {};
    const atMs = Date.now() - open.entry.startedMs;
    if (operation === "settle") this.#endRun(open, atMs);
    const at = this.#add(open, { name: operation, atMs, tookMs: undefined, detail: "" });
    return (detail) => {
      const endedMs = Date.now() - open.entry.startedMs;
      this.#replace(open, at, { name: operation, atMs, tookMs: endedMs - atMs, detail });
      if (operation === "verify") open.verifiedAtMs = endedMs;
    };
  }

  /** A fault strikes a payment. */
  fault({ paymentPayload }: FacilitatorRequest, detail: string): void {
    const open = this.#entries.get(this.#byPayment.get(keyOf(paymentPayload.payload)) ?? 0);
    if (open === undefined) return;
    this.#add(open, { name: "fault", atMs: Date.now() - open.entry.startedMs, tookMs: 0, detail });
  }

  /** The response has begun, or there is none. */
  end(id: number, status: number, detail: string): void {
    const open = this.#entries.get(id);
    if (open === undefined) return;
    const atMs = Date.now() - open.entry.startedMs;
    this.#endRun(open, atMs);
    open.entry = { ...open.entry, status };
    const isChallenge = status === 402 && !open.entry.isPaid;
    this.#add(open, { name: isChallenge ? "challenge" : "response", atMs, tookMs: 0, detail });
  }

  /** The handler ran from the end of the verification on. */
  #endRun(open: OpenEntry, atMs: number): void {
    if (open.verifiedAtMs === undefined) return;
    const startedMs = open.verifiedAtMs;
    open.verifiedAtMs = undefined;
    this.#add(open, { name: "run", atMs: startedMs, tookMs: atMs - startedMs, detail: "" });
  }

  #add(open: OpenEntry, step: JournalStep): number {
    open.entry = { ...open.entry, steps: [...open.entry.steps, step] };
    this.#tell(open.entry.id);
    return open.entry.steps.length - 1;
  }

  #replace(open: OpenEntry, at: number, step: JournalStep): void {
    open.entry = { ...open.entry, steps: open.entry.steps.map((each, index) => (index === at ? step : each)) };
    this.#tell(open.entry.id);
  }

  #tell(id: number): void {
    const entry = this.#entries.get(id)?.entry;
    if (entry !== undefined) for (const listener of this.#listeners) listener(entry);
  }
}

/** A facilitator gets a payment as its scheme has read it. The signature stays, in lower case. */
function keyOf(payload: Readonly<Record<string, unknown>>): string {
  const { signature } = payload;
  return typeof signature === "string" ? signature.toLowerCase() : JSON.stringify(payload);
}

function keyOfHeader(header: string | undefined): string | undefined {
  const decoded = decodePaymentSignature(header);
  return "payment" in decoded ? keyOf(decoded.payment.payload) : undefined;
}

/** One line for the terminal: `GET /weather 200 · verify 3 ms · run 1 ms · settle 24 ms`. */
export function describeEntry({ method, path, status, steps }: JournalEntry): string {
  const parts = steps
    .filter(({ name }) => name !== "response")
    .map(({ name, tookMs, detail }) => {
      const time = tookMs === undefined ? " …" : tookMs === 0 ? "" : ` ${tookMs} ms`;
      return `${name}${time}${detail === "" ? "" : ` (${detail})`}`;
    });
  return [`${method} ${path} ${status ?? ""}`, ...parts].join(" · ");
}
