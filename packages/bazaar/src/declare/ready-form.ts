/**
 * Declarations that are ready: `{ info, schema }`, as the reference's helper makes them.
 *
 * @module
 */
import { isJsonObject, type JsonObject } from "@farebox/core";
import {
  type BazaarDeclaration,
  BODY_TYPES,
  type DiscoveryInfo,
  type HttpInput,
  type JsonSchema,
  MCP_TRANSPORTS,
  type McpInput,
} from "../declaration.js";
import { BODY_METHODS, type Draft, type InputSchemas, MAX_DESCRIPTION, methodsOf, type Reading } from "./draft.js";
import { compileSchema, findForeignReference, moveSchema } from "./json-schema.js";
import { isToolName } from "./mcp-form.js";
import { inputSchemaOf, narrowToMethod } from "./narrow.js";
import { readWord } from "./parts.js";

/** Whether a declaration is ready. */
export function isReadyForm(form: JsonObject): boolean {
  return "info" in form || "schema" in form;
}

/** Reads the form. */
export function readReadyForm(form: JsonObject, reading: Reading): readonly Draft[] {
  const { path, issues } = reading;
  const { info, schema, discoverable: _, routeTemplate, ...rest } = form;
  if (!isJsonObject(info) || !isJsonObject(schema)) {
    issues.addText(path, "{ info, schema }, both objects", "something else beside or in place of one of them");
    return [];
  }
  checkTemplate(routeTemplate, reading);
  const foreign = findForeignReference(schema);
  if (foreign !== undefined) issues.add(`${path}.schema`, "references within the schema itself", foreign);
  const input = readInput(info["input"], reading);
  if (input === undefined || foreign !== undefined) return [];
  const declaration = withToolName({ ...rest, info: { ...info, input }, schema });
  const methods = input.type === "mcp" ? undefined : readMethods(input, reading);
  checkWhole(methods?.[0] === undefined ? declaration : narrowToMethod(declaration, methods[0]), reading);
  return [{ methods, declaration, checks: input.type === "mcp" ? {} : checksOf(schema, input) }];
}

function checkTemplate(template: unknown, { path, route: { paths }, issues }: Reading): void {
  if (template === undefined) return;
  const known = paths?.map((one) => one.template);
  if (typeof template === "string" && (known === undefined || known.includes(template))) return;
  issues.add(
    `${path}.routeTemplate`,
    `nothing, or what the route's path says, ${known?.join(" or ") ?? "as a text"}`,
    template,
  );
}

function readInput(input: unknown, reading: Reading): HttpInput | McpInput | undefined {
  const path = `${reading.path}.info.input`;
  if (!isJsonObject(input)) {
    reading.issues.add(path, 'an object such as { type: "http" }', input);
    return undefined;
  }
  const type = readWord({ path: `${path}.type`, value: input["type"] }, ["http", "mcp"], reading);
  if (type === "http") return readHttpInput(input, reading);
  if (type === "mcp") return readMcpInput(input, reading);
  if (input["type"] === undefined) reading.issues.add(`${path}.type`, '"http" or "mcp"', undefined);
  return undefined;
}

function readHttpInput(input: JsonObject, reading: Reading): HttpInput {
  const bodyType = readWord(
    { path: `${reading.path}.info.input.bodyType`, value: input["bodyType"] },
    BODY_TYPES,
    reading,
  );
  return { ...withoutFilledIn(input), type: "http", ...(bodyType === undefined ? {} : { bodyType }) };
}

/** What each request fills in. The method says for which it is. */
function withoutFilledIn({ pathParams: _, ...input }: JsonObject): JsonObject {
  return input;
}

function readMcpInput(input: JsonObject, reading: Reading): McpInput | undefined {
  const path = `${reading.path}.info.input`;
  const { tool, toolName = tool, inputSchema, description, ...rest } = input;
  const transport = readWord({ path: `${path}.transport`, value: input["transport"] }, MCP_TRANSPORTS, reading);
  if (!isToolName(toolName)) {
    reading.issues.add(`${path}.toolName`, "1 to 128 letters, digits and the signs _ - . /", toolName);
    return undefined;
  }
  if (!isJsonObject(inputSchema)) {
    reading.issues.add(`${path}.inputSchema`, "the JSON Schema of its arguments", inputSchema);
    return undefined;
  }
  if (description !== undefined && (typeof description !== "string" || description.length > MAX_DESCRIPTION)) {
    reading.issues.addText(`${path}.description`, `a text of at most ${MAX_DESCRIPTION} characters`, "another");
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

/** A schema written for `tool` is one for `toolName`. */
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

function readMethods({ method, bodyType }: HttpInput, { path, route, issues }: Reading): readonly string[] {
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

/** What facilitators do: the schema is held against what schemas are, the data against the schema. */
function checkWhole({ info, schema }: { info: DiscoveryInfo; schema: JsonSchema }, { path, issues }: Reading): void {
  const compiled = compileSchema(schema);
  if (!compiled.ok) {
    issues.addText(`${path}.schema`, "a JSON Schema of draft 2020-12", compiled.problem);
    return;
  }
  for (const { at, message } of compiled.check(info).slice(0, 5)) {
    issues.addText(`${path}.info`, "what its own schema takes", `what it does not: ${at || "it"} ${message}`);
  }
}

/** The parts of a schema, each by itself, with the whole beside it so that its references lead somewhere. */
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
