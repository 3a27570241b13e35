/**
 * MCP tools as a seller declares them.
 *
 * @see the brief §2.4 and §2.7
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { JSON_SCHEMA_2020_12, MCP_TRANSPORTS, type McpInput } from "../declaration.js";
import { type Draft, MAX_DESCRIPTION, type Reading } from "./draft.js";
import type { McpForm } from "./forms.js";
import { readOutput } from "./output.js";
import { checkExample, readObject, readSchema, readWord } from "./parts.js";

const KEYS = Object.keys({
  discoverable: true,
  toolName: true,
  description: true,
  transport: true,
  inputSchema: true,
  example: true,
  outputSchema: true,
  output: true,
} satisfies Record<keyof McpForm, true>);

/** Older documents say `tool`. */
const OLD_NAME = "tool";

/** As MCP has it. */
const TOOL_NAME = /^[\w./-]{1,128}$/;

/** Whether a declaration is one of a tool. */
export function isMcpForm(form: JsonObject): boolean {
  return "toolName" in form || OLD_NAME in form;
}

/** Reads the form. */
export function readMcpForm(form: JsonObject, reading: Reading): readonly Draft[] {
  const { path, issues } = reading;
  if (!issues.checkKeys(path, form, [...KEYS, OLD_NAME])) return [];
  const toolName = readToolName(form, reading);
  const description = readDescription(form["description"], reading);
  const transport = readWord({ path: `${path}.transport`, value: form["transport"] }, MCP_TRANSPORTS, reading);
  const inputSchema = readSchema({ path: `${path}.inputSchema`, value: form["inputSchema"] }, reading);
  const example = readObject({ path: `${path}.example`, value: form["example"] }, reading);
  checkExample({ path: `${path}.example`, value: example }, inputSchema, reading);
  const output = readOutput(form, reading);
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
  return [{ methods: undefined, checks: {}, declaration: { info: { input, ...output.info }, schema } }];
}

function readToolName(form: JsonObject, { path, issues }: Reading): string | undefined {
  const name = form["toolName"] ?? form[OLD_NAME];
  if (isToolName(name)) return name;
  issues.add(`${path}.toolName`, "1 to 128 letters, digits and the signs _ - . /", name);
  return undefined;
}

/** Whether a text can be the name of a tool. */
export function isToolName(name: unknown): name is string {
  return typeof name === "string" && TOOL_NAME.test(name);
}

function readDescription(description: unknown, { path, issues }: Reading): string | undefined {
  if (description === undefined) return undefined;
  if (typeof description === "string" && description.length <= MAX_DESCRIPTION) return description;
  const received = typeof description === "string" ? `${description.length} characters` : typeof description;
  issues.addText(`${path}.description`, `a text of at most ${MAX_DESCRIPTION} characters`, received);
  return undefined;
}
