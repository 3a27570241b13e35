/**
 * Finds what will work in another way than with the reference, for the routes, hooks and schemes of one seller.
 *
 * @see `docs/reference/compat.md`
 * @module
 */

import { SIGN_IN_WITH_X } from "@farebox/extensions";
import type { HTTPRegistrations } from "../classes/http-resource-server.js";
import { isStock } from "../classes/schemes.js";
import type { RouteConfig, RoutesConfig } from "../types.js";
import { type UsedScheme, usedSchemes } from "./engine-options.js";
import { findHooks, type Notice } from "./notices.js";
import type { Registrations } from "./registrations.js";
import { entriesOf, optionsOf, toNativeKey } from "./routes.js";

/** What a seller is told at start, besides what concerns single fields of routes. */
export function findDifferences({ server, routes, protectedRequestHooks = [] }: HTTPRegistrations): readonly Notice[] {
  return [
    ...SALES.map((text) => ({ route: undefined, text })),
    ...findWidenedKeys(routes),
    ...findShadowedKeys(routes),
    ...findHooks(server, protectedRequestHooks.length),
    ...findSignIn(server, routes, protectedRequestHooks),
    ...usedSchemes(server, routes).flatMap(findHosting),
  ];
}

/** Of every seller. */
const SALES = [
  "redirects to priced routes, 304, and errors that writeHead sets are not charged",
  "a settlement whose outcome is not known is 503 with Retry-After, and the client sends the same payment again",
];

/** Keys that price requests which are free with the reference. */
function findWidenedKeys(routes: RoutesConfig): Notice[] {
  const written = entriesOf(routes).map(([key]) => key);
  const keys = written.map(toNativeKey);
  const all = written.filter((key) => /^\s*all\s/i.test(key));
  const gets = keys.filter((key) => key.startsWith("GET "));
  const heads = gets.length === 0 ? [] : [{ route: gets.join(", "), text: "HEAD is priced, too" }];
  const slashes = keys.filter((key) => key.endsWith("/") && !key.endsWith(" /") && key !== "/");
  const groups = keys.filter((key) => /[{}]|\*[A-Za-z_$]/.test(key));
  return [
    ...heads,
    ...all.map((route) => ({ route, text: "prices every method; with the reference, it prices nothing" })),
    ...slashes.map((route) => ({
      route,
      text: "also prices the path without its last slash; with the reference, it prices nothing",
    })),
    ...groups.map((route) => ({
      route,
      text: "is read as Express 5 writes paths; with the reference, it prices nothing",
    })),
  ];
}

/** The reference takes the first key that matches, Farebox the one that says the most about the path. */
function findShadowedKeys(routes: RoutesConfig): Notice[] {
  const keys = entriesOf(routes).map(([key]) => toNativeKey(key));
  return keys.flatMap((key, at) => {
    const wide = keys.slice(0, at).find((earlier) => covers(earlier, key));
    return wide === undefined
      ? []
      : [{ route: key, text: `has its own price, not that of "${wide}", which stands before it` }];
  });
}

/** Whether a wildcard at the end of an earlier key covers a later one. */
function covers(earlier: string, later: string): boolean {
  const [method, path] = split(earlier);
  const [otherMethod, otherPath] = split(later);
  if (!path.endsWith("/*") || (method !== undefined && method !== otherMethod)) return false;
  return earlier !== later && `${otherPath}/`.startsWith(path.slice(0, -1)) && path !== otherPath;
}

function split(key: string): readonly [method: string | undefined, path: string] {
  const at = key.indexOf(" ");
  return at === -1 ? [undefined, key] : [key.slice(0, at), key.slice(at + 1)];
}

/**
 * Sign-in by hooks. Those of `@x402/extensions` record the resource that the client wrote, and look like any other hook. Those of ours
 * are marked: with whether the seller names purchases.
 */
function findSignIn(
  { afterSettleHooks, registeredExtensions }: Registrations,
  routes: RoutesConfig,
  requestHooks: readonly object[],
): Notice[] {
  const extension: object = registeredExtensions.get(SIGN_IN_WITH_X) ?? {};
  const hooks: readonly { readonly [SIGN_IN_WITH_X]?: boolean }[] = [...requestHooks, ...afterSettleHooks];
  if ("compile" in extension || "transportHooks" in extension || hooks.length === 0) return [];
  const declaring = entriesOf(routes).filter(([, { extensions = {} }]) => SIGN_IN_WITH_X in extensions);
  const isOurs = hooks.some((hook) => hook[SIGN_IN_WITH_X] !== undefined);
  const isNamed = hooks.some((hook) => hook[SIGN_IN_WITH_X] === true);
  const concerned = declaring.filter(([key, route]) => !isOurs || (!isNamed && isUnbound(toNativeKey(key), route)));
  return concerned.map(([route]) => ({ route, text: isOurs ? NOBODY_SIGNS_IN : ANY_REQUEST }));
}

const ANY_REQUEST =
  "createSIWxRequestHook and createSIWxSettleHook of @x402/extensions grant any request to a path that was paid for once; import them from @farebox/compat/extensions";
const NOBODY_SIGNS_IN =
  "nobody signs in without the option resourceOf of createSIWxRequestHook and createSIWxSettleHook";

/** Whether a path with its query says too little about the purchases of a route. */
function isUnbound(key: string, route: RouteConfig): boolean {
  const [method = "GET"] = split(key);
  const options = optionsOf(route);
  return options.length > 0 && (method !== "GET" || options.some(({ price }) => typeof price === "function"));
}

function findHosting({ scheme, network }: UsedScheme): Notice[] {
  const of = `${scheme.scheme} on ${network}`;
  const rpcUrl = (scheme as { readonly options?: { readonly rpcUrl?: unknown } }).options?.rpcUrl;
  if (!isStock(scheme, network)) {
    const text = `${of} is hosted: each challenge waits for its scheme, and only the facilitator can tell a payment that was used`;
    return [{ route: undefined, text }];
  }
  return rpcUrl === undefined
    ? []
    : [{ route: undefined, text: `${of}: rpcUrl is not used, as no node is asked for a challenge` }];
}
