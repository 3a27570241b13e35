/**
 * What the two rules of routes.md say about a request: whether a handler may run unpaid, whether it may be asked for money, and at
 * which prices. Where the rules leave it open, both answers are right.
 *
 * @module
 */
import { type Cents, coversMethod, isKeyOfAll, isMounted, type Key, methodsOf, takesMethod } from "./app-plan.js";
import type { KeyTouch, Run, TableTouch, Touch } from "./build-app.js";
import { loosePattern, loosePrefix, type Path, samplePaths, writtenOut } from "./path.js";
import { type Asked, mayRead } from "./readings.js";
import type { ResolvedApp, Route } from "./resolved-app.js";

/** What is known of a request besides its handler. */
export interface Sent extends Asked {
  /** Handlers and keys that it would get to without payments, in order. */
  readonly touched: readonly Touch[];
}

export function isRun(touch: Touch): touch is Run {
  return "route" in touch;
}

export function isOfKey(touch: Touch): touch is KeyTouch {
  return "key" in touch;
}

/** Whether it is certain that a handler must not run unpaid. */
export function mustPay(app: ResolvedApp, sent: Sent, run: Run): boolean {
  const { price, plan } = run.route;
  if (price.by === "charge") return !isOtherOfChain(run) && !isOwnOptions(run);
  if (isHidden(app, sent, run)) return false;
  if (price.by === "table" && isOwned(app, sent, run, price.key)) return true;
  // A function in front of a charge may be middleware of that route.
  if (isMounted(plan) && hasChargeBehind(sent)) return false;
  return app.keys.some((key) => isNamed(app, sent, run, key) || (isMounted(plan) && isBelow(app, sent, run, key)));
}

function hasChargeBehind({ touched }: Sent): boolean {
  return touched.some((touch) => isRun(touch) && touch.route.price.by === "charge" && !isMounted(touch.route.plan));
}

/** A chain has its charge before the first of its functions. */
function isOtherOfChain({ part }: Run): boolean {
  return part === "second";
}

/** The function of a route for OPTIONS alone. */
function isOwnOptions({ route: { plan }, method }: Run): boolean {
  return method === "OPTIONS" && !isMounted(plan) && !methodsOf(plan).includes("all");
}

/** Whether a table cannot be seen by looking, or comes too late, and the request did not pass it. */
function isHidden(app: ResolvedApp, { touched }: Sent, { route }: Run): boolean {
  const isBehind = route.isSeen && !app.plan.late;
  if (app.plan.table !== "seen") return !isBehind || !touched.some(isOfTable);
  return !route.isSeen || (app.plan.late && isMounted(route.plan));
}

function isOfTable(touch: Touch): touch is TableTouch {
  return "table" in touch;
}

/** Rule 1: the route of a key pays, however a request came to it. Rule 2: of a mount, what the key names. */
function isOwned(app: ResolvedApp, sent: Sent, run: Run, key: Key): boolean {
  const { route, method } = run;
  const { plan } = route;
  if (!coversMethod(key, method)) {
    if (isOwnOptions(run) || hasFreeMethod(app, sent, run, key)) return false;
    // A mount has OPTIONS for the route of its key behind it.
    if (method === "OPTIONS" && isMounted(plan) && !isAlone(app, key, route)) return false;
  }
  // Below a mount are free routes, too: it is the key's if the key has no route, and only what they do not take.
  if (isMounted(plan) && (!isAlone(app, key, route) || hasFreeRoute(sent, run))) return false;
  // A function of one's own calls the table with the path that it saw.
  if (app.plan.table !== "seen" && key.plan.full && route.ways.length > 1) return false;
  if (plan.sort === "proxy") return isServedBy(run, isKeyOfAll(plan) ? undefined : "/secret");
  if (plan.sort === "files") return isServedBy(run, isKeyOfAll(plan) ? undefined : "/secret.txt");
  if (plan.sort !== "regexp") return true;
  // A regular expression is a key's if no route is written like it, none with a charge takes its path, and it does not take all.
  return isAlone(app, key, route) && !hasCharge(app, key) && !loosePrefix(route.chain).test(NOWHERE);
}

/** Whether a route with a charge takes the path of a key. */
function hasCharge(app: ResolvedApp, key: Key): boolean {
  return app.routes.some(
    (route) => route.price.by === "charge" && !isMounted(route.plan) && takesPathOf(app, key, route),
  );
}

/** No path of any app. */
const NOWHERE = "/~0/~1/~2";

/** Whether no other route may be meant by a key. */
function isAlone(app: ResolvedApp, key: Key, route: Route): boolean {
  return !app.routes.some((other) => other !== route && mayBeBound(app, key, other));
}

