import { performance } from "node:perf_hooks";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readRegistration } from "./read-registration.js";
import { DECLARATION, RESOURCE, requestWith, TERMS, TOOL_DECLARATION } from "./request.fixture.js";

const SEED = Number(process.env["FAREBOX_SEED"] ?? Date.now() % 2 ** 31);
console.info(`registrations: seed ${SEED}`);

const resourceAt = (url: unknown) => ({ ...RESOURCE, url });
const inputWith = (input: object) => ({ ...DECLARATION, info: { input: { ...DECLARATION.info.input, ...input } } });
const schemaWith = (schema: object) => ({ ...DECLARATION, schema });

function registrationOf(changes: Parameters<typeof requestWith>[0], rules = {}) {
  const read = readRegistration(requestWith(changes), rules);
  if (read.kind !== "registration") throw new TypeError(`${read.kind}: ${"reason" in read ? read.reason : ""}`);
  return read.registration;
}

describe("a payment with a declaration", () => {
  test("is read with what it declares, and with what it was asked to pay", () => {
    expect(registrationOf({})).toEqual({
      type: "http",
      resource: "https://api.example.com/weather",
      toolName: "",
      info: DECLARATION.info,
      schema: DECLARATION.schema,
      description: "Weather for a city",
      mimeType: "application/json",
      offer: TERMS,
    });
  });

  const KEYS: readonly (readonly [why: string, url: string, bazaar: unknown, resource: string, toolName: string])[] = [
    ["without query and hash", "https://a.example/x?y=1#z", DECLARATION, "https://a.example/x", ""],
    ["with its port", "https://a.example:8443/x", DECLARATION, "https://a.example:8443/x", ""],
    [
      "as origin and template",
      "https://a.example/users/7?q=1",
      { ...DECLARATION, routeTemplate: "/users/:id" },
      "https://a.example/users/:id",
      "",
    ],
    [
      "as a template with an open end",
      "https://a.example/f/a/b",
      { ...DECLARATION, routeTemplate: "/f/:var1" },
      "https://a.example/f/:var1",
      "",
    ],
    ["as an MCP identifier, untouched", "mcp://tool/add", TOOL_DECLARATION, "mcp://tool/add", "add"],
    [
      "as an MCP identifier with a query, untouched",
      "mcp://Tool/add?v=1#x",
      TOOL_DECLARATION,
      "mcp://Tool/add?v=1#x",
      "add",
    ],
    ["as an MCP server's URL", "https://a.example/mcp?x=1", TOOL_DECLARATION, "https://a.example/mcp", "add"],
  ];
  test.each(KEYS)("has its key %s", (_why, url, bazaar, resource, toolName) => {
    expect(registrationOf({ bazaar, resource: resourceAt(url) })).toMatchObject({ resource, toolName });
  });

  test("keeps what is fit of the service's name, tags and icon, and leaves out the rest", () => {
    const service = {
      serviceName: "Weather",
      tags: ["weather", "WEATHER", "x".repeat(33), 7, "\u0007", "a", "b", "c", "d", "e"],
      iconUrl: "https://127.0.0.1/icon.png",
    };
    const { serviceName, tags, iconUrl } = registrationOf({ resource: { ...RESOURCE, ...service } });
    expect({ serviceName, tags, iconUrl }).toEqual({ serviceName: "Weather", tags: ["weather", "a", "b", "c", "d"] });
    expect(registrationOf({ resource: { ...RESOURCE, iconUrl: "https://a.example/i.png" } }).iconUrl).toBe(
      "https://a.example/i.png",
    );
  });

  test("is listed with the most that upto takes, not with what was taken this time", () => {
    const most = { ...TERMS, scheme: "upto", amount: "9000" };
    const taken = { ...most, amount: "10" };
    expect(registrationOf({ terms: taken, accepted: most }).offer.amount).toBe("9000");
    expect(registrationOf({ terms: taken, accepted: { ...most, payTo: "0x1" } }).offer.amount).toBe("10");
  });

  test("that has none is none", () => {
    for (const bazaar of [null, undefined]) {
      const request = requestWith();
      const payload = { ...request.paymentPayload, extensions: { bazaar } };
      expect(readRegistration({ ...request, paymentPayload: payload })).toEqual({ kind: "none" });
    }
  });

  test("may be on a local host and without TLS where that is allowed", () => {
    const resource = resourceAt("http://localhost:4021/weather");
    expect(registrationOf({ resource }, { allowLocal: true }).resource).toBe("http://localhost:4021/weather");
  });
});

