/**
 * Which of several prices counts: the one that is nearest to the handler of a request.
 *
 * @module
 */
import {
  formBelow,
  formsOf,
  type GateRequest,
  isMoreSpecific,
  placeOfRoute,
  type RouteGate,
  type Verdict,
} from "@farebox/core/adapter";
import type { Request } from "express";
import { ExpressRequest, pathOf, readPlace } from "./express-request.js";
import { chargesOf, hasPrices } from "./router-view.js";
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

/** A gate, and what it would ask a request for. */
export interface Asked {
  readonly gate: WalkedGate;
  readonly verdict: Verdict;
}

/** A gate that prices a request. */
export interface Asking extends Asked {
  /** The handler in front of which it asks. Default: it asks where it stands. */
  readonly layer?: Layer | undefined;
  /** The route in which it stands. */
  readonly route?: LayerRoute | undefined;
  /** Whether the routers do not show it. */
  readonly isHidden?: boolean;
}

/**
 * What the gate asks for whose price is nearest to the handler of a request: in its route, or by the path that says most about the
 * request.
 */
export function findNearest(asking: Asking, req: Request, layers: readonly Layer[]): Asked {
  const { method } = req;
  const path = pathOf(req);
  // Of a gate that a function calls, nobody knows the place: all functions may stand before it.
  const isAnywhere = asking.isHidden === true && asking.layer === undefined;
  let [isMet, mayRespond] = [isAnywhere, false];
  let best: Asked = asking;
  const offer = (gate: WalkedGate, mounts: Prefixes) => {
    const verdict = verdictAt(gate, req, mounts);
    if (gate !== asking.gate && isNearer(verdict, best.verdict, isMet)) best = { gate, verdict };
  };
  for (const met of walk(layers, { method, path }, TOP)) {
    if (met.kind === "gate") offer(met.gate, met.mounts);
    isMet ||= isWhere(met, asking);
    // Whoever stands before has passed the request on.
    if (met.kind === "gate" || !isMet) continue;
    const charge = chargeIn(met, method);
    if (charge === asking.gate) return asking;
    if (charge !== undefined) {
      // What responds to a path before a route for more has the price of the path.
      const isBehind = mayRespond && isWider(met.paths, path, formOf(best.verdict));
      return isBehind ? best : { gate: charge, verdict: verdictOf(charge, req, { paths: met.paths }) };
    }
    const tables = [...tablesAt(met.layer)].filter(([table]) => hasPrices(table, met.layer));
    for (const [table, mounts] of tables) offer(table, mounts);
    // A table that is not in sight has its handlers, too.
    const isPriced = tables.length > 0 || hasPrices(asking.gate, met.layer);
    // A mount that is a key's may have others below it, and may be the function that calls the table.
    const isLast = met.kind === "route" || (!isAnywhere && formOf(best.verdict) !== undefined);
    if (isPriced && isLast) return best;
    mayRespond ||= met.kind === "function" && !isAnywhere;
  }
  return best;
}

/** The charge whose price a route's handlers have. */
function chargeIn(met: Met, method: string): RouteGate | undefined {
  return met.kind === "route" ? chargesOf(met.route, method).at(-1) : undefined;
}

/** What a gate asks for that is met on the way. */
function verdictAt(gate: WalkedGate, req: Request, mounts: Prefixes = []): Verdict {
  return isTable(gate) ? gate.named(new ExpressRequest(req, gate), mounts) : verdictOf(gate, req, { mounts });
}

/** Whether it is what the request has come to. */
function isWhere(met: Met, { gate, layer, route }: Asking): boolean {
  if (layer !== undefined) return "layer" in met && met.layer === layer;
  return met.kind === "gate" ? met.gate === gate : met.kind === "route" && met.route === route;
}

/** Whether a price says more about a request than the best so far. Of two that say the same, the first one counts. */
function isNearer(verdict: Verdict, best: Verdict, isBehind: boolean): boolean {
  const [form, other] = [formOf(verdict), formOf(best)];
  return isMoreSpecific(form, other) || (!isBehind && form !== undefined && !isMoreSpecific(other, form));
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
  const path = req.baseUrl + (req.path ?? "/");
  const placeOf = (request: GateRequest) => {
    const known = paths.flatMap((one) => placeOfRoute(one, { path, mountPath: "" }) ?? []);
    return known[0] ?? readPlace(req, request);
  };
  return {
    kind: "priced",
    price: gate,
    form: mounts && formBelow(mounts, path),
    decide: (request) => gate.decide(request, () => placeOf(request)),
    refusal: () => gate.refusal(),
  };
}
