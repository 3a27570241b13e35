/**
 * The gate: what becomes of one request.
 *
 * A stranger's request is never an exception here: every branch ends in a {@link Decision}.
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */

import { foreignHostFinding, notHttpsFinding, proxyFinding } from "../events/findings.js";
import { errorName } from "../events/logger.js";
import { type DecodedPayment, decodePayment, decodePaymentSignature } from "../protocol/headers.js";
import type { CoverageQuery } from "../route/coverage.js";
import { digestOf, fullPathOf, type GateRequest } from "../route/request.js";
import type { RouteTable } from "../route/route-table.js";
import { UNKNOWN_RECEIVERS } from "../route/router-view.js";
import { type Arrival, targetOf, toPricedRequest, toPriceRequest } from "./arrival.js";
import { decideReadable } from "./decide-readable.js";
import type { Decision } from "./decision.js";
import { coverPriced } from "./free-keys.js";
import { askOnRequest } from "./hooks.js";
import { incompleteRequestAnswer, undecidedAnswer } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import type { PricedRoute } from "./parse-routes.js";
import { wantsPage } from "./paywall.js";
import { readPayment } from "./read-payment.js";
import { answered, refuse } from "./refuse.js";
import { type ReportedOffer, reportOffers } from "./report.js";
import { isForeignHost, type Place, placeOf, resourceUrl } from "./resource.js";
import { ambiguousAnswer, askPersonToPay, askToPay } from "./responses.js";
import { isPublicWithoutTls } from "./service-info.js";

/** Decides the requests that meet a table. */
export interface Gate {
  /**
   * Decides at once where nobody has to be asked: what is free, and what comes without a payment. All else takes its time.
   *
   * Never throws or rejects: a store or a scheme that fails yields 503, and nothing was charged.
   */
  decide(request: GateRequest): Decision | Promise<Decision>;
}

/** Decides the requests of one route, which the framework has matched by itself. */
export interface RouteGate {
  /** @param locate - Says where the request is; asked only when it is to be known. */
  decide(request: GateRequest, locate: () => Place): Decision | Promise<Decision>;
  /** Ways to pay, in the seller's order. */
  readonly offers: readonly ReportedOffer[];
}

const OPEN: Decision = Object.freeze({ kind: "pass", isGranted: false });

const GRANTED: Decision = Object.freeze({ kind: "pass", isGranted: true });

/** What the challenge says to a request without a payment. */
const PAYMENT_REQUIRED_ERROR = "Payment required";

/** Where version 1 of the protocol has its payments. Whoever sends one should not wonder why it is not taken. */
const OLD_PAYMENT = "X-PAYMENT";
const OLD_PAYMENT_ERROR = "invalid_x402_version: X-PAYMENT is of x402 version 1; version 2 has PAYMENT-SIGNATURE";

/** How soon a payer may try again when the facilitator does not say. */
const RETRY_AFTER_SECONDS = 5;

/** Creates the gate of one route table. */
export function createGate(table: RouteTable<PricedRoute>, config: PaymentsConfig): Gate {
  return {
    decide(request) {
      try {
        const coverage = coverPriced(table, toCoverageQuery(request));
        if (coverage.kind === "free") return OPEN;
        if (coverage.kind === "ambiguous") return answered(ambiguousAnswer());
        const { candidate } = coverage;
        const arrival = { route: candidate.entry.value, locate: () => placeOf(candidate, request), request };
        return decideSafely(arrival, config);
      } catch (error) {
        return failed(error, "the router", config);
      }
    },
  };
}

function toCoverageQuery(request: GateRequest): CoverageQuery {
  const { method, path, mountPath, hasOldRouter = false, isUnclear = false } = request;
  const { receiversOf = () => UNKNOWN_RECEIVERS } = request;
  return { method, path, mountPath, fullPath: fullPathOf(request), hasOldRouter, isUnclear, receiversOf };
}

/** Creates the gate of one route. Every request it is asked about is priced, if the route is. */
export function createRouteGate(route: PricedRoute, config: PaymentsConfig): RouteGate {
  return {
    decide: (request, locate) => (route.isFree ? OPEN : decideSafely({ route, locate, request }, config)),
    offers: reportOffers(route),
  };
}

/** At once where nobody has to be asked: most requests come without a payment. */
function decideSafely(arrival: Arrival, config: PaymentsConfig): Decision | Promise<Decision> {
  try {
    const decision = decidePriced(arrival, config);
    return decision instanceof Promise ? decision.catch((error) => failed(error, arrival.route.key, config)) : decision;
  } catch (error) {
    return failed(error, arrival.route.key, config);
  }
}

