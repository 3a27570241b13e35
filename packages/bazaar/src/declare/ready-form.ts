/**
 * Complete declarations: `{ info, schema }`, as the helper of the reference implementation writes them.
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import {
  type BazaarDeclaration,
  BODY_TYPES,
  type DiscoveryInfo,
  type HttpInput,
  inputSchemaOf,
  type JsonSchema,
  MCP_TRANSPORTS,
  type McpInput,
} from "../declaration.js";
import {
  BODY_METHODS,
  type Draft,
  type FormContext,
  type InputSchemas,
  MAX_DESCRIPTION,
  methodsOf,
  readWord,
} from "./draft.js";
import { compileSchema, findForeignReference, moveSchema } from "./json-schema.js";
import { isToolName, readServerUrl } from "./mcp-form.js";
import { narrowToMethod } from "./request-fields.js";

/** Whether a form is already a declaration. */
export function isReadyForm(form: JsonObject): boolean {
  return "info" in form || "schema" in form;
}

/** Reads the form into one draft. */
export function readReadyForm(form: JsonObject, context: FormContext): readonly Draft[] {
  const { path, issues } = context;
  const { info, schema, discoverable: _, routeTemplate, ...rest } = form;
  if (!isJsonObject(info) || !isJsonObject(schema)) {
    issues.addText(path, "{ info, schema }, both objects", "another value for one of them");
    return [];
  }
  checkTemplate(routeTemplate, context);
  readServerUrl(rest["serverUrl"], context);
  const foreign = findForeignReference(schema);
  if (foreign !== undefined) issues.add(`${path}.schema`, "references within the schema itself", foreign);
  const input = readInput(info["input"], context);
  if (input === undefined || foreign !== undefined) return [];
  const declaration = withToolName({ ...rest, info: { ...info, input }, schema });
  const methods = input.type === "mcp" ? undefined : readMethods(input, context);
  checkWhole(methods?.[0] === undefined ? declaration : narrowToMethod(declaration, methods[0]), context);
  return [{ methods, declaration, checks: input.type === "mcp" ? {} : checksOf(schema, input) }];
}

function checkTemplate(template: unknown, { path, route: { paths }, issues }: FormContext): void {
  if (template === undefined) return;
  const known = paths?.map((one) => one.template);
  if (typeof template === "string" && (known === undefined || known.includes(template))) return;
  issues.add(
    `${path}.routeTemplate`,
    `nothing, or what the route's path says, ${known?.join(" or ") ?? "as a text"}`,
    template,
  );
}

function readInput(input: unknown, context: FormContext): HttpInput | McpInput | undefined {
  const path = `${context.path}.info.input`;
  if (!isJsonObject(input)) {
    context.issues.add(path, 'an object such as { type: "http" }', input);
    return undefined;
  }
  const type = readWord(`${path}.type`, input["type"], ["http", "mcp"], context);
  if (type === "http") return readHttpInput(input, context);
  if (type === "mcp") return readMcpInput(input, context);
  if (input["type"] === undefined) context.issues.add(`${path}.type`, '"http" or "mcp"', undefined);
  return undefined;
}

function readHttpInput(input: JsonObject, context: FormContext): HttpInput {
  const bodyType = readWord(`${context.path}.info.input.bodyType`, input["bodyType"], BODY_TYPES, context);
  return { ...withoutFilledIn(input), type: "http", ...(bodyType === undefined ? {} : { bodyType }) };
}

/** Each request fills in its own path parameters. */
function withoutFilledIn({ pathParams: _, ...input }: JsonObject): JsonObject {
  return input;
}

function readMcpInput(input: JsonObject, context: FormContext): McpInput | undefined {
  const path = `${context.path}.info.input`;
  const { tool, toolName = tool, inputSchema, description, ...rest } = input;
  const transport = readWord(`${path}.transport`, input["transport"], MCP_TRANSPORTS, context);
  if (!isToolName(toolName)) {
    context.issues.add(`${path}.toolName`, "1 to 128 letters, digits and the characters _ - . /", toolName);
    return undefined;
  }
  if (!isJsonObject(inputSchema)) {
    context.issues.add(`${path}.inputSchema`, "the JSON Schema of its arguments", inputSchema);
    return undefined;
  }
  if (description !== undefined && (typeof description !== "string" || description.length > MAX_DESCRIPTION)) {
    context.issues.addText(`${path}.description`, `a text of at most ${MAX_DESCRIPTION} characters`, "another");
  }
  return {
    ...rest,
    type: "mcp",
    toolName,
    ...(typeof description === "string" ? { description } : {}),
    ...(transport === undefined ? {} : { transport }),
    inputSchema,
  };
}

/** Renames `tool` to `toolName` in the schema, as in the info. */
function withToolName(declaration: BazaarDeclaration): BazaarDeclaration {
  const input = inputSchemaOf(declaration.schema);
  const { tool, ...properties } = isJsonObject(input["properties"]) ? input["properties"] : {};
  if (tool === undefined || declaration.info.input.type !== "mcp") return declaration;
  const required = Array.isArray(input["required"]) ? input["required"] : [];
  const renamed = {
    ...input,
    properties: { toolName: tool, ...properties },
    required: [...new Set(required.map((name: unknown) => (name === "tool" ? "toolName" : name)))],
  };
  const all = isJsonObject(declaration.schema["properties"]) ? declaration.schema["properties"] : {};
  return { ...declaration, schema: { ...declaration.schema, properties: { ...all, input: renamed } } };
}

function readMethods({ method, bodyType }: HttpInput, { path, route, issues }: FormContext): readonly string[] {
  const all = methodsOf(route);
  const fitting = bodyType === undefined ? all : all.filter((one) => BODY_METHODS.includes(one));
  if (fitting.length === 0) {
    issues.add(`${path}.info.input.bodyType`, `nothing for ${all.join(", ")}, which has no body`, bodyType);
  }
  if (method === undefined) return fitting;
  const named = fitting.filter((one) => one === method || (method === "GET" && one === "HEAD"));
  if (named.length === 0 && fitting.length > 0) {
    issues.add(`${path}.info.input.method`, `nothing, or ${fitting.join(" or ")}, as the route has it`, method);
  }
  return named;
}

/** Checks the same as a facilitator: the schema is valid, and the info matches it. */
function checkWhole(
  { info, schema }: { info: DiscoveryInfo; schema: JsonSchema },
  { path, issues }: FormContext,
): void {
  const compiled = compileSchema(schema);
  if (!compiled.ok) {
    issues.addText(`${path}.schema`, "a JSON Schema of draft 2020-12", compiled.problem);
    return;
  }
  for (const { at, message } of compiled.check(info).slice(0, 5)) {
    issues.addText(`${path}.info`, "info that matches its own schema", `info that does not: ${at || "it"} ${message}`);
  }
}

/** The schemas of the single parts. Each holds the whole schema, so that its references resolve. */
function checksOf(schema: JsonSchema, { bodyType }: HttpInput): InputSchemas {
  const input = inputSchemaOf(schema);
  const properties = isJsonObject(input["properties"]) ? input["properties"] : {};
  const part = (name: string): JsonSchema | undefined => {
    if (!isJsonObject(properties[name])) return undefined;
    const whole = moveSchema(schema, "#/$defs/declared");
    return { $ref: `#/$defs/declared/properties/input/properties/${name}`, $defs: { declared: whole } };
  };
  return {
    query: part("queryParams"),
    body: bodyType === undefined ? undefined : part("body"),
    path: part("pathParams"),
    bodyType,
  };
}
