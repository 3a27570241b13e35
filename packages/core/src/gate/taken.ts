/**
 * A payment that has been seen before: what the same payment, sent again, gets.
 *
 * @see `docs/lifecycle.md`, "The same payment again"
 * @module
 */
import type { SettlementResponse } from "../protocol/settlement-response.js";
import type { PaymentRecord, StoredAnswer } from "../store/payment-record.js";
import { createPrepaidAdmission, keepAnswer } from "./admission.js";
import { replayAnswer } from "./answer.js";
import type { Decision } from "./decision.js";
import { inProgressAnswer, type PaidRequest, refusal } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import { createPrepaid } from "./prepaid.js";
import { settleOnce, unservedAnswer } from "./settle-once.js";

/** Decides a request whose payment already has a record. */
export async function decideOnTaken(
  paid: PaidRequest,
  record: PaymentRecord,
  config: PaymentsConfig,
): Promise<Decision> {
  if (record.binding !== paid.claim.binding) return alreadyUsed(paid);
  switch (record.state) {
    case "claimed":
    case "serving":
    case "settling":
      return { kind: "answer", answer: inProgressAnswer() };
    case "settled":
      return takeKeptAnswer(paid, record, config);
    case "owed":
      return runOwed(paid, record, config);
    case "rejected":
      return {
        kind: "answer",
        answer: refusal(paid, record.receipt?.errorReason ?? "payment_already_used", record.receipt),
      };
    case "unsent":
    case "unknown":
      return settleAgain(paid, { ...record, state: record.state }, config);
    default:
      return record.state satisfies never;
  }
}

/**
 * A settled payment is public: whoever reads the chain can rebuild it. So it yields nothing, but for the answer whose
 * delivery broke off, and that to one request only.
 */
async function takeKeptAnswer(paid: PaidRequest, record: PaymentRecord, config: PaymentsConfig): Promise<Decision> {
  const { answer, receipt } = record;
  if (answer === undefined || receipt === undefined) return alreadyUsed(paid);
  const { identity, owner } = paid.claim;
  const taken = await config.store.transition({
    identity,
    from: "settled",
    to: "settled",
    owner: record.owner,
    newOwner: owner,
    answer: null,
  });
  return taken ? replay(paid, { answer, receipt }, config) : alreadyUsed(paid);
}

/** The money moved and nothing was done for it: now the handler runs, for one request only. */
async function runOwed(paid: PaidRequest, record: PaymentRecord, config: PaymentsConfig): Promise<Decision> {
  if (record.receipt === undefined) return alreadyUsed(paid);
  const { identity, owner } = paid.claim;
  const taken = await config.store.transition({
    identity,
    from: "owed",
    to: "settled",
    owner: record.owner,
    newOwner: owner,
  });
  return taken ? admitPrepaid(paid, record.receipt, config) : alreadyUsed(paid);
}

/** The chain's nonce makes this safe: the same payment cannot be carried out twice. */
async function settleAgain(
  paid: PaidRequest,
  record: PaymentRecord & { readonly state: "unsent" | "unknown" },
  config: PaymentsConfig,
): Promise<Decision> {
  const { state: from, owner, facilitator, answer } = record;
  const settlement = await settleOnce(paid, { from, owner, facilitator, answer }, config);
  if (settlement.kind !== "settled") return { kind: "answer", answer: unservedAnswer(paid, settlement) };
  const { receipt } = settlement;
  if (answer !== undefined) return replay(paid, { answer, receipt }, config);
  if (paid.route.settle === "before") return admitPrepaid(paid, receipt, config);
  return { kind: "admitted", admission: createPrepaidAdmission(paid, receipt, config) };
}

function replay(
  paid: PaidRequest,
  { answer, receipt }: { readonly answer: StoredAnswer; readonly receipt: SettlementResponse },
  config: PaymentsConfig,
): Decision {
  return {
    kind: "answer",
    answer: replayAnswer(answer, receipt),
    undelivered: () => keepAnswer(paid, answer, config),
  };
}

function admitPrepaid(paid: PaidRequest, receipt: SettlementResponse, config: PaymentsConfig): Decision {
  return { kind: "prepaid", prepaid: createPrepaid(paid, receipt, config) };
}

function alreadyUsed(paid: PaidRequest): Decision {
  return { kind: "answer", answer: refusal(paid, "payment_already_used") };
}
