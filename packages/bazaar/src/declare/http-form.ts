/**
 * HTTP routes as a seller declares them: `{ discoverable, input, inputSchema, outputSchema }`, or what the reference's helper
 * takes.
 *
 * @see the brief §2.7, "The bazaar extension declaration"
 * @module
 */
import { isJsonObject, issuePath, type JsonObject } from "@farebox/core";
import { BODY_TYPES, type BodyType, type HttpInput, JSON_SCHEMA_2020_12, type JsonSchema } from "../declaration.js";
import { BODY_METHODS, type Draft, methodsOf, QUERY_METHODS, type Reading } from "./draft.js";
import type { HttpForm } from "./forms.js";
import { compileSchema, moveSchema } from "./json-schema.js";
import { type DeclaredOutput, readOutput } from "./output.js";
import { checkExample, makeExample, readObject, readSchema, readWord } from "./parts.js";
import { readPathParams } from "./path-params.js";

const KEYS = Object.keys({
  discoverable: true,
  input: true,
  inputSchema: true,
  bodyType: true,
  pathParams: true,
  pathParamsSchema: true,
  outputSchema: true,
  output: true,
} satisfies Record<keyof HttpForm, true>);

/** Reads the form; yields one draft for methods with a query, one for methods with a body, as the route has them. */
export function readHttpForm(form: JsonObject, reading: Reading): readonly Draft[] {
  const { path, issues } = reading;
  if (!issues.checkKeys(path, form, KEYS)) return [];
  const methods = methodsOf(reading.route);
  const bodyType = readWord({ path: `${path}.bodyType`, value: form["bodyType"] }, BODY_TYPES, reading);
  const withBody = methods.filter((method) => BODY_METHODS.includes(method));
  const withQuery = bodyType === undefined ? methods.filter((method) => QUERY_METHODS.includes(method)) : [];
  if (bodyType !== undefined && withBody.length === 0) {
    issues.add(`${path}.bodyType`, `nothing for ${methods.join(", ")}, which has no body`, bodyType);
  }
  const common: Common = {
    schemas: readInputSchema(form["inputSchema"], reading),
    pathSchema: readPathParams(form, reading),
    output: readOutput(form, reading),
  };
  return [
    ...(withQuery.length > 0 ? [draftQuery(form, { ...common, methods: withQuery }, reading)] : []),
    ...(withBody.length > 0 ? [draftBody(form, { ...common, methods: withBody, bodyType }, reading)] : []),
  ];
}

/** What the seller has written of the input: a map of query parameters, a schema of all else. */
interface InputSchemas {
  readonly query: JsonSchema | undefined;
  readonly main: JsonSchema | undefined;
}

interface Common {
  readonly schemas: InputSchemas;
  readonly pathSchema: JsonSchema | undefined;
  readonly output: DeclaredOutput;
}

interface Drafting extends Common {
  readonly methods: readonly string[];
}

function readInputSchema(given: unknown, reading: Reading): InputSchemas {
  const path = `${reading.path}.inputSchema`;
  if (given === undefined) return { query: undefined, main: undefined };
  const written = readObject({ path, value: given }, reading) ?? {};
  const { queryParams, ...rest } = written;
  const hasRest = Object.keys(rest).length > 0 || queryParams === undefined;
  return {
    query: queryParams === undefined ? undefined : readQueryParams(queryParams, reading),
    main: hasRest ? readSchema({ path, value: rest }, reading) : undefined,
  };
}

/** `{ city: { type, description, required: true } }` as JSON Schema has it. */
function readQueryParams(given: unknown, reading: Reading): JsonSchema | undefined {
  const path = `${reading.path}.inputSchema.queryParams`;
  const params = Object.entries(readObject({ path, value: given }, reading) ?? {});
  const required: string[] = [];
  const properties = params.map(([name, param]) => {
    const at = issuePath(path, name);
    if (!isJsonObject(param)) {
      reading.issues.add(at, '{ type, description, required }, such as { type: "string" }', param);
      return [name, {}] as const;
    }
    const { required: isRequired, ...schema } = param;
    if (isRequired === true) required.push(name);
    // Of a parameter that is an object, the names of its own fields.
    if (Array.isArray(isRequired)) return [name, param] as const;
    if (isRequired !== undefined && typeof isRequired !== "boolean") {
      reading.issues.add(`${at}.required`, "true or false", isRequired);
    }
    return [name, schema] as const;
  });
  const schema = { properties: Object.fromEntries(properties), ...(required.length > 0 ? { required } : {}) };
  return readSchema({ path, value: schema }, reading);
}

