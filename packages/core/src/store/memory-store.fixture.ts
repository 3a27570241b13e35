/** A memory store with a clock that the test sets, and records for it. */
import { expect } from "vitest";
import { createMemoryStore, type MemoryStoreOptions } from "./memory-store.js";
import {
  type ClaimRequest,
  type PaymentRecord,
  type PaymentState,
  type PaymentStore,
  TRANSITIONS,
  type Transition,
} from "./payment-store.js";

export const MINUTE = 60_000;
export const STATES = Object.keys(TRANSITIONS) as PaymentState[];

/** A way to each state from a claim. */
const PATHS: Readonly<Record<PaymentState, readonly PaymentState[]>> = {
  claimed: [],
  metering: ["metering"],
  settling: ["settling"],
  settled: ["settling", "settled"],
  owed: ["settling", "settled", "owed"],
  rejected: ["settling", "rejected"],
  unsent: ["settling", "unsent"],
  due: ["metering", "settling", "due"],
  unknown: ["settling", "unknown"],
};

/** What a claim says of its request. */
export const BOUND: Omit<ClaimRequest, "identity" | "owner" | "expiresAtMs"> = {
  ...{ binding: "GET /", mode: "after", route: "GET /", method: "GET", target: "/?a=1", hasBody: false },
};
export const CLAIM: ClaimRequest = { ...BOUND, identity: "p", owner: "run", expiresAtMs: 5 * MINUTE };
export const ANSWER = { status: 200, headers: [], body: new Uint8Array([1]) };
export const RECEIPT = { success: true, transaction: "0x1", network: "eip155:1" };

export function createClock(options?: MemoryStoreOptions) {
  const clock = { ms: 0 };
  return { clock, store: createMemoryStore(() => clock.ms, options) };
}

/** Claims a payment and takes it to a state. */
export async function bring(store: PaymentStore, state: PaymentState, change: Partial<ClaimRequest> = {}) {
  const request = { ...CLAIM, ...change };
  expect(await store.claim(request)).toEqual({ kind: "claimed" });
  let from: PaymentState = "claimed";
  for (const to of PATHS[state]) {
    await move(store, { identity: request.identity, owner: request.owner, from, to });
    from = to;
  }
}

export async function move(store: PaymentStore, change: Transition) {
  expect(await store.transition(change), `${change.from} to ${change.to}`).toBe(true);
}

export async function storeIn(state: PaymentState) {
  const { store, clock } = createClock();
  await bring(store, state);
  return { store, clock };
}

export async function unfinishedOf(store: PaymentStore): Promise<readonly PaymentRecord[]> {
  const found: PaymentRecord[] = [];
  for await (const record of store.unfinished()) found.push(record);
  return found;
}
