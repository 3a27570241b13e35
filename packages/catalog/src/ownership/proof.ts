/**
 * What a server itself says about its prices: in the 402 of the resource, and in `/.well-known/x402`.
 *
 * A payment proves only its payee. The server of the URL decides whether that payee sells there.
 *
 * @module
 */
import {
  BAZAAR,
  isOfferAmount,
  type RegisteredOffer,
  type Registration,
  type RegistrationRules,
  readRegistration,
} from "@farebox/bazaar/facilitator";
import { isJsonObject, isNetwork, type JsonObject, parseJson, sameNetwork } from "@farebox/core/protocol";

/** Where an offer must appear. */
export interface Question {
  readonly type: "http" | "mcp";
  /** The key of the entry: a URL, or an origin and a template. */
  readonly resource: string;
  /** `""` for HTTP. */
  readonly toolName: string;
  /** Of an HTTP endpoint. */
  readonly method: string;
  readonly routeTemplate?: string;
  /** The URL to request: the declared example fills the template and the query. */
  readonly url: string;
}

/** The offer that must appear. */
export type OfferTerms = Pick<RegisteredOffer, "scheme" | "network" | "asset" | "payTo">;

/**
 * The outcome of a check. `confirmed`: with what the server itself declares. `denied`: the server names other payees, lists the
 * resource elsewhere or not at all. `absent`: it responds, without an offer. A reason is a sentence for the payer, and holds no
 * text of the server.
 */
export type Outcome = Confirmed | Refused;

interface Confirmed {
  readonly kind: "confirmed";
  readonly declared: Registration;
}

interface Refused {
  readonly kind: "denied" | "absent" | "unreachable";
  readonly reason: string;
}

const MAX_QUERY = 2_000;

/**
 * The question for a registration; `undefined` where no server is known, as for `mcp://tool/x` alone.
 *
 * @param origin - The server of a resource that is no URL, if the registration does not say it.
 */
export function questionOf(registration: Registration, origin?: string): Question | undefined {
  const { type, resource, toolName, info, routeTemplate, serverUrl = origin } = registration;
  const server = isIdentifier(resource) ? serverUrl : resource;
  if (server === undefined || !URL.canParse(server)) return undefined;
  const { method } = info.input;
  const url = new URL(server);
  if (routeTemplate !== undefined) url.pathname = fillTemplate(routeTemplate, info.input["pathParams"]);
  const query = queryOf(info.input["queryParams"]);
  if (type === "http" && query.length <= MAX_QUERY) url.search = query;
  return {
    ...{ type, resource, toolName, url: url.href },
    method: type === "http" && typeof method === "string" ? method : "",
    ...(routeTemplate === undefined ? {} : { routeTemplate }),
  };
}

/** Whether a resource is the name of a tool, `mcp://tool/x`, which any server may have. */
export function isIdentifier(resource: string): boolean {
  return !/^https?:/.test(resource);
}

/** Puts the declared parameters into `/users/:id`. A parameter without a value keeps its name. */
function fillTemplate(template: string, params: unknown): string {
  const values = isJsonObject(params) ? params : {};
  return template.replaceAll(/:(\w{1,64})/g, (_, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    return isShort(value) ? encodeURIComponent(String(value)).replaceAll("%2F", "/") : name;
  });
}

function queryOf(params: unknown): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(isJsonObject(params) ? params : {})) {
    if (isShort(value)) query.append(name, String(value));
  }
  return String(query);
}

function isShort(value: unknown): boolean {
  return typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && value.length <= 256);
}

/** Whether two offers pay the same payee in the same way. */
export function isSameTerms(one: OfferTerms, other: OfferTerms): boolean {
  return (
    one.scheme === other.scheme &&
    sameNetwork(one.network, other.network) &&
    isSameAddress(one.asset, other.asset) &&
    isSameAddress(one.payTo, other.payTo)
  );
}

function isSameAddress(one: string, other: string): boolean {
  return one === other || (/^0x/i.test(one) && one.toLowerCase() === other.toLowerCase());
}

const DENIED = "names other offers for this resource";

/** The server sells here, but what it declares is another entry, or none. */
const ELSEWHERE: Refused = {
  kind: "denied",
  reason: "the server lists this under another resource, routeTemplate or method",
};
const UNDECLARED: Refused = {
  kind: "denied",
  reason: "the server itself declares no bazaar extension for this resource",
};
const UNPRICED: Refused = {
  kind: "denied",
  reason: "the offer of the server itself has no amount that is a whole number above zero",
};
const UNREADABLE: Refused = { kind: "absent", reason: "the bazaar extension of the server itself is not valid" };

