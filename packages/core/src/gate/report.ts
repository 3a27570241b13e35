/**
 * The report: what is priced, where and for how much, and what looks wrong about it.
 *
 * @module
 */
import type { Finding } from "../events/findings.js";
import { compileRegistered } from "../route/path.js";
import { belowMount } from "../route/route-table.js";
import type { RouterView } from "../route/router-view.js";
import { describePrice, type Offer } from "../scheme/offer.js";
import type { LiveTerms } from "./dynamic-price.js";
import type { PricedTable } from "./inspect-routes.js";
import type { Listing, Listings } from "./listings.js";
import type { SettleTime } from "./options.js";
import type { PricedRoute } from "./parse-routes.js";

/** One way to pay, as it is offered. */
export interface ReportedOffer {
  readonly scheme: string;
  /** CAIP-2. */
  readonly network: string;
  /** For people: `0.01 USDC`, or `a price by request`. */
  readonly price: string;
  /** Atomic units as a decimal string; `undefined` when the request decides, as it may about the next two. */
  readonly amount: string | undefined;
  readonly asset: string | undefined;
  readonly payTo: string | undefined;
}

/** One priced route. */
export interface ReportedRoute {
  /** `ANY`: every method but OPTIONS. `CALL`: what is not called by HTTP. */
  readonly method: string;
  /**
   * With its mounts, as the seller wrote it: `/api/users/:id`; `undefined` until the app is known. Of what is not called by
   * HTTP the resource's URL, e.g. `mcp://tool/get_weather`.
   */
  readonly path: string | undefined;
  /** The key of the table; `undefined` for `payments.charge`. */
  readonly key: string | undefined;
  /** When money moves: after the handler has answered, or before it runs. */
  readonly settle: SettleTime;
  /** None: the route costs nothing. */
  readonly offers: readonly ReportedOffer[];
  readonly description: string;
  /** Whether it is declared for catalogs. */
  readonly isPublic: boolean;
  /** What a facilitator said last about listing it; `undefined` as long as none has. */
  readonly listing: Listing | undefined;
}

/** What a seller sells. */
export interface PaymentsReport {
  readonly routes: readonly ReportedRoute[];
  readonly findings: readonly Finding[];
}

/** A route that a handler of its own prices, and the gate that stands for it. */
export interface PricedHandler {
  readonly gate: object;
  readonly route: PricedRoute;
}

/** Lists what is priced. Without an app, only what the tables say. */
export function reportRoutes(places: readonly PricedPlace[], listings: Listings): readonly ReportedRoute[] {
  return places.map(({ method, path, key, route }) => {
    const { settle, offers, live, description, isPublic } = route;
    const listing = listings.of(key ?? nameOf({ method, path }));
    const ways = [...offers.map(describeOffer), ...live.map(describeLive)];
    return { method, path, key, settle, offers: ways, description, isPublic, listing };
  });
}

/** What a route without a key is listed by. */
function nameOf({ method, path = "" }: Pick<PricedPlace, "method" | "path">): string {
  const compiled = compileRegistered(path);
  return `${method} ${compiled.ok ? (compiled.forms[0]?.template ?? path) : path}`;
}

/** A priced route at one of the places where it is served. */
export interface PricedPlace extends Pick<ReportedRoute, "method" | "path" | "key"> {
  readonly route: PricedRoute;
}

/** Where everything is that is priced. Without an app, only what the tables say. */
export function placesOf(
  tables: readonly PricedTable[],
  handlers: readonly PricedHandler[],
  view: RouterView | undefined,
): readonly PricedPlace[] {
  return [
    ...tables.flatMap((priced) => placesOfTable(priced, view)),
    ...handlers.flatMap((handler) => placesOfHandler(handler, view)),
  ];
}

function placesOfTable({ gate, table }: PricedTable, view: RouterView | undefined): readonly PricedPlace[] {
  const mounts = view?.mountsOf(gate) ?? [];
  return table.entries.flatMap(({ key, method = "ANY", value }) => {
    const path = pathOf(key);
    const paths = mounts.length === 0 ? [undefined] : mounts.map((mount) => withMount(mount, path));
    return paths.map((full) => ({ method, path: full, key, route: value }));
  });
}

function pathOf(key: string): string {
  return key.slice(key.search(/\{?\//));
}

/** A key may be written with the mount or without. */
function withMount(mount: string, path: string): string {
  if (mount === "" || `${path}/`.startsWith(`${mount}/`)) return path;
  return belowMount(mount, path);
}

function placesOfHandler({ gate, route }: PricedHandler, view: RouterView | undefined): readonly PricedPlace[] {
  const { key, url } = route;
  if (url !== undefined) return [{ method: "CALL", path: url, key, route }];
  const registered = view?.routes.filter(({ gates }) => gates.includes(gate)) ?? [];
  const mounts = registered.length > 0 ? [] : (view?.mountsOf(gate) ?? []);
  const places = [
    ...registered.flatMap(({ path, methods = ["ANY"] }) => methods.map((method) => ({ method, path }))),
    ...mounts.map((path) => ({ method: "ANY", path: path === "" ? "/" : path })),
  ];
  const known = places.length > 0 ? places : [{ method: "ANY", path: undefined }];
  return known.map(({ method, path }) => ({ method, path, key: undefined, route }));
}

/** Every way to pay for a route. */
export function reportOffers({ offers, live }: Pick<PricedRoute, "offers" | "live">): readonly ReportedOffer[] {
  return [...offers.map(describeOffer), ...live.map(describeLive)];
}

function describeLive({ scheme, network, price, payTo }: LiveTerms): ReportedOffer {
  const { asset, amount } = typeof price === "object" ? price : { asset: undefined, amount: undefined };
  return {
    scheme: scheme.scheme,
    network,
    price: typeof price === "string" ? price : "a price by request",
    amount,
    asset,
    payTo: typeof payTo === "string" ? payTo : undefined,
  };
}

function describeOffer(offer: Offer): ReportedOffer {
  const { scheme, network, asset, amount, payTo } = offer.requirements;
  return { scheme, network, price: describePrice(offer), amount, asset, payTo };
}

/** A report's route as one line: `GET /weather: 0.01 USDC on eip155:84532 to 0x…, settled after the answer`. */
export function describeLine({ method, path, key, settle, offers }: ReportedRoute): string {
  const ways = offers
    .map(({ price, network, payTo }) => `${price} on ${network} to ${payTo ?? "whom the request says"}`)
    .join(", or ");
  const written = key === undefined ? "a route" : pathOf(key);
  return `${method} ${path ?? written}: ${offers.length === 0 ? "free" : `${ways}, settled ${settle} the answer`}`;
}