/** The top of a mount may be beside what a key names below it. */
function isServedBy({ resource }: Run, wanted: string | undefined): boolean {
  if (wanted === undefined) return resource !== undefined && resource !== "" && resource !== "/";
  return resource === wanted;
}

/** Whether a request names a key by its method and its path, as the router of the handler saw both. */
function isNamed(app: ResolvedApp, { touched }: Sent, run: Run, key: Key): boolean {
  if (app.plan.late || app.plan.between.length > 0 || isStrictAnywhere(app)) return false;
  if (!coversMethod(key, run.method) || isOtherOfChain(run)) return false;
  return touched.some((touch) => isOfKey(touch) && touch.key === key && touch.isAtTable && touch.isMeant);
}

/** A router that looks at case or slashes spells a key in a way of its own. */
function isStrictAnywhere({ plan, groups }: ResolvedApp): boolean {
  return [plan, ...groups].some(({ caseSensitive, strict }) => caseSensitive || strict);
}

/** Rule 2: at the path of a key, a function behind the table is priced by every method. */
function isBelow(app: ResolvedApp, sent: Sent, run: Run, key: Key): boolean {
  if (run.method === "OPTIONS" || hasFreeMethod(app, sent, run, key)) return false;
  return isNamed(app, sent, { ...run, method: key.method ?? run.method }, key);
}

/** Whether another route takes the path by the name of the method, is not wider than the key, and may be free by it. */
function hasFreeMethod(app: ResolvedApp, sent: Sent, run: Run, key: Key): boolean {
  return freeRoutes(sent, run).some((other) => isWrittenLike(app, key, other));
}

function hasFreeRoute(sent: Sent, run: Run): boolean {
  return freeRoutes(sent, run).length > 0;
}

/** The other routes that take a path by the name of the method, and may be free by it. */
function freeRoutes({ touched }: Sent, { route, method }: Run): readonly Route[] {
  return touched.filter(isRun).flatMap(({ route: other }) => {
    if (other === route || isMounted(other.plan) || other.price.by === "table") return [];
    return methodsOf(other.plan).some((own) => own !== "all" && takesMethod(own, method)) ? [other] : [];
  });
}

/** Whether a request may be asked for money at a handler, or on its way there. Otherwise it is free for certain. */
export function mayPay(app: ResolvedApp, sent: Sent, run: Run): boolean {
  const { touched } = sent;
  return (
    run.route.price.by !== "free" ||
    touched.some((touch) => isRun(touch) && touch.route.price.by !== "free" && isMounted(touch.route.plan)) ||
    app.keys.some((key) => mayBeKeys(app, sent, run, key))
  );
}

function mayBeKeys(app: ResolvedApp, sent: Sent, { route, method }: Run, key: Key): boolean {
  if (mayBeBound(app, key, route) || isPageOf(app, key, route)) return true;
  if (routesBefore(sent, route).some((other) => mayBeBound(app, key, other))) return true;
  // A bare star may be empty. Express 5 gives such a path to no route of the key.
  if (key.text.includes("/*/") && sent.requestLine.includes("//")) return true;
  if (sent.touched.some((touch) => isOfKey(touch) && touch.key === key && coversMethod(key, method))) return true;
  return (hasFunctions(app) || !hasRoute(app, key)) && mayRead(app, key, sent);
}

/** The routes that a request passes on its way to another. That of a key has its price there, also at its other mounts. */
function routesBefore({ touched }: Sent, route: Route): readonly Route[] {
  const routes = touched.filter(isRun).map((run) => run.route);
  return routes.slice(0, Math.max(routes.indexOf(route), 0)).filter(({ plan }) => !isMounted(plan));
}

/** Whether it is certain that a key has a route: it was written for one, and the table can be seen. */
function hasRoute({ plan, routes }: ResolvedApp, key: Key): boolean {
  if (plan.table !== "seen") return false;
  return routes.some((route) => {
    if (route.price.by !== "table" || route.price.key !== key || !isWritten(route)) return false;
    // A key for any method names no OPTIONS.
    return methodsOf(route.plan).some((method) => method !== "options" || key.method === "OPTIONS");
  });
}

/** Whether a route has a path of its own, in words. */
function isWritten({ plan }: Route): boolean {
  return plan.sort === "path" || plan.sort === "array" || plan.sort === "chain";
}

/** Whether there is any function that is priced by path. */
function hasFunctions({ plan, routes }: ResolvedApp): boolean {
  const isRewritten = plan.rewriters.length + plan.between.length > 0;
  return isRewritten || plan.followed || plan.table !== "seen" || routes.some((route) => isMounted(route.plan));
}