function draftQuery(form: JsonObject, drafting: Drafting, reading: Reading): Draft {
  const { schemas, methods } = drafting;
  const { path, issues, route } = reading;
  if (schemas.query !== undefined && schemas.main !== undefined && route.method !== undefined) {
    issues.addText(`${path}.inputSchema`, `queryParams alone, or properties alone, for ${route.method}`, "both");
  }
  const schema = schemas.query ?? schemas.main;
  const example = readObject({ path: `${path}.input`, value: form["input"] }, reading);
  checkExample({ path: `${path}.input`, value: example }, schema, reading);
  return toDraft(drafting, {
    info: { type: "http", ...(example === undefined ? {} : { queryParams: example }) },
    properties: { queryParams: schema ?? { type: "object" } },
    required: [],
    checks: { query: schema, methods },
  });
}

function draftBody(
  form: JsonObject,
  drafting: Drafting & { readonly bodyType: BodyType | undefined },
  reading: Reading,
): Draft {
  const { schemas, methods, bodyType = "json" } = drafting;
  const { path } = reading;
  const body = schemas.main ?? { type: bodyType === "text" ? "string" : "object" };
  const given = splitExample(form["input"], schemas.query);
  checkExample({ path: `${path}.input`, value: given.query }, schemas.query, reading);
  checkExample({ path: `${path}.input`, value: given.body }, body, reading);
  const example = given.body ?? exampleFor(body, reading);
  return toDraft(drafting, {
    info: {
      type: "http",
      ...(given.query === undefined ? {} : { queryParams: given.query }),
      bodyType,
      ...(example === undefined ? {} : { body: example }),
    },
    properties: {
      ...(schemas.query === undefined ? {} : { queryParams: schemas.query }),
      bodyType: { type: "string", enum: BODY_TYPES },
      body,
    },
    required: ["bodyType", ...(example === undefined ? [] : ["body"])],
    checks: { query: schemas.query, body, bodyType, methods },
  });
}

/** Of an example for query and body, what the query is declared to have, and the rest. */
function splitExample(
  input: unknown,
  query: JsonSchema | undefined,
): { readonly query: JsonObject | undefined; readonly body: unknown } {
  if (query === undefined || !isJsonObject(input)) return { query: undefined, body: input };
  const names = Object.keys(isJsonObject(query["properties"]) ? query["properties"] : {});
  const entries = Object.entries(input);
  const inQuery = entries.filter(([name]) => names.includes(name));
  const inBody = entries.filter(([name]) => !names.includes(name));
  return {
    query: inQuery.length === 0 ? undefined : Object.fromEntries(inQuery),
    body: inBody.length === 0 ? undefined : Object.fromEntries(inBody),
  };
}

/** Facilitators check the example against the schema, so one that does not fit is worse than none. */
function exampleFor(body: JsonSchema, { route, note }: Reading): unknown {
  const example = makeExample(body);
  const compiled = compileSchema(body);
  if (compiled.ok && compiled.check(example).length === 0) return example;
  note("FAREBOX_EXAMPLE_MISSING", `Catalogs are given no example of the body of ${route.key}, for none fits by itself`);
  return undefined;
}

interface DraftParts {
  readonly info: HttpInput;
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  readonly checks: Draft["checks"] & { readonly methods: readonly string[] };
}

function toDraft({ output, pathSchema }: Common, { info, properties, required, checks }: DraftParts): Draft {
  const { methods, ...schemas } = checks;
  const moved = Object.entries({ ...properties, ...(pathSchema === undefined ? {} : { pathParams: pathSchema }) });
  return {
    methods,
    checks: { ...schemas, path: pathSchema },
    declaration: {
      info: { input: info, ...output.info },
      schema: {
        $schema: JSON_SCHEMA_2020_12,
        type: "object",
        properties: {
          input: {
            type: "object",
            properties: {
              type: { type: "string", const: "http" },
              method: { type: "string", enum: methods },
              ...Object.fromEntries(
                moved.map(([name, schema]) => [name, moveSchema(schema, `#/properties/input/properties/${name}`)]),
              ),
            },
            required: ["type", "method", ...required],
            additionalProperties: false,
          },
          ...output.properties,
        },
        required: ["input"],
      },
    },
  };
}
