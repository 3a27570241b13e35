/**
 * A facilitator that moves money between numbers, and fails on demand. It knows the signatures that payers have made: to
 * recover their keys would take most of the time of a replay.
 *
 * @module
 */
import { createHash } from "node:crypto";
import {
  type Facilitator,
  FacilitatorError,
  type FacilitatorRequest,
  type SettlementResponse,
  type SupportedResponse,
  type VerifyResponse,
} from "@farebox/core";
import type { Fault } from "@farebox/testing";
import { createLatch, type Latch } from "../faults/latch.js";

type Operation = "verify" | "settle" | "supported";

export const NETWORK = "eip155:84532";
const FACILITATOR_ADDRESS = "0x1111111111111111111111111111111111111111";

const SUPPORTED: SupportedResponse = {
  kinds: [
    { x402Version: 2, scheme: "exact", network: NETWORK },
    { x402Version: 2, scheme: "upto", network: NETWORK, extra: { facilitatorAddress: FACILITATOR_ADDRESS } },
  ],
  extensions: [],
  signers: { "eip155:*": [FACILITATOR_ADDRESS] },
};

/** The parts of a payment that count here, of both schemes. */
interface Signed {
  readonly payer: string;
  readonly payTo: string;
  readonly nonce: string;
  readonly untilSeconds: number;
}

export function signedOf({ paymentPayload, paymentRequirements }: FacilitatorRequest): Signed {
  const { authorization, permit2Authorization: permit } = paymentPayload.payload as Record<
    string,
    Record<string, string>
  >;
  const { payTo } = paymentRequirements;
  if (authorization !== undefined) {
    const { from = "", nonce = "", validBefore = "0" } = authorization;
    return { payer: from, payTo, nonce, untilSeconds: Number(validBefore) };
  }
  const { from = "", nonce = "", deadline = "0" } = permit ?? {};
  return { payer: from, payTo, nonce, untilSeconds: Number(deadline) };
}

/** The chain: which payments have moved, and how much. */
export class Chain {
  readonly #now: () => number;
  readonly #isGood: (signature: string) => boolean;
  readonly transfers = new Map<
    string,
    { readonly transaction: string; readonly amount: string; readonly payer: string }
  >();

  constructor(now: () => number, isGood: (signature: string) => boolean) {
    this.#now = now;
    this.#isGood = isGood;
  }

  verify(request: FacilitatorRequest): VerifyResponse {
    const { payer, nonce, untilSeconds } = signedOf(request);
    const signature = String(request.paymentPayload.payload["signature"]);
    if (!this.#isGood(signature))
      return { isValid: false, invalidReason: "invalid_exact_evm_payload_signature", payer };
    if (this.transfers.has(nonce)) return { isValid: false, invalidReason: "nonce_already_used", payer };
    if (untilSeconds * 1000 <= this.#now()) return { isValid: false, invalidReason: "payment_expired", payer };
    return { isValid: true, payer };
  }

  /** A settlement that is asked for again finds the money moved. */
  settle(request: FacilitatorRequest): SettlementResponse {
    const { payer, nonce, untilSeconds } = signedOf(request);
    const { network, amount } = request.paymentRequirements;
    const known = this.transfers.get(nonce);
    const signature = String(request.paymentPayload.payload["signature"]);
    if (!this.#isGood(signature))
      return { success: false, errorReason: "invalid_exact_evm_payload_signature", transaction: "", network, payer };
    if (known === undefined && untilSeconds * 1000 <= this.#now())
      return { success: false, errorReason: "payment_expired", transaction: "", network, payer };
    const transaction = `0x${createHash("sha256").update(nonce).digest("hex")}`;
    if (known === undefined) this.transfers.set(nonce, { transaction, amount, payer });
    return { success: true, transaction, network, payer, amount: known?.amount ?? amount };
  }

  get facilitator(): Facilitator {
    return {
      verify: async (request) => this.verify(request),
      settle: async (request) => this.settle(request),
      supported: async () => SUPPORTED,
    };
  }
}

interface Planned {
  readonly fault: Fault;
  readonly released: Latch;
}

/** Makes a facilitator of this process fail, as one behind HTTP seems to. */
export class Faulty {
  readonly #facilitator: Facilitator;
  readonly #next: Record<Operation, Planned[]> = { verify: [], settle: [], supported: [] };
  readonly #always = new Map<Operation, Planned>();
  readonly #holds = new Set<Planned>();

  constructor(facilitator: Facilitator) {
    this.#facilitator = facilitator;
  }

  next(operation: Operation, fault: Fault): void {
    this.#next[operation].push(this.#plan(fault));
  }

  always(operation: Operation, fault: Fault): void {
    this.#always.set(operation, this.#plan(fault));
  }

  #plan(fault: Fault): Planned {
    const planned = { fault, released: createLatch() };
    this.#holds.add(planned);
    return planned;
  }

  /** Ends all faults, and lets held calls go on. */
  clear(): void {
    for (const queue of Object.values(this.#next)) queue.length = 0;
    this.#always.clear();
    for (const { released } of this.#holds) released.open();
    this.#holds.clear();
  }

  get facilitator(): Facilitator {
    const real = this.#facilitator;
    return {
      verify: (request) => this.#call("verify", () => real.verify(request)),
      settle: (request) => this.#call("settle", () => real.settle(request)),
      supported: () => this.#call("supported", () => real.supported()),
    };
  }

  async #call<T extends object>(operation: Operation, run: () => Promise<T>): Promise<T> {
    const planned = this.#next[operation].shift() ?? this.#always.get(operation);
    if (planned === undefined) return run();
    const { fault, released } = planned;
    const isAfter = fault.kind === "rewrite" || ("when" in fault && fault.when === "after");
    const response = isAfter ? await run() : undefined;
    if (fault.kind === "hold") {
      await released.opened;
      return response ?? run();
    }
    if (fault.kind === "rewrite") return fault.rewrite({ ...response }) as T;
    if (fault.kind === "status" && fault.body !== undefined && fault.status === 200) return JSON.parse(fault.body) as T;
    throw lost(operation, fault);
  }
}

/** What the client of a facilitator behind HTTP rejects with. */
function lost(operation: Operation, fault: Fault): FacilitatorError {
  const outcome = operation === "settle" ? "unknown" : "none";
  if (fault.kind === "drop")
    return new FacilitatorError("dropped", { operation, code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE", outcome });
  if (fault.kind !== "status")
    return new FacilitatorError("unreadable", { operation, code: "ERR_FAREBOX_FACILITATOR_RESPONSE", outcome });
  const { status, headers = {} } = fault;
  const wait = headers["Retry-After"];
  return new FacilitatorError(`status ${status}`, {
    operation,
    code: "ERR_FAREBOX_FACILITATOR_STATUS",
    outcome,
    status,
    ...(wait === undefined ? {} : { retryAfterSeconds: Number(wait) }),
  });
}