/** Whether the document lists the resource in another spelling. A resource may repeat any spelling, so it cannot say otherwise. */
export function isElsewhere(outcome: Outcome | undefined): boolean {
  return outcome === ELSEWHERE;
}

/** An offer of the server, and what the server says about its resource. */
interface NamedOffer {
  readonly offer: OfferTerms & JsonObject;
  readonly url: string;
  readonly resource: JsonObject;
  readonly declaration: unknown;
}

/** Finds the offer; `undefined` when others are named, or none. */
function confirm(
  question: Question,
  terms: OfferTerms,
  named: readonly NamedOffer[],
  rules: RegistrationRules,
): Outcome | undefined {
  const same = named.filter(({ offer }) => isSameTerms(offer, terms));
  const outcomes = same.map((one) => readDeclared(question, one, rules));
  // Two prices for the same terms: a buyer may have to pay the higher one.
  const [dearest] = outcomes.filter((outcome) => outcome.kind === "confirmed").sort(byPrice);
  // A header may have no room for the declaration. Then the body has it.
  return dearest ?? outcomes.find((one) => one !== UNDECLARED) ?? outcomes[0];
}

/** The dearest first. */
function byPrice({ declared: one }: Confirmed, { declared: other }: Confirmed): number {
  const [first, second] = [BigInt(one.offer.amount), BigInt(other.offer.amount)];
  return Number(first < second) - Number(first > second);
}

/** Reads the declaration of the server itself like that of a payment, with the same limits. */
function readDeclared(
  question: Question,
  { offer, url, resource, declaration = undeclaredTool(question, resource) }: NamedOffer,
  rules: RegistrationRules,
): Outcome {
  if (!isOfferAmount(offer["amount"] ?? offer["maxAmountRequired"])) return UNPRICED;
  if (declaration === undefined) return UNDECLARED;
  const isTemplate = isJsonObject(declaration) && declaration["routeTemplate"] !== undefined;
  const read = readRegistration(
    {
      paymentRequirements: offer,
      paymentPayload: {
        accepted: offer,
        resource: { ...resource, url: isTemplate ? question.url : url },
        extensions: { [BAZAAR]: declaration },
      },
    },
    rules,
  );
  if (read.kind !== "registration") return UNREADABLE;
  const declared = withOwnServer(read.registration, question);
  const isSame = declared.resource === question.resource && declared.toolName === question.toolName;
  const isSameMethod = question.method === "" || declared.info.input.method === question.method;
  return isSame && isSameMethod ? { kind: "confirmed", declared } : ELSEWHERE;
}

/** A server speaks for itself only. */
function withOwnServer(declared: Registration, { url }: Question): Registration {
  const { serverUrl, ...rest } = declared;
  return serverUrl === undefined || new URL(serverUrl).origin === new URL(url).origin ? declared : rest;
}

/** A document that names a tool lists it, even without a declaration. */
function undeclaredTool({ type, toolName }: Question, { serverUrl }: JsonObject): JsonObject | undefined {
  return type === "mcp" ? { info: { input: { type, toolName, inputSchema: {} } }, schema: {}, serverUrl } : undefined;
}

/** Reads the 402 of a resource: the challenge in the header, or in the body. */
export function judgeChallenge(
  question: Question,
  terms: OfferTerms,
  response: { readonly paymentRequired: string | undefined; readonly body: string | undefined },
  rules: RegistrationRules,
): Outcome {
  const header = Buffer.from(response.paymentRequired ?? "", "base64").toString("utf8");
  const challenges = [header, response.body ?? ""].flatMap(readObject).filter(({ accepts }) => Array.isArray(accepts));
  const named = challenges.flatMap((challenge) => {
    const { accepts, resource, extensions } = challenge;
    const url = urlOf(challenge);
    if (!isSameUrl(url, question.url)) return [];
    const declaration = isJsonObject(extensions) ? extensions[BAZAAR] : undefined;
    return readOffers(accepts).map((offer) => ({
      ...{ offer, url, declaration },
      resource: isJsonObject(resource) ? resource : {},
    }));
  });
  const confirmed = confirm(question, terms, named, rules);
  if (confirmed !== undefined) return confirmed;
  if (named.length > 0) return { kind: "denied", reason: `the server of the URL ${DENIED}` };
  const problem = challenges.length === 0 ? "responds with 402 without offers" : "responds with the 402 of another URL";
  return { kind: "absent", reason: `the server of the URL ${problem}` };
}

