/**
 * Runs one generated app with its requests, and judges every request by what ran and what was claimed. Whose handler it
 * was the plan knows; what else a request could have reached the real router says, in a second app without payments.
 *
 * @module
 */

import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { FareboxError } from "@farebox/core";
import { createPayments } from "@farebox/express";
import type { RequestHandler } from "express";
import { type Cents, coversMethod, isMounted, servesMethod } from "./app-plan.js";
import {
  type BuiltApp,
  buildApp,
  buildProbe,
  type ExpressModule,
  type Parts,
  type Run,
  type Touch,
} from "./build-app.js";
import type { Dialect } from "./path.js";
import { chargeFor, type Purse, priceOf, watchStore } from "./purse.js";
import type { RawAnswer, RawLine } from "./raw-line.js";
import { type RequestPlan, writeRequest } from "./request-plan.js";
import { isCoveredByChance, isPriced, isProxyOfAll, pricesOf, type ResolvedApp, type Route } from "./resolved-app.js";

export interface Court {
  readonly name: Dialect;
  readonly express: ExpressModule;
  readonly line: RawLine;
  readonly purse: Purse;
  /** The folder that file servers serve. */
  readonly site: string;
  /** Errors without a listener since it was last asked. */
  takeStray(): readonly unknown[];
}

/** What a run has shown, so that a test can tell that it was no empty one. */
export interface Tally {
  requests: number;
  /** Requests that would have reached a priced handler, and brought no payment. */
  stopped: number;
  /** Requests that a priced handler served, paid for. */
  sold: number;
  /** Requests that a free handler served. */
  given: number;
}

export function createTally(): Tally {
  return { requests: 0, stopped: 0, sold: 0, given: 0 };
}

/** What is wrong with the outcome of a request. */
export interface Finding {
  readonly problem: string;
  readonly report: string;
}

/** Sends the requests one after the other. */
export async function judgeApp(
  court: Court,
  app: ResolvedApp,
  { requests, tally }: { readonly requests: readonly RequestPlan[]; readonly tally: Tally },
): Promise<readonly Finding[]> {
  const stand = await openStand(court, app);
  if (stand.kind === "refused") return [stand.finding];
  const findings: Finding[] = [];
  for (const request of requests) {
    const seen = await stand.send(request);
    count(tally, seen);
    const problem = judge(app, seen) ?? strayProblem(court);
    if (problem !== undefined) findings.push({ problem, report: describe(court, app, { ...stand, seen, problem }) });
  }
  stand.close();
  return findings;
}

/** All that is known about one request. */
interface Seen {
  readonly requestLine: string;
  readonly override: string | undefined;
  readonly answer: RawAnswer;
  /** What was sent to pay. */
  readonly cents: Cents | undefined;
  /** Whether it is the path of a route, as a client would have it. */
  readonly isPlain: boolean;
  /** Handlers that ran, in order. */
  readonly ran: readonly Run[];
  readonly claims: number;
  /** Handlers and keys that the request would get to without payments, in order. */
  readonly touched: readonly Touch[];
}

interface Stand {
  readonly kind: "open";
  readonly built: BuiltApp;
  send(request: RequestPlan): Promise<Seen>;
  close(): void;
}

/** A table of good keys that the library would not have. */
interface Refused {
  readonly kind: "refused";
  readonly finding: Finding;
}

/** Generated apps have mistakes on purpose. */
const QUIET = { info() {}, warn() {}, error() {} };

