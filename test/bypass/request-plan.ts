/**
 * Requests as data: the path of a registered route, spelled in ways that a router, a proxy or an attacker might.
 *
 * @module
 */
import fc from "fast-check";
import { type Cents, isMounted, LABELS, methodsOf, PRICES } from "./app-plan.js";
import { samplePath } from "./path.js";
import type { ResolvedApp } from "./resolved-app.js";

/** Changes a path; `at` says where in it, `pick` which way. */
type Mutate = (target: string, at: number, pick: number) => string;

const AUTHORITIES = [
  ...["http://x", "HTTP://x", "https://u:p@x", "x://y", "http://x?", "http://x;", "http:/", "//x"],
  ...["/\\x", "//a@b", "//x:1", "///x", "/\\/x"],
];
const SUFFIXES = [
  ...["?", "?a=/paid", "#", "#/../free", ";", ";a=b", "%00", "%", "%zz", ".", "%20", ".json", "/*", "%2f"],
  ...["%00.png", ";x=1/", "/;", "%3bx", "/index.html", ".html"],
];
const DOTS = [
  "/.",
  "/..",
  "/x/..",
  "/%2e",
  "/%2e%2e",
  "/%2e%2e/..",
  "/...",
  "/.%2e",
  "/a/..;",
  "/..;a=b",
  "/x/%2e%2e;",
  "//..",
  "/x//../..",
];
const SEPARATORS = ["//", "///", "\\", "%2f", "%2F", "%5c", "/./", ";/", "%252f", "/%20/", "/\\"];
const PREFIXES = ["/v9", "/?", "/#", "*", "%2f", "\\", "/.", "/..;", ";", "x", "/\\"];

const MUTATIONS = {
  "other case": (target, at, pick) => (pick % 2 === 0 ? swapCase(target) : replaceAt(target, at, swapCase)),
  "slash at the end": (target, _, pick) => target + "/".repeat(1 + (pick % 2)),
  "no slash at the end": (target) => target.replace(/\/+$/, ""),
  "slash doubled": (target, at) => replaceSlash(target, at, "//"),
  "other separator": (target, at, pick) => replaceSlash(target, at, SEPARATORS[pick % SEPARATORS.length] ?? ""),
  "dot segment": (target, at, pick) => replaceSlash(target, at, `${DOTS[pick % DOTS.length]}/`),
  "percent-encoded": (target, at, pick) => replaceAt(target, at, (char) => percentEncode(char, pick)),
  "all percent-encoded": (target) => target.replace(/[^/]/g, (char) => percentEncode(char, 0)),
  "raw byte": (target, at, pick) => insertAt(target, at, String.fromCharCode(0x80 + ((pick * 13) % 0x80))),
  "odd byte": (target, at, pick) => insertAt(target, at, ODD[pick % ODD.length] ?? ""),
  // The micro sign, which is the Greek letter to a regular expression that does not look at case.
  "look-alike": (target) => target.replaceAll("\u03bc", "%C2%B5"),
  "raw byte at the end": (target, _, pick) => target + (pick % 2 === 0 ? "\u00a0" : "\u00ff"),
  suffix: (target, _, pick) => target + SUFFIXES[pick % SUFFIXES.length],
  prefix: (target, _, pick) => PREFIXES[pick % PREFIXES.length] + target,
  "an authority in front": (target, _, pick) => AUTHORITIES[pick % AUTHORITIES.length] + target,
  "absolute form as any client": (target) => `http://x${target}`,
  // Express cuts mounts off the text that came, by the length of what they are in the text it has parsed and escaped.
  "escaped to another length": (target, at, pick) => {
    const escaped = changeSegment(target, at, (one) => `${one}${ESCAPED[pick % 5]}${["/x", "/", ""][pick % 3]}`);
    return pick % 2 === 0 ? `${escaped}#` : `http://x${escaped}`;
  },
  "segment twice": (target, at) => changeSegment(target, at, (segment) => segment + segment),
  "segment left out": (target, at) => changeSegment(target, at, () => "") || "/",
  "segment more": (target, at, pick) =>
    changeSegment(target, at, (one) => one + (["/s", "/a", "/paid"][pick % 3] ?? "")),
  "very long": (target, at, pick) => insertAt(target, at, LONG[pick % LONG.length] ?? ""),
  "long query": (target, _, pick) => `${target}?${["a", "&a=b", "/paid"][pick % 3]?.repeat(1_500)}`,
  elsewhere: (_, __, pick) => ["/go", "/", "*", "", "/nowhere", "//", "http://x", "?"][pick % 8] ?? "",
} as const satisfies Readonly<Record<string, Mutate>>;

