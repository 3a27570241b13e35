/**
 * The priced handler: does as the request's order says, and has it noted.
 *
 * @module
 */
import type { RequestHandler, Response } from "express";
import type { Goods, Notes, Request, Run, Variant } from "./notes.js";
import { CONDITIONS, SMALL_HOLD_BYTES } from "./plan.js";

/** Longer than what little is held back. */
const LARGE = Buffer.alloc(25_000, "l");
/** More than the sockets of two sides take while no client reads. */
const HUGE = Buffer.alloc(6 * 1024 * 1024, "h");

/** What a handler may know. */
export interface HandlerParts {
  readonly notes: Notes;
  readonly holdBytes: number;
  readonly isPaid: (request: Request) => boolean;
}

/** Creates the handler of every route. */
export function createHandler({ notes, holdBytes, isPaid }: HandlerParts): RequestHandler {
  return (req, res, next) => {
    const request = notes.requests[Number(req.get("x-request"))];
    if (request === undefined || req.payment === undefined) {
      notes.found.push(`the handler ran for a request without a payment: ${req.method} ${req.url}`);
      return void res.end();
    }
    const conditions = Object.keys(CONDITIONS).filter((name) => req.get(name) !== undefined);
    for (const name of conditions) notes.found.push(`[3] ${request.payment.name}: the handler got ${name}`);
    const run: Run = {
      id: notes.runs.length,
      request,
      isPaid: isPaid(request),
      isLarge: sizeOf(request) > holdBytes,
      isOver: false,
      isStopped: false,
    };
    noteTogether(notes, run);
    notes.runs.push(run);
    const { signal } = req.payment;
    const stop = () => Object.assign(run, { isOver: true, isStopped: true });
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    res.set("X-Handler", String(run.id));
    const { order } = request;
    order.onRun();
    const work = { run, res, next, signal };
    if (order.begin === undefined) {
      behave(work);
      return;
    }
    order.begin
      .then(() => {
        if (!request.isOrphan) behave(work);
      })
      .catch(next);
  };
}

function noteTogether({ runs, found }: Notes, run: Run): void {
  const { payment } = run.request;
  const other = runs.find((one) => one.request.payment === payment && !one.isOver);
  if (other !== undefined) found.push(`[1] ${payment.name}: run ${run.id} began while run ${other.id} was at work`);
}

interface Work {
  readonly run: Run;
  readonly res: Response;
  readonly next: (error: unknown) => void;
  readonly signal: AbortSignal;
}

/** Over once they have answered. */
const SELLING: readonly string[] = [
  "answers",
  "streams a large answer",
  "answers, then throws",
  "answers, then gives next an error",
  "goes by conditions",
];

/** Everything that ends in this call; what hangs goes on later. */
function behave(work: Work): void {
  const { run, res, next, signal } = work;
  const { handler, letGo } = run.request.order;
  if (handler === "hangs" || handler === "goes on when the client has left") {
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve());
    });
    // One that hangs never answers, when it is told to stop.
    const isDone = () => handler === "hangs" && signal.aborted;
    void Promise.race([aborted, letGo]).then(() => isDone() || run.request.isOrphan || sell(work));
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
    case "goes by conditions":
      if (res.req.get("if-match") ?? res.req.get("if-unmodified-since")) res.status(412).end();
      else if (res.req.get("if-none-match") ?? res.req.get("if-modified-since")) res.status(304).end();
      else sell(work);
      return;
    case "writes a head with 500":
      res.writeHead(500, { "X-Late": "yes" }).end("sorry");
      return;
    case "writes, then throws":
      res.write(firstLine(run));
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
      res.writeHead(200, { "Content-Length": "1000" }).end("less");
      return;
    default:
      sell(work);
  }
}

/** Answers with what is sold. */
function sell({ run, res }: Work): void {
  res.type("text/plain").set("Cache-Control", "public, max-age=60");
  res.write(firstLine(run));
  const filler = fillerOf(run.request);
  if (filler !== undefined) for (let part = 0; part < 4; part++) res.write(filler);
  run.isOver = true;
  res.end();
}

function firstLine({ id, request }: Run): string {
  const { payment, variant } = request;
  const goods: Goods = { goods: id, payment: payment.name, ...wanted(variant) };
  return `${JSON.stringify(goods)}\n`;
}

function wanted({ path, wish, model }: Variant): Pick<Goods, "path" | "wish" | "model"> {
  return { path, wish, model };
}

function fillerOf({ order }: Request): Buffer | undefined {
  if (order.client !== "reads all" && order.handler !== "writes, then throws") return HUGE.subarray(0, HUGE.length / 4);
  return order.handler === "streams a large answer" ? LARGE : undefined;
}

function sizeOf(request: Request): number {
  const filler = fillerOf(request);
  return filler === undefined ? SMALL_HOLD_BYTES / 2 : filler.byteLength * 4;
}
