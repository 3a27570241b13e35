/**
 * MCP tools as a seller declares them.
 *
 * @see x402 v2 extension `bazaar`, "MCP tools"
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { JSON_SCHEMA_2020_12, MCP_TRANSPORTS, type McpInput } from "../declaration.js";
import { MAX_URL } from "../document-limits.js";
import {
  checkExample,
  type Draft,
  type FormContext,
  MAX_DESCRIPTION,
  readObject,
  readOutput,
  readSchema,
  readWord,
} from "./draft.js";
import type { McpForm } from "./forms.js";

const KEYS = Object.keys({
  discoverable: true,
  toolName: true,
  description: true,
  transport: true,
  serverUrl: true,
  inputSchema: true,
  example: true,
  outputSchema: true,
  output: true,
} satisfies Record<keyof McpForm, true>);

/** Older documents name the field `tool`. */
const OLD_NAME = "tool";

/** The form of tool names in MCP. */
const TOOL_NAME = /^[\w./-]{1,128}$/;

/** Whether a form declares a tool. */
export function isMcpForm(form: JsonObject): boolean {
  return "toolName" in form || OLD_NAME in form;
}

/** Reads the form into one draft. */
export function readMcpForm(form: JsonObject, context: FormContext): readonly Draft[] {
  const { path, issues } = context;
  if (!issues.checkKeys(path, form, [...KEYS, OLD_NAME])) return [];
  const toolName = readToolName(form, context);
  const description = readDescription(form["description"], context);
  const transport = readWord(`${path}.transport`, form["transport"], MCP_TRANSPORTS, context);
  const server = readServerUrl(form["serverUrl"], context);
  const inputSchema = readSchema(`${path}.inputSchema`, form["inputSchema"], context);
  const example = readObject(`${path}.example`, form["example"], context);
  checkExample(`${path}.example`, example, inputSchema, context);
  const output = readOutput(form, context);
  if (toolName === undefined || inputSchema === undefined) return [];
  const input: McpInput = {
    type: "mcp",
    toolName,
    ...(description === undefined ? {} : { description }),
    ...(transport === undefined ? {} : { transport }),
    inputSchema,
    ...(example === undefined ? {} : { example }),
  };
  const schema = {
    $schema: JSON_SCHEMA_2020_12,
    type: "object",
    properties: {
      input: {
        type: "object",
        properties: {
          type: { type: "string", const: "mcp" },
          toolName: { type: "string" },
          ...(description === undefined ? {} : { description: { type: "string" } }),
          ...(transport === undefined ? {} : { transport: { type: "string", enum: [transport] } }),
          inputSchema: { type: "object" },
          ...(example === undefined ? {} : { example: { type: "object" } }),
        },
        required: ["type", "toolName", "inputSchema"],
        additionalProperties: false,
      },
      ...output.properties,
    },
    required: ["input"],
  };
  return [{ methods: undefined, checks: {}, declaration: { info: { input, ...output.info }, schema, ...server } }];
}

/** Reads where the server of a tool is. */
export function readServerUrl(url: unknown, { path, issues }: FormContext): { readonly serverUrl?: string } {
  if (url === undefined) return {};
  if (typeof url === "string" && isServer(url)) return { serverUrl: url };
  issues.add(`${path}.serverUrl`, "the http(s) URL of the MCP server, without credentials", url);
  return {};
}

function isServer(url: string): boolean {
  if (url.length > MAX_URL || /\s/.test(url) || !URL.canParse(url)) return false;
  const { protocol, username, password } = new URL(url);
  return /^https?:$/.test(protocol) && username + password === "";
}

function readToolName(form: JsonObject, { path, issues }: FormContext): string | undefined {
  const name = form["toolName"] ?? form[OLD_NAME];
  if (isToolName(name)) return name;
  issues.add(`${path}.toolName`, "1 to 128 letters, digits and the characters _ - . /", name);
  return undefined;
}

/** Whether a value can be the name of a tool. */
export function isToolName(name: unknown): name is string {
  return typeof name === "string" && TOOL_NAME.test(name);
}

function readDescription(description: unknown, { path, issues }: FormContext): string | undefined {
  if (description === undefined) return undefined;
  if (typeof description === "string" && description.length <= MAX_DESCRIPTION) return description;
  const received = typeof description === "string" ? `${description.length} characters` : typeof description;
  issues.addText(`${path}.description`, `a text of at most ${MAX_DESCRIPTION} characters`, received);
  return undefined;
}
