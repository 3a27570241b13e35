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
import { type Cents, servesMethod } from "./app-plan.js";
import {
  type BuiltApp,
  buildApp,
  buildProbe,
  type ExpressModule,
  type Parts,
  type Run,
  type Touch,
} from "./build-app.js";
import { hasOnePrice, isFreeOptions, isMetFirst, isOfKey, isRun, mayPay, mustPay, pricesOf } from "./oracle.js";
import type { Dialect } from "./path.js";
import { askedPrice, chargeFor, type Purse, priceOf, watchStore } from "./purse.js";
import type { RawAnswer, RawLine } from "./raw-line.js";
import { type RequestPlan, writeRequest } from "./request-plan.js";
import type { ResolvedApp, Route } from "./resolved-app.js";

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
  /** Layouts. */
  apps: number;
  requests: number;
  /** Requests that would have reached a priced handler, and brought no payment. */
  stopped: number;
  /** Requests that a priced handler served, paid for. */
  sold: number;
  /** Requests that a free handler served. */
  given: number;
}

export function createTally(): Tally {
  return { apps: 0, requests: 0, stopped: 0, sold: 0, given: 0 };
}

/** What is wrong with the outcome of a request. */
export interface Finding {
  readonly problem: string;
  readonly report: string;
}

/** Of these, each is sent again when all have been sent: a table remembers what it has found out about a path. */
const EACH_AGAIN = 3;

