/**
 * The rules for `info` that no schema of the seller's can lift.
 *
 * @see x402 v2 extension `bazaar`, "Discovery info"
 * @module
 */
import { isJsonObject, type JsonObject } from "@farebox/core";
import { BODY_TYPES, MCP_TRANSPORTS } from "../declaration.js";

const BODY_METHODS = ["POST", "PUT", "PATCH"];
const METHODS = ["GET", "HEAD", "DELETE", ...BODY_METHODS];
/** Control characters would be a second line in somebody's log. */
const TOOL_NAME = /^[^\p{Cc}\p{Surrogate}]{1,128}$/u;

/** Says what is wrong with the `input` of a declaration, in one sentence; `undefined` when nothing is. */
export function problemOfInput(input: JsonObject): string | undefined {
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
  if (toolNameOf(input) === undefined) return "info.input.toolName must be a text of 1 to 128 characters";
  if (!isJsonObject(inputSchema)) return "info.input.inputSchema must be an object";
  if (transport !== undefined && !isOneOf(MCP_TRANSPORTS, transport)) {
    return `info.input.transport must be one of ${MCP_TRANSPORTS.join(", ")}`;
  }
  return description === undefined || typeof description === "string"
    ? undefined
    : "info.input.description must be a text";
}

/** A tool's name; the specification's text calls the field `tool`, its code `toolName`. */
export function toolNameOf({ toolName, tool }: JsonObject): string | undefined {
  const name = toolName ?? tool;
  return typeof name === "string" && TOOL_NAME.test(name) ? name : undefined;
}

function isOneOf(list: readonly string[], value: unknown): boolean {
  return typeof value === "string" && list.includes(value);
}
