import type { CompiledDeclaration, ConfigIssue, RouteFacts, RoutePath } from "@farebox/core";
import { createIssues } from "@farebox/core/issues";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BazaarDeclaration } from "../declaration.js";
import { bazaarExtension } from "./extension.js";

interface Declared {
  readonly compiled: CompiledDeclaration | undefined;
  readonly issues: readonly ConfigIssue[];
  /** The declaration that a request sends. */
  at(method?: string, path?: ReturnType<typeof pathAt>): BazaarDeclaration | undefined;
}

/** Compiles a declaration as core does at start, by default for `GET /weather`. */
function declare(
  form: unknown,
  { publicPath = "", ...route }: Partial<RouteFacts> & { publicPath?: string } = {},
): Declared {
  const issues = createIssues();
  const paths: readonly RoutePath[] = [{ template: "/weather", params: [] }];
  const facts: RouteFacts = { key: "GET /weather", method: "GET", paths, description: "", mimeType: "", ...route };
  const compiled = bazaarExtension().compile(form, {
    path: "bazaar",
    route: facts,
    resource: undefined,
    publicPath,
    ownHosts: [],
    isAuthOnly: false,
    isPricedPerRequest: false,
    issues,
  });
  return {
    compiled,
    issues: issues.found,
    at: (method = facts.method ?? "GET", path = pathAt("/weather")) =>
      compiled?.at({ method, locate: () => path }) as BazaarDeclaration | undefined,
  };
}

function pathAt(routeTemplate: string | undefined, pathParams: Readonly<Record<string, string>> = {}) {
  return { routeTemplate, pathParams };
}

const CITY = { properties: { city: { type: "string" } }, required: ["city"] };
const POST = { key: "POST /weather", method: "POST" } as const;
const ANY = { key: "/weather", method: undefined };

test.each([
  ["https://api.example.com/weather?city=Paris", undefined],
  ["https://api.example.com/Weather/", "/weather"],
  ["https://api.example.com//weather", "/weather"],
  [undefined, undefined],
])("a path without parameters that is requested as %s declares the template %s", (url, routeTemplate) => {
  const { compiled } = declare({ discoverable: true });
  const declared = compiled?.at({ method: "GET", locate: () => pathAt("/weather"), ...(url && { url }) });
  expect((declared as BazaarDeclaration).routeTemplate).toBe(routeTemplate);
});