/** Sends the requests one after the other. */
export async function judgeApp(
  court: Court,
  app: ResolvedApp,
  { requests, tally }: { readonly requests: readonly RequestPlan[]; readonly tally: Tally },
): Promise<readonly Finding[]> {
  const stand = await openStand(court, app);
  if (stand.kind === "refused") return [stand.finding];
  tally.apps++;
  const findings: Finding[] = [];
  for (const request of [...requests, ...requests.filter((_, at) => at % EACH_AGAIN === 0)]) {
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
  // A function that calls the app hides it: a table then meets it with its first request, which may be after its routes had theirs.
  const isFound = app.plan.listener === "app" || (app.isFirst && !app.isLost);
  if (app.plan.isReady || !isFound) await payments.ready(built.listener);
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
      const look = (req: IncomingMessage) => {
        looked = lookInto(probe.listener, req);
      };
      line.serve(listener, { isListener: app.plan.listener === "app", look });
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
  const unpaid = claims === 0 ? ran.find((run) => mustPay(app, seen, run)) : undefined;
  if (unpaid !== undefined) return `handler ${unpaid.route.id} ran without payment`;
  if (isMisread(app, seen.requestLine)) return undefined;
  const free = claims > 0 ? ran.find((run) => !mayPay(app, seen, run)) : undefined;
  if (free !== undefined) return `handler ${free.route.id} is free, and was charged`;
  const other = claims > 0 ? ran.find((run) => isOtherPrice(app, seen, run)) : undefined;
  if (other !== undefined) return `handler ${other.route.id} was charged at another's price`;
  if (ran.length > 0) return undefined;
  return refusalProblem(app, seen, answer) ?? unsoldProblem(app, seen, answer.status);
}

/** Express 4 serves no files to requests in absolute form, and fails. */
function isOfFiles({ requestLine, touched }: Seen): boolean {
  return / \w+:/.test(requestLine) && touched.some((touch) => isRun(touch) && touch.route.plan.sort === "files");
}

/** Whether no key that may be meant for the request, nor the handler's own, has the price that was paid. */
function isOtherPrice(app: ResolvedApp, seen: Seen, run: Run): boolean {
  return seen.cents !== undefined && mayPay(app, seen, run) && !pricesOf(app, seen, run).has(seen.cents);
}

/** A request as any client would send it, with the right payment, is served. */
function unsoldProblem(app: ResolvedApp, seen: Seen, status: number): string | undefined {
  const first = firstServed(seen);
  if (first === undefined || !seen.isPlain || seen.cents !== first.route.cents || isNoTarget(seen.requestLine))
    return undefined;
  // A file that is not there goes on to what is behind.
  if (app.plan.rewriters.length + app.plan.between.length > 0 || first.route.plan.sort === "files") return undefined;
  if (!mustPay(app, seen, first) || !isMetFirst(app, seen, first) || first.method === "OPTIONS") return undefined;
  const others = [...pricesOf(app, seen, first)].filter((cents) => cents !== seen.cents);
  return others.length > 0 ? undefined : `handler ${first.route.id} was paid for, and was not run: ${status}`;
}

/** A free route is served, and one that is priced asks for its price, once it is clear which key is the request's. */
function refusalProblem(app: ResolvedApp, seen: Seen, answer: Answered): string | undefined {
  const { status, body } = answer;
  const isTarget = !isNoTarget(seen.requestLine) && !isDecoded(app);
  if (body.includes('"ambiguous_path"') && isTarget && hasOnePrice(app)) return "all readings have one price: 400";
  const first = firstServed(seen);
  // A file that is not there goes on to what is behind. Node itself refuses more than 16 KB of head.
  if (first === undefined || first.route.plan.sort === "files" || status === 431) return undefined;
  if (status === 402 && isFreeOptions(app, seen, first.method)) return "OPTIONS is never priced: 402";
  if (mayPay(app, seen, first)) return offerProblem(app, seen, first, answer);
  // A router on the way answers OPTIONS by itself, once it has a route of that path for another method.
  if (first.method === "OPTIONS" && (status === 200 || status === 204)) return undefined;
  if (status === 400 && !isTarget) return undefined;
  return `handler ${first.route.id} is free, and was not run: ${status}`;
}

/** What a request without payment is asked for. */
function offerProblem(app: ResolvedApp, seen: Seen, first: Run, { head, status }: Answered): string | undefined {
  if (status !== 402 || !seen.isPlain || isNoTarget(seen.requestLine) || app.plan.between.length > 0) return undefined;
  if (!isMetFirst(app, seen, first)) return undefined;
  const asked = askedPrice(head);
  const isRight = asked === undefined || [...pricesOf(app, seen, first)].some((cents) => cents === asked);
  return isRight ? undefined : `handler ${first.route.id} is offered at another's price: ${asked} ct`;
}

type Answered = Extract<RawAnswer, { kind: "answered" }>;

/**
 * What is no target of a request may be refused: signs that no URL has, and fragments, which no client sends. So may an apostrophe in
 * absolute form: Express escapes it, and cuts mounts off by the length of the escaped text.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-3.2
 */
function isNoTarget(requestLine: string): boolean {
  const [, target = ""] = requestLine.split(" ");
  return /[^\w\-.~:/?[\]@!$&'()*+,;=%]|^[^/].*'/.test(target);
}

/** Middleware that decodes the URL makes one of it that is no target. */
function isDecoded({ plan }: ResolvedApp): boolean {
  return [...plan.rewriters, ...plan.between].includes("decodes the URL");
}

/**
 * A URL that middleware has changed so that Express reads it in two ways, and cuts mounts off the wrong part of it: which route is meant cannot
 * be told. What is priced still does not run without payment. One in absolute form has no host left when its slashes are collapsed. One whose
 * signs are decoded has them escaped by Express, which then cuts by the length of the escaped text.
 */
function isMisread({ plan }: ResolvedApp, requestLine: string): boolean {
  const middleware = [...plan.rewriters, ...plan.between];
  const hasLostHost = middleware.includes("collapses slashes") && / \w+:/.test(requestLine);
  return hasLostHost || (middleware.includes("decodes the URL") && ESCAPED.test(requestLine));
}

/** The signs that Express escapes where it parses a URL, as a client sends them. */
const ESCAPED = /%(?:09|0[AD]|2[027]|3[CE]|5[CE]|60|7[BCD])/i;

/** The handler that would have answered. */
function firstServed({ touched }: Seen): Run | undefined {
  return touched.filter(isRun).find(({ route, method }) => servesMethod(route.plan, method));
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
    `  table:    ${list(app.keys.map(({ text, cents }) => `${JSON.stringify(text)} at ${cents} ct`))}`,
    `  listener: ${app.plan.listener === "app" ? "app" : "(req, res) => app(req, res)"}${app.plan.isReady ? ", ready" : ""}`,
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

function describePrice({ id, price, cents }: Route): string {
  const at = price.by === "free" ? "" : ` at ${cents} ct`;
  return `handler ${id} ${price.by === "table" ? `by ${JSON.stringify(price.key.text)}` : price.by}${at}`;
}

function describeTouch(touch: Touch): string {
  if (isRun(touch)) return `handler ${touch.route.id}`;
  return isOfKey(touch) ? `the path of ${JSON.stringify(touch.key.text)}` : "the table";
}
