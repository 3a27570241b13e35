/**
 * Until when a payment can settle, where that is not a time in the payment: on Solana a payment ends with a block after its
 * blockhash, on Algorand with a round. Both come long before the payment's `maxTimeoutSeconds`.
 *
 *   the payload          a bound that is surely not too late, counted from when the payment was first verified here
 *   the node of `rpc`    the time itself. An old payment shows before its handler runs
 *
 * A node that fails, or is behind, refuses no payment: then the bound counts.
 *
 * @see `docs/reference/lifecycle.md`, "When a payment ends early"
 * @module
 */
import { type Findings, handlerTooLongFinding } from "../events/findings.js";
import type { Logger } from "../events/logger.js";
import type { RpcNode } from "../http/rpc-node.js";
import type { StartTimer } from "../options.js";
import { canonicalNetwork } from "../protocol/caip2.js";
import { leastMs } from "../sale/check-payment.js";
import { type PaidRequest, SETTLEMENT_MARGIN_MS } from "../sale/request.js";
import type { DeadlineReading } from "../scheme/scheme.js";

/** How long a node may take. A client waits for it, and its payment gets older. */
const ASK_MS = 3_000;

/** When a node is asked again that is behind. Solana has a block every 400 ms. */
const AGAIN_MS = 500;

/** A handler that needs more than this part of its time is near the end. */
const NEAR = 0.8;

/** Payments that are remembered, each some 200 bytes. Beyond, those that came first are forgotten. */
const MAX_REMEMBERED = 10_000;

/** What deadlines need. */
export interface DeadlinesDeps {
  /** RPC nodes by network, in its canonical spelling. */
  readonly rpc: ReadonlyMap<string, RpcNode>;
  readonly findings: Pick<Findings, "add">;
  readonly logger: Logger;
  readonly now: () => number;
  readonly timer: StartTimer;
}

/** Finds out until when payments can settle, and tells of handlers that are too slow for that. */
export class Deadlines {
  readonly #deps: DeadlinesDeps;
  /** When payments that may be sent again end, in Unix milliseconds, by identity. Those that came first are first. */
  readonly #bounds = new Map<string, { readonly settleByMs: number; readonly untilMs: number }>();
  /** Networks whose node has failed last, as the log has it. */
  readonly #unclear = new Map<string, string>();

  constructor(deps: DeadlinesDeps) {
    this.#deps = deps;
  }

  /**
   * Finds out until when a verified payment can settle, and sets it. `false`: too little of it is left for handler and settlement.
   * Never rejects.
   */
  async read(paid: PaidRequest): Promise<boolean> {
    const { now } = this.#deps;
    const lifeMs = Math.min(paid.offer.requirements.maxTimeoutSeconds * 1000, paid.settleByMs - now());
    const boundMs = this.#bound(paid);
    const reading = await this.#ask(paid);
    if (reading?.kind === "dead") return false;
    const settleByMs = reading?.kind === "known" ? reading.settleBySeconds * 1000 : boundMs;
    if (settleByMs - now() < leastMs(lifeMs)) return false;
    paid.settleByMs = Math.min(settleByMs, paid.claim.expiresAtMs);
    return true;
  }

  /** The handler responded, or ran out of time. Reports a route whose handler came near the end of its payment. */
  handlerEnded(paid: PaidRequest, startedMs: number): void {
    if (!paid.endsEarly) return;
    const { findings, now } = this.#deps;
    const hadMs = paid.settleByMs - SETTLEMENT_MARGIN_MS - startedMs;
    if (now() - startedMs < hadMs * NEAR) return;
    findings.add(handlerTooLongFinding(paid.routeKey, canonicalNetwork(paid.offer.requirements.network)));
  }

  /** The bound by the payload. Each request reads it anew, from its own time on: the first one counts. */
  #bound({ claim, settleByMs }: PaidRequest): number {
    const { now } = this.#deps;
    for (const [identity, { untilMs }] of this.#bounds) {
      if (untilMs > now() && this.#bounds.size < MAX_REMEMBERED) break;
      this.#bounds.delete(identity);
    }
    const first = this.#bounds.get(claim.identity)?.settleByMs ?? settleByMs;
    if (first === settleByMs) this.#bounds.set(claim.identity, { settleByMs, untilMs: claim.expiresAtMs });
    return first;
  }

  /** Asks the node of the network, if there is one. */
  async #ask(paid: PaidRequest): Promise<DeadlineReading | undefined> {
    const { rpc: nodes, now, timer } = this.#deps;
    const { network } = paid.offer.requirements;
    const rpc = nodes.get(canonicalNetwork(network));
    if (rpc === undefined || paid.offer.scheme.readDeadline === undefined) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    const timedOut = new Promise<DeadlineReading>((resolve) => {
      signal.addEventListener("abort", () => resolve({ kind: "unclear", problem: "the node was not ready in time" }));
    });
    const stop = timer(() => controller.abort(), ASK_MS);
    const madeBeforeSeconds = Math.ceil(now() / 1000);
    let reading: DeadlineReading;
    for (;;) {
      reading = await Promise.race([readOnce(paid, { rpc, signal, madeBeforeSeconds, nowMs: now() }), timedOut]);
      if (reading.kind !== "behind" || signal.aborted) break;
      await Promise.race([new Promise<void>((resolve) => void timer(resolve, AGAIN_MS)), timedOut]);
    }
    stop();
    this.#note(network, reading);
    return reading;
  }

  /** Logs that a node does not tell, when that begins. */
  #note(network: string, reading: DeadlineReading): void {
    const problem = "problem" in reading ? reading.problem : undefined;
    if (problem === this.#unclear.get(network)) return;
    if (problem === undefined) return void this.#unclear.delete(network);
    this.#unclear.set(network, problem);
    this.#deps.logger.warn("deadline_unknown", { network, problem });
  }
}

interface Question {
  readonly rpc: RpcNode;
  readonly signal: AbortSignal;
  readonly madeBeforeSeconds: number;
  readonly nowMs: number;
}

async function readOnce(
  { offer, facilitatorRequest }: PaidRequest,
  { nowMs, ...question }: Question,
): Promise<DeadlineReading> {
  const { scheme, requirements } = offer;
  const { payload } = facilitatorRequest.paymentPayload;
  try {
    const query = { payload, requirements, nowSeconds: Math.floor(nowMs / 1000), ...question };
    const reading = await scheme.readDeadline?.(query);
    if (reading?.kind !== "known" || Number.isFinite(reading.settleBySeconds)) return reading ?? FAILED;
  } catch {
    // A seller's own scheme may break its promise.
  }
  return FAILED;
}

const FAILED: DeadlineReading = Object.freeze({ kind: "unclear", problem: "its scheme failed" });
