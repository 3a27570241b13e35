/**
 * Which of several prices counts: the one that is nearest to the handler of a request.
 *
 * @module
 */
import { formBelow, formsOf, isMoreSpecific, placeOfRoute, type RouteGate, type Verdict } from "@farebox/core/adapter";
import type { Request } from "express";
import { readPlace, readRequest } from "./express-request.js";
import { chargesOf } from "./router-view.js";
import {
  isTable,
  type Layer,
  type LayerRoute,
  type Met,
  type Prefixes,
  tablesAt,
  type WalkedGate,
  walk,
} from "./router-walk.js";

const TOP: Prefixes = [""];

/** A gate that prices a request, and what it would ask for. */
export interface Asking {
  readonly gate: WalkedGate;
  readonly verdict: Verdict;
  /** The handler in front of which it asks. Default: it asks where it stands. */
  readonly layer?: Layer | undefined;
  /** The route in which it stands. */
  readonly route?: LayerRoute | undefined;
  /** Whether the routers do not show it. */
  readonly isHidden?: boolean;
}

/**
 * What the gate asks for whose price is nearest to the handler of a request: in its route, or by the path that says most about the
 * request. `undefined`: the one that asks now.
 */
export function findNearest(asking: Asking, req: Request, layers: readonly Layer[]): Verdict | undefined {
  const request = readRequest(req, asking.gate);
  const { method } = request;
  const path = request.mountPath + request.path;
  const { layer: place, route } = asking;
  const isHere = (met: Met) =>
    place === undefined ? isIn(met, asking.gate, route) : "layer" in met && met.layer === place;
  // Of a gate that a function calls, nobody knows the place.
  let isMet = asking.isHidden === true && place === undefined;
  let mayRespond = false;
  let best = asking;
  const offer = (gate: WalkedGate, mounts: Prefixes) => {
    if (gate === asking.gate) return;
    const verdict = isTable(gate) ? gate.named(request, mounts ?? []) : verdictOf(gate, req, { mounts });
    // Of two paths that say the same, the first one counts.
    const isNearer =
      isMoreSpecific(formOf(verdict), formOf(best.verdict)) ||
      (!isMet && formOf(verdict) !== undefined && !isMoreSpecific(formOf(best.verdict), formOf(verdict)));
    if (isNearer) best = { gate, verdict };
  };
  const found = () => (best === asking ? undefined : best.verdict);
  for (const met of walk(layers, { method, path }, TOP)) {
    if (met.kind === "gate") {
      offer(met.gate, met.mounts);
      isMet ||= isHere(met);
      continue;
    }
    isMet ||= isHere(met);
    // Whoever stands before has passed the request on.
    if (!isMet) continue;
    const charge = met.kind === "route" ? chargesOf(met.route, method).at(-1) : undefined;
    if (charge !== undefined) {
      if (charge === asking.gate) return undefined;
      // What responds to a path before a route for more has the price of the path.
      const isBehind = mayRespond && isWider(met.paths, path, formOf(best.verdict));
      return isBehind ? found() : verdictOf(charge, req, { paths: met.paths });
    }
    const tables = [...tablesAt(met.layer)].filter(([table]) => table.pricesAt(met.layer).length > 0);
    for (const [table, mounts] of tables) offer(table, mounts);
    // A table that is not in sight has its handlers, too.
    const isOwn = isTable(asking.gate) && asking.gate.pricesAt(met.layer).length > 0;
    // A mount that is a key's may have others below it.
    if ((isOwn || tables.length > 0) && (met.kind === "route" || formOf(best.verdict) !== undefined)) return found();
    mayRespond ||= met.kind === "function";
  }
  return found();
}

/** Whether a gate is what the request has come to, or a handler of it. */
function isIn(met: Met, gate: object, route: LayerRoute | undefined): boolean {
  return met.kind === "gate" ? met.gate === gate : met.kind === "route" && met.route === route;
}

function formOf(verdict: Verdict) {
  return verdict.kind === "priced" ? verdict.form : undefined;
}

/** Whether the paths by which a route gets a request say less about it than another path does. */
function isWider(paths: Prefixes, sent: string, form: ReturnType<typeof formOf>): boolean {
  const forms = paths?.flatMap((path) => formsOf(path));
  const met = forms?.filter((one) => one.paramsOf(sent) !== undefined);
  const meant = met?.length === 0 ? forms : met;
  return form !== undefined && meant?.every((one) => !isMoreSpecific(form, one)) !== true;
}

/** Where a charge is. */
interface ChargePlace {
  /** It is for everything below them. Default: it is in a route. */
  readonly mounts?: Prefixes;
  /** Of its route, if the request is not there yet. */
  readonly paths?: Prefixes;
}

/** What a charge asks for. */
export function verdictOf(gate: RouteGate, req: Request, { mounts, paths = [] }: ChargePlace): Verdict {
  const request = readRequest(req, gate);
  const path = request.mountPath + request.path;
  const locate = () => {
    const known = paths.flatMap((one) => placeOfRoute(one, { path, mountPath: "" }) ?? []);
    return known[0] ?? readPlace(req, request);
  };
  return {
    kind: "priced",
    price: gate,
    form: mounts && formBelow(mounts, path),
    decide: () => gate.decide(request, locate),
    refusal: () => gate.refusal(),
  };
}
