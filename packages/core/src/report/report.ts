/**
 * The report: what is priced, where and for how much, and what looks wrong about it.
 *
 * @module
 */
import { ConfigError } from "../errors.js";
import {
  type Finding,
  type FindingCode,
  type Findings,
  facilitatorDownFinding,
  listingRejectedFinding,
} from "../events/findings.js";
import type { Logger } from "../events/logger.js";
import type { SettleTime } from "../options.js";
import { inspectSupport, type Supporters } from "../pricing/available-offers.js";
import type { ChallengePart } from "../pricing/challenge.js";
import type { DynamicTerms } from "../pricing/payment-option.js";
import type { PricedRoute } from "../pricing/priced-route.js";
import { isNetwork } from "../protocol/caip2.js";
import type { Extensions } from "../protocol/documents.js";
import { compileRegistered } from "../route/path.js";
import type { NamedPrice, RouterView } from "../route/router-view.js";
import { describePrice, type Offer } from "../scheme/offer.js";
import type { Scheme } from "../scheme/scheme.js";
import type { Listing, Listings } from "../steps/listings.js";
import { type DescribedRoute, type DescribedTool, describeRoutes, describeTools } from "./described-routes.js";
import { inspectRoutes, inspectTable } from "./inspect-routes.js";
import type { Payees } from "./payees.js";
import { type PricedPlace, type PricedRoutes, pathOf, placesOf, routesOf } from "./places.js";

/** One payment option, as it is offered. */
export interface ReportedOffer {
  readonly scheme: string;
  /** CAIP-2. */
  readonly network: string;
  /** For people: `0.01 USDC`, `up to 0.10 USDC`, or `a price by request`. */
  readonly price: string;
  /** Atomic units as a decimal string; `undefined` if the request decides, as it may about the next two. */
  readonly amount: string | undefined;
  readonly asset: string | undefined;
  readonly payTo: string | undefined;
  /** When the money moves: after the handler has responded, or before it runs. */
  readonly settle: SettleTime;
}

/** One priced route. */
export interface ReportedRoute {
  /** `ANY`: every method but OPTIONS. `CALL`: not called by HTTP. */
  readonly method: string;
  /**
   * With its mounts, as the seller wrote it: `/api/users/:id`; `undefined` until the app is known. Without an HTTP route:
   * the resource's URL, e.g. `mcp://tool/get_weather`.
   */
  readonly path: string | undefined;
  /** Key in the route table; `undefined` for `payments.charge`. */
  readonly key: string | undefined;
  /** As of its offers; `undefined`: they differ, or the route is free. */
  readonly settle: SettleTime | undefined;
  /** Empty: the route is free, or `isGrantOnly`. */
  readonly offers: readonly ReportedOffer[];
  /** Whether nobody can pay for it: only requests that a hook grants are served. Absent: `false`. */
  readonly isGrantOnly?: true;
  /** What is in the body of a 402 and not in `PAYMENT-REQUIRED`. For prices by request: as far as is known without one. */
  readonly leftOut: readonly ChallengePart[];
  readonly description: string;
  /** Whether it is declared for catalogs. */
  readonly isPublic: boolean;
  /** What a facilitator said last about listing it; `undefined`: none has said anything. */
  readonly listing: Listing | undefined;
}

/** All priced routes of a seller. */
export interface PaymentsReport {
  readonly routes: readonly ReportedRoute[];
  readonly findings: readonly Finding[];
}

/** What reports need. */
export interface ReportDeps {
  readonly facilitators: Supporters & {
    /** Facilitators whose `/supported` could not be fetched the last time, and why. */
    silent(): readonly { readonly name: string; readonly problem: string }[];
  };
  readonly listings: Pick<Listings, "of">;
  readonly findings: Findings;
  readonly payees: Pick<Payees, "findings">;
  readonly logger: Logger;
  /** Whether all findings throw, or none; `undefined`: those of {@link OPENING}, and a store that does not fit. */
  readonly strict: boolean | undefined;
  /** Whether the seller named the store. One in memory is then on purpose. */
  readonly isStoreChosen: boolean;
}

