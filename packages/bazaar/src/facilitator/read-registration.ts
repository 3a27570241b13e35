/**
 * Reads the service that a payment declares, and refuses declarations that a catalog must not list.
 *
 * In order: limits of the document, rules for the info, the seller's own schema, the resource, the terms of the payment, and
 * the optional description of the service.
 *
 * @see x402 v2 extension `bazaar`
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { isJsonObject, isNetwork } from "@farebox/core/protocol";
import { isOfferAmount } from "../catalog/amount.js";
import { BAZAAR, BODY_TYPES, type DiscoveryInfo, MCP_TRANSPORTS } from "../declaration.js";
import { DECLARATION_LIMITS, problemOfDeclaration, problemOfJson } from "../document-limits.js";
import type { ReadRegistration, RegisteredOffer, Registration, RegistrationRules } from "./catalog.js";
import { isPublicHost, listedResource, problemOfServer } from "./listed-resource.js";
import { problemOfInstance } from "./schema-check.js";

const MAX_DESCRIPTION = 500;
const MAX_MIME_TYPE = 100;
const MAX_REASON = 300;

/**
 * Reads a request of `verify` or `settle`. Never throws, and takes bounded time for any input: it runs no pattern of the sender,
 * compiles no schema, and follows no reference out of the document.
 */
export function readRegistration(request: unknown, rules: RegistrationRules = {}): ReadRegistration {
  try {
    const read = readUnchecked(request, rules);
    return read.kind === "rejected" ? rejected(inOneLine(read.reason)) : read;
  } catch {
    // Reading a field may throw when a caller in this process passes an object that is not plain JSON.
    return rejected("the declaration cannot be read");
  }
}

function readUnchecked(request: unknown, rules: RegistrationRules): ReadRegistration {
  const payment = isJsonObject(request) ? request["paymentPayload"] : undefined;
  if (!isJsonObject(payment)) return { kind: "none" };
  const { extensions, resource } = payment;
  const declaration = isJsonObject(extensions) ? extensions[BAZAAR] : undefined;
  if (declaration === undefined || declaration === null) return { kind: "none" };
  if (!isJsonObject(declaration)) return rejected("the bazaar extension is not an object");
  if (!isJsonObject(resource)) return rejected("the payment names no resource");
  const problem = problemOfDeclaration(declaration);
  if (problem !== undefined) return rejected(`the bazaar extension ${problem}`);
  return readDeclaration(declaration, resource, request as JsonObject, rules);
}

function readDeclaration(
  declaration: JsonObject,
  resource: JsonObject,
  request: JsonObject,
  { allowLocal = false }: RegistrationRules,
): ReadRegistration {
  const { info, schema, routeTemplate } = declaration;
  if (!isJsonObject(info) || !isJsonObject(info["input"])) return rejected("info.input must be an object");
  if (!isJsonObject(schema)) return rejected("schema must be an object");
  const { input, output } = info;
  const type = input["type"] === "mcp" ? "mcp" : "http";
  const problem =
    problemOfInput(input) ??
    (output === undefined || isJsonObject(output) ? undefined : "info.output must be an object") ??
    problemOfInstance(schema, info, "info") ??
    problemOfResource(resource);
  if (problem !== undefined) return rejected(problem);
  const toolName = type === "mcp" ? (toolNameOf(input) ?? "") : "";
  const listed = listedResource({
    ...{ url: resource["url"], toolName, routeTemplate, allowLocal },
    pathParams: input["pathParams"],
  });
  if (!listed.ok) return rejected(listed.reason);
  if (leadsElsewhere(input, listed.resource)) return rejected("info.input names a resource of another origin");
  // A URL says where the server is. An identifier does not.
  const server =
    URL.canParse(listed.resource) && new URL(listed.resource).protocol === "mcp:"
      ? declaration["serverUrl"]
      : undefined;
  const unreachable = server === undefined ? undefined : problemOfServer(server, allowLocal);
  if (unreachable !== undefined) return rejected(`serverUrl ${unreachable}`);
  const offer = readOffer(request);
  if (offer === undefined) return rejected("the payment requirements are malformed");
  if (!isOfferAmount(offer.amount)) return rejected("the amount of the payment is not a whole number above zero");
  const declared = {
    info: copy(info) as DiscoveryInfo,
    schema: copy(schema),
    ...text("routeTemplate", routeTemplate),
    ...text("serverUrl", server),
  };
  const registration = {
    type,
    resource: listed.resource,
    toolName,
    ...declared,
    ...describe(resource),
    offer,
  } as const;
  return { kind: "registration", registration };
}