/** A proxy passes on the 402 of another server, so a challenge must name the URL that was requested. */
function urlOf({ resource, accepts }: JsonObject): string {
  const [offer] = accepts as readonly unknown[];
  const url = isJsonObject(resource) ? resource["url"] : isJsonObject(offer) ? offer["resource"] : undefined;
  return typeof url === "string" ? url : "";
}

/** The offers of one route or tool, as `/.well-known/x402` names them. */
export interface NamedRoute {
  readonly type: string;
  readonly url: string;
  readonly toolName: string;
  readonly method: string | undefined;
  readonly offers: readonly NamedOffer[];
}

const MAX_ITEMS = 2_000;

/**
 * Reads the document: the list `items` of Farebox, or a list `resources` of objects. A plain URL in `resources` names no
 * payee and proves nothing. Never throws.
 */
export function readWellKnown(text: string, origin: string): readonly NamedRoute[] {
  const [document = {}] = readObject(text);
  const listed = [document["items"], document["resources"]].flatMap((list) => (Array.isArray(list) ? list : []));
  return listed.slice(0, MAX_ITEMS).flatMap((item) => {
    const named = isJsonObject(item) ? (item["resource"] ?? item["url"]) : undefined;
    if (!isJsonObject(item) || typeof named !== "string" || !URL.canParse(named, origin)) return [];
    const { protocol, href } = new URL(named, origin);
    // The URL parser corrects the spelling of an identifier.
    const url = protocol === "mcp:" ? named : href;
    const { type, method, toolName, accepts, extensions, routeTemplate, serverUrl } = item;
    const declared = isJsonObject(extensions) ? extensions[BAZAAR] : undefined;
    const template = typeof routeTemplate === "string" ? { routeTemplate } : {};
    const server = typeof serverUrl === "string" ? { serverUrl } : {};
    const declaration = isJsonObject(declared) ? { ...template, ...server, ...declared } : undefined;
    return {
      type: type === "mcp" ? "mcp" : "http",
      url,
      toolName: typeof toolName === "string" ? toolName : "",
      method: typeof method === "string" ? method : undefined,
      offers: readOffers(Array.isArray(accepts) ? accepts : [accepts]).map((offer) => ({
        ...{ offer, declaration, url },
        resource: item,
      })),
    };
  });
}

/** Looks for an offer in the document; `undefined` when the document says nothing about the resource. */
export function judgeWellKnown(
  question: Question,
  terms: OfferTerms,
  routes: readonly NamedRoute[],
  rules: RegistrationRules,
): Outcome | undefined {
  const alike = routes
    .filter((route) => route.type === question.type && route.toolName === question.toolName)
    .filter(({ url }) => spellingOf(url) === spellingOf(question.resource));
  const same = alike.filter(({ url }) => isSameUrl(url, question.resource));
  if (same.length === 0) return alike.length > 0 ? ELSEWHERE : undefined;
  const named = same.filter(
    ({ method }) => method === undefined || method === question.method || question.type === "mcp",
  );
  if (named.length === 0) return undefined;
  const offers = named.flatMap((route) => route.offers);
  return (
    confirm(question, terms, offers, rules) ?? { kind: "denied", reason: `/.well-known/x402 of the server ${DENIED}` }
  );
}

/** Ignores the query, and how characters are encoded. An identifier has one spelling. */
function isSameUrl(one: string, other: string): boolean {
  if (isIdentifier(other)) return one === other;
  if (!URL.canParse(one) || !URL.canParse(other)) return false;
  const [first, second] = [new URL(one), new URL(other)];
  return first.origin === second.origin && decode(first.pathname) === decode(second.pathname);
}

/** Ignores what most routers ignore too: case, repeated slashes, and a slash at the end. */
function spellingOf(url: string): string {
  const { origin, pathname } = new URL(url);
  const segments = decode(pathname).toLowerCase().split("/");
  return [origin, ...segments.filter((segment) => segment !== "")].join("/");
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function readOffers(accepts: unknown): readonly (OfferTerms & JsonObject)[] {
  return (Array.isArray(accepts) ? accepts : []).slice(0, 100).flatMap((offer) => {
    if (!isJsonObject(offer)) return [];
    const { scheme, network, asset, payTo } = offer;
    if (typeof scheme !== "string" || typeof asset !== "string" || typeof payTo !== "string") return [];
    return isNetwork(network) ? [{ ...offer, scheme, network, asset, payTo }] : [];
  });
}

function readObject(text: string): readonly JsonObject[] {
  const json = parseJson(text);
  return json.ok && isJsonObject(json.value) ? [json.value] : [];
}