async function openStand({ name, express, line, purse, site }: Court, app: ResolvedApp): Promise<Stand | Refused> {
  const { store, claims } = watchStore();
  const payments = createPayments({ facilitator: purse.facilitator, store, strict: false, logger: QUIET });
  let ran: Run[] = [];
  let touched: Touch[] = [];
  const parts: Parts = {
    table: (keys) => payments.routes(Object.fromEntries(keys.map(({ text, cents }) => [text, priceOf(cents)]))),
    charge: ({ plan }) => chargeFor(payments, plan.cents),
    site,
    ran: (run) => void ran.push(run),
  };
  const built = tryBuild(() => buildApp(express, app, parts));
  if (built instanceof FareboxError) {
    const problem = "the table was refused";
    return { kind: "refused", finding: { problem, report: `${name}: ${problem}: ${built.message}` } };
  }
  // Otherwise a table meets its app with the first request that it gets, which may be after its routes had theirs.
  if (app.plan.isReady || !app.isFirst || app.isLost) await payments.ready(built.listener);
  const probe = buildProbe(express, app, (touch) => void touched.push(touch));
  const listener = built.listener as Parameters<RawLine["serve"]>[0];

  return {
    kind: "open",
    built,
    close: () => payments.close(),
    async send(plan) {
      [ran, touched] = [[], []];
      const request = writeRequest(plan, app);
      const { requestLine, cents } = request;
      const payment = cents === undefined ? undefined : await purse.take(cents);
      const claimsBefore = claims();
      let looked: Promise<void> | undefined;
      line.serve(listener, (req) => {
        looked = lookInto(probe.listener, req);
      });
      const answer = await line.ask(request.text(payment), request.method);
      await looked;
      const claimed = claims() - claimsBefore;
      if (payment !== undefined && cents !== undefined && claimed === 0) purse.giveBack(cents, payment);
      const { override, overriddenBy, mutations, method } = plan;
      const overridden = override === undefined ? undefined : `${override} (${overriddenBy})`;
      const isPlain = mutations.length === 0 && override === undefined && method === undefined;
      return { requestLine, override: overridden, answer, cents, isPlain, ran, claims: claimed, touched };
    },
  };
}

/** Shows a request to the probe, and waits until it has passed all handlers, of which none answers. */
function lookInto(probe: RequestHandler, { method, url, headers, rawHeaders }: IncomingMessage): Promise<void> {
  const shown = Object.assign(new IncomingMessage(NO_SOCKET), { method, url, headers, rawHeaders });
  const response = new ServerResponse(shown);
  return new Promise((resolve) => {
    // A router answers OPTIONS by itself.
    response.end = () => {
      resolve();
      return response;
    };
    probe(shown as Parameters<RequestHandler>[0], response as Parameters<RequestHandler>[1], () => resolve());
  });
}

const NO_SOCKET = new Socket();

function tryBuild(create: () => BuiltApp): BuiltApp | FareboxError {
  try {
    return create();
  } catch (error) {
    if (error instanceof FareboxError) return error;
    throw error;
  }
}

function judge(app: ResolvedApp, seen: Seen): string | undefined {
  const { answer, ran, claims } = seen;
  if (answer.kind === "unanswered") return `not answered: ${answer.problem}`;
  if (answer.status >= 500 && !isOfFiles(seen)) return `failed: ${answer.status}`;
  const unpaid = ran.find((run) => isPriced(app, run.route, run) === true || isPricedByItsPath(app, seen, run));
  if (unpaid !== undefined && claims === 0) return `handler ${unpaid.route.id} ran without payment`;
  const free = ran.find((run) => isFree(app, run));
  if (free !== undefined && claims > 0 && !isChargeable(seen) && !(app.opaque && isOddlyWritten(seen.requestLine)))
    return `handler ${free.route.id} is free, and was charged`;
  const other = claims > 0 ? ran.find((run) => isOtherPrice(app, seen, run)) : undefined;
  if (other !== undefined) return `handler ${other.route.id} was charged at another's price`;
  if (ran.length > 0) return undefined;
  return refusalProblem(app, seen, answer.status) ?? unsoldProblem(app, seen, answer.status);
}

/** Express 4 serves no files to requests in absolute form, and fails. */
function isOfFiles({ requestLine, touched }: Seen): boolean {
  return / \w+:/.test(requestLine) && touched.some((touch) => isRun(touch) && touch.route.plan.sort === "files");
}

