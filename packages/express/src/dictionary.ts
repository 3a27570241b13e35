/**
 * Objects that V8 keeps as dictionaries.
 *
 * Express sets the prototype of each request and response. From then on V8 makes a hidden class of its own for each of them,
 * and another with each property that is added, so that nothing it has learnt of the one before helps with the next. An
 * object that a property was deleted from is a dictionary: slower than the best, but the same for all.
 *
 * @see `docs/performance.md`, "Requests and responses as dictionaries"
 * @module
 */
import type { Request, Response } from "express";

/** Makes dictionaries of a request and its response. Nothing about them changes but what it takes to read and write them. */
export function keepAsDictionaries(req: Request, res: Response): void {
  // Express has set both by plain assignment. Neither throws where somebody else has not.
  if (Reflect.deleteProperty(req, "res")) Reflect.set(req, "res", res);
  if (Reflect.deleteProperty(res, "req")) Reflect.set(res, "req", req);
}
