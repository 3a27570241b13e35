/**
 * The hooks of a seller: each is written down, and one may decide about the payer that it knows.
 *
 * @module
 */
import type { HeldResponse, PaymentContext, PaymentHooks, PricedRequest } from "@farebox/core";
import { KNOWN_PAYER, type SellerPlan } from "./plan.js";
import { digest } from "./random.js";
import type { Scribe } from "./records.js";
import { ADDRESSES, payerOf } from "./wallet.js";

const DENIALS: Readonly<Record<string, object>> = {
  denies: { deny: "not for you" },
  "denies with 402": { deny: "pay in another way", status: 402, receiptMessage: "refused by the shop" },
  grants: { grant: true },
  "says verified": { verified: true },
  responds: { respond: { contentType: "application/json", body: { sold: "by the hook" } } },
  refunds: { refunded: true },
  "returns nonsense": { grant: "yes" },
};

/** All hooks of a seller. */
export function createHooks({ hooks }: SellerPlan, scribe: Scribe): PaymentHooks {
  const plan = typeof hooks === "string" ? undefined : hooks;
  const put = (identity: string, text: string) => {
    const lane = scribe.laneOf(scribe.nameOf(identity));
    if (lane !== undefined) scribe.transcript.note("hook", lane, text);
  };
  const decide = (name: string, isKnown: boolean): never => {
    if (plan?.name !== name || !isKnown) return undefined as never;
    if (plan.does === "throws") throw new RangeError("the hook threw");
    return DENIALS[plan.does] as never;
  };
  const isKnown = ({ payer }: PaymentContext) => payer.toLowerCase() === ADDRESSES[KNOWN_PAYER]?.toLowerCase();
  const about = ({ payer, amount, requirements, request }: PaymentContext) =>
    `${payerOf(payer)} ${amount}/${requirements.amount}${request === undefined ? " without a request" : ` ${request.path}`}`;
  return {
    onRequest(request: PricedRequest) {
      put("", `onRequest ${request.route}${request.hasPayment ? " with a payment" : ""}`);
      return decide("onRequest", request.header("x-payer") === String(KNOWN_PAYER));
    },
    beforeVerify(payment) {
      put(payment.payment, `beforeVerify ${about(payment)}`);
      return decide("beforeVerify", isKnown(payment));
    },
    afterVerify(payment) {
      put(payment.payment, `afterVerify ${about(payment)}`);
      return decide("afterVerify", isKnown(payment));
    },
    onVerifyFailed(payment, { reason }) {
      put(payment.payment, `onVerifyFailed ${about(payment)}: ${reason}`);
    },
    beforeSettle(payment) {
      put(payment.payment, `beforeSettle ${about(payment)}, ${held(payment.response)}`);
      return decide("beforeSettle", isKnown(payment));
    },
    onPaid(payment, { response }) {
      put(
        payment.payment,
        `onPaid ${about(payment)}, ${held(payment.response)}, ${response === undefined ? "no response" : "a response"}`,
      );
      if (plan?.name === "onPaid" && plan.does === "adds a header") response?.setHeader("X-Invoice", "1");
      else decide("onPaid", isKnown(payment));
    },
    afterSettle(payment, receipt) {
      put(payment.payment, `afterSettle ${about(payment)}: ${JSON.stringify(receipt)}`);
    },
    onSettleUnknown(payment) {
      put(payment.payment, `onSettleUnknown ${about(payment)}`);
    },
    onCancel(payment, reason) {
      put(payment.payment, `onCancel ${about(payment)}: ${reason}`);
    },
    onHandlerFailed(payment, { status, owesRun }) {
      put(payment.payment, `onHandlerFailed ${about(payment)}: ${status}${owesRun ? ", owes a run" : ""}`);
      return decide("onHandlerFailed", isKnown(payment));
    },
  };
}

function held(response: HeldResponse | undefined): string {
  if (response === undefined) return "nothing held";
  const { status, headers, body } = response;
  const names = Object.keys(headers).filter((name) => !["date", "etag", "connection", "keep-alive"].includes(name));
  return `held ${status} ${digest(names.sort().join())} ${body === undefined ? "large" : digest(body)}`;
}