describe("a valid declaration", () => {
  test("a declaration is sent with its info, its schema and the method of the request", () => {
    const form = {
      discoverable: true,
      input: { city: "Paris" },
      inputSchema: {
        queryParams: { city: { type: "string", description: "Which", required: true }, n: { type: "integer" } },
      },
      outputSchema: { type: "object", properties: { celsius: { type: "number" } } },
    };
    const { at, issues } = declare(form);
    expect(issues).toEqual([]);
    expect(at("HEAD")).toEqual({
      info: { input: { type: "http", queryParams: { city: "Paris" }, method: "HEAD" }, output: { type: "json" } },
      schema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: {
          input: {
            type: "object",
            properties: {
              type: { type: "string", const: "http" },
              method: { type: "string", enum: ["HEAD"] },
              queryParams: {
                type: "object",
                properties: { city: { type: "string", description: "Which" }, n: { type: "integer" } },
                required: ["city"],
              },
            },
            required: ["type", "method"],
            additionalProperties: false,
          },
          output: {
            type: "object",
            properties: { type: { type: "string" }, example: form.outputSchema },
            required: ["type"],
          },
        },
        required: ["input"],
      },
    });
  });

  test("path parameters are filled in per request; without them the declaration is always the same", () => {
    const { at } = declare(
      { pathParamsSchema: { properties: { id: { type: "integer" } } } },
      {
        paths: [{ template: "/weather/:id", params: ["id"] }],
      },
    );
    expect(at("GET", pathAt("/weather"))).toBe(at("GET", pathAt("/weather")));
    expect(at("GET", pathAt("/weather/:id", { id: "7" }))).toMatchObject({
      routeTemplate: "/weather/:id",
      info: { input: { pathParams: { id: 7 } } },
    });
    expect(at("GET", pathAt("/weather/:id", { id: "x" }))).toHaveProperty("info.input.pathParams.id", "x");
  });

  test.each<[why: string, path: ReturnType<typeof pathAt>]>([
    ["a regular expression, which has no template", pathAt(undefined, { 0: "a" })],
    ["any path, which identifies no route", pathAt("/:var1", { var1: "a/b" })],
  ])("a route is listed by its path when it is %s", (_why, path) => {
    const { at } = declare({});
    expect(at("GET", path)).toBe(at("GET", pathAt("/weather")));
  });

  test.each<[kind: string, form: object, method: string, input: object]>([
    ["a query", { input: { city: "Paris" }, inputSchema: CITY }, "GET", { type: "http", method: "GET" }],
    [
      "a body",
      { input: { city: "Paris" }, inputSchema: CITY },
      "POST",
      { type: "http", method: "POST", bodyType: "json" },
    ],
    [
      "a tool",
      { toolName: "weather", description: "Now", inputSchema: CITY, example: { city: "Paris" } },
      "POST",
      { type: "mcp", toolName: "weather", description: "Now", inputSchema: { type: "object", ...CITY } },
    ],
  ])("without examples, %s keeps what a call needs", (_kind, form, method, input) => {
    const { at, compiled } = declare({ ...form, output: { example: { celsius: 20 } } }, ANY);
    const declared = at(method, pathAt("/users/:id", { id: "7" }));
    if (declared === undefined) throw new Error("not declared");
    const { info, ...rest } = declared;
    const pathParams = "toolName" in form ? {} : { pathParams: { id: "7" } };
    expect(JSON.stringify(info)).toContain("Paris");
    expect(compiled?.withoutExamples?.(declared)).toEqual({
      ...rest,
      info: { input: { ...input, ...pathParams }, output: { type: "json" } },
    });
  });

  test("a declaration is not sent when it is not discoverable", () => {
    const { at, compiled } = declare({ discoverable: false, inputSchema: CITY });
    expect(at()).toBeUndefined();
    expect(compiled?.isPublic).toBe(false);
  });

  test("a route for any method declares a query for some methods and a body for others", () => {
    const { at } = declare({ inputSchema: CITY }, ANY);
    expect(at("DELETE")).toHaveProperty("schema.properties.input.properties.queryParams.required", ["city"]);
    expect(at("PUT")).toHaveProperty("schema.properties.input.properties.body.required", ["city"]);
    expect(at("QUERY")).toBeUndefined();
  });

  test("a declaration with a body is not sent for methods without a body", () => {
    const { at } = declare({ bodyType: "json", inputSchema: CITY }, ANY);
    expect(at("GET")).toBeUndefined();
    expect(at("POST")).toHaveProperty("info.input.bodyType", "json");
  });

  test.each<[why: string, schema: object, body: unknown]>([
    ["the required properties, of their types", CITY, { city: "string" }],
    ["the default", { properties: { n: { type: "integer", default: 3 } }, required: ["n"] }, { n: 3 }],
    [
      "the first value of an enum",
      { properties: { u: { enum: ["metric", "imperial"] } }, required: ["u"] },
      { u: "metric" },
    ],
    ["an empty object without required properties", { properties: { n: { type: "integer" } } }, {}],
  ])("an example of the body is derived from the schema: %s", (_why, inputSchema, body) => {
    const { at, compiled } = declare({ inputSchema }, POST);
    expect(at("POST")).toHaveProperty("info.input.body", body);
    expect(compiled?.notices).toEqual([]);
  });

  test("a notice says when no example of the body can be derived", () => {
    const zip = { properties: { zip: { type: "string", pattern: "^[0-9]{5}$" } }, required: ["zip"] };
    const { at, compiled } = declare({ inputSchema: zip }, POST);
    expect(at("POST")).not.toHaveProperty("info.input.body");
    expect(compiled?.notices).toMatchObject([{ code: "FAREBOX_EXAMPLE_MISSING" }]);
  });

  test("references to own definitions are adjusted to their new place", () => {
    const inputSchema = {
      properties: { at: { $ref: "#/$defs/point" } },
      $defs: { point: { type: "object", properties: { x: { type: "number" } }, required: ["x"] } },
    };
    const { at, issues } = declare({ inputSchema, input: { at: { x: 1 } } });
    expect(issues).toEqual([]);
    expect(at()).toHaveProperty(
      "schema.properties.input.properties.queryParams.properties.at.$ref",
      "#/properties/input/properties/queryParams/$defs/point",
    );
    expect(declare({ inputSchema, input: { at: {} } }).issues).toHaveLength(1);
  });

  test("the type of the output follows from the media type", () => {
    const typeOf = (mimeType: string) => declare({ output: { example: "x" } }, { mimeType }).at();
    expect(typeOf("text/plain; charset=utf-8")).toHaveProperty("info.output.type", "text");
    expect(typeOf("application/ld+json")).toHaveProperty("info.output.type", "json");
    expect(typeOf("image/png")).toHaveProperty("info.output.type", "image/png");
  });

  test("the declaration of a tool is the same for every request", () => {
    const { at } = declare({ tool: "weather", inputSchema: CITY }, POST);
    expect(at("POST", pathAt("/:tenant/mcp", { tenant: "a" }))).toBe(at("POST"));
    expect(at("POST")?.info.input).toEqual({
      type: "mcp",
      toolName: "weather",
      inputSchema: { type: "object", ...CITY },
    });
  });

  test("the outline for older documents has input and output", () => {
    const { at, compiled } = declare({ input: { city: "Paris" }, output: { example: { celsius: 1 } } });
    const outline = compiled?.outline?.(at() as never, "https://a.example/weather");
    expect(outline).toEqual({
      input: { type: "http", queryParams: { city: "Paris" }, method: "GET", resource: "https://a.example/weather" },
      output: { celsius: 1 },
    });
  });
});

