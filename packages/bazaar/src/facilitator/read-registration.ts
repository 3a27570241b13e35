/**
 * Reads what a payment has for a catalog, and refuses what a catalog must not list.
 *
 * @see x402 v2 extension `bazaar`
 * @module
 */
import { isJsonObject, type JsonObject } from "@farebox/core";
import { BAZAAR, type DiscoveryInfo } from "../declaration.js";
import { problemOfInput, toolNameOf } from "./check-info.js";
import { problemOfJson } from "./json-limits.js";
import { listedResource } from "./listed-resource.js";
import { readOffer } from "./read-offer.js";
import type { ReadRegistration, Registration, RegistrationRules } from "./registration.js";
import { problemOfInstance } from "./schema-check.js";
import { problemOfReferences } from "./schema-references.js";
import { readServiceMetadata } from "./service-metadata.js";

const LIMITS = { bytes: 16 * 1_024, depth: 24, values: 2_000 };
const MAX_DESCRIPTION = 500;
const MAX_MIME_TYPE = 100;
const MAX_REASON = 300;

/**
 * Reads a request of `verify` or `settle`. Total, whatever a seller or a client wrote, and in bounded time: no pattern of
 * theirs is run, no schema compiled, no reference followed out of the document.
 */
export function readRegistration(request: unknown, rules: RegistrationRules = {}): ReadRegistration {
  try {
    const read = readUnchecked(request, rules);
    return read.kind === "rejected" ? rejected(inOneLine(read.reason)) : read;
  } catch {
    // An object of this process may have fields that throw when they are read; JSON has none.
    return rejected("the declaration cannot be read");
  }
}

function readUnchecked(request: unknown, rules: RegistrationRules): ReadRegistration {
  const payment = isJsonObject(request) ? request["paymentPayload"] : undefined;
  if (!isJsonObject(payment)) return { kind: "none" };
  const { extensions, resource } = payment;
  const declaration = isJsonObject(extensions) ? extensions[BAZAAR] : undefined;
  if (declaration === undefined || declaration === null) return { kind: "none" };
  if (!isJsonObject(declaration)) return rejected("the bazaar extension is no object");
  if (!isJsonObject(resource)) return rejected("the payment names no resource");
  const problem = problemOfJson(declaration, LIMITS) ?? problemOfReferences(declaration);
  if (problem !== undefined) return rejected(`the bazaar extension ${problem}`);
  return readDeclaration({ declaration, resource, request: request as JsonObject }, rules);
}

interface Documents {
  readonly declaration: JsonObject;
  readonly resource: JsonObject;
  readonly request: JsonObject;
}

function readDeclaration(documents: Documents, { allowLocal = false }: RegistrationRules): ReadRegistration {
  const { declaration, resource, request } = documents;
  const { info, schema, routeTemplate } = declaration;
  if (!isJsonObject(info) || !isJsonObject(info["input"])) return rejected("info.input must be an object");
  if (!isJsonObject(schema)) return rejected("schema must be an object");
  const { input } = info;
  const type = input["type"] === "mcp" ? "mcp" : "http";
  const problem =
    problemOfInput(input) ??
    problemOfOutput(info["output"]) ??
    problemOfInstance(schema, info, "info") ??
    problemOfResource(resource);
  if (problem !== undefined) return rejected(problem);
  const listed = listedResource({ url: resource["url"], type, routeTemplate, allowLocal });
  if (!listed.ok) return rejected(listed.reason);
  if (leadsElsewhere(input, listed.resource)) return rejected("info.input names a resource of another origin");
  const offer = readOffer(request);
  if (offer === undefined) return rejected("the payment's requirements are not those of the protocol");
  const toolName = type === "mcp" ? (toolNameOf(input) ?? "") : "";
  const declared = { info: copy(info) as DiscoveryInfo, schema: copy(schema), ...text("routeTemplate", routeTemplate) };
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

function describe(
  resource: JsonObject,
): Pick<Registration, "description" | "mimeType" | "serviceName" | "tags" | "iconUrl"> {
  const { description, mimeType } = resource;
  return { ...text("description", description), ...text("mimeType", mimeType), ...readServiceMetadata(resource) };
}

function text<Name extends string>(name: Name, value: unknown): { readonly [Key in Name]?: string } {
  return typeof value === "string" ? ({ [name]: value } as { readonly [Key in Name]?: string }) : {};
}

/** Readers take these for where the request goes. */
function leadsElsewhere({ resource, url }: JsonObject, listed: string): boolean {
  if (!URL.canParse(listed)) return false;
  const base = new URL(listed);
  return [resource, url].some((target) => {
    if (typeof target !== "string" || target === listed) return false;
    return !URL.canParse(target, base.href) || new URL(target, base).host !== base.host;
  });
}

function problemOfOutput(output: unknown): string | undefined {
  return output === undefined || isJsonObject(output) ? undefined : "info.output must be an object";
}

function problemOfResource({ description, mimeType }: JsonObject): string | undefined {
  if (!isTextUpTo(description, MAX_DESCRIPTION))
    return `resource.description is longer than ${MAX_DESCRIPTION} characters`;
  if (!isTextUpTo(mimeType, MAX_MIME_TYPE)) return "resource.mimeType is no media type";
  const problem = problemOfJson([description ?? "", mimeType ?? ""], LIMITS);
  return problem === undefined ? undefined : `resource ${problem}`;
}

function isTextUpTo(value: unknown, length: number): boolean {
  return value === undefined || value === null || (typeof value === "string" && value.length <= length);
}

/** The catalog keeps it, and the caller may go on changing its own. */
function copy(value: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

function rejected(reason: string): ReadRegistration {
  return { kind: "rejected", reason };
}

/** Parts of a reason are a stranger's: keys of its schema, say. */
function inOneLine(reason: string): string {
  return reason.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}]+/gu, " ").slice(0, MAX_REASON);
}