/** Tab, form feed and NUL, which Express's URL parser or Node's HTTP parser treat apart. */
const ODD = [
  "\t",
  "\f",
  "\u0000",
  "\\",
  "|",
  "<",
  "`",
  "{",
  "^",
  "'",
  '"',
  ":",
  "@",
  "!",
  "*",
  "(",
  "$",
  ",",
  "+",
  "\u007f",
];

/** Few slashes: of several wildcards in a path, Express itself would try every way to share many out. */
const LONG = ["a".repeat(8_000), "/a".repeat(300), "/".repeat(300), "%61".repeat(2_000)];

/** What Node's URL parser escapes. */
const ESCAPED = ['"', "^", "|", "<", "'"];

type Mutation = keyof typeof MUTATIONS;

/** Every way to change a target. */
export const MUTATION_KINDS = Object.keys(MUTATIONS) as Mutation[];

/** Every one, and more often those that a client could come by without meaning harm. */
const NAMES = [
  ...MUTATION_KINDS,
  ...(["other case", "slash at the end", "slash doubled", "percent-encoded", "absolute form as any client"] as const),
];

/** What Node's parser knows, what it does not, and what Express has no route for. */
const OTHER_METHODS = [
  ...["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
  ...["get", "Get", "PROPFIND", "QUERY", "TRACE", "M-SEARCH", "NONSENSE", "SEARCH"],
] as const;

export interface RequestPlan {
  /** The label of the route it is for. */
  readonly label: number;
  readonly sample: number;
  readonly mutations: readonly { readonly kind: Mutation; readonly at: number; readonly pick: number }[];
  /** `undefined`: what the route is registered for. */
  readonly method: string | undefined;
  readonly override: string | undefined;
  readonly overriddenBy: "header" | "query";
  /** Which of the paths that lead to the route. */
  readonly way: number;
  /** The amount of the payment, if there is one. */
  readonly pays: "nothing" | "the price" | Cents;
  readonly tenant: number;
}

/** Generates requests; which routes they are for is seen when there is an app. */
export function requestPlans(): fc.Arbitrary<RequestPlan> {
  const mutation = fc.record({ kind: fc.constantFrom(...NAMES), at: fc.nat(24), pick: fc.nat(19) });
  return fc.record({
    label: fc.nat(LABELS - 1),
    sample: fc.nat(13),
    mutations: fc.oneof(
      { withCrossShrink: true },
      { weight: 5, arbitrary: fc.array(mutation, { maxLength: 1 }) },
      { weight: 3, arbitrary: fc.array(mutation, { minLength: 1, maxLength: 3 }) },
    ),
    method: fc.oneof(
      { withCrossShrink: true },
      { weight: 4, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constantFrom(...OTHER_METHODS) },
    ),
    // Not HEAD: Node would still promise the body of a GET, and Express not send it.
    override: fc.oneof(
      { withCrossShrink: true },
      { weight: 8, arbitrary: fc.constant(undefined) },
      { weight: 2, arbitrary: fc.constantFrom("GET", "POST", "DELETE", "OPTIONS") },
    ),
    overriddenBy: fc.constantFrom("header", "query"),
    way: fc.nat(7),
    pays: fc.oneof(
      { withCrossShrink: true },
      { weight: 9, arbitrary: fc.constant("nothing") },
      { weight: 2, arbitrary: fc.constant("the price") },
      { weight: 1, arbitrary: fc.constantFrom(...PRICES) },
    ),
    tenant: fc.nat(2),
  });
}

export interface RawRequest {
  readonly method: string;
  readonly requestLine: string;
  /** What it pays. */
  readonly cents: Cents | undefined;
  /** The whole request, as Latin-1. */
  text(paymentHeader: string | undefined): string;
}

/** Writes a request for an app. */
export function writeRequest(plan: RequestPlan, app: ResolvedApp): RawRequest {
  const labelled = app.routes.filter((route) => route.plan.label === plan.label);
  const routes = labelled.length > 0 ? labelled : app.routes;
  const route = routes[plan.label % routes.length];
  const registered = route === undefined || isMounted(route.plan) ? ["get"] : methodsOf(route.plan);
  const own = registered[plan.way % registered.length];
  const method = plan.method ?? (own === undefined || own === "all" ? "GET" : own.toUpperCase());
  const ways = route?.ways ?? [];
  const path = samplePath(ways[plan.way % Math.max(1, ways.length)] ?? [], plan.sample);
  const target = plan.mutations.reduce((so, { kind, at, pick }) => MUTATIONS[kind](so, at, pick), path);
  const isByQuery = plan.override !== undefined && plan.overriddenBy === "query";
  const query = isByQuery ? `${target.includes("?") ? "&" : "?"}_method=${plan.override}` : "";
  const requestLine = `${method} ${toLatin1(target + query)} HTTP/1.1`;
  const headers = ["Host: x", "Content-Length: 0", `X-Tenant: ${plan.tenant}`];
  if (plan.override !== undefined && !isByQuery) headers.push(`X-HTTP-Method-Override: ${plan.override}`);
  const { pays } = plan;
  return {
    method,
    requestLine,
    cents: pays === "nothing" ? undefined : pays === "the price" ? (route?.cents ?? 1) : pays,
    text: (payment) => {
      const paid = payment === undefined ? [] : [`PAYMENT-SIGNATURE: ${payment}`];
      return `${[requestLine, ...headers, ...paid].join("\r\n")}\r\n\r\n`;
    },
  };
}

/** A letter that is no byte can only be sent encoded. */
function toLatin1(target: string): string {
  return target.replace(/[\u0100-\uffff]/g, encodeURIComponent);
}

function swapCase(letters: string): string {
  // The long s and the Kelvin sign have no byte; the rest of Latin-1 has a partner or none.
  return letters.replace(/[a-z\u00e0-\u00fe]|[A-Z\u00c0-\u00de]/g, (char) => {
    const upper = char.toUpperCase();
    return upper === char ? char.toLowerCase() : upper;
  });
}

function percentEncode(char: string, pick: number): string {
  const encoded =
    char.charCodeAt(0) > 0x7f ? encodeURIComponent(char) : `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
  if (pick % 3 === 1) return encoded.toUpperCase();
  return pick % 3 === 2 ? encoded.replaceAll("%", "%25") : encoded;
}

function replaceAt(target: string, at: number, change: (char: string) => string): string {
  const index = 1 + (at % Math.max(1, target.length - 1));
  return target.slice(0, index) + change(target.charAt(index)) + target.slice(index + 1);
}

function insertAt(target: string, at: number, inserted: string): string {
  const index = 1 + (at % Math.max(1, target.length));
  return target.slice(0, index) + inserted + target.slice(index);
}

function replaceSlash(target: string, at: number, separator: string): string {
  const slashes = [...target.matchAll(/\//g)].map(({ index }) => index);
  const index = slashes[at % Math.max(1, slashes.length)] ?? target.length;
  return target.slice(0, index) + separator + target.slice(index + 1);
}

function changeSegment(target: string, at: number, change: (segment: string) => string): string {
  const segments = target.match(/\/[^/]*/g) ?? [];
  const chosen = at % Math.max(1, segments.length);
  return segments.map((segment, index) => (index === chosen ? change(segment) : segment)).join("");
}