describe("a suspicious declaration", () => {
  test.each<[code: string, form: object, route: object]>([
    ["FAREBOX_PATH_PARAM_UNKNOWN", { pathParams: { idd: 1 } }, { paths: [{ template: "/:id", params: ["id"] }] }],
    ["FAREBOX_TEMPLATE_NOT_LISTABLE", {}, { paths: [{ template: "/50%/:id", params: ["id"] }] }],
    ["FAREBOX_TEMPLATE_NOT_LISTABLE", {}, { paths: [{ template: "/%252e%252e/:id", params: ["id"] }] }],
    ["FAREBOX_TEMPLATE_NOT_LISTABLE", {}, { paths: [{ template: "/:id", params: ["id"] }], publicPath: "/a%3Fb" }],
    ["FAREBOX_TEMPLATE_NOT_LISTABLE", {}, { paths: [{ template: "/:prototype", params: ["prototype"] }] }],
  ])("a declaration is noted as %s: %j", (code, form, route) => {
    expect(declare(form, route).compiled?.notices).toMatchObject([{ code }]);
  });
});

const NEST = Array.from({ length: 40 }).reduce<object>((inner) => ({ properties: { a: inner } }), {});
const READY = {
  info: { input: { type: "http", queryParams: { city: "Paris" } } },
  schema: {
    type: "object",
    properties: { input: { type: "object", properties: { type: { const: "http" }, queryParams: { type: "object" } } } },
  },
};

