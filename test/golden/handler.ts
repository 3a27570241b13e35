/**
 * The priced handler of golden sequences: it does as the request's order says.
 *
 * @module
 */
import type { RequestHandler, Response } from "express";
import type { Latch } from "../faults/latch.js";
import type { HandlerKind } from "../faults/random/plan.js";
import type { SellerPlan, SendStep } from "./plan.js";
import type { Scribe } from "./records.js";

const LARGE = Buffer.alloc(25_000, "l");
/** More than the sockets of two sides take while no client reads. */
const HUGE = Buffer.alloc(6 * 1024 * 1024, "h");

/** What the handler is to do for one request. */
export interface Order {
  readonly handler: HandlerKind;
  readonly amount: SendStep["amount"];
  readonly client: SendStep["client"];
  /** The handler waits for this before it does anything. */
  readonly begin: Latch | undefined;
  /** Lets a handler go that hangs. */
  readonly letGo: Latch;
  /** Called when the handler runs. */
  readonly onRun: () => void;
}

export interface Run {
  readonly number: number;
  isOver: boolean;
}

export interface HandlerParts {
  readonly plan: SellerPlan;
  readonly orders: readonly Order[];
  readonly runs: Run[];
  readonly scribe: Scribe;
  /** `payment 1`, of a request. */
  readonly paymentOf: (request: number) => string;
}

interface Work {
  readonly run: Run;
  readonly order: Order;
  readonly plan: SellerPlan;
  readonly res: Response;
  readonly next: (error: unknown) => void;
  readonly payment: Parameters<RequestHandler>[0]["payment"];
}

/** Creates the handler of every route. */
export function createHandler({ plan, orders, runs, scribe, paymentOf }: HandlerParts): RequestHandler {
  return (req, res, next) => {
    const request = Number(req.get("x-request"));
    const order = orders[request];
    const lane = scribe.laneOf(paymentOf(request));
    if (order === undefined || lane === undefined) return;
    const { payment } = req;
    const run = { number: runs.length + 1, isOver: false };
    runs.push(run);
    const put = (text: string) => {
      const own = scribe.laneOf(paymentOf(request));
      if (own !== undefined) scribe.transcript.note("hook", own, `handler ${run.number}: ${text}`);
    };
    const paid =
      payment === undefined
        ? "granted"
        : `${payment.amount}/${payment.maxAmount}${payment.isSettled ? " settled" : ""}`;
    put(`runs for request ${request}, ${paid}`);
    payment?.signal.addEventListener("abort", () => {
      run.isOver = true;
      put(`is told to stop: ${Reflect.get(Object(payment.signal.reason), "reason")}`);
    });
    res.set("X-Handler", String(run.number));
    order.onRun();
    const work = { run, order, plan, res, next, payment };
    if (order.begin === undefined) return behave(work);
    order.begin.opened
      .then(() => {
        if (scribe.laneOf("") !== undefined) behave(work);
      })
      .catch(next);
  };
}

/** Over once they have responded. */
const SELLING: readonly string[] = [
  "answers",
  "streams a large answer",
  "answers, then throws",
  "answers, then gives next an error",
  "sells a link",
];

function behave(work: Work): void {
  const { run, res, next, order, payment } = work;
  const { handler, letGo } = order;
  if (handler === "hangs" || handler === "goes on when the client has left") {
    const aborted = new Promise<void>((resolve) => {
      if (payment?.signal.aborted) resolve();
      payment?.signal.addEventListener("abort", () => resolve());
    });
    void Promise.race([aborted, letGo.opened]).then(
      () => (handler === "hangs" && payment?.signal.aborted) || sell(work),
    );
    return;
  }
  run.isOver = !SELLING.includes(handler);
  switch (handler) {
    case "answers 500":
      res.status(500).json({ sorry: true });
      return;
    case "throws":
      throw new Error("the handler threw");
    case "gives next an error":
      next(new Error("the handler failed"));
      return;
    case "redirects":
      // To a priced route: nothing is sold yet.
      res.redirect(307, "/goods");
      return;
    case "sells a link":
      res.status(303).set("Location", "https://cdn.example/goods?signature=1");
      sell(work);
      return;
    case "answers 304":
      res.status(304).end();
      return;
    case "writes a head with 500":
      res.writeHead(500, { "X-Late": "yes" }).end("sorry");
      return;
    case "writes, then throws":
      res.write(firstLine(work));
      throw new Error("the handler threw");
    case "flushes, then throws":
      res.flushHeaders();
      throw new Error("the handler threw");
    case "answers, then throws":
      sell(work);
      throw new Error("the handler threw");
    case "answers, then gives next an error":
      sell(work);
      next(new Error("the handler failed"));
      return;
    case "sends less than it says":
      charge(work, 0);
      res.writeHead(200, { "Content-Length": "1000" }).end("less");
      return;
    default:
      sell(work);
  }
}

const PARTS = 4;

/** Responds with what is sold. */
function sell(work: Work): void {
  const { run, res, plan, order } = work;
  const isMetered = plan.settle === "metered";
  try {
    if (!isMetered) charge(work, 0);
    const isStream = isMetered && order.handler === "answers";
    if (!res.headersSent)
      res.type(isStream ? "text/event-stream" : "text/plain").set("Cache-Control", "public, max-age=60");
    if (isMetered) charge(work, 0);
    res.write(firstLine(work));
    const filler = fillerOf(order);
    for (let part = 1; part <= PARTS; part++) {
      if (isMetered) charge(work, part);
      if (filler !== undefined) res.write(filler);
      else if (isMetered) res.write(`data: part ${part}\n\n`);
    }
    res.end();
    run.isOver = true;
  } catch (error) {
    run.isOver = true;
    work.next(error);
  }
}

/** Says what is charged, where less than all can be. Metered parts are charged one by one. */
function charge({ payment, plan, order }: Work, part: number): void {
  if (payment === undefined || plan.scheme !== "upto" || payment.isSettled) return;
  const { amount } = order;
  if (plan.settle === "metered") {
    if (amount === "nothing" || amount === "0") return;
    payment.charge(amount === "too much" ? "$0.003" : amount === "all" ? "20%" : "$0.001");
    return;
  }
  if (part > 0 || amount === "nothing") return;
  payment.settle({ half: "50%", all: "100%", "0": "0", "too much": "$5", "$0.004": "$0.004" }[amount]);
}

function firstLine({ run }: Work): string {
  return `${JSON.stringify({ goods: run.number })}\n`;
}

function fillerOf({ client, handler }: Order): Buffer | undefined {
  if (client === "leaves in the middle" && handler !== "writes, then throws")
    return HUGE.subarray(0, HUGE.length / PARTS);
  return handler === "streams a large answer" ? LARGE : undefined;
}