const nested = (depth: number): unknown => (depth === 0 ? {} : { a: nested(depth - 1) });
const wide = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));
const fanOut = Object.fromEntries(
  Array.from({ length: 40 }, (_, at) => [
    `d${at}`,
    { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
  ]),
);

const REJECTED: readonly (readonly [why: string, changes: Parameters<typeof requestWith>[0], reason: RegExp])[] = [
  ["is a text", { bazaar: "x" }, /no object/],
  ["is a list", { bazaar: [] }, /no object/],
  ["has no info", { bazaar: { schema: {} } }, /info.input/],
  ["has no schema", { bazaar: { info: DECLARATION.info } }, /schema must be/],
  ["has an input of another type", { bazaar: inputWith({ type: "ftp" }) }, /"http" or "mcp"/],
  ["has no method", { bazaar: inputWith({ method: undefined }) }, /method must be one of/],
  ["has a method that is none", { bazaar: inputWith({ method: "TRACE" }) }, /method must be one of/],
  ["has a body for GET", { bazaar: inputWith({ bodyType: "json" }) }, /bodyType is only for/],
  ["has a body of another type", { bazaar: inputWith({ method: "POST", bodyType: "xml" }) }, /bodyType must be/],
  [
    "does not fit its schema",
    { bazaar: inputWith({ queryParams: {} }) },
    /^info\.input\.queryParams must have the field city$/,
  ],
  ["has a field that its schema forbids", { bazaar: inputWith({ more: 1 }) }, /must not have the field more/],
  [
    "has a tool without a name",
    { bazaar: { ...TOOL_DECLARATION, info: { input: { type: "mcp", inputSchema: {} } } } },
    /toolName/,
  ],
  ["has a schema that is none", { bazaar: schemaWith({ type: "texts" }) }, /no JSON Schema: its type/],
  ["has a reference elsewhere", { bazaar: schemaWith({ $ref: "https://evil.example/s.json" }) }, /\$ref to another/],
  [
    "has a reference to a file",
    { bazaar: schemaWith({ properties: { a: { $ref: "file:///etc/passwd" } } }) },
    /\$ref to another/,
  ],
  [
    "has a reference elsewhere in a tool's schema",
    {
      bazaar: {
        ...TOOL_DECLARATION,
        info: { input: { ...TOOL_DECLARATION.info.input, inputSchema: { $ref: "//evil.example" } } },
      },
    },
    /\$ref to another/,
  ],
  ["has an $id", { bazaar: schemaWith({ $id: "https://api.example.com/s" }) }, /has a \$id/],
  ["has a dynamic reference", { bazaar: schemaWith({ $dynamicRef: "#x" }) }, /has a \$dynamicRef/],
  ["has a reference to nothing", { bazaar: schemaWith({ $ref: "#/$defs/x" }) }, /its \$ref/],
  ["has a schema that refers to itself", { bazaar: schemaWith({ $ref: "#" }) }, /too much work/],
  [
    "has a schema whose references double",
    { bazaar: schemaWith({ $defs: { ...fanOut, d40: {} }, $ref: "#/$defs/d0" }) },
    /too much work/,
  ],
  ["is too long", { bazaar: inputWith({ queryParams: { city: "x".repeat(17_000) } }) }, /longer than 16384 bytes/],
  ["is too deep", { bazaar: inputWith({ queryParams: nested(30) as object }) }, /nested deeper/],
  ["has too many values", { bazaar: inputWith({ queryParams: wide(2_001) }) }, /more than 2000 values/],
  [
    "has a prototype in it",
    { bazaar: JSON.parse('{"info":{"input":{"__proto__":{"x":1}}},"schema":{}}') },
    /a key __proto__/,
  ],
  ["has a constructor in it", { bazaar: schemaWith({ properties: { constructor: {} } }) }, /a key constructor/],
  ["has a NUL in it", { bazaar: inputWith({ queryParams: { city: "a\0" } }) }, /not well-formed/],
  ["has half a character in it", { bazaar: inputWith({ queryParams: { city: "\ud800" } }) }, /not well-formed/],
  ["has no resource", { resource: null }, /names no resource/],
  ["has no URL", { resource: {} }, /no resource.url/],
  ["has a relative URL", { resource: resourceAt("/weather") }, /no absolute URL/],
  ["has a URL of another kind", { resource: resourceAt("javascript:alert(1)") }, /neither https nor/],
  ["has an MCP URL for an endpoint", { resource: resourceAt("mcp://tool/x") }, /only for an MCP tool/],
  ["has a password in its URL", { resource: resourceAt("https://u:p@a.example/") }, /a name or a password/],
  ["is not on https", { resource: resourceAt("http://a.example/") }, /not https/],
  ["is on localhost", { resource: resourceAt("https://localhost/") }, /cannot reach/],
  ["is on a loopback address", { resource: resourceAt("https://2130706433/") }, /cannot reach/],
  ["is on a mapped loopback address", { resource: resourceAt("https://[::ffff:127.0.0.1]/") }, /cannot reach/],
  ["is where clouds keep their keys", { resource: resourceAt("https://169.254.169.254/latest") }, /cannot reach/],
  ["is on an internal name", { resource: resourceAt("https://db.internal./") }, /cannot reach/],
  [
    "has a URL as long as a book",
    { resource: resourceAt(`https://a.example/${"x".repeat(2_100)}`) },
    /longer than 2048/,
  ],
  [
    "has a description of 501 characters",
    { resource: { ...RESOURCE, description: "x".repeat(501) } },
    /longer than 500/,
  ],
  ["has a description that is none", { resource: { ...RESOURCE, description: 5 } }, /description/],
  ["has a description with a NUL", { resource: { ...RESOURCE, description: "\0" } }, /not well-formed/],
  [
    "sends readers to another origin",
    {
      bazaar: {
        ...DECLARATION,
        schema: {},
        info: { input: { ...DECLARATION.info.input, resource: "https://evil.example/" } },
      },
    },
    /another origin/,
  ],
  ["has a network that is none", { terms: { ...TERMS, network: "base" } }, /requirements/],
  ["has an amount that is none", { terms: { ...TERMS, amount: "-1" } }, /requirements/],
];

const TEMPLATES: readonly (readonly [template: unknown, reason: RegExp])[] = [
  ["//evil.example/weather", /another origin/],
  ["/%2F/evil.example", /another origin/],
  ["https://evil.example/weather", /no path/],
  ["/https:%2F%2Fevil.example", /another origin/],
  ["/%252F%252Fevil.example", /another origin/],
  ["/../admin", /out of its own path/],
  ["/%2e%2e/admin", /out of its own path/],
  ["/%25252e%25252e/admin", /out of its own path/],
  ["/%25252525252e", /percent-encoded/],
  ["/%zz", /percent-encoded/],
  ["/%5Cevil.example", /another origin/],
  ["/weather%3Fx=1", /no path|more than a path/],
  ["/weather%20x", /more than a path/],
  ["/", /no path/],
  ["*", /no path/],
  ["/wétter", /no path/],
  ["/weather/:day", /does not match/],
  ["/news", /does not match/],
  [`/${"a".repeat(600)}`, /longer than 512/],
  [7, /is no text/],
];

describe("a declaration is rejected, with a reason, when it", () => {
  test.each(REJECTED)("%s", (_why, changes, reason) => {
    expect(readRegistration(requestWith(changes))).toEqual({ kind: "rejected", reason: expect.stringMatching(reason) });
  });

  test.each(TEMPLATES)("has the template %s", (routeTemplate, reason) => {
    const read = readRegistration(requestWith({ bazaar: { ...DECLARATION, routeTemplate } }));
    expect(read).toEqual({ kind: "rejected", reason: expect.stringMatching(reason) });
  });

  test("has a reason that is one line, whatever the seller wrote", () => {
    const read = readRegistration(requestWith({ bazaar: inputWith({ "a\nroot\u202e": 1 }) }));
    expect(read).toEqual({ kind: "rejected", reason: "info.input must not have the field a root " });
  });
});

describe("no declaration takes long", () => {
  const bomb = "(a+)+$";
  const long = "a".repeat(5_000);
  const HOSTILE: readonly (readonly [why: string, schema: object])[] = [
    [
      "a pattern that never ends",
      { properties: { input: { properties: { queryParams: { additionalProperties: { pattern: bomb } } } } } },
    ],
    ["a pattern for field names", { patternProperties: { [bomb]: { type: "string" } } }],
    ["references that double", { $defs: { ...fanOut, d40: {} }, anyOf: [{ $ref: "#/$defs/d0" }] }],
    [
      "a length asked again and again",
      {
        allOf: Array.from({ length: 400 }, () => ({ $ref: "#/$defs/a" })),
        $defs: {
          a: {
            properties: {
              input: { properties: { queryParams: { additionalProperties: { minLength: 1, maxLength: 9_999 } } } },
            },
          },
        },
      },
    ],
    [
      "a long enum for many values",
      {
        $defs: { e: { enum: Array.from({ length: 300 }, (_, at) => at) } },
        additionalProperties: { additionalProperties: { additionalProperties: { $ref: "#/$defs/e" } } },
      },
    ],
  ];
  test.each(HOSTILE)("with %s", (_why, schema) => {
    const queryParams = { city: `${long}!`, ...wide(300) };
    const request = requestWith({ bazaar: { info: { input: { ...DECLARATION.info.input, queryParams } }, schema } });
    readRegistration(request);
    const started = performance.now();
    expect(readRegistration(request).kind).not.toBe("none");
    expect(performance.now() - started).toBeLessThan(250);
  });
});

test("whatever it is asked to read, it answers", () => {
  const anything = fc.anything({ withBigInt: true, withNullPrototype: true, withObjectString: true });
  fc.assert(
    fc.property(anything, anything, anything, (bazaar, resource, terms) => {
      const { kind } = readRegistration(requestWith({ bazaar, resource, terms }));
      expect(["none", "rejected", "registration"]).toContain(kind);
    }),
    { seed: SEED, numRuns: 500 },
  );
  fc.assert(
    fc.property(fc.anything(), (request) => {
      expect(["none", "rejected"]).toContain(readRegistration(request).kind);
    }),
    { seed: SEED },
  );
});

test("an object that throws when it is read is rejected", () => {
  const trap = {
    get info() {
      throw new RangeError("no");
    },
  };
  expect(readRegistration(requestWith({ bazaar: trap })).kind).toBe("rejected");
});