function failed(error: unknown, route: string, { logger }: PaymentsConfig): Decision {
  logger.error("decision_failed", { route, error: errorName(error) });
  return answered(undecidedAnswer(RETRY_AFTER_SECONDS));
}

function decidePriced(arrival: Arrival, config: PaymentsConfig): Decision | Promise<Decision> {
  const { request, route } = arrival;
  const url = route.url ?? resourceUrl(request, config);
  notePlace(arrival, url, config);
  const asked = askOnRequest(() => toPricedRequest(arrival, url), config);
  const isAtOnce = asked === undefined && !route.isPending() && route.priceFor === undefined;
  return isAtOnce ? decideRead(arrival, url, config) : decideAsked(arrival, { url, asked }, config);
}

/** Asks whoever has a say before the payment is looked at. */
async function decideAsked(
  arrival: Arrival,
  { url, asked }: { readonly url: string; readonly asked: ReturnType<typeof askOnRequest> },
  config: PaymentsConfig,
): Promise<Decision> {
  const { request, route } = arrival;
  const verdict = asked && (await asked);
  if (verdict !== undefined) return verdict.kind === "granted" ? GRANTED : answered(verdict.answer);
  // Just after the start: each facilitator is asked within its deadline, and this waits for no longer.
  if (route.isPending()) await config.facilitator.ready();
  if (route.priceFor === undefined) return decideRead(arrival, url, config);
  const decoded = decodeRequest(arrival);
  const bodyDigest = await digestOf(request);
  if (bodyDigest === undefined) return answered(incompleteRequestAnswer());
  const priced = await route.priceFor({
    request: toPriceRequest(arrival, url),
    binding: [route.key, request.method, targetOf(request), bodyDigest],
    accepted: decoded.kind === "present" ? decoded.payment.accepted : undefined,
    nowSeconds: Math.floor(config.now() / 1000),
  });
  if (priced.isFree) {
    config.events.emit("granted", () => ({ route: priced.key }));
    return GRANTED;
  }
  if (priced.isPending()) await config.facilitator.ready();
  return decideDecoded({ ...arrival, route: priced }, { url, decoded }, config);
}

function decideRead(arrival: Arrival, url: string, config: PaymentsConfig): Decision | Promise<Decision> {
  return decideDecoded(arrival, { url, decoded: decodeRequest(arrival) }, config);
}

function decodeRequest({ request }: Arrival): DecodedPayment {
  const { payment, paymentSignature } = request;
  if (payment !== undefined) return decodePayment(payment);
  return decodePaymentSignature(paymentSignature);
}

function decideDecoded(
  arrival: Arrival,
  { url, decoded }: { readonly url: string; readonly decoded: DecodedPayment },
  config: PaymentsConfig,
): Decision | Promise<Decision> {
  if (decoded.kind === "absent") return challengeFirst(arrival, url, config);
  if (decoded.kind === "malformed") {
    const { reason, problem } = decoded;
    const what = arrival.request.payment === undefined ? "PAYMENT-SIGNATURE" : "the payment";
    const error = `${reason}: ${what} is ${problem}`;
    return refuse(arrival, { url, refused: { kind: "refused", status: 400, error, reason } }, config);
  }
  const read = readPayment(arrival.route, decoded.payment, config);
  return read.kind === "refused"
    ? refuse(arrival, { url, refused: read }, config)
    : decideReadable(arrival, { url, read }, config);
}

/** What a proxy in front of us makes of the resource's URL is only seen with a request. */
function notePlace({ route, request }: Arrival, url: string, config: PaymentsConfig): void {
  const { publicUrl, allowedHosts, findings } = config;
  if (route.isPublic && isPublicWithoutTls(url)) findings.add(notHttpsFinding());
  if (route.url !== undefined) return;
  if (publicUrl === undefined && request.isProxyIgnored === true) findings.add(proxyFinding());
  if (isForeignHost(request, { publicUrl, allowedHosts })) findings.add(foreignHostFinding());
}

function challengeFirst({ route, request, locate }: Arrival, url: string, { events }: PaymentsConfig): Decision {
  const isOld = request.header?.(OLD_PAYMENT) !== undefined;
  const occasion = { url, method: request.method, error: isOld ? OLD_PAYMENT_ERROR : PAYMENT_REQUIRED_ERROR, locate };
  const isPerson = wantsPage(request.accept, request.userAgent);
  const answer = isPerson ? askPersonToPay(route, occasion) : askToPay(route, occasion, { status: 402 });
  // Without a way to pay it is no challenge.
  if (answer.status === 402) events.emit("challenged", () => ({ route: route.key }));
  return answered(answer);
}