describe("an invalid declaration", () => {
  test.each<[path: string, expected: RegExp, form: unknown, route?: object]>([
    ["bazaar", /an object/, true],
    ["bazaar", /an object/, []],
    ["bazaar.discoverable", /true or false/, { discoverable: "yes" }],
    ["bazaar.descripton", /one of the keys/, { descripton: "x" }],
    ["bazaar.input", /an object/, { input: "Paris" }],
    ["bazaar.input", /matches its own schema/, { inputSchema: CITY, input: { city: 1 } }],
    ["bazaar.input", /matches its own schema/, { inputSchema: CITY, input: {} }, POST],
    ["bazaar.inputSchema", /an object/, { inputSchema: 7 }],
    ["bazaar.inputSchema.city", /under "properties" or "queryParams"/, { inputSchema: { city: { type: "string" } } }],
    ["bazaar.inputSchema", /draft 2020-12/, { inputSchema: { properties: { a: { type: "text" } } } }],
    ["bazaar.inputSchema", /draft 2020-12/, { inputSchema: { required: "city" } }],
    [
      "bazaar.inputSchema",
      /references within/,
      { inputSchema: { properties: { a: { $ref: "https://evil.example/s" } } } },
    ],
    ["bazaar.inputSchema", /references within/, { inputSchema: { $id: "https://evil.example/s" } }],
    ["bazaar.inputSchema", /draft 2020-12/, { inputSchema: { properties: { a: { $ref: "#/$defs/none" } } } }],
    [
      "bazaar.inputSchema.queryParams.city",
      /\{ type, description, required \}/,
      { inputSchema: { queryParams: { city: "string" } } },
    ],
    [
      "bazaar.inputSchema.queryParams.city.required",
      /true or false/,
      { inputSchema: { queryParams: { city: { required: "yes" } } } },
    ],
    ["bazaar.inputSchema", /alone/, { inputSchema: { queryParams: {}, ...CITY } }],
    ...["ftp://a.example/mcp", "https://u@a.example/mcp", "/mcp", "https://a.example/m cp", 7].flatMap(
      (serverUrl): [path: string, expected: RegExp, form: unknown][] => [
        ["bazaar.serverUrl", /URL of the MCP server/, { toolName: "a", inputSchema: CITY, serverUrl }],
        ["bazaar.serverUrl", /URL of the MCP server/, { ...READY, serverUrl }],
      ],
    ),
    ["bazaar.bodyType", /one of json/, { bodyType: "xml" }, POST],
    ["bazaar.bodyType", /has no body/, { bodyType: "json" }],
    ["bazaar.outputSchema", /draft 2020-12/, { outputSchema: { type: "objekt" } }],
    ["bazaar.output", /an object/, { output: 1 }],
    ["bazaar.output.schema", /beside outputSchema/, { outputSchema: {}, output: { schema: {} } }],
    ["bazaar.output.example", /matches its own schema/, { outputSchema: { type: "string" }, output: { example: 1 } }],
    ["bazaar", /GET, HEAD/, {}, { key: "OPTIONS /x", method: "OPTIONS" }],
    ["bazaar.toolName", /1 to 128/, { toolName: "", inputSchema: CITY }],
    ["bazaar.toolName", /1 to 128/, { toolName: "a b", inputSchema: CITY }],
    ["bazaar.inputSchema", /a JSON Schema/, { toolName: "a" }],
    ["bazaar.description", /at most 500/, { toolName: "a", inputSchema: CITY, description: "x".repeat(501) }],
    ["bazaar.transport", /streamable-http, sse/, { toolName: "a", inputSchema: CITY, transport: "stdio" }],
    ["bazaar.example", /matches its own schema/, { toolName: "a", inputSchema: CITY, example: {} }],
    ["bazaar.bazaar", /one level less/, { bazaar: READY }],
    ["bazaar", /both objects/, { info: READY.info }],
    ["bazaar.info.input", /an object/, { ...READY, info: {} }],
    ["bazaar.info.input.type", /http/, { ...READY, info: { input: {} } }],
    [
      "bazaar.info.input.method",
      /as the route has it/,
      { ...READY, info: { input: { type: "http", method: "POST" } } },
    ],
    ["bazaar.info.input.bodyType", /has no body/, { ...READY, info: { input: { type: "http", bodyType: "json" } } }],
    ["bazaar.info", /matches its own schema/, { ...READY, info: { input: { type: "http", queryParams: 1 } } }],
    ["bazaar.schema", /draft 2020-12/, { ...READY, schema: { type: 1 } }],
    ["bazaar.schema", /references within/, { ...READY, schema: { $ref: "file:///etc/passwd" } }],
    ["bazaar.routeTemplate", /what the route's path says/, { ...READY, routeTemplate: "/other" }],
    ["bazaar.info.input.toolName", /1 to 128/, { info: { input: { type: "mcp" } }, schema: {} }],
    ["bazaar.info.input.inputSchema", /JSON Schema/, { info: { input: { type: "mcp", toolName: "a" } }, schema: {} }],
  ])("a declaration has an issue at %s, %s: %j", (path, expected, form, route) => {
    const { issues } = declare(form, route);
    expect(issues).toEqual([expect.objectContaining({ path, expected: expect.stringMatching(expected) })]);
  });
});

describe("any JSON as a declaration", () => {
  const SEED = Number(process.env["FAREBOX_SEED"]);
  const keys = fc.constantFrom(
    ...["discoverable", "input", "inputSchema", "outputSchema", "bodyType", "info", "schema", "toolName", "tool"],
    ...["queryParams", "properties", "required", "type", "$ref", "$id", "$defs", "description", "example", "output"],
    ...["pathParams", "pathParamsSchema", "method", "routeTemplate", "bazaar", "__proto__", "constructor", "items"],
  );
  const leaves = fc.oneof(
    fc.constantFrom("http", "mcp", "string", "object", "json", "GET", "#", "#/", "https://a.example/", "\u0000", ""),
    fc.boolean(),
    fc.integer(),
    fc.constant(null),
    fc.string(),
  );
  const { form } = fc.letrec((tie) => ({
    form: fc.oneof(
      { depthSize: "small" },
      leaves,
      fc.array(tie("form"), { maxLength: 3 }),
      fc.dictionary(keys, tie("form")),
    ),
  }));

  test(`any JSON is compiled or has an issue (seed ${SEED})`, () => {
    const routes = fc.constantFrom({}, POST, ANY);
    fc.assert(
      fc.property(fc.oneof(form, fc.jsonValue()), routes, (given, route) => {
        const { issues, at, compiled } = declare(given, route);
        if (issues.length > 0) return;
        expect(compiled).toBeDefined();
        if (compiled?.isPublic === true) expect(at(route === POST ? "POST" : "GET") ?? at("POST")).toBeDefined();
      }),
      { seed: SEED, numRuns: 400 },
    );
  });

  test("a declaration may be nested deeply", () => {
    expect(() => declare({ inputSchema: NEST })).not.toThrow();
  });
});
