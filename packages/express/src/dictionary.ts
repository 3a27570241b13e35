/**
 * Objects that V8 keeps as dictionaries.
 *
 * Express sets the prototype of each request and response. From then on V8 makes a hidden class of its own for each of them,
 * and another with each property that is added, so that nothing it has learnt of the one before helps with the next. An
 * object that a property was deleted from is a dictionary: slower than the best, but the same for all.
 *
 * The sooner the better, and before any middleware of an app comes the listener of its server.
 *
 * @see `docs/performance.md`, "Requests and responses as dictionaries"
 * @module
 */
import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Application, Express, Request, Response } from "express";

/** On a request that was a dictionary before its app got it. */
const FORERUNNER = Symbol("farebox.forerunner");

type Met = IncomingMessage & { [FORERUNNER]?: Forerunner };

/**
 * Makes dictionaries of a request and its response, and of the next ones of the same server before its app gets them. Nothing
 * about them changes but what it takes to read and write them.
 */
export function keepAsDictionaries(req: Request, res: Response): void {
  const { [FORERUNNER]: forerunner }: Met = req;
  if (forerunner === undefined) {
    makeDictionaries(req, res, "res");
    startForerunner(req);
  } else if (!forerunner.isOf(req.app)) forerunner.leave();
}

/** @param own - Any property of the request that was put there by plain assignment, as `req` was of the response */
function makeDictionaries<T extends IncomingMessage>(req: T, res: ServerResponse, own: keyof T & string): void {
  putBack(req, own);
  putBack(res, "req");
}

function putBack<T extends object>(object: T, own: keyof T & string): void {
  const value = object[own];
  // Neither throws, whatever somebody has made of it.
  if (Reflect.deleteProperty(object, own)) Reflect.set(object, own, value);
}

/** Servers that have been looked at. */
const known = new WeakSet<object>();

function startForerunner(req: Request): void {
  const { server }: { readonly server?: unknown } & Request["socket"] = req.socket;
  if (!(server instanceof EventEmitter) || known.has(server)) return;
  known.add(server);
  const [listener, ...others] = server.listeners("request");
  const app = req.app as Express;
  if (listener === app && others.length === 0) server.prependListener("request", new Forerunner(app, server).meet);
}

/** Meets the requests of a server before its app does, which is all that listens to it. */
class Forerunner {
  readonly #app: Express;
  readonly #server: EventEmitter;

  constructor(app: Express, server: EventEmitter) {
    this.#app = app;
    this.#server = server;
  }

  isOf(app: Application): boolean {
    return app === this.#app;
  }

  /** Sets the prototypes that the app will set: that of a dictionary would give it a hidden class of its own again. */
  readonly meet = (req: Met, res: ServerResponse): void => {
    Object.setPrototypeOf(req, this.#app.request);
    Object.setPrototypeOf(res, this.#app.response);
    makeDictionaries(req, res, "url");
    req[FORERUNNER] = this;
  };

  /** For good: requests go to an app in the app, which sets prototypes of its own. */
  leave(): void {
    this.#server.off("request", this.meet);
  }
}
