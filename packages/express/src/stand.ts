/**
 * What a table remembers of the requests that have met it: how each was spelled, and what it means for it. It holds until something changes.
 *
 * @module
 */
import type { TableGate, Verdict } from "@farebox/core/adapter";
import type { Application, Request } from "express";
import { type AppState, isAlone, mountsIn } from "./app-state.js";
import { cutOf } from "./express-request.js";
import type { Inspection } from "./inspection.js";
import { hasChanged, rootOf } from "./router-walk.js";

/** An app in which requests have met a table, and what holds there until something changes. */
export interface Stand {
  readonly app: Application;
  readonly state: AppState;
  /** Whether no other price may be nearer to a handler. */
  readonly isAlone: boolean;
  /** Of requests that met the table and need not be marked for it, by how their method and path are spelled. */
  readonly verdicts: Map<string, Verdict>;
  /** Of the inspection. */
  readonly changes: number;
}

/** A client chooses the paths. So many are kept. */
const MOST_KNOWN = 1_000;

/** What Express reads in one way only, whatever follows it. Behind two slashes may be a host. */
const PLAIN = /^(?!.*\/\/)\/[\w\-.~/%]{0,200}$/;

/** The verdict on a request that is spelled like one before. `undefined`: there was none, or something has changed since. */
export function findVerdict(
  { app, state, changes, verdicts }: Stand,
  req: Request,
  inspection: Pick<Inspection, "changes">,
): Verdict | undefined {
  const isStill = req.app === app && inspection.changes === changes && rootOf(app) === state.app;
  if (!isStill || state.stacks.some(hasChanged)) return undefined;
  const { method, baseUrl, url, originalUrl } = req;
  // A mount in front may have been cut off in the wrong place.
  if (originalUrl !== baseUrl + url && cutOf(req) !== "right") return undefined;
  const query = url.indexOf("?");
  return verdicts.get(`${method} ${baseUrl} ${query === -1 ? url : url.slice(0, query)}`);
}

/**
 * Remembers the verdict on a request that has met a table. The oldest is forgotten.
 *
 * @param before - Where requests have met the table before.
 * @returns The same, if nothing has changed since. `undefined`: the table is not in an app that shows it, or in one with mistakes.
 */
export function learnVerdict(
  verdict: Verdict,
  { gate, req, inspection }: { readonly gate: TableGate; readonly req: Request; readonly inspection: Inspection },
  before: Stand | undefined,
): Stand | undefined {
  const { app, method, baseUrl, url, path } = req;
  const state = inspection.stateOf(rootOf(app));
  if (state.checked === undefined || state.checked.error !== undefined) return undefined;
  if (mountsIn(state, gate).length === 0) return undefined;
  const { changes } = inspection;
  const isStill = before?.app === app && before.state === state && before.changes === changes;
  const stand = isStill ? before : { app, state, isAlone: isAlone(state, gate), verdicts: new Map(), changes };
  if (!PLAIN.test(baseUrl + path) || path !== url.split("?", 1)[0]) return stand;
  const { verdicts } = stand;
  const [oldest] = verdicts.size < MOST_KNOWN ? [] : verdicts.keys();
  if (oldest !== undefined) verdicts.delete(oldest);
  verdicts.set(`${method} ${baseUrl} ${path}`, verdict);
  return stand;
}
