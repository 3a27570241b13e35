/**
 * Objects that V8 keeps as dictionaries.
 *
 * Express sets the prototype of each request and response. From then on V8 makes a hidden class of its own for each of them,
 * and another with each property that is added, so that nothing it has learnt of the one before helps with the next. An
 * object that a property was deleted from is a dictionary: slower than the best, but the same for all.
 *
 * The sooner the better; and before all middleware of an app comes the listener of its server.
 *
 * @see `docs/performance.md`, "Requests and responses as dictionaries"
 * @module
 */
import { EventEmitter } from "node:events";
import { IncomingMessage, ServerResponse } from "node:http";
import type { Express, Request, Response } from "express";

/** Dictionaries are, until Node 24: from then on V8 does not mind that a prototype is set. */
const ARE_FASTER = Number.parseInt(process.versions.node, 10) < 24;

/** On a request that was a dictionary before its app got it. */
const READY = Symbol("farebox.ready");

type Met = IncomingMessage & { [READY]?: true };

/**
 * Makes dictionaries of a request and its response, and of the next ones of the same server before its app gets them. Nothing
 * about them changes but what it takes to read and write them.
 */
export function keepAsDictionaries(req: Request, res: Response): void {
  if (!ARE_FASTER || (req as Met)[READY]) return;
  // Express has set both by plain assignment.
  putBack(req, "res", res);
  putBack(res, "req", req);
  meetTheNext(req);
}

/** Takes a property away and puts it back. Does not throw, whatever somebody has made of it. */
function putBack(object: object, property: string, value: unknown): void {
  if (Reflect.deleteProperty(object, property)) Reflect.set(object, property, value);
}

/** Servers whose requests are met, or cannot be. */
const known = new WeakSet<EventEmitter>();

/**
 * Listens to the server of a request before its app does, if the app listens to it itself. Whoever else listens, to count
 * requests, say, gets the same ones as the app.
 */
function meetTheNext({ socket }: Request): void {
  const server: unknown = Reflect.get(socket ?? {}, "server");
  if (!(server instanceof EventEmitter) || known.has(server)) return;
  known.add(server);
  const [app, ...others] = server.listeners("request").filter(isApp);
  if (app !== undefined && others.length === 0) server.prependListener("request", (req, res) => meet(req, res, app));
}

function isApp(listener: object): listener is Express {
  const { request, response } = listener as Partial<Express>;
  return request instanceof IncomingMessage && response instanceof ServerResponse;
}

/**
 * Sets the prototypes, as the app is about to: whenever that of a dictionary is set, it gets a hidden class of its own
 * again. What is not of `node:http`, as over HTTP/2, has its properties elsewhere and is left alone.
 */
function meet(req: unknown, res: unknown, { request, response }: Express): void {
  if (!(req instanceof IncomingMessage && res instanceof ServerResponse)) return;
  Object.setPrototypeOf(req, request);
  Object.setPrototypeOf(res, response);
  // Node has set both by plain assignment.
  putBack(req, "url", req.url);
  putBack(res, "req", req);
  (req as Met)[READY] = true;
}