/** A table that its seller wraps, or that is late, prices paths as it sees them. */
function isPricedByItsPath({ plan }: ResolvedApp, { touched }: Seen, { route, method }: Run): boolean {
  if (!plan.wrapped || plan.late || plan.between.length > 0 || route.price.by !== "table") return false;
  // A full key is that of one of a route's paths.
  if (route.ways.length > 1) return false;
  const { key } = route.price;
  return coversMethod(key, method) && touched.some((touch) => "key" in touch && touch.key === key && touch.isAtTable);
}

/** Whether no key that may be meant for the request, nor the handler's own, has the price that was paid. */
function isOtherPrice(app: ResolvedApp, { cents, touched }: Seen, { route }: Run): boolean {
  if (cents === undefined || (route.price.by === "free" && !isCoveredByChance(app, route))) return false;
  const prices = new Set(pricesOf(app, route));
  for (const touch of touched) {
    if ("key" in touch) prices.add(touch.key.cents);
    // What is not a file goes on, paid.
    else if (isMounted(touch.route.plan) && touch.route.price.by !== "free") prices.add(touch.route.plan.cents);
  }
  return !prices.has(cents);
}

/** A request as any client would send it, with the right payment, is served. */
function unsoldProblem(app: ResolvedApp, seen: Seen, status: number): string | undefined {
  const { plan } = app;
  const first = firstServed(seen);
  if (first === undefined || !seen.isPlain || seen.cents !== first.route.plan.cents || first.method === "OPTIONS")
    return undefined;
  const isRewritten = plan.rewriters.length + plan.between.length > 0;
  if (isRewritten || plan.wrapped || app.opaque || first.route.plan.sort === "files") return undefined;
  // Only the server behind a proxy of all reads `/x/../secret` as `/secret`. It is refused, and the payment is not claimed:
  // the same path to another server may be a free page.
  const isRefused = status === 400 && seen.claims === 0;
  if (isRefused && isProxyOfAll(first.route.plan) && /[%\\]|\/\./.test(seen.requestLine)) return undefined;
  if (isPriced(app, first.route, first) !== true || isNoTarget(seen.requestLine)) return undefined;
  const touchedPrices = seen.touched.flatMap((touch) => ("key" in touch ? [touch.key.cents] : []));
  const passed = seen.touched.flatMap((touch) => (isRun(touch) ? [...pricesOf(app, touch.route)] : []));
  const others = [...pricesOf(app, first.route), ...touchedPrices, ...passed].filter((cents) => cents !== seen.cents);
  return others.length > 0 ? undefined : `handler ${first.route.id} was paid for, and was not run: ${status}`;
}

/** Middleware that cannot be seen through may be a router of its own, to which another spelling of a key is the key. */
function isOddlyWritten(requestLine: string): boolean {
  const [, target = ""] = requestLine.split(" ");
  return /[A-Z%\\]|\/\/|\/$/.test(target);
}

/** A route is free if neither its own key nor another says otherwise. */
function isFree(app: ResolvedApp, { route }: Run): boolean {
  return route.price.by === "free" && !isCoveredByChance(app, route);
}

/** Whether the request would also get to a route that the table prices, or is what a key stands for. */
function isChargeable({ touched }: Seen): boolean {
  return touched.some((touch) => {
    if ("key" in touch) return coversMethod(touch.key, touch.method);
    return touch.route.price.by === "table" || (touch.route.price.by === "charge" && isMounted(touch.route.plan));
  });
}