function rejected(reason: string): ReadRegistration {
  return { kind: "rejected", reason };
}

/** A reason may quote the sender, e.g. a key of its schema. */
function inOneLine(reason: string): string {
  return reason.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]+/gu, " ").slice(0, MAX_REASON);
}

const BODY_METHODS = ["POST", "PUT", "PATCH"];
const METHODS = ["GET", "HEAD", "DELETE", ...BODY_METHODS];
/** A control character would break the line of a log. */
const TOOL_NAME = /^[^\p{Cc}\p{Surrogate}]{1,128}$/u;

/** Checks the rules for `info.input` that hold in addition to the seller's schema. */
function problemOfInput(input: JsonObject): string | undefined {
  const { type } = input;
  if (type === "http") return problemOfHttp(input);
  if (type === "mcp") return problemOfTool(input);
  return 'info.input.type must be "http" or "mcp"';
}

function problemOfHttp({ method, bodyType, queryParams, pathParams }: JsonObject): string | undefined {
  if (!isOneOf(METHODS, method)) return `info.input.method must be one of ${METHODS.join(", ")}`;
  if (bodyType !== undefined && !isOneOf(BODY_TYPES, bodyType)) {
    return `info.input.bodyType must be one of ${BODY_TYPES.join(", ")}`;
  }
  if (bodyType !== undefined && !isOneOf(BODY_METHODS, method)) {
    return `info.input.bodyType is only for ${BODY_METHODS.join(", ")}`;
  }
  if (queryParams !== undefined && !isJsonObject(queryParams)) return "info.input.queryParams must be an object";
  return pathParams === undefined || isJsonObject(pathParams) ? undefined : "info.input.pathParams must be an object";
}

function problemOfTool(input: JsonObject): string | undefined {
  const { inputSchema, transport, description } = input;
  if (toolNameOf(input) === undefined) return "info.input.toolName must be a string of 1 to 128 characters";
  if (!isJsonObject(inputSchema)) return "info.input.inputSchema must be an object";
  if (transport !== undefined && !isOneOf(MCP_TRANSPORTS, transport)) {
    return `info.input.transport must be one of ${MCP_TRANSPORTS.join(", ")}`;
  }
  return description === undefined || typeof description === "string"
    ? undefined
    : "info.input.description must be a string";
}

/** The specification names the field `tool` in its text and `toolName` in its code. */
function toolNameOf({ toolName, tool }: JsonObject): string | undefined {
  const name = toolName ?? tool;
  return typeof name === "string" && TOOL_NAME.test(name) ? name : undefined;
}

function isOneOf(list: readonly string[], value: unknown): boolean {
  return typeof value === "string" && list.includes(value);
}

function describe(
  resource: JsonObject,
): Pick<Registration, "description" | "mimeType" | "serviceName" | "tags" | "iconUrl"> {
  const { description, mimeType } = resource;
  return { ...text("description", description), ...text("mimeType", mimeType), ...readServiceMetadata(resource) };
}

function text<Name extends string>(name: Name, value: unknown): { readonly [Key in Name]?: string } {
  return typeof value === "string" ? ({ [name]: value } as { readonly [Key in Name]?: string }) : {};
}

/** Some readers send requests to these URLs, so they must stay on the listed host. */
function leadsElsewhere({ resource, url }: JsonObject, listed: string): boolean {
  if (!URL.canParse(listed)) return false;
  const base = new URL(listed);
  return [resource, url].some((target) => {
    if (typeof target !== "string" || target === listed) return false;
    return !URL.canParse(target, base.href) || new URL(target, base).host !== base.host;
  });
}

function problemOfResource({ description, mimeType }: JsonObject): string | undefined {
  if (!isTextUpTo(description, MAX_DESCRIPTION))
    return `resource.description is longer than ${MAX_DESCRIPTION} characters`;
  if (!isTextUpTo(mimeType, MAX_MIME_TYPE)) return "resource.mimeType is not a media type";
  const problem = problemOfJson([description ?? "", mimeType ?? ""], DECLARATION_LIMITS);
  return problem === undefined ? undefined : `resource ${problem}`;
}

