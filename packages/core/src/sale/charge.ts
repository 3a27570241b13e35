/**
 * Whether a handler's response is charged, and whether it asks for the amount that is charged.
 *
 * @see `docs/reference/lifecycle.md`, "One request", and `docs/guides/downloads.md`
 * @module
 */

import { type Findings, foreignPaymentFinding, overrideInHeaderFinding } from "../events/findings.js";
import { errorName, type Logger, legible } from "../events/logger.js";
import { privateCacheControl } from "../http/cache-control.js";
import { parseSettlementAmount } from "../price/settlement-amount.js";
import { ownPathOf, type PublicUrlSettings } from "../pricing/resource.js";
import { isOfPayments, isSettlementOverrides, mentionsPayments } from "../protocol/headers.js";
import { isJsonObject, parseJson } from "../protocol/json.js";
import { authorizedBy } from "../scheme/offer.js";
import type { StoredAnswer } from "../store/payment-store.js";
import type { GateResponse, Headers } from "./answers.js";
import type { RefusedAmount } from "./handler.js";
import type { PaidRequest } from "./request.js";

/** What the handler responded, held back. */
export interface HandlerResponse extends Omit<StoredAnswer, "body"> {
  /** The whole body; `undefined`: it is larger than what is held. */
  readonly body: Uint8Array | undefined;
  /** The headers that were set before the handler ran. An uncharged response keeps them. Default: none. */
  readonly headersBefore?: StoredAnswer["headers"];
  /** The body is shorter than its `Content-Length`. Default false. */
  readonly isCutShort?: boolean;
  /**
   * Whether a request for a path of this server, mounts included, would have to pay. Asked about the target of a redirect.
   * Must not throw. Default: unknown.
   */
  readonly isPriced?: (method: string, path: string) => boolean;
}

/** What the client gets. */
export type Release =
  /** The handler's response, with these headers added. Shared caches must not keep it. */
  | { readonly kind: "release"; readonly paid: true; readonly headers: Headers }
  | Uncharged
  /** This response, and nothing of the handler's. */
  | { readonly kind: "replace"; readonly response: GateResponse };

/** The handler's response without what is sold, with these headers added. */
export interface Uncharged {
  readonly kind: "release";
  readonly paid: false;
  readonly headers: Headers;
  /** The headers that stay of the handler's response. */
  readonly kept: StoredAnswer["headers"];
}

/** What these decisions need. */
export interface ChargingDeps {
  readonly publicUrls: PublicUrlSettings;
  readonly findings: Pick<Findings, "add">;
  readonly logger: Logger;
}

/**
 * Whether a response is charged: by default, or as the seller's `chargeable` says. If that throws, or returns no boolean, it is not known
 * of one that would be a sale: it is neither charged nor given.
 *
 * A 304 is never charged: it has no content, and may answer a condition that the client could not take back.
 */
export function isCharged(
  paid: PaidRequest,
  response: HandlerResponse,
  { publicUrls, logger }: Pick<ChargingDeps, "publicUrls" | "logger">,
): boolean | "unknown" {
  const { key, chargeable } = paid.route;
  const { status } = response;
  if (status === 304) return false;
  const location = locationOf(response);
  const isOnward = location !== undefined && leadsToPriced(location, paid, response, publicUrls);
  const isSale = (status >= 200 && status < 300) || (isRedirect(status) && location !== undefined && !isOnward);
  if (chargeable === undefined) {
    const remedy = "set chargeable if the link itself is for sale: ({ isSale }) => isSale keeps the default";
    if (isOnward) logger.warn("redirect_not_charged", { route: key, remedy });
    return isSale;
  }
  const failed = (error: string) => logger.error("chargeable_failed", { route: key, status, error });
  try {
    const verdict: unknown = chargeable({ status, isSale, ...(location === undefined ? {} : { location }) });
    if (typeof verdict === "boolean") return verdict;
    // A promise comes too late. One that rejects must be caught, or it ends the process.
    Promise.resolve(verdict).catch(() => {});
    failed(`it returned ${verdict instanceof Promise ? "a promise" : describe(verdict)}`);
  } catch (error) {
    failed(errorName(error));
  }
  return isSale && "unknown";
}

/**
 * An uncharged response. It keeps the headers that were set before the handler ran, and those that tell why nothing was sold. Every
 * other header is part of the goods: a cookie or a key may be all that is for sale.
 */
export function uncharged(response: HandlerResponse, headers: Headers): Uncharged {
  const { headersBefore = [] } = response;
  const reasons = reasonsIn(response);
  const names = new Set(reasons.map(([name]) => name.toLowerCase()));
  const before = headersBefore.filter(([name]) => !names.has(name.toLowerCase()) && !OF_A_BODY.test(name));
  return { kind: "release", paid: false, headers, kept: [...before, ...reasons] };
}

/** The headers of an uncharged response that say what it is. */
export function reasonsIn({ status, headers }: Pick<StoredAnswer, "status" | "headers">): StoredAnswer["headers"] {
  return headers.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    if (lower === "cache-control") return [[name, privateCacheControl(String(value))] as const];
    return OF_ANY_BODY.test(lower) || OF_ANY_REASON.test(lower) || BY_STATUS.get(lower)?.test(String(status))
      ? [[name, value] as const]
      : [];
  });
}