/** Trying this many keys takes a tenth of a second or so. The event loop waits for it. */
const MAX_LOOKUPS = 100_000;

/** A seller with more routes than this does not read them at start-up. */
const MAX_LINES = 50;

/** What a client of `@x402/fetch` pays at most, unless its `spendControls` say otherwise. */
const CLIENT_LIMIT = "$1";

const LIMIT_REMEDY =
  "clients of @x402/fetch pay at most $1, in a network's usual stablecoin, unless they raise spendControls: tell them, or offer that";

/** Findings that do not keep a strict seller from starting: facilitators and requests may change them. */
const PASSING: readonly FindingCode[] = [
  "FAREBOX_FACILITATOR_DOWN",
  "FAREBOX_OFFER_UNSUPPORTED",
  "FAREBOX_CHALLENGE_LARGE",
  "FAREBOX_PROXY_IGNORED",
  "FAREBOX_HOST_NOT_ALLOWED",
  "FAREBOX_NOT_HTTPS",
  "FAREBOX_LISTING_REJECTED",
  "FAREBOX_BODY_NOT_PARSED",
  "FAREBOX_BODY_NOT_KEPT",
  "FAREBOX_REQUEST_UNNAMED",
  "FAREBOX_BODY_FAILED",
  "FAREBOX_PAYMENT_HEADER_READ",
  "FAREBOX_HANDLER_TOO_LONG",
  "FAREBOX_QUOTE_SECRET_DIFFERS",
];

/** Findings by which a route may be free that the seller has priced. */
const OPENING: readonly FindingCode[] = [
  "FAREBOX_ROUTER_UNREADABLE",
  "FAREBOX_TABLE_NOT_FOUND",
  "FAREBOX_TABLE_TOO_LATE",
  "FAREBOX_KEY_UNREACHABLE",
];

/** Reports on what is priced, and checks it before the first request. */
export class Reporter {
  readonly #priced: PricedRoutes;
  readonly #deps: ReportDeps;

  constructor(priced: PricedRoutes, deps: ReportDeps) {
    this.#priced = priced;
    this.#deps = deps;
  }

  /** Reports on everything; with a view of the app's router, also on where it is and what looks wrong there. */
  report(view?: RouterView): PaymentsReport {
    return this.#report(this.#priced, view, Number.POSITIVE_INFINITY);
  }