function isTextUpTo(value: unknown, length: number): boolean {
  return value === undefined || value === null || (typeof value === "string" && value.length <= length);
}

/** The catalog keeps the copy, so a caller that changes its own object does no harm. */
function copy(value: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

/** Of a payment. When `upto` settles, it may be zero. */
const AMOUNT = /^\d{1,78}$/;
const MAX_FIELD = 256;
const EXTRA_LIMITS = { bytes: 2_048, depth: 8, values: 200 };

/**
 * Reads the terms of the payment; `undefined` for malformed requirements. When `upto` settles, the requirements hold the
 * amount of this one settlement, and only `accepted` holds the maximum.
 */
function readOffer({ paymentPayload, paymentRequirements }: JsonObject): RegisteredOffer | undefined {
  const required = readTerms(paymentRequirements);
  const accepted = isJsonObject(paymentPayload) ? readTerms(paymentPayload["accepted"]) : undefined;
  if (required?.scheme !== "upto" || accepted === undefined) return required;
  const isSame = (["scheme", "network", "asset", "payTo"] as const).every((name) => required[name] === accepted[name]);
  return isSame ? accepted : required;
}

function readTerms(terms: unknown): RegisteredOffer | undefined {
  if (!isJsonObject(terms)) return undefined;
  const { scheme, network, asset, payTo, maxTimeoutSeconds, extra } = terms;
  const amount = terms["amount"] ?? terms["maxAmountRequired"];
  if (!isShortField(scheme) || !isNetwork(network) || !isShortField(asset) || !isShortField(payTo)) return undefined;
  if (typeof amount !== "string" || !AMOUNT.test(amount)) return undefined;
  return {
    scheme,
    network,
    asset,
    payTo,
    amount,
    maxTimeoutSeconds: typeof maxTimeoutSeconds === "number" && maxTimeoutSeconds >= 0 ? maxTimeoutSeconds : 0,
    extra: readExtra(extra),
  };
}

function readExtra(extra: unknown): JsonObject {
  if (!isJsonObject(extra) || problemOfJson(extra, EXTRA_LIMITS) !== undefined) return {};
  return JSON.parse(JSON.stringify(extra)) as JsonObject;
}

function isShortField(value: unknown): value is string {
  return (
    typeof value === "string" && value.length > 0 && value.length <= MAX_FIELD && !/[\p{Cc}\p{Surrogate}]/u.test(value)
  );
}

const SHORT_TEXT = /^[\x20-\x7e]{1,32}$/;
const MAX_TAGS = 5;
const MAX_ICON_URL = 2_048;

/**
 * Reads the service's name and tags (printable ASCII, at most 32 characters, at most 5 tags) and its icon (https, public host).
 * These fields are optional, so a wrong one is left out and does not reject the declaration.
 */
function readServiceMetadata(resource: JsonObject): Pick<Registration, "serviceName" | "tags" | "iconUrl"> {
  const { serviceName, tags, iconUrl } = resource;
  const validTags = readTags(tags);
  return {
    ...(isShortText(serviceName) ? { serviceName } : {}),
    ...(validTags.length > 0 ? { tags: validTags } : {}),
    ...(isIconUrl(iconUrl) ? { iconUrl } : {}),
  };
}

function isShortText(value: unknown): value is string {
  return typeof value === "string" && SHORT_TEXT.test(value);
}

function readTags(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  const byName = new Map<string, string>();
  for (const tag of value.slice(0, 100)) {
    if (isShortText(tag) && !byName.has(tag.toLowerCase())) byName.set(tag.toLowerCase(), tag);
  }
  return [...byName.values()].slice(0, MAX_TAGS);
}

function isIconUrl(value: unknown): value is string {
  if (typeof value !== "string" || value.length > MAX_ICON_URL || /\s/.test(value) || !URL.canParse(value))
    return false;
  const { protocol, username, password, hostname } = new URL(value);
  return protocol === "https:" && username + password === "" && isPublicHost(hostname);
}
