/**
 * Options of a route, one by one.
 *
 * @module
 */
import { type Issues, join } from "../issues.js";
import type { JsonObject } from "../protocol/json.js";
import type { Scheme } from "../scheme/scheme.js";
import { type Chargeable, isSuccess } from "./chargeable.js";
import { canCheckInput, type Declarations } from "./declarations.js";
import type { Way } from "./live-terms.js";
import type { InputValidator, SettleTime, Unmetered } from "./options.js";

/** Reads a text; `""` where there is none. */
export function parseText(
  route: JsonObject,
  text: { readonly path: string; readonly key: string; readonly longest: number; readonly issues: Issues },
): string {
  const { path, key, longest, issues } = text;
  const value = route[key] ?? "";
  if (typeof value === "string" && value.length <= longest) return value;
  const expected = `a text of at most ${longest} characters`;
  if (typeof value === "string") issues.addText(join(path, key), expected, `${value.length} characters`);
  else issues.add(join(path, key), expected, value);
  return "";
}

/** Reads when the money moves. */
export function parseSettle(settle: unknown, path: string, issues: Issues): SettleTime {
  if (settle === "before" || settle === "after") return settle;
  if (settle !== undefined) issues.add(path, '"after" or "before"', settle);
  return "after";
}

/** Reads which answers are charged. */
export function parseChargeable(
  chargeable: unknown,
  { path, settle, issues }: { readonly path: string; readonly settle: SettleTime; readonly issues: Issues },
): Chargeable {
  if (chargeable === undefined) return isSuccess;
  if (settle === "before")
    issues.add(path, 'nothing beside settle: "before", which charges for any answer', chargeable);
  if (typeof chargeable === "function") return chargeable as Chargeable;
  issues.add(path, "a function such as ({ status }) => status === 200", chargeable);
  return isSuccess;
}

/** The scheme of a way to pay; nothing is paid by one that is free. */
export function schemeOf(way: Way): Scheme | undefined {
  if (way.kind === "free") return undefined;
  return way.kind === "fixed" ? way.offer.scheme : way.terms.scheme;
}

/** Reads whether a price may be zero. */
export function parseFree(free: unknown, path: string, issues: Issues): boolean {
  if (free !== undefined && typeof free !== "boolean") issues.add(path, "true or false", free);
  return free === true;
}

/** Said of a price that is never zero it would be a mistake; and of several ways to pay, clients take the free one. */
export function checkFree(ways: readonly Way[], path: string, issues: Issues): void {
  const kinds = new Set(ways.map(({ kind }) => kind));
  if (kinds.has("free") && kinds.size > 1) {
    issues.addText(join(path, "accepts"), "a price of zero for every way to pay, or for none", "some of either");
  } else if (kinds.size === 1 && kinds.has("fixed")) {
    issues.add(join(path, "free"), "a price that is zero or depends on the request, or nothing", true);
  }
}

/** Reads how requests that come with a payment are checked. */
export function parseValidate(
  validate: unknown,
  about: { readonly path: string; readonly declarations: Declarations; readonly issues: Issues },
): true | InputValidator | undefined {
  const { path, declarations, issues } = about;
  if (validate === undefined || validate === false) return undefined;
  if (typeof validate === "function") return validate as InputValidator;
  if (validate !== true) issues.add(path, "true, or a function that says what is wrong with a request", validate);
  else if (!canCheckInput(declarations)) {
    issues.add(path, "extensions.bazaar beside it, which says what a request has to have", validate);
  }
  return true;
}

/** Reads what is taken when the handler does not say. */
export function parseUnmetered(
  unmetered: unknown,
  { path, ways, issues }: { readonly path: string; readonly ways: readonly Way[]; readonly issues: Issues },
): Unmetered {
  if (unmetered === undefined) return "maximum";
  if (!ways.some((way) => schemeOf(way)?.allowsLess)) issues.add(path, 'an offer by "upto", or nothing', unmetered);
  if (unmetered === "maximum" || unmetered === "zero" || unmetered === "error") return unmetered;
  issues.add(path, '"maximum", "zero" or "error"', unmetered);
  return "maximum";
}