/** They describe the body that is sent, so those of an earlier one do not come back. */
const OF_A_BODY = /^(?:content-|transfer-encoding$)/i;
/** Of these, what a client needs to read it. A digest or a location would be a part of the goods. */
const OF_ANY_BODY =
  /^(?:content-(?:type|length|encoding|language|range|security-policy|security-policy-report-only)|transfer-encoding)$/;
const OF_ANY_REASON = /^(?:access-control-|vary$|x-content-type-options$|date$|connection$|keep-alive$)/;
const BY_STATUS: ReadonlyMap<string, RegExp> = new Map([
  ["location", /^(?:201|3(?!04)..)$/],
  ["allow", /^405$/],
  ["www-authenticate", /^401$/],
  ["retry-after", /^(?:3(?!04)..|413|429|503)$/],
  ["etag", /^(?:304|412)$/],
]);

/**
 * Whether a response asks for a payment, as that of a priced server behind the handler does. A client would sign it: its payment is
 * worth nothing here, and the one that it has sent was good.
 *
 * @param body - `undefined`: it is not known.
 */
export function asksForPayment(
  { status, headers }: Pick<StoredAnswer, "status" | "headers">,
  body: Uint8Array | undefined,
): boolean {
  if (status !== 402) return false;
  if (headers.some(([name]) => isOfPayments(name) && !isSettlementOverrides(name))) return true;
  const headerOf = (sought: string) => headers.find(([name]) => name.toLowerCase() === sought)?.[1];
  // In version 1 of the protocol the body asks, and clients do not look at its type. One that cannot be read here may ask.
  if (body === undefined || headerOf("content-encoding") !== undefined) {
    return !(Number(headerOf("content-length")) < SHORTEST_CHALLENGE);
  }
  const json = parseJson(Buffer.from(body).toString("utf8"));
  return json.ok ? isJsonObject(json.value) && "accepts" in json.value : /json/i.test(String(headerOf("content-type")));
}

/** In bytes. `Payment Required`, the text of `res.sendStatus(402)`, is shorter. */
const SHORTEST_CHALLENGE = 64;

/**
 * Whether the client has brought it about by its request that a response is not charged: by a condition, a range or a type that
 * cannot be met. Such runs are limited by payment.
 */
export function isClientsDoing(status: number): boolean {
  return status === 304 || status === 406 || status === 412 || status === 416;
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

function locationOf({ headers }: HandlerResponse): string | undefined {
  const value = headers.find(([name]) => name.toLowerCase() === "location")?.[1];
  return value === undefined ? undefined : String(value);
}

/** Whether a redirect leads to a priced route of this server. The client pays there, and would pay twice for one thing. */
function leadsToPriced(
  location: string,
  { occasion, matched }: PaidRequest,
  { status, isPriced }: HandlerResponse,
  publicUrls: PublicUrlSettings,
): boolean {
  if (!isRedirect(status) || isPriced === undefined || DEPENDS_ON_PATH.test(location)) return false;
  const { method } = occasion;
  const becomesGet = status === 303 || method === "HEAD" || (method === "POST" && status < 303);
  const path = ownPathOf(location, matched.requestUrl, publicUrls);
  return path !== undefined && isPriced(becomesGet ? "GET" : method, path);
}

/** `song` and `../files/song` lead elsewhere when the client writes another path for the same route. */
const DEPENDS_ON_PATH = /^\s*(?![a-z][a-z0-9+.-]*:|[/\\?#])/i;

function describe(verdict: unknown): string {
  if (verdict === null) return "null";
  return typeof verdict === "object" ? "an object" : typeof verdict;
}

/**
 * Whether a header asks for another amount than the one that is charged, and reports it. The amount is set by a function of
 * ours; the reference's function of the same name sets a header, and so may a server behind the handler. Other headers of payments
 * are such a server's.
 */
export function contradicts(
  headers: HandlerResponse["headers"],
  { paid, amount }: { readonly paid: PaidRequest; readonly amount: bigint | undefined },
  { findings, logger }: Pick<ChargingDeps, "findings" | "logger">,
): boolean {
  if (!mentionsPayments(headers)) return false;
  const { route, offer } = paid;
  const found = headers.filter(([name]) => isOfPayments(name));
  const overrides = found.filter(([name]) => isSettlementOverrides(name));
  if (overrides.length < found.length) findings.add(foreignPaymentFinding(route.key));
  const authorized = authorizedBy(offer);
  const isOther = overrides.some(([, value]) => {
    const json = parseJson(String(value));
    const asked = json.ok && isJsonObject(json.value) ? json.value["amount"] : undefined;
    const read = parseSettlementAmount(asked, authorized);
    return !read.ok || read.amount !== amount;
  });
  if (!isOther) return false;
  const finding = overrideInHeaderFinding(route.key);
  logger.error("amount_in_header", { route: route.key, remedy: finding.remedy });
  findings.add(finding);
  return true;
}

/** The response without what its handler, or a server behind it, says about payments. */
export function withoutPayments(response: HandlerResponse): HandlerResponse {
  if (!mentionsPayments(response.headers)) return response;
  return { ...response, headers: response.headers.filter(([name]) => !isOfPayments(name)) };
}

/** What a handler can do about a refused amount, as long as it has not responded. */
export const SET_ANOTHER = "let the error reach the error handler, or set an amount that can be charged";

/** The handler asked for an amount that cannot be charged. */
export function logRefused(
  logger: Logger,
  { route }: PaidRequest,
  { closed, remedy }: { readonly closed: RefusedAmount; readonly remedy: string },
): void {
  logger.error("amount_refused", { route: route.key, message: legible(closed.refused), remedy });
}
