/**
 * Reports on what an engine prices, and checks it before the first request.
 *
 * @module
 */
import { ConfigError } from "../errors.js";
import { type Finding, type FindingCode, listingRejectedFinding } from "../events/findings.js";
import type { Extensions } from "../protocol/documents.js";
import type { RouterView } from "../route/router-view.js";
import type { Offer } from "../scheme/offer.js";
import { inspectSupport } from "./available-offers.js";
import { type DescribedRoute, describeRoutes } from "./described-routes.js";
import { inspectRoutes, inspectTable, type PricedTable } from "./inspect-routes.js";
import type { PaymentsConfig } from "./parse-options.js";
import type { PricedRoute } from "./parse-routes.js";
import type { Payees } from "./payees.js";
import {
  describeLine,
  type PaymentsReport,
  type PricedHandler,
  placesOf,
  type ReportedRoute,
  reportRoutes,
} from "./report.js";

/** What is priced so far; it grows. */
export interface Goods {
  readonly tables: readonly PricedTable[];
  readonly handlers: readonly PricedHandler[];
}

/** The reporting side of an engine. */
export interface Reporter {
  report(view?: RouterView): PaymentsReport;
  check(view: RouterView, only?: (gate: object) => boolean): PaymentsReport;
  describe(view: RouterView): readonly DescribedRoute[];
  declared(key: string, method: string): Extensions | undefined;
}

/** What of the goods is looked at, and how many lookups that may take. */
interface Scope {
  readonly only: (gate: object) => boolean;
  readonly most: number;
}

const EVERYTHING: Scope = { only: () => true, most: Number.POSITIVE_INFINITY };

/** Where what is reported comes from. */
interface Sources extends PaymentsConfig {
  readonly payees: Payees;
}

/** Every way to pay that is the same for all requests. */
export function fixedOffers(goods: Goods): readonly Offer[] {
  return routesOf(goods).flatMap(({ offers }) => offers);
}

/** Creates a reporter. */
export function createReporter(goods: Goods, config: Sources): Reporter {
  return {
    declared: (key, method) => declaredBy(goods, key, method),
    describe: (view) => describeRoutes(placesOf(goods.tables, goods.handlers, view)),
    report: (view) => reportOn(goods, { view, scope: EVERYTHING }, config),
    check(view, only = EVERYTHING.only) {
      const isUrgent = only !== EVERYTHING.only && !config.strict;
      const scope = { only, most: isUrgent ? MAX_LOOKUPS : EVERYTHING.most };
      const reported = reportOn(goods, { view, scope }, config);
      announce(reported, config);
      tellLarge(goods, config);
      const lasting = reported.findings.filter((found) => !isPassing(found));
      if (config.strict && lasting.length > 0) throw new ConfigError(lasting.map(toIssue));
      return reported;
    },
  };
}

function reportOn(
  goods: Goods,
  { view, scope }: { readonly view: RouterView | undefined; readonly scope: Scope },
  config: Sources,
): PaymentsReport {
  const tables = goods.tables.filter(({ gate }) => scope.only(gate));
  const handlers = goods.handlers.filter(({ gate }) => scope.only(gate));
  const isChecked = view !== undefined && lookupsFor(tables, view) <= scope.most;
  if (view !== undefined && !isChecked) {
    config.logger.info("routes_not_checked", { remedy: "await payments.ready(app)" });
  }
  const inspected = [...tables.flatMap(inspectTable), ...(isChecked ? inspectRoutes(tables, view) : [])];
  const goodsInScope = { tables, handlers };
  const noticed = routesOf(goodsInScope).flatMap(({ notices }) => notices);
  const unsupported = routesOf(goodsInScope).flatMap((route) => inspectSupport(route, config.facilitator));
  const routes = reportRoutes(placesOf(tables, handlers, view), config.listings);
  return {
    routes,
    findings: oncePerText([
      ...[...inspected, ...noticed, ...rejectedOf(routes)],
      ...[...config.findings.all, ...config.payees.findings, ...unsupported],
    ]),
  };
}

function declaredBy({ tables }: Goods, key: string, method: string): Extensions | undefined {
  const entry = tables.flatMap(({ table }) => table.entries).find((one) => one.key === key);
  // By its template alone: nobody has asked for anything.
  const place = { routeTemplate: entry?.forms[0]?.template, pathParams: {} };
  return entry?.value.declareAt({ method, locate: () => place });
}

function rejectedOf(routes: readonly ReportedRoute[]): readonly Finding[] {
  return routes.flatMap(({ key, method, path = "", listing }) => {
    const isRejected = listing?.status === "rejected";
    return isRejected ? [listingRejectedFinding(key ?? `${method} ${path}`, listing.rejectedReason)] : [];
  });
}

function routesOf({ tables, handlers }: Goods): readonly PricedRoute[] {
  const inTables = tables.flatMap(({ table }) => table.entries.map(({ value }) => value));
  return [...inTables, ...handlers.map(({ route }) => route)];
}

/** A tenth of a second or so; the event loop waits for as long. */
const MAX_LOOKUPS = 100_000;

/** Every key is tried on every route. */
function lookupsFor(tables: readonly PricedTable[], { routes }: RouterView): number {
  return tables.reduce((sum, { table }) => sum + table.entries.length, 0) * routes.length;
}

/** A seller with more routes than this does not read them at start-up. */
const MAX_LINES = 50;

function announce({ routes, findings }: PaymentsReport, { logger, findings: noted }: PaymentsConfig): void {
  for (const route of routes.slice(0, MAX_LINES)) logger.info("priced", { route: describeLine(route) });
  if (routes.length > MAX_LINES) logger.info("priced", { route: `and ${routes.length - MAX_LINES} more` });
  for (const found of findings) noted.tell(found);
}

/** Some proxies refuse what most take. */
function tellLarge(goods: Goods, { logger }: PaymentsConfig): void {
  for (const { key, size } of routesOf(goods)) {
    if (size === "large") logger.warn("challenge_large", { route: key, remedy: LARGE_REMEDY });
  }
}

const LARGE_REMEDY = "some proxies take 4 KiB of headers: shorten descriptions and examples";

/** What facilitators support is theirs to change, and what requests say is anybody's: neither is a reason not to start. */
const PASSING: readonly FindingCode[] = [
  "FAREBOX_OFFER_UNSUPPORTED",
  "FAREBOX_PROXY_IGNORED",
  "FAREBOX_HOST_NOT_ALLOWED",
  "FAREBOX_NOT_HTTPS",
  "FAREBOX_LISTING_REJECTED",
  "FAREBOX_BODY_NOT_PARSED",
];

function isPassing({ code }: Finding): boolean {
  return PASSING.includes(code);
}

function oncePerText(findings: readonly Finding[]): readonly Finding[] {
  return [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()];
}

function toIssue({ code, route, message, remedy }: Finding) {
  return { path: route ?? "the server", expected: remedy, received: `${code}: ${message}` };
}
