/**
 * Checks whether the recipients of offers can be paid. On some networks, a wallet needs an account for a token before it
 * can receive any. The seller's RPC nodes are asked. A node that does not respond causes no finding.
 *
 * @module
 */

import { type Finding, payeeFinding } from "../events/findings.js";
import type { Logger } from "../events/logger.js";
import type { RpcNode } from "../http/rpc-node.js";
import type { StartTimer } from "../options.js";
import { canonicalNetwork } from "../protocol/caip2.js";
import type { Offer } from "../scheme/offer.js";
import type { PayeeCheck } from "../scheme/scheme.js";

/** Checks payees. */
export interface Payees {
  /** The findings of the last check. */
  readonly findings: readonly Finding[];
  /** Checks each payee. Ends in bounded time and never rejects. */
  ask(offers: readonly Offer[]): Promise<void>;
}

/** The deadline for all payees together, because the start-up waits for it. */
const ASKING_MS = 8_000;

const AT_ONCE = 8;

/** Dependencies of the payee check. */
export interface PayeesDeps {
  /** RPC nodes by network, in its canonical spelling. */
  readonly rpc: ReadonlyMap<string, RpcNode>;
  readonly logger: Logger;
  readonly timer: StartTimer;
}

/** Creates a payee check without findings. */
export function createPayees(parts: PayeesDeps): Payees {
  let findings: readonly Finding[] = [];
  return {
    get findings() {
      return findings;
    },
    async ask(offers) {
      const questions = oncePerPayee(offers).flatMap((offer) => toQuestion(offer, parts));
      const { signal, ended, stop } = startDeadline(parts);
      const found: Finding[] = [];
      const askNext = async () => {
        for (let next = questions.pop(); next !== undefined; next = questions.pop()) {
          const check = await Promise.race([next.ask(signal), ended]);
          if (check.kind === "unpayable") found.push(payeeFinding(next, check));
          if (check.kind === "unclear") tellUnclear(next, check.problem, parts);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, askNext));
      stop();
      findings = found;
    },
  };
}

function tellUnclear({ network, payTo }: Question, problem: string, { logger }: PayeesDeps): void {
  logger.info("payee_not_checked", { network, payTo, problem });
}

/** One payee, as a finding names it. */
interface Question {
  readonly symbol: string;
  readonly network: string;
  readonly payTo: string;
  /** Never rejects. */
  ask(signal: AbortSignal): Promise<PayeeCheck>;
}

/** Empty if the network has no node, or its scheme needs no check. */
function toQuestion({ scheme, asset: { symbol }, requirements }: Offer, { rpc: nodes }: PayeesDeps): Question[] {
  const { network, asset, payTo } = requirements;
  const rpc = nodes.get(canonicalNetwork(network));
  if (rpc === undefined || scheme.checkPayee === undefined) return [];
  const ask = async (signal: AbortSignal): Promise<PayeeCheck> => {
    try {
      return (await scheme.checkPayee?.({ network, asset, payTo, rpc, signal })) ?? FAILED;
    } catch {
      return FAILED;
    }
  };
  return [{ symbol, network, payTo, ask }];
}

const FAILED: PayeeCheck = Object.freeze({ kind: "unclear", problem: "the check of its scheme failed" });
const LATE: PayeeCheck = Object.freeze({ kind: "unclear", problem: "the check timed out" });

/** Ends the check, even if a scheme or a node hangs. */
function startDeadline({ timer }: PayeesDeps) {
  const controller = new AbortController();
  const ended = new Promise<PayeeCheck>((resolve) => {
    controller.signal.addEventListener("abort", () => resolve(LATE), { once: true });
  });
  return { signal: controller.signal, ended, stop: timer(() => controller.abort(), ASKING_MS) };
}

/** Many routes have the same payee and asset. */
function oncePerPayee(offers: readonly Offer[]): Offer[] {
  const byPayee = offers.map((offer) => {
    const { network, asset, payTo } = offer.requirements;
    return [JSON.stringify([offer.scheme.scheme, canonicalNetwork(network), asset, payTo]), offer] as const;
  });
  return [...new Map(byPayee).values()];
}