/** A free route is served, unless the library cannot see what else would get the request. */
function refusalProblem(app: ResolvedApp, seen: Seen, status: number): string | undefined {
  const first = firstServed(seen);
  if (first === undefined || isChargeable(seen) || !isFree(app, first)) return undefined;
  // A file that is not there goes on to what is behind.
  if (first.route.plan.sort === "files") return undefined;
  // A router on the way answers OPTIONS by itself, once it has a route of that path for another method.
  if (first.method === "OPTIONS" && status === 200) return undefined;
  // A function at a mount is asked before the middleware behind it rewrites the path.
  const isUnclear = app.opaque || app.plan.between.length > 0;
  if (isUnclear && isOddlyWritten(seen.requestLine) && (status === 400 || status === 402)) return undefined;
  // Node's own answer to more than 16 KB of head.
  if (status === 431) return undefined;
  if (status === 400 && (isNoTarget(seen.requestLine) || isDecoded(app))) return undefined;
  return `handler ${first.route.id} is free, and was not run: ${status}`;
}

/**
 * What is no target of a request may be refused: signs that no URL has, and fragments, which no client sends.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-3.2
 */
function isNoTarget(requestLine: string): boolean {
  const [, target = ""] = requestLine.split(" ");
  return /[^\w\-.~:/?[\]@!$&'()*+,;=%]/.test(target);
}

/** Middleware that decodes the URL makes one of it that is no target. */
function isDecoded({ plan }: ResolvedApp): boolean {
  return [...plan.rewriters, ...plan.between].includes("decodes the URL");
}

/** The handler that would have answered. */
function firstServed({ touched }: Seen): Run | undefined {
  return touched.filter(isRun).find(({ route, method }) => servesMethod(route.plan, method));
}

function isRun(touch: Touch): touch is Run {
  return "route" in touch;
}

function strayProblem(court: Court): string | undefined {
  const stray = court.takeStray();
  return stray.length === 0 ? undefined : `an error without a listener: ${String(stray[0])}`;
}

function count(tally: Tally, seen: Seen): void {
  tally.requests++;
  const first = firstServed(seen);
  const [run] = seen.ran;
  if (run !== undefined && seen.claims > 0) tally.sold++;
  else if (run !== undefined) tally.given++;
  else if (first !== undefined && first.route.price.by !== "free" && seen.cents === undefined) tally.stopped++;
}

interface Told {
  readonly built: BuiltApp;
  readonly seen: Seen;
  readonly problem: string;
}

function describe({ name }: Court, app: ResolvedApp, { built, seen, problem }: Told): string {
  const { answer, touched, ran, override } = seen;
  const list = (texts: readonly string[]) => (texts.length === 0 ? "nothing" : texts.join(", "));
  const answered = answer.kind === "answered" ? String(answer.status) : answer.problem;
  return [
    `${name}: ${problem}`,
    ...built.registrations.map((line) => `    ${line}`),
    `  table:    ${list(app.keys.map(({ text }) => JSON.stringify(text)))}`,
    `  prices:   ${list(app.routes.map(describePrice))}`,
    `  request:  ${shorten(JSON.stringify(seen.requestLine))}${override === undefined ? "" : `, overridden by ${override}`}`,
    `  payment:  ${seen.cents === undefined ? "none" : `${seen.cents} ct`}, ${seen.claims} claimed`,
    `  answer:   ${answered}`,
    `  ran:      ${list(ran.map(({ route, method }) => `handler ${route.id} (${method})`))}`,
    `  without payments it would get to: ${list(touched.map(describeTouch))}`,
  ].join("\n");
}

/** A path of 8 KB is told by its beginning; the seed has the rest. */
function shorten(text: string): string {
  return text.length > 500 ? `${text.slice(0, 500)}… (${text.length} characters)` : text;
}

function describePrice({ id, price, plan }: Route): string {
  const cents = price.by === "free" ? "" : ` at ${plan.cents} ct`;
  return `handler ${id} ${price.by === "table" ? `by ${JSON.stringify(price.key.text)}` : price.by}${cents}`;
}

function describeTouch(touch: Touch): string {
  return isRun(touch) ? `handler ${touch.route.id}` : `the path of ${JSON.stringify(touch.key.text)}`;
}
