/**
 * What a server itself says about its prices: in the 402 of the resource, and in `/.well-known/x402`.
 *
 * A payment proves only its payee. The server of the URL decides whether that payee sells there.
 *
 * @module
 */
import {
  BAZAAR,
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
 * The outcome of a check. `confirmed`: with what the server itself declares, if it does. `denied`: the server names other
 * payees. `absent`: it responds, without an offer. A reason is a sentence for whoever pays, and holds no text of the server.
 */
export type Outcome =
  | { readonly kind: "confirmed"; readonly declared?: Registration | undefined }
  | { readonly kind: "denied" | "absent" | "unreachable"; readonly reason: string };

const MAX_QUERY = 2_000;

/** The question for a registration; `undefined` where there is no server, as for `mcp://tool/x`. */
export function questionOf(registration: Registration): Question | undefined {
  const { type, resource, toolName, info, routeTemplate } = registration;
  if (!/^https?:/.test(resource) || !URL.canParse(resource)) return undefined;
  const { method } = info.input;
  const url = new URL(resource);
  if (routeTemplate !== undefined) url.pathname = fillTemplate(routeTemplate, info.input["pathParams"]);
  const query = queryOf(info.input["queryParams"]);
  if (type === "http" && query.length <= MAX_QUERY) url.search = query;
  return {
    ...{ type, resource, toolName, url: url.href },
    method: type === "http" && typeof method === "string" ? method : "",
    ...(routeTemplate === undefined ? {} : { routeTemplate }),
  };
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

/** An offer of the server, and what the server says about its resource. */
interface NamedOffer {
  readonly offer: OfferTerms & JsonObject;
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
  if (same.length === 0) return undefined;
  const declared = same.flatMap((one) => readDeclared(question, one, rules) ?? []);
  return { kind: "confirmed", declared: declared[0] };
}

/** Reads the declaration of the server itself like that of a payment, with the same limits. */
function readDeclared(
  question: Question,
  { offer, resource, declaration }: NamedOffer,
  rules: RegistrationRules,
): Registration | undefined {
  const { url, method } = question;
  const read = readRegistration(
    {
      paymentRequirements: offer,
      paymentPayload: { accepted: offer, resource: { ...resource, url }, extensions: { [BAZAAR]: declaration } },
    },
    rules,
  );
  if (read.kind !== "registration") return undefined;
  const { registration } = read;
  const isSame = registration.resource === question.resource && registration.toolName === question.toolName;
  return isSame && (method === "" || registration.info.input.method === method) ? registration : undefined;
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
  const named = challenges
    .filter((challenge) => isAbout(question, challenge))
    .flatMap(({ accepts, resource, extensions }) => {
      const declaration = isJsonObject(extensions) ? extensions[BAZAAR] : undefined;
      return readOffers(accepts).map((offer) => ({
        ...{ offer, declaration },
        resource: isJsonObject(resource) ? resource : {},
      }));
    });
  const confirmed = confirm(question, terms, named, rules);
  if (confirmed !== undefined) return confirmed;
  if (named.length > 0) return { kind: "denied", reason: `the server of the URL ${DENIED}` };
  const problem = challenges.length === 0 ? "responds with 402 without offers" : "responds with the 402 of another URL";
  return { kind: "absent", reason: `the server of the URL ${problem}` };
}

/** A proxy passes on the 402 of another server, so a challenge must name the URL that was requested, and its template. */
function isAbout({ url, routeTemplate }: Question, { resource, accepts, extensions }: JsonObject): boolean {
  const [offer] = accepts as readonly unknown[];
  const named = isJsonObject(resource) ? resource["url"] : isJsonObject(offer) ? offer["resource"] : undefined;
  if (!isSameUrl(named, url)) return false;
  if (routeTemplate === undefined) return true;
  const declared = isJsonObject(extensions) ? extensions[BAZAAR] : undefined;
  return isJsonObject(declared) && declared["routeTemplate"] === routeTemplate;
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
    const url = isJsonObject(item) ? (item["resource"] ?? item["url"]) : undefined;
    if (!isJsonObject(item) || typeof url !== "string" || !URL.canParse(url, origin)) return [];
    const { type, method, toolName, accepts, extensions, routeTemplate } = item;
    const declared = isJsonObject(extensions) ? extensions[BAZAAR] : undefined;
    const template = typeof routeTemplate === "string" ? { routeTemplate } : {};
    const declaration = isJsonObject(declared) ? { ...template, ...declared } : undefined;
    return {
      type: type === "mcp" ? "mcp" : "http",
      url: new URL(url, origin).href,
      toolName: typeof toolName === "string" ? toolName : "",
      method: typeof method === "string" ? method : undefined,
      offers: readOffers(Array.isArray(accepts) ? accepts : [accepts]).map((offer) => ({
        ...{ offer, declaration },
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
  const named = routes
    .filter((route) => route.type === question.type && route.toolName === question.toolName)
    .filter(({ method }) => method === undefined || question.type === "mcp" || method === question.method)
    .filter(({ url }) => isSameUrl(url, question.resource))
    .flatMap(({ offers }) => offers);
  const denied: Outcome = { kind: "denied", reason: `/.well-known/x402 of the server ${DENIED}` };
  return confirm(question, terms, named, rules) ?? (named.length > 0 ? denied : undefined);
}

/** Ignores the query, and how characters are encoded. */
function isSameUrl(one: unknown, other: string): boolean {
  if (typeof one !== "string" || !URL.canParse(one) || !URL.canParse(other)) return false;
  const [first, second] = [new URL(one), new URL(other)];
  return first.origin === second.origin && decode(first.pathname) === decode(second.pathname);
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
