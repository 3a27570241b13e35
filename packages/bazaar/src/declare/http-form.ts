/**
 * HTTP routes as a seller declares them: `{ discoverable, input, inputSchema, outputSchema }`, or the fields of the helper of the
 * reference implementation, `declareDiscoveryExtension`.
 *
 * @see x402 v2 extension `bazaar`
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { issuePath } from "@farebox/core/issues";
import { isJsonObject } from "@farebox/core/protocol";
import { BODY_TYPES, type BodyType, type HttpInput, JSON_SCHEMA_2020_12, type JsonSchema } from "../declaration.js";
import {
  BODY_METHODS,
  checkExample,
  type DeclaredOutput,
  type Draft,
  type FormContext,
  makeExample,
  methodsOf,
  QUERY_METHODS,
  readObject,
  readOutput,
  readSchema,
  readWord,
} from "./draft.js";
import type { HttpForm } from "./forms.js";
import { compileSchema, moveSchema } from "./json-schema.js";

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

/** Reads the form into one draft for methods with a query and one for methods with a body. */
export function readHttpForm(form: JsonObject, context: FormContext): readonly Draft[] {
  const { path, issues } = context;
  if (!issues.checkKeys(path, form, KEYS)) return [];
  const methods = methodsOf(context.route);
  const bodyType = readWord(`${path}.bodyType`, form["bodyType"], BODY_TYPES, context);
  const withBody = methods.filter((method) => BODY_METHODS.includes(method));
  const withQuery = bodyType === undefined ? methods.filter((method) => QUERY_METHODS.includes(method)) : [];
  if (bodyType !== undefined && withBody.length === 0) {
    issues.add(`${path}.bodyType`, `nothing for ${methods.join(", ")}, which has no body`, bodyType);
  }
  const common: Common = {
    schemas: readInputSchema(form["inputSchema"], context),
    pathSchema: readPathParams(form, context),
    output: readOutput(form, context),
  };
  return [
    ...(withQuery.length > 0 ? [draftQuery(form, { ...common, methods: withQuery }, context)] : []),
    ...(withBody.length > 0 ? [draftBody(form, { ...common, methods: withBody, bodyType }, context)] : []),
  ];
}

/** The two ways in which a seller describes the input: a map of query parameters, and a JSON Schema. */
interface WrittenSchemas {
  readonly query: JsonSchema | undefined;
  readonly main: JsonSchema | undefined;
}

interface Common {
  readonly schemas: WrittenSchemas;
  readonly pathSchema: JsonSchema | undefined;
  readonly output: DeclaredOutput;
}

interface Drafting extends Common {
  readonly methods: readonly string[];
}

function readInputSchema(given: unknown, context: FormContext): WrittenSchemas {
  const path = `${context.path}.inputSchema`;
  if (given === undefined) return { query: undefined, main: undefined };
  const written = readObject(path, given, context) ?? {};
  const { queryParams, ...rest } = written;
  const hasRest = Object.keys(rest).length > 0 || queryParams === undefined;
  return {
    query: queryParams === undefined ? undefined : readQueryParams(queryParams, context),
    main: hasRest ? readSchema(path, rest, context) : undefined,
  };
}

/** Turns `{ city: { type, description, required: true } }` into JSON Schema. */
function readQueryParams(given: unknown, context: FormContext): JsonSchema | undefined {
  const path = `${context.path}.inputSchema.queryParams`;
  const params = Object.entries(readObject(path, given, context) ?? {});
  const required: string[] = [];
  const properties = params.map(([name, param]) => {
    const at = issuePath(path, name);
    if (!isJsonObject(param)) {
      context.issues.add(at, '{ type, description, required }, such as { type: "string" }', param);
      return [name, {}] as const;
    }
    const { required: isRequired, ...schema } = param;
    if (isRequired === true) required.push(name);
    // For an object parameter, `required` lists its own properties.
    if (Array.isArray(isRequired)) return [name, param] as const;
    if (isRequired !== undefined && typeof isRequired !== "boolean") {
      context.issues.add(`${at}.required`, "true or false", isRequired);
    }
    return [name, schema] as const;
  });
  const schema = { properties: Object.fromEntries(properties), ...(required.length > 0 ? { required } : {}) };
  return readSchema(path, schema, context);
}

/** Reads `pathParams` and `pathParamsSchema`; returns the schema, if there is one. Requests bring the values. */
function readPathParams(form: JsonObject, context: FormContext): JsonSchema | undefined {
  const { path } = context;
  const example = readObject(`${path}.pathParams`, form["pathParams"], context) ?? {};
  const given = form["pathParamsSchema"];
  const schema = given === undefined ? undefined : readSchema(`${path}.pathParamsSchema`, given, context);
  const properties = isJsonObject(schema?.["properties"]) ? Object.keys(schema["properties"]) : [];
  notePathParams(new Set([...Object.keys(example), ...properties]), context);
  return schema;
}

/** An unknown name only looks wrong: the mount path may have parameters that the route key does not show. */
function notePathParams(names: ReadonlySet<string>, { route: { paths, key }, note }: FormContext): void {
  if (paths === undefined) return;
  const known = new Set(paths.flatMap(({ params }) => params));
  for (const name of names) {
    if (known.has(name)) continue;
    note(
      "FAREBOX_PATH_PARAM_UNKNOWN",
      `The declaration names the path parameter ${JSON.stringify(name)}, which ${key} does not have`,
    );
  }
}

function draftQuery(form: JsonObject, drafting: Drafting, context: FormContext): Draft {
  const { schemas, methods } = drafting;
  const { path, issues, route } = context;
  if (schemas.query !== undefined && schemas.main !== undefined && route.method !== undefined) {
    issues.addText(`${path}.inputSchema`, `queryParams alone, or properties alone, for ${route.method}`, "both");
  }
  const schema = schemas.query ?? schemas.main;
  const example = readObject(`${path}.input`, form["input"], context);
  checkExample(`${path}.input`, example, schema, context);
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
  context: FormContext,
): Draft {
  const { schemas, methods, bodyType = "json" } = drafting;
  const { path } = context;
  const body = schemas.main ?? { type: bodyType === "text" ? "string" : "object" };
  const given = splitExample(form["input"], schemas.query);
  checkExample(`${path}.input`, given.query, schemas.query, context);
  checkExample(`${path}.input`, given.body, body, context);
  const example = given.body ?? exampleFor(body, context);
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

/** Splits an example into the declared query parameters and the rest, which is the body. */
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

/** Facilitators refuse an example that does not match its schema, so a wrong one is left out. */
function exampleFor(body: JsonSchema, { route, note }: FormContext): unknown {
  const example = makeExample(body);
  const compiled = compileSchema(body);
  if (compiled.ok && compiled.check(example).length === 0) return example;
  note(
    "FAREBOX_EXAMPLE_MISSING",
    `The declaration of ${route.key} has no example of the body, and none can be derived from its schema`,
  );
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
