/**
 * Checks `options.facilitator` and `options.rpc`. URLs and headers hold credentials, so no issue quotes them.
 *
 * @module
 */
import { describeValue } from "../errors.js";
import type { Facilitator } from "../facilitator/facilitator.js";
import {
  BASE_URL_EXPECTED,
  createHttpFacilitator,
  HEADERS_EXPECTED,
  isFacilitatorHeaders,
} from "../facilitator/http-facilitator.js";
import type { FacilitatorEntry } from "../facilitator/pool.js";
import { HEADER_VALUES_EXPECTED, isHeaderValues } from "../http/client.js";
import { createRpcNode, parseRpcUrl, RPC_URL_EXPECTED, type RpcNode } from "../http/rpc-node.js";
import { parseBaseUrl } from "../http/urls.js";
import { type Issues, issuePath } from "../issues.js";
import type { ChosenFacilitator, HttpFacilitatorChoice, RpcEndpoint } from "../options.js";
import { isPublicWithoutTls } from "../pricing/resource.js";
import { canonicalNetwork, expectedNetwork, isNetwork, type NetworkPattern } from "../protocol/caip2.js";
import { isJsonObject, type JsonObject } from "../protocol/json.js";

const URL_KEYS = Object.keys({
  url: true,
  headers: true,
  networks: true,
  name: true,
} satisfies Record<keyof HttpFacilitatorChoice, true>);

const OBJECT_KEYS = Object.keys({
  facilitator: true,
  networks: true,
  name: true,
} satisfies Record<keyof ChosenFacilitator, true>);

const METHODS = ["verify", "settle", "supported"];
const OBJECT_EXPECTED = `an object with ${METHODS.join(", ")}`;
const EXPECTED = `${BASE_URL_EXPECTED}, { url, headers, networks, name }, { facilitator, networks, name }, or ${OBJECT_EXPECTED}`;

/** A forged "settled" gives away the response. A seller who means it passes the facilitator itself. */
const TLS_EXPECTED =
  "an https URL, because over http anyone on the way can forge a settlement; if it is your own network, pass createHttpFacilitator({ url }) of @farebox/core";

/** Log lines and records contain the name. */
const MAX_NAME = 100;

/** Checks `options.facilitator`. The result is only valid if nothing was added to `issues`. */
export function parseFacilitators(given: unknown, issues: Issues): readonly FacilitatorEntry[] {
  const path = "options.facilitator";
  if (!Array.isArray(given)) return parseFacilitator(given, { path, position: 1, taken: new Map(), issues });
  if (given.length === 0) issues.addText(path, "at least one facilitator", "none");
  const taken = new Map<string, string>();
  return Array.from(given, (one: unknown, at) =>
    parseFacilitator(one, { path: issuePath(path, at), position: at + 1, taken, issues }),
  ).flat();
}

interface Context {
  readonly path: string;
  /** Counted from 1, for the name of a facilitator without a URL. */
  readonly position: number;
  /** The path of the facilitator that has each name. */
  readonly taken: Map<string, string>;
  readonly issues: Issues;
}

/** One entry, or an empty list if it is invalid. */
function parseFacilitator(given: unknown, context: Context): FacilitatorEntry[] {
  if (isFacilitator(given)) return named({ facilitator: given }, {}, context);
  if (!isJsonObject(given) || given instanceof URL) return parseUrl({ url: given }, context.path, context);
  if (Object.hasOwn(given, "facilitator")) return parseChosen(given, context);
  return parseUrl(given, "url" in given ? issuePath(context.path, "url") : context.path, context);
}

function parseChosen(given: JsonObject, context: Context): FacilitatorEntry[] {
  const { path, issues } = context;
  issues.checkKeys(path, given, OBJECT_KEYS);
  const { facilitator } = given;
  if (isFacilitator(facilitator)) return named({ facilitator }, given, context);
  issues.addText(issuePath(path, "facilitator"), OBJECT_EXPECTED, kindOf(facilitator));
  named({ facilitator: undefined }, given, context);
  return [];
}

/** @param urlPath - The path of the URL in an issue. */
function parseUrl(given: JsonObject, urlPath: string, context: Context): FacilitatorEntry[] {
  const { path, issues } = context;
  const url = parseBaseUrl(given["url"]);
  const expected = urlPath === path ? EXPECTED : BASE_URL_EXPECTED;
  if (url === undefined) issues.addText(urlPath, expected, describeWithoutSecrets(given));
  else if (isPublicWithoutTls(url)) issues.addText(urlPath, TLS_EXPECTED, describeWithoutSecrets(given));
  issues.checkKeys(path, given, URL_KEYS);
  const headers = given["headers"] ?? {};
  const isGood = isFacilitatorHeaders(headers);
  if (!isGood) issues.addText(issuePath(path, "headers"), HEADERS_EXPECTED, "neither");
  const facilitator = url !== undefined && isGood ? createHttpFacilitator({ url, headers }) : undefined;
  return named({ facilitator, host: url && new URL(url).host }, given, context);
}

/** Checks the name and the networks, which every form has. */
function named(
  { facilitator, host }: { readonly facilitator: Facilitator | undefined; readonly host?: string | undefined },
  given: JsonObject,
  context: Context,
): FacilitatorEntry[] {
  const name = parseName(given["name"], host ?? `facilitator-${context.position}`, context);
  const networks = parseServed(given["networks"], context);
  if (facilitator === undefined || name === undefined) return [];
  return [networks === undefined ? { name, facilitator } : { name, facilitator, networks }];
}

