/**
 * Builds the app that a case describes, and notes whether anything behind the table served a request.
 *
 * @module
 */
import { request } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import express5, { type Express, type IRouter } from "express";
import type { Path, Place, Step, Subject, Version } from "./case.js";
import { functionOf } from "./functions.js";
import type { Till } from "./sellers.js";

type ExpressModule = typeof express5;
type Handler = express5.RequestHandler;

const require = createRequire(import.meta.url);

/** Express 4 has no types of its own here. */
const EXPRESS: Readonly<Record<Version, ExpressModule>> = { 5: express5, 4: require("express4") };

/** What an app is built from besides its case. */
export interface Surroundings {
  readonly version: Version;
  /** Makes the payment middleware. */
  readonly till: Till;
  /** The folder that holds the site's files. */
  readonly site: string;
  /** Port of the server that proxies send requests on to. */
  readonly upstream: number;
}

/** An app, and what it has done. */
export interface BuiltApp {
  readonly app: Express;
  /** Whether a handler, a file or the server behind a proxy was reached since it was last asked. */
  takeReached(): boolean;
}

/** Builds the app of a case, or of several that share it. */
export function buildApp({ app: steps, settings }: Subject, surroundings: Surroundings): BuiltApp {
  let reached = false;
  const note = () => {
    reached = true;
  };
  const app = EXPRESS[surroundings.version]();
  // Without this the error pages of both versions quote the stack, and to the console too.
  app.set("env", "test");
  for (const setting of settings) app.enable(setting);
  mountAll(app, steps, { ...surroundings, note });
  const takeReached = () => {
    const was = reached;
    reached = false;
    return was;
  };
  return { app, takeReached };
}

export interface Mounting extends Surroundings {
  readonly note: () => void;
}

function mountAll(onto: IRouter, steps: readonly Step[], mounting: Mounting): void {
  for (const step of steps) mount(onto, step, mounting);
}

function mount(onto: IRouter, step: Step, mounting: Mounting): void {
  const { version, note, till } = mounting;
  const pathOf = (path: Path) => (typeof path === "string" ? path : path[version]);
  switch (step.kind) {
    case "table":
      onto.use(step.at, till.table(step.of));
      break;
    case "rewrite":
      onto.use(rewriting(step.from, step.to));
      break;
    case "override":
      onto.use(overriding);
      break;
    case "route":
      for (const verb of step.verbs) {
        onto[verb](placeFor(step.place, version), ...step.functions.map((work) => functionOf(work, mounting)));
      }
      break;
    case "chain": {
      const route = onto.route(placeFor(step.place, version));
      for (const { verb, functions } of step.calls) route[verb](...functions.map((work) => functionOf(work, mounting)));
      break;
    }
    case "use":
      onto.use(pathOf(step.at), ...step.functions.map((work) => functionOf(work, mounting)));
      break;
    case "router": {
      const router = routerOf(step.steps, mounting);
      for (const at of step.at) onto.use(pathOf(at), router);
      break;
    }
    case "wrapped": {
      const router = routerOf(step.steps, mounting);
      onto.use(pathOf(step.at), (req, res, next) => router(req, res, next));
      break;
    }
    case "static":
      onto.use(step.at, EXPRESS[version].static(join(mounting.site, step.folder), { setHeaders: note }));
      break;
    case "proxy":
      onto.use(step.at, proxying(mounting));
      break;
    default:
      step satisfies never;
  }
}

function routerOf(steps: readonly Step[], mounting: Mounting) {
  const router = EXPRESS[mounting.version].Router();
  mountAll(router, steps, mounting);
  return router;
}

function placeFor(place: Place, version: Version): string | RegExp | string[] {
  if (typeof place === "string") return place;
  if ("regexp" in place) return new RegExp(place.regexp);
  if (isList(place)) return place.map((path) => (typeof path === "string" ? path : path[version]));
  return place[version];
}

function isList(place: Exclude<Place, string>): place is readonly Path[] {
  return Array.isArray(place);
}

function rewriting(from: string, to: string): Handler {
  return (req, _res, next) => {
    if (req.url.startsWith(from)) req.url = to + req.url.slice(from.length);
    next();
  };
}

const overriding: Handler = (req, _res, next) => {
  req.method = /[?&]_method=([A-Z]+)/.exec(req.url)?.[1] ?? req.method;
  next();
};

function proxying({ upstream, note }: Mounting): Handler {
  return ({ method, url }, res, next) => {
    note();
    const forwarded = request({ port: upstream, host: "127.0.0.1", method, path: url, agent: false }, (answer) => {
      res.status(answer.statusCode ?? 502);
      answer.pipe(res);
    });
    forwarded.on("error", next).end();
  };
}
