/**
 * The payments of the checks.
 *
 * @module
 */
import {
  type ClaimRequest,
  type FacilitatorRequest,
  type PaymentRecord,
  type PaymentRequirements,
  type PaymentState,
  type SettlementResponse,
  type StoredAnswer,
  TRANSITIONS,
  type Transition,
} from "@farebox/core";
import { demandEqual, type Stage } from "./stage.js";

export const MINUTE_MS = 60_000;

export const STATES: readonly PaymentState[] = Object.freeze(Object.keys(TRANSITIONS) as PaymentState[]);

const DEPTH = 20;

/** States as the names of checks list them: `settling, due or unknown`. */
export function anyOf(states: readonly PaymentState[]): string {
  return states.join(", ").replace(/, (\w+)$/, " or $1");
}

/** The identifier of a claim: a digest. */
export const IDENTIFIER = "q0Zk-8d_Lr3xW5uT7yB1nM2cV4sA6fG9hJ0pE8iO1wQ";

export const RECEIPT: SettlementResponse = Object.freeze({
  success: true,
  transaction: "0x5f1c",
  network: "eip155:84532",
  payer: "0x857b06519E91e3A54538791bDbb0E22373e36b66",
  amount: "340282366920938463463374607431768211455",
});

export const REFUSAL: SettlementResponse = Object.freeze({
  success: false,
  errorReason: "insufficient_funds",
  errorMessage: "“no” — 'really' \"not\" \\ ☂",
  transaction: "",
  network: "eip155:84532",
});

export const RESPONSE: StoredAnswer = Object.freeze({
  status: 200,
  headers: [["Content-Type", "text/plain"]] as const,
  body: new TextEncoder().encode("sunny"),
});

/** The request to a facilitator. The payload comes from the client, so it may hold any JSON without NUL, also halves of surrogate pairs. */
export const REQUEST: FacilitatorRequest = Object.freeze<FacilitatorRequest>({
  x402Version: 2,
  paymentPayload: {
    x402Version: 2,
    accepted: requirements(),
    resource: { url: "https://shop.example/weather/paris?unit=c", description: "Wetter in “Düsseldorf” ☂ 支付 😀" },
    payload: {
      signature: `0x${"2d6a7588".repeat(16)}1c`,
      authorization: {
        from: "0x857b06519E91e3A54538791bDbb0E22373e36b66",
        to: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
        value: "10000",
        validAfter: "0",
        validBefore: "1795255890",
        nonce: `0x${"f3746613".repeat(8)}`,
      },
      text: "e\u0301 is not \u00e9; a\ud800b; \u2028; \"'\\`; \ud83d\udc68\u200d\ud83d\udc69\u200d\ud83d\udc67",
      numbers: [0, -1, 1.5, 9_007_199_254_740_991, 1e21],
      nothing: [null, true, false, "", [], {}],
      ...JSON.parse('{"__proto__":{"isAdmin":true},"constructor":"none","toString":null}'),
      deep: nested(DEPTH),
    },
    extensions: { bazaar: { info: { input: { type: "http", method: "GET" } }, schema: {} } },
  },
  paymentRequirements: requirements(),
});

/** A request like `REQUEST`, for another amount. */
export function requestOf(amount: string): FacilitatorRequest {
  return { ...REQUEST, paymentRequirements: { ...REQUEST.paymentRequirements, amount } };
}

/** The transitions from a claim to each state. */
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
export const BOUND: Omit<ClaimRequest, "identity" | "owner" | "expiresAtMs"> = Object.freeze({
  binding: "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
  mode: "after",
  route: "GET /weather/:city",
  method: "GET",
  target: "/weather/paris?unit=c",
  hasBody: false,
});

/** Another one, in which each field differs. */
export const BOUND_OTHERWISE: typeof BOUND = Object.freeze({
  binding: "GET /other",
  mode: "metered",
  route: "/other",
  method: "M-SEARCH",
  target: "/other?'☂'=😀&a=\u202e",
  hasBody: true,
});

/** A claim like that of the gate: the payment expires in five minutes. */
export function claimOf(stage: Stage, change: Partial<ClaimRequest> = {}): ClaimRequest {
  const expiresAtMs = stage.clock.now() + 5 * MINUTE_MS;
  return { ...BOUND, identity: "p", owner: "run", expiresAtMs, ...change };
}

/** Claims an unclaimed payment. */
export async function claimed(stage: Stage, change: Partial<ClaimRequest> = {}): Promise<PaymentRecord> {
  const request = claimOf(stage, change);
  demandEqual(await stage.store.claim(request), { kind: "claimed" }, "claim of an unclaimed payment");
  return { ...request, state: "claimed" };
}

/** Claims a payment, and moves it to a state. Returns the expected record. */
export async function broughtTo(
  stage: Stage,
  state: PaymentState,
  change: Partial<ClaimRequest> = {},
): Promise<PaymentRecord> {
  let record = await claimed(stage, change);
  for (const to of PATHS[state]) record = await moved(stage, record, { to });
  return record;
}

/** Moves a payment to a next state. Returns the expected record. */
export async function moved(
  stage: Stage,
  record: PaymentRecord,
  change: Pick<Transition, "to"> & Partial<Transition>,
): Promise<PaymentRecord> {
  const { identity, state: from, owner } = record;
  const taken = await stage.store.transition({ identity, from, owner, ...change });
  demandEqual(taken, true, `transition from ${from} to ${change.to}`);
  return expectedAfter(record, change);
}

/** The fields that a transition may write or remove. */
const CHANGEABLE = [
  "answer",
  "facilitator",
  "receipt",
  "request",
  "leaseUntilMs",
  "identifier",
  "transaction",
  "mark",
] as const;

function expectedAfter(record: PaymentRecord, change: Pick<Transition, "to"> & Partial<Transition>): PaymentRecord {
  // `undefined` keeps a field, `null` removes it.
  const written = CHANGEABLE.filter((name) => change[name] !== undefined);
  const fields = Object.fromEntries(written.map((name) => [name, change[name] ?? undefined]));
  return { ...record, ...fields, state: change.to, owner: change.newOwner ?? record.owner };
}

function requirements(): PaymentRequirements {
  return {
    scheme: "exact",
    network: "eip155:84532",
    amount: "10000",
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    maxTimeoutSeconds: 60,
    extra: { name: "USDC", version: "2" },
  };
}

function nested(depth: number): unknown {
  return depth === 0 ? "the end" : depth % 2 === 0 ? [nested(depth - 1)] : { "": nested(depth - 1) };
}
