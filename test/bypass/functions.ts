/**
 * The functions of a case's app.
 *
 * @module
 */
import type { RequestHandler } from "express";
import type { Mounting } from "./app.js";
import type { Work } from "./case.js";

type Noting = Pick<Mounting, "note" | "till">;

/** Makes a function that does what a case says. */
export function functionOf(work: Work, noting: Noting): RequestHandler {
  const made = withParameters(work, noting);
  return work.name === undefined ? made : Object.defineProperty(made, "name", { value: work.name });
}

function withParameters(work: Work, noting: Noting): RequestHandler {
  if (work.does === "charges") return noting.till.charge();
  if (work.does === "errors") return ((error, _req, _res, next) => next(error)) as ErrorHandler as never;
  const act = ACTS[work.does](noting.note);
  if (work.isAsync) {
    return async (req, res, next) => {
      await undefined;
      act(req, res, next);
    };
  }
  const needsNext = work.takesNext || work.does === "passes" || work.does === "cors";
  return needsNext ? (req, res, next) => act(req, res, next) : (req, res) => act(req, res, () => {});
}

type ErrorHandler = (error: unknown, req: unknown, res: unknown, next: (error: unknown) => void) => void;

type Act = (note: () => void) => RequestHandler;

const ACTS: Readonly<Record<Exclude<Work["does"], "charges" | "errors">, Act>> = {
  answers: (note) => (_req, res) => {
    note();
    res.send("served");
  },
  passes: () => (_req, _res, next) => next(),
  "not found": () => (_req, res) => void res.status(404).send("no such page"),
  cors: () => (req, res, next) => {
    res.set("Access-Control-Allow-Origin", "*");
    if (req.method === "OPTIONS") res.status(204).end();
    else next();
  },
  "reads the URL": (note) => (req, res) => {
    if (!OWN.includes(pathnameOf(req.url))) return void res.status(404).send("no such page");
    note();
    res.send("served");
  },
};

/** What the reader of URLs has. */
const OWN: readonly string[] = ["/report", "/v1/report"];

/** As Node's own examples read a request. */
function pathnameOf(url: string): string {
  return URL.canParse(url, "http://shop.example") ? new URL(url, "http://shop.example").pathname : "";
}