/** Logs and records identify a facilitator by its name, so each name must be unique. */
function parseName(given: unknown, byDefault: string, { path, taken, issues }: Context): string | undefined {
  const name = given ?? byDefault;
  if (typeof name !== "string" || name.length === 0 || name.length > MAX_NAME) {
    const received = typeof name === "string" ? `${name.length} characters` : kindOf(name);
    issues.addText(issuePath(path, "name"), `a text of 1 to ${MAX_NAME} characters`, received);
    return undefined;
  }
  const owner = taken.get(name);
  taken.set(name, owner ?? path);
  if (owner === undefined) return name;
  issues.addText(issuePath(path, "name"), "a name that no other facilitator has", `the name of ${owner}`);
  return undefined;
}

function parseServed(networks: unknown, { path, issues }: Context): readonly NetworkPattern[] | undefined {
  if (networks === undefined) return undefined;
  if (Array.isArray(networks) && networks.length > 0 && networks.every(isPattern)) return [...networks];
  const wrong = Array.isArray(networks) ? networks.find((one) => !isPattern(one)) : networks;
  const expected = expectedNetwork(wrong, 'CAIP-2 networks or "<namespace>:*", at least one');
  issues.add(issuePath(path, "networks"), expected, networks);
  return undefined;
}

function isPattern(pattern: unknown): pattern is NetworkPattern {
  return typeof pattern === "string" && isNetwork(pattern.replace(/:\*$/, ":0"));
}

function isFacilitator(value: unknown): value is Facilitator {
  if (typeof value !== "object" || value === null) return false;
  return METHODS.every((name) => typeof Reflect.get(value, name) === "function");
}

function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  return value === null ? "null" : typeof value;
}

/** Describes an invalid URL or its object. Headers are secret, and so are credentials and queries of URLs. */
export function describeWithoutSecrets(given: JsonObject): string {
  const { url, ...rest } = given;
  if (url === undefined && Object.keys(rest).length > 0) return `an object with ${Object.keys(rest).join(", ")}`;
  const text = url instanceof URL ? url.href : url;
  if (typeof text === "object" && text !== null) return "an object";
  if (typeof text === "string" && /[@?#]/.test(text)) return "a text with credentials, a query or a fragment";
  return describeValue(text);
}

const PATH = "options.rpc";

/** A longer key, or one with a slash, may be a URL in place of a network. Older Algorand networks have slashes too. */
const QUOTABLE = /^[^/]{1,60}$/;

/**
 * Checks `options.rpc`. The result has a node for each network, in its canonical spelling, and is only valid if nothing was
 * added to `issues`.
 */
export function parseRpc(given: unknown, issues: Issues): ReadonlyMap<string, RpcNode> {
  const nodes = new Map<string, RpcNode>();
  if (given === undefined) return nodes;
  if (!isJsonObject(given) || given instanceof URL) {
    issues.addText(PATH, 'URLs by network, such as { "eip155:84532": "https://…" }', "another value");
    return nodes;
  }
  for (const [network, value] of Object.entries(given)) {
    const path = QUOTABLE.test(network) ? issuePath(PATH, network) : PATH;
    const canonical = canonicalNetwork(network);
    const isGood = checkKey(network, { path, isTaken: nodes.has(canonical), issues });
    const node = isGood && value !== undefined ? parseNode(value, path, issues) : undefined;
    if (node !== undefined) nodes.set(canonical, node);
  }
  return nodes;
}

interface Key {
  readonly path: string;
  readonly isTaken: boolean;
  readonly issues: Issues;
}

function checkKey(network: string, { path, isTaken, issues }: Key): boolean {
  const isGood = isNetwork(network);
  const expected = expectedNetwork(network, 'a CAIP-2 network such as "eip155:84532" as key');
  if (!isGood) issues.addText(path, expected, "another key");
  else if (isTaken) issues.addText(path, "one node per network, in any spelling", "another one");
  return isGood && !isTaken;
}

const KEYS = Object.keys({ url: true, headers: true } satisfies Record<keyof RpcEndpoint, true>);

/** Parses a URL, or an object of URL and headers. */
function parseNode(value: unknown, path: string, issues: Issues): RpcNode | undefined {
  if (!isJsonObject(value) || value instanceof URL) return createNode({ url: value }, { path, urlPath: path, issues });
  if (!issues.checkKeys(path, value, KEYS)) return undefined;
  return createNode(value, { path, urlPath: issuePath(path, "url"), issues });
}

interface Place {
  readonly path: string;
  readonly urlPath: string;
  readonly issues: Issues;
}

function createNode({ url: given, headers = {} }: JsonObject, { path, urlPath, issues }: Place): RpcNode | undefined {
  const url = parseRpcUrl(given);
  if (url === undefined) issues.addText(urlPath, RPC_URL_EXPECTED, "something else");
  const isGood = isHeaderValues(headers);
  if (!isGood) issues.addText(issuePath(path, "headers"), HEADER_VALUES_EXPECTED, "something else");
  return url === undefined || !isGood ? undefined : createRpcNode(url, { headers });
}