  /**
   * Reports, and tells the logger.
   *
   * @param only - Gates to look at while a request waits. Then long checks are left out, unless the seller is strict.
   * @throws ConfigError with every finding that lasts, if the seller is strict; otherwise with those by which a priced route may
   *   be free, unless a request waits.
   */
  check(view: RouterView, only?: (gate: object) => boolean): PaymentsReport {
    const { findings, logger, strict, isStoreChosen } = this.#deps;
    const isIn = ({ gate }: { readonly gate: object }) => only === undefined || only(gate);
    const priced = { tables: this.#priced.tables.filter(isIn), handlers: this.#priced.handlers.filter(isIn) };
    const maxLookups = only === undefined || strict ? Number.POSITIVE_INFINITY : MAX_LOOKUPS;
    const report = this.#report(priced, view, maxLookups);
    for (const route of report.routes.slice(0, MAX_LINES)) logger.info("priced", { route: describeLine(route) });
    const more = report.routes.length - MAX_LINES;
    if (more > 0) logger.info("priced", { route: `and ${more} more` });
    for (const found of report.findings) findings.tell(found);
    const dear = routesOf(priced)
      .filter(isAboveClientLimit)
      .map(({ key }) => key);
    if (dear.length > 0) {
      const more = dear.length > 1 ? ` and ${dear.length - 1} more` : "";
      logger.warn("price_above_client_limit", { route: `${dear[0]}${more}`, remedy: LIMIT_REMEDY });
    }
    const lasting = report.findings.filter(({ code }) => !PASSING.includes(code));
    const opening = lasting.filter(({ code }) => OPENING.includes(code));
    const misplaced = lasting.filter(({ code }) => code === "FAREBOX_MEMORY_STORE" && !isStoreChosen);
    const isAtStart = only === undefined;
    const thrown = strict === true ? lasting : strict === undefined && isAtStart ? [...opening, ...misplaced] : [];
    if (thrown.length > 0) throw new ConfigError(thrown.map(toIssue));
    if (strict === undefined) warnProcess(opening);
    return report;
  }

  /** Describes every route that clients may find. */
  describe(view: RouterView): readonly DescribedRoute[] {
    return describeRoutes(placesOf(this.#priced, view));
  }

  /** Describes every tool that clients may find. */
  describeTools(): readonly DescribedTool[] {
    return describeTools(routesOf(this.#priced));
  }

  /** What a route of a table declares, by its key; `undefined`: nothing. */
  declared(key: string, method: string): Extensions | undefined {
    const entry = this.#priced.tables.flatMap(({ table }) => table.entries).find((one) => one.key === key);
    // There is no request, so the template stands for its path.
    const place = { routeTemplate: entry?.forms[0]?.template, pathParams: {} };
    return entry?.value.declareAt({ method, locate: () => place });
  }

  #report(priced: PricedRoutes, given: RouterView | undefined, maxLookups: number): PaymentsReport {
    const { facilitators, listings, findings, payees, logger, strict } = this.#deps;
    // A strict seller wants to know that the routes of a table cannot be checked.
    const view = strict === true && given !== undefined ? { ...given, isCalled: () => false } : given;
    const { tables } = priced;
    const keys = tables.reduce((sum, { table }) => sum + table.entries.length, 0);
    // Every key is tried on every route.
    const isChecked = view !== undefined && keys * view.routes.length <= maxLookups;
    if (view !== undefined && !isChecked) logger.info("routes_not_checked", { remedy: "await payments.ready(app)" });
    const routes = placesOf(priced, view).map((place) => reportPlace(place, listings));
    const found = [
      ...tables.flatMap(inspectTable),
      ...(isChecked ? inspectRoutes(priced, view) : []),
      ...routesOf(priced).flatMap(({ notices }) => notices),
      ...rejectedListings(routes),
      ...findings.all,
      ...payees.findings,
      ...facilitators.silent().map(facilitatorDownFinding),
      ...routesOf(priced).flatMap((route) => inspectSupport(route, facilitators)),
    ];
    const unique = new Map(found.map((finding) => [JSON.stringify(finding), finding]));
    return { routes, findings: [...unique.values()] };
  }
}

function reportPlace({ method, path, key, route }: PricedPlace, listings: Pick<Listings, "of">): ReportedRoute {
  const { description, isPublic, sample, isGrantOnly } = route;
  const listing = listings.of(key ?? listedAs(method, path));
  const fixed = route.dynamic.length > 0 ? undefined : route.available();
  const leftOut = (sample && fixed?.challenge(sample).leftOut) ?? route.leftOut;
  const offers = reportOffers(route);
  const granted = isGrantOnly ? { isGrantOnly } : {};
  const settle = settleOf(offers);
  return { method, path, key, settle, offers, ...granted, leftOut, description, isPublic, listing };
}

/** When the money moves, if it is the same for all offers. */
function settleOf([first, ...others]: readonly ReportedOffer[]): SettleTime | undefined {
  return others.every(({ settle }) => settle === first?.settle) ? first?.settle : undefined;
}

/** The name in listings of a route without a key. */
function listedAs(method: string, path = ""): string {
  const compiled = compileRegistered(path);
  return `${method} ${compiled.ok ? (compiled.forms[0]?.template ?? path) : path}`;
}

/** Whether clients with their default limits can pay by none of the offers. A price by request is not known yet. */
function isAboveClientLimit({ offers, dynamic, isFree, isGrantOnly }: PricedRoute): boolean {
  return !isFree && !isGrantOnly && dynamic.length === 0 && !offers.some(isWithinClientLimit);
}

function isWithinClientLimit({ scheme, asset, amount, requirements }: Offer): boolean {
  const { network, payTo } = requirements;
  if (!isNetwork(network)) return false;
  const limit = scheme.compileTerms({ network, price: CLIENT_LIMIT, payTo });
  return limit.ok && limit.asset.id === asset.id && amount <= limit.amount;
}

/** Every payment option of a route. */
export function reportOffers({ offers, dynamic }: Pick<PricedRoute, "offers" | "dynamic">): readonly ReportedOffer[] {
  return [...offers.map(reportOffer), ...dynamic.map(reportDynamic)];
}

/** What a route asks for, in a few words. */
export function namePrice(
  route: Pick<PricedRoute, "key" | "offers" | "dynamic" | "priceId" | "isGrantOnly">,
): NamedPrice {
  const prices = new Set(reportOffers(route).map(({ price }) => price));
  const asked = prices.size > 0 ? [...prices].join(" or ") : route.isGrantOnly ? "only granted requests" : "free";
  return { id: route.priceId, text: `${asked} (${route.key})` };
}

function reportOffer(offer: Offer): ReportedOffer {
  const { scheme, network, asset, amount, payTo } = offer.requirements;
  const price = atMost(offer.scheme, describePrice(offer));
  return { scheme, network, price, amount, asset, payTo, settle: offer.settle };
}

function reportDynamic({ scheme, network, price, payTo, settle }: DynamicTerms): ReportedOffer {
  const { asset, amount } = typeof price === "object" ? price : { asset: undefined, amount: undefined };
  return {
    scheme: scheme.scheme,
    network,
    price: atMost(scheme, typeof price === "string" ? price : "a price by request"),
    amount,
    asset,
    payTo: typeof payTo === "string" ? payTo : undefined,
    settle,
  };
}

/** Of `upto`, a price is the most that can be charged. */
function atMost({ allowsLess = false }: Scheme, price: string): string {
  return allowsLess ? `up to ${price}` : price;
}

/** One line of the start-up report: `GET /weather: 0.01 USDC on eip155:84532 to 0x…, settled after the response`. */
export function describeLine({ method, path, key, settle, offers, isGrantOnly }: ReportedRoute): string {
  const said = settle === undefined ? "" : describeSettle(settle);
  const options = offers.map((offer) => describeOption(offer, settle === undefined)).join(", or ");
  const written = key === undefined ? "a route" : pathOf(key);
  const unpaid = isGrantOnly ? "for granted requests only" : "free";
  return `${method} ${path ?? written}: ${offers.length === 0 ? unpaid : `${options}${said}`}`;
}

function describeOption({ price, network, payTo, settle }: ReportedOffer, isOwn: boolean): string {
  const said = isOwn ? describeSettle(settle) : "";
  return `${price} on ${network} to ${payTo ?? "a recipient by request"}${said}`;
}

function describeSettle(settle: SettleTime): string {
  return settle === "metered" ? ", metered, and settled after the response" : `, settled ${settle} the response`;
}

function rejectedListings(routes: readonly ReportedRoute[]): readonly Finding[] {
  return routes.flatMap(({ key, method, path = "", listing }) => {
    if (listing?.status !== "rejected") return [];
    return [listingRejectedFinding(key ?? `${method} ${path}`, listing.rejectedReason)];
  });
}

const warned = new Set<string>();

/** Warns of a finding about the whole process, once, however many engines there are. */
export function warnProcessOnce({ code, message, remedy }: Finding): void {
  if (warned.has(code)) return;
  warned.add(code);
  emitWarning(code, `${message}. ${remedy}`);
}

/** Once for each code, as the process may have a thousand such keys. */
function warnProcess(findings: readonly Finding[]): void {
  for (const code of new Set(findings.map((one) => one.code))) {
    const [first, ...others] = findings.filter((one) => one.code === code);
    const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
    emitWarning(code, `${first?.route}${more}: ${first?.message}`);
  }
}

/** A logger may be silent. This must be seen. */
function emitWarning(code: FindingCode, text: string): void {
  process.emitWarning(text, { type: "FareboxWarning", code });
}

function toIssue({ code, route, message, remedy }: Finding) {
  return { path: route ?? "the server", expected: remedy, received: `${code}: ${message}` };
}