/** Whether a key may be bound to a handler: it is for the path that the handler is written with, or a regular expression takes its path. */
function mayBeBound(app: ResolvedApp, key: Key, route: Route): boolean {
  const { plan } = route;
  return (
    (isMounted(plan) || methodsOf(plan).some((method) => sharesMethod(key, method))) && isWrittenLike(app, key, route)
  );
}

/** Whether a route for more may be the key's, which has no other. */
function isPageOf(app: ResolvedApp, key: Key, route: Route): boolean {
  return isWritten(route) && !hasRoute(app, key) && takesPathOf(app, key, route);
}

function takesPathOf(app: ResolvedApp, key: Key, route: Route): boolean {
  const receivers = route.ways.flatMap((way) => [way, way.slice(app.siteChain.length)]).map(loosePattern);
  return [key.chain, key.chain.slice(app.siteChain.length)]
    .flatMap(samplePaths)
    .some((sample) => receivers.some((receiver) => receiver.test(sample)));
}

function isWrittenLike(app: ResolvedApp, key: Key, route: Route): boolean {
  const { plan } = route;
  const below = (chain: readonly Path[]) => [chain, chain.slice(app.siteChain.length)];
  if (plan.sort === "regexp") {
    const receivers = below(route.chain).map(loosePrefix);
    return below(key.chain)
      .flatMap(samplePaths)
      .some((sample) => receivers.some((receiver) => receiver.test(sample)));
  }
  // What is below a mount is no part of what it is written with.
  const ways = isMounted(plan) ? route.ways.map((way) => way.slice(0, -1)) : route.ways;
  const patterns = below(key.chain).map(loosePattern);
  return ways
    .flatMap(below)
    .flatMap(writtenOut)
    .some((sample) => patterns.some((pattern) => pattern.test(sample)));
}

function sharesMethod(key: Key, registered: string): boolean {
  const own = registered.toUpperCase();
  return own === "ALL" || coversMethod(key, own) || (own === "GET" && coversMethod(key, "HEAD"));
}

/** The prices that a request may be charged at a handler. */
export function pricesOf(app: ResolvedApp, sent: Sent, run: Run): ReadonlySet<Cents> {
  const { route, method } = run;
  const own = route.price.by === "free" ? [] : [route.cents];
  // The charge in a route is the nearest price.
  if (route.price.by === "charge" && !isMounted(route.plan) && !isOtherOfChain(run)) return new Set(own);
  // Middleware behind the table makes another request of one that has paid.
  if (app.plan.between.length > 0) return new Set([...app.keys, ...app.routes.filter(isPriced)].map(centsOf));
  const named = sent.touched.flatMap((touch) => {
    if (isOfKey(touch)) return coversMethod(touch.key, method) || isMounted(route.plan) ? [touch.key.cents] : [];
    // What stands before the charge of a route is asked for at its price, which is nearest. What is not a file goes on, paid.
    const mayCount = isRun(touch) && (touch.route.price.by === "charge" || isMounted(touch.route.plan));
    return mayCount && touch.route.price.by !== "free" ? [touch.route.cents] : [];
  });
  const others = app.keys.filter((key) => mayBeKeys(app, sent, run, key)).map(({ cents }) => cents);
  return new Set([...own, ...named, ...others]);
}

function centsOf({ cents }: Key | Route): Cents {
  return cents;
}

function isPriced({ price }: Route): boolean {
  return price.by !== "free";
}

/** Whether no payment is asked for OPTIONS: no key names it, and no charge may stand in its way. */
export function isFreeOptions(app: ResolvedApp, { touched }: Sent, method: string): boolean {
  if (method !== "OPTIONS" || app.keys.some((key) => coversMethod(key, method))) return false;
  // The table has asked for what it was before.
  if (app.plan.between.length > 0) return false;
  return !touched.some((touch) => isRun(touch) && touch.route.price.by === "charge");
}

/** Whether nothing that may have a price of its own gets a request before a handler: a function, or a route that passes it on. */
export function isMetFirst({ plan }: ResolvedApp, { touched }: Sent, run: Run): boolean {
  return !plan.followed && touched.find(isRun) === run;
}

/** Whether all that may be priced in an app has one price. Then no path can be read as two prices. */
export function hasOnePrice(app: ResolvedApp): boolean {
  const charges = app.routes.filter(({ price }) => price.by === "charge");
  return new Set([...app.keys, ...charges].map(({ cents }) => cents)).size < 2;
}
