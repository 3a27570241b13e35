/**
 * What the price of a request means for it: it goes on, it has to pay, or it is refused.
 *
 * @module
 */
import type { PaidRequestPolicy, PricedRoute } from "../pricing/priced-route.js";
import { type Place, placeOf } from "../pricing/resource.js";
import type { PathForm } from "../route/path-form.js";
import type { GateRequest } from "../route/request.js";
import type { Coverage, HandlerQuery } from "../route/resolved-table.js";
import { ambiguousPath, type GateResponse } from "./answers.js";
import type { Decision } from "./decision.js";

/** Whether a request is priced, and what decides it. It is the same for every request that is spelled like it. */
export type Verdict =
  | { readonly kind: "free" }
  /** `price` is the same object for all requests that a key prices. */
  | {
      readonly kind: "priced";
      readonly price: PaidRequestPolicy;
      /** The path of the key that names the request; `undefined`: none does. */
      readonly form?: PathForm | undefined;
      decide(request: GateRequest): Decision | Promise<Decision>;
      /** The response to a request that has paid another price. */
      refusal(): GateResponse;
    }
  /** OPTIONS, which no key names: no priced handler runs for it. */
  | { readonly kind: "preflight" }
  /** The request must not get to the handler. */
  | { readonly kind: "refused"; readonly response: GateResponse };

/** A request at a handler. */
export type RequestAtHandler = Pick<HandlerQuery, "mounts" | "fullPath"> & {
  readonly handler: object;
  readonly request: GateRequest;
};

const FREE: Verdict = Object.freeze({ kind: "free" });
const PREFLIGHT: Verdict = Object.freeze({ kind: "preflight" });

/** Of a request that reached a handler by a path that its key does not have. */
const NOWHERE: Place = Object.freeze({ routeTemplate: undefined, pathParams: Object.freeze({}) });

/** What carries a verdict out. */
interface Judge {
  decideAt(price: PricedRoute, request: GateRequest, locate: () => Place): Decision | Promise<Decision>;
  refuseAt(price: PricedRoute): GateResponse;
}

export function toVerdict(coverage: Coverage<PricedRoute>, judge: Judge): Verdict {
  switch (coverage.kind) {
    case "free":
      return FREE;
    case "ambiguous":
      return { kind: "refused", response: ambiguousPath() };
    case "preflight":
      return PREFLIGHT;
    case "unnamed":
      return { kind: "refused", response: judge.refuseAt(coverage.entry.value) };
    case "bound":
      return priced(coverage.entry.value, judge, () => NOWHERE);
    case "priced": {
      const { candidate } = coverage;
      const { entry, form, mountTemplate } = candidate;
      const locate = (request: GateRequest) => placeOf(candidate, mountTemplate === undefined ? request : candidate);
      return priced(entry.value, judge, locate, form);
    }
    default:
      return coverage satisfies never;
  }
}

function priced(price: PricedRoute, judge: Judge, locate: (request: GateRequest) => Place, form?: PathForm): Verdict {
  return {
    kind: "priced",
    price,
    form,
    decide: (request) => judge.decideAt(price, request, () => locate(request)),
    refusal: () => judge.refuseAt(price),
  };
}
