/**
 * What catalogs are told about a tool: its resource, and its declaration under `extensions.bazaar`.
 *
 * @module
 */
import { toolIdentifier } from "@farebox/bazaar";
import type { JsonObject } from "@farebox/core";
import { type Issues, issuePath } from "@farebox/core/issues";
import { isJsonObject } from "@farebox/core/protocol";
import type { ToolResource } from "./tool-config.js";

/** The extension by which services are listed in catalogs. */
export const BAZAAR = "bazaar";

/** Facilitators refuse to verify a payment whose resource has a longer description. */
export const MAX_DESCRIPTION = 500;

/** Catalogs refuse a longer URL. */
const MAX_URL = 2_048;

/** Reads `resource`. A name that is not the tool's would send buyers to another tool. */
export function readResource(given: unknown, name: string, issues: Issues): ToolResource {
  if (given === undefined || !issues.checkKeys("resource", given, ["url", "description"])) return {};
  const { url, description } = given;
  const isUrl = typeof url === "string" && (url === toolIdentifier(name) || isHttpUrl(url));
  if (url !== undefined && !isUrl) {
    issues.add("resource.url", `${toolIdentifier(name)}, or an http(s) URL`, url);
  }
  const isShort = typeof description === "string" && description.length <= MAX_DESCRIPTION;
  if (description !== undefined && !isShort) {
    issues.add("resource.description", `a text of at most ${MAX_DESCRIPTION} characters`, description);
  }
  return { ...(isUrl ? { url } : {}), ...(isShort ? { description } : {}) };
}

/** Whether a text is an http or https URL that catalogs accept. */
export function isHttpUrl(url: string): boolean {
  if (url.length > MAX_URL || /\s/.test(url) || !URL.canParse(url)) return false;
  const { protocol, username, password } = new URL(url);
  return (protocol === "https:" || protocol === "http:") && username + password === "";
}

/** What the seller wrote under `extensions.bazaar`. The extension itself checks all of it. */
export interface OwnDeclaration {
  /** As written, if it is an object. */
  readonly form: JsonObject | undefined;
  /** Whether it is a complete declaration, `{ info, schema }`, which replaces ours. */
  readonly isComplete: boolean;
  readonly description: string | undefined;
  /** Where the server is. The extension checks it. */
  readonly serverUrl: string | undefined;
  readonly inputSchema: unknown;
  /** Where the schema stands, for issues. */
  readonly inputSchemaPath: string;
}

/** Reads what the seller declares. A name that is not the tool's would send buyers to another tool. */
export function readOwnDeclaration(extensions: unknown = {}, name: string, issues: Issues): OwnDeclaration {
  const given = isJsonObject(extensions) ? (extensions[BAZAAR] ?? {}) : undefined;
  const form = isJsonObject(given) ? given : undefined;
  const isComplete = form !== undefined && "info" in form;
  const { path, fields } = inputOf(form, isComplete);
  for (const key of ["toolName", "tool"]) {
    const declared = fields[key];
    if (declared !== undefined && declared !== name) {
      issues.add(issuePath(path, key), `the name of the tool, ${JSON.stringify(name)}, or nothing`, declared);
    }
  }
  const { description, inputSchema } = fields;
  const serverUrl = form?.["serverUrl"];
  return {
    ...{ form, isComplete, inputSchema },
    serverUrl: typeof serverUrl === "string" ? serverUrl : undefined,
    description: typeof description === "string" ? description : undefined,
    inputSchemaPath: issuePath(path, "inputSchema"),
  };
}

function inputOf(form: JsonObject = {}, isComplete: boolean): { readonly path: string; readonly fields: JsonObject } {
  if (!isComplete) return { path: `extensions.${BAZAAR}`, fields: form };
  const input = isJsonObject(form["info"]) ? form["info"]["input"] : undefined;
  return { path: `extensions.${BAZAAR}.info.input`, fields: isJsonObject(input) ? input : {} };
}

/** The tool as its configuration describes it. */
export interface DescribedConfig {
  readonly toolName: string;
  readonly description: string;
  readonly transport: string;
  readonly inputSchema: JsonObject;
  readonly example?: unknown;
}

/**
 * Declares the tool, with the seller's additions.
 *
 * @param server - Where the server is, if the resource does not say it.
 */
export function declareTool(
  described: DescribedConfig,
  { outputSchema, server }: { readonly outputSchema: JsonObject | undefined; readonly server: string | undefined },
  { form, isComplete }: OwnDeclaration,
): JsonObject | undefined {
  if (form === undefined) return undefined;
  const at = server === undefined ? {} : { serverUrl: server };
  if (isComplete) return { ...at, ...form };
  const { output } = form;
  const hasOutput = isJsonObject(output) && "schema" in output;
  const declared = outputSchema === undefined || hasOutput ? {} : { outputSchema };
  return { ...described, ...declared, ...at, ...form };
}
