import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readRegistration } from "./read-registration.js";

/** A declaration of `GET`, as it crosses the wire. */
const DECLARATION = {
  info: {
    input: { type: "http", method: "GET", queryParams: { city: "Paris" } },
    output: { type: "json", example: {} },
  },
  schema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      input: {
        type: "object",
        properties: {
          type: { type: "string", const: "http" },
          method: { type: "string", enum: ["GET"] },
          queryParams: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        },
        required: ["type", "method"],
        additionalProperties: false,
      },
    },
    required: ["input"],
  },
};

/** A declaration of an MCP tool. */
const TOOL_DECLARATION = {
  info: {
    input: {
      type: "mcp",
      toolName: "add",
      description: "Adds two numbers",
      inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
    },
  },
  schema: { type: "object", properties: { input: { type: "object", required: ["type", "toolName"] } } },
};

const TERMS = {
  scheme: "exact",
  network: "eip155:84532",
  amount: "1000",
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
  maxTimeoutSeconds: 60,
  extra: { name: "USDC", version: "2" },
};

const RESOURCE = {
  url: "https://api.example.com/weather?city=Paris#top",
  description: "Weather for a city",
  mimeType: "application/json",
};

/** The parts of a request that a test replaces. */
interface RequestChanges {
  readonly bazaar?: unknown;
  readonly resource?: unknown;
  readonly terms?: unknown;
  readonly accepted?: unknown;
}

/** A request to verify or settle. Parts that are not given are valid. */
function requestWith(changes: RequestChanges = {}) {
  const { bazaar = DECLARATION, resource = RESOURCE, terms = TERMS, accepted = terms } = changes;
  const paymentPayload = { x402Version: 2, accepted, payload: {}, resource, extensions: { bazaar } };
  return { x402Version: 2, paymentPayload, paymentRequirements: terms };
}

const SEED = Number(process.env["FAREBOX_SEED"]);
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
  test("a registration holds the declaration and the terms of the payment", () => {
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
    [
      "in one spelling",
      "https://A.example:443/%73%6Fld/%c3%a9%2f%7e",
      DECLARATION,
      "https://a.example/sold/%C3%A9%2F~",
      "",
    ],
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
    ["as the identifier of the tool", "mcp://tool/add", TOOL_DECLARATION, "mcp://tool/add", "add"],
    ["as an MCP server's URL", "https://a.example/mcp?x=1", TOOL_DECLARATION, "https://a.example/mcp", "add"],
  ];
  test.each(KEYS)("an entry has its key %s", (_why, url, bazaar, resource, toolName) => {
    expect(registrationOf({ bazaar, resource: resourceAt(url) })).toMatchObject({ resource, toolName });
  });

  test("a registration keeps the valid service name, tags and icon, and leaves out the rest", () => {
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

  test("an upto offer is listed with its maximum, not with the amount of one settlement", () => {
    const maximum = { ...TERMS, scheme: "upto", amount: "9000" };
    const settled = { ...maximum, amount: "10" };
    expect(registrationOf({ terms: settled, accepted: maximum }).offer.amount).toBe("9000");
    expect(registrationOf({ terms: { ...settled, amount: "0" }, accepted: maximum }).offer.amount).toBe("9000");
    expect(registrationOf({ terms: settled, accepted: { ...maximum, payTo: "0x1" } }).offer.amount).toBe("10");
  });

  test("a payment without a declaration is no registration", () => {
    for (const bazaar of [null, undefined]) {
      const request = requestWith();
      const payload = { ...request.paymentPayload, extensions: { bazaar } };
      expect(readRegistration({ ...request, paymentPayload: payload })).toEqual({ kind: "none" });
    }
  });

  test.each(["localhost:4021", "127.0.0.1:4021", "[::1]:4021", "10.0.0.1"])(
    "allowLocal lists %s without TLS",
    (host) => {
      const url = `http://${host}/weather`;
      expect(registrationOf({ resource: resourceAt(url) }, { allowLocal: true }).resource).toBe(url);
    },
  );

  test.each(["http://user:secret@localhost/weather", "javascript:alert(1)", "file:///etc/passwd"])(
    "allowLocal lists no %s",
    (url) => {
      expect(readRegistration(requestWith({ resource: resourceAt(url) }), { allowLocal: true }).kind).toBe("rejected");
    },
  );
});

const declareTool = (toolName: string) => ({
  ...TOOL_DECLARATION,
  info: { input: { ...TOOL_DECLARATION.info.input, toolName } },
});

describe("the identifier of a tool", () => {
  const IDENTIFIER = /^resource\.url is not mcp:\/\/tool\/add, the only identifier of the tool that is declared$/;

  test.each([
    "mcp://TOOL/add",
    "MCP://tool/add",
    "mcp://tool/add/",
    "mcp://tool//add",
    "mcp://tool/%61dd",
    "mcp://tool/Add",
    "mcp://tool/add?x=1",
    "mcp://tool/add#x",
    "mcp://tool:80/add",
    "mcp://u:p@tool/add",
    "mcp://other/add",
    "mcp://tool/subtract",
    "mcp:tool/add",
    "mcp:///tool/add",
    "mcp://tool/add\u200b",
    "mcp://tool/./add",
    "mcp://tool/",
  ])("has no other spelling: %s", (url) => {
    const read = readRegistration(requestWith({ bazaar: TOOL_DECLARATION, resource: resourceAt(url) }));
    expect(read).toEqual({ kind: "rejected", reason: expect.stringMatching(IDENTIFIER) });
  });

  test.each(["get weather", "get%20weather", "add\u200b", "\u0430dd", "a/b", "a?b", "add\u202e"])(
    "is of no tool with a name that would need an encoding, or looks like another one: %s",
    (toolName) => {
      for (const url of [`mcp://tool/${toolName}`, `mcp://tool/${encodeURIComponent(toolName)}`]) {
        const read = readRegistration(requestWith({ bazaar: declareTool(toolName), resource: resourceAt(url) }));
        expect(read).toMatchObject({ kind: "rejected" });
      }
      expect(
        registrationOf({ bazaar: declareTool(toolName), resource: resourceAt("https://a.example/mcp") }),
      ).toMatchObject({
        toolName,
      });
    },
  );
});

test.each(["0", "00", "007", "-1", "+1", "1.5", "1e3", "0x10", " 1", "", "9".repeat(79)])(
  "the amount %s is no offer",
  (amount) => {
    for (const scheme of ["exact", "upto"]) {
      const terms = { ...TERMS, scheme, amount };
      expect(readRegistration(requestWith({ terms }))).toMatchObject({ kind: "rejected" });
    }
  },
);

const nested = (depth: number): unknown => (depth === 0 ? {} : { a: nested(depth - 1) });
const wide = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));
const fanOut = Object.fromEntries(
  Array.from({ length: 40 }, (_, at) => [
    `d${at}`,
    { allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
  ]),
);

const REJECTED: readonly (readonly [why: string, changes: Parameters<typeof requestWith>[0], reason: RegExp])[] = [
  ["is a string", { bazaar: "x" }, /not an object/],
  ["is a list", { bazaar: [] }, /not an object/],
  ["has no info", { bazaar: { schema: {} } }, /info.input/],
  ["has no schema", { bazaar: { info: DECLARATION.info } }, /schema must be/],
  ["has an input of another type", { bazaar: inputWith({ type: "ftp" }) }, /"http" or "mcp"/],
  ["has no method", { bazaar: inputWith({ method: undefined }) }, /method must be one of/],
  ["has an unknown method", { bazaar: inputWith({ method: "TRACE" }) }, /method must be one of/],
  ["has a body for GET", { bazaar: inputWith({ bodyType: "json" }) }, /bodyType is only for/],
  ["has a body of another type", { bazaar: inputWith({ method: "POST", bodyType: "xml" }) }, /bodyType must be/],
  [
    "does not match its schema",
    { bazaar: inputWith({ queryParams: {} }) },
    /^info\.input\.queryParams must have the field city$/,
  ],
  ["has a field that its schema forbids", { bazaar: inputWith({ more: 1 }) }, /must not have the field more/],
  [
    "has a tool without a name",
    { bazaar: { ...TOOL_DECLARATION, info: { input: { type: "mcp", inputSchema: {} } } } },
    /toolName/,
  ],
  ["has an invalid schema", { bazaar: schemaWith({ type: "texts" }) }, /not a JSON Schema: its type/],
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
  [
    "is too long",
    { bazaar: inputWith({ queryParams: { city: "x".repeat(17_000) } }) },
    /has 17\d{3} bytes, more than 16384/,
  ],
  ["is too deep", { bazaar: inputWith({ queryParams: nested(30) as object }) }, /nested deeper/],
  ["has too many values", { bazaar: inputWith({ queryParams: wide(2_001) }) }, /more than 2000 values/],
  [
    "has a prototype in it",
    { bazaar: JSON.parse('{"info":{"input":{"__proto__":{"x":1}}},"schema":{}}') },
    /a key __proto__/,
  ],
  ["has a constructor in it", { bazaar: schemaWith({ properties: { constructor: {} } }) }, /a key constructor/],
  ["has a NUL in it", { bazaar: inputWith({ queryParams: { city: "a\0" } }) }, /not well-formed/],
  ["has half of a surrogate pair in it", { bazaar: inputWith({ queryParams: { city: "\ud800" } }) }, /not well-formed/],
  ["has no resource", { resource: null }, /names no resource/],
  ["has no URL", { resource: {} }, /no resource.url/],
  ["has a relative URL", { resource: resourceAt("/weather") }, /not an absolute URL/],
  ["has a URL of another kind", { resource: resourceAt("javascript:alert(1)") }, /neither https nor/],
  ["has an MCP URL for an endpoint", { resource: resourceAt("mcp://tool/x") }, /only for an MCP tool/],
  ["has a password in its URL", { resource: resourceAt("https://u:p@a.example/") }, /a user name or a password/],
  ["is not on https", { resource: resourceAt("http://a.example/") }, /not https/],
  ["is on localhost", { resource: resourceAt("https://localhost/") }, /private host/],
  ["is on a loopback address", { resource: resourceAt("https://2130706433/") }, /private host/],
  ["is on a mapped loopback address", { resource: resourceAt("https://[::ffff:127.0.0.1]/") }, /private host/],
  ["is on the metadata address of clouds", { resource: resourceAt("https://169.254.169.254/latest") }, /private host/],
  ["is on an internal name", { resource: resourceAt("https://db.internal/") }, /private host/],
  ["has a second name of its host", { resource: resourceAt("https://a.example./x") }, /a dot at its end/],
  [
    "has a URL of more than 2048 characters",
    { resource: resourceAt(`https://a.example/${"x".repeat(2_100)}`) },
    /longer than 2048/,
  ],
  [
    "has a description of 501 characters",
    { resource: { ...RESOURCE, description: "x".repeat(501) } },
    /longer than 500/,
  ],
  ["has a description that is a number", { resource: { ...RESOURCE, description: 5 } }, /description/],
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
  ["has a malformed network", { terms: { ...TERMS, network: "base" } }, /requirements/],
  ["has a malformed amount", { terms: { ...TERMS, amount: "-1" } }, /requirements/],
];

const TEMPLATES: readonly (readonly [template: unknown, reason: RegExp])[] = [
  ["//evil.example/weather", /another origin/],
  ["/%2F/evil.example", /another origin/],
  ["https://evil.example/weather", /not a path/],
  ["/https:%2F%2Fevil.example", /another origin/],
  ["/%252F%252Fevil.example", /another origin/],
  ["/../admin", /out of its own path/],
  ["/%2e%2e/admin", /out of its own path/],
  ["/%25252e%25252e/admin", /out of its own path/],
  ["/%25252525252e", /percent-encoded/],
  ["/%zz", /percent-encoded/],
  ["/%5Cevil.example", /another origin/],
  ["/weather%3Fx=1", /not a path|more than a path/],
  ["/weather%C2%A0x", /more than a path/],
  ["/weather%00", /more than a path/],
  ["/weather%250a", /more than a path/],
  ["/", /not a path/],
  ["*", /not a path/],
  ["/wétter", /not a path/],
  ["/weather/:day", /does not match/],
  ["/news", /does not match/],
  [`/${"a".repeat(600)}`, /longer than 512/],
  [7, /is not a string/],
];

describe("a rejected declaration", () => {
  test.each(REJECTED)("a declaration is rejected when it %s", (_why, changes, reason) => {
    expect(readRegistration(requestWith(changes))).toEqual({ kind: "rejected", reason: expect.stringMatching(reason) });
  });

  test.each(TEMPLATES)("a declaration is rejected when it has the template %s", (routeTemplate, reason) => {
    const read = readRegistration(requestWith({ bazaar: { ...DECLARATION, routeTemplate } }));
    expect(read).toEqual({ kind: "rejected", reason: expect.stringMatching(reason) });
  });

  test("the reason is one line for any text of the seller", () => {
    const read = readRegistration(requestWith({ bazaar: inputWith({ "a\nroot\u202e": 1 }) }));
    expect(read).toEqual({ kind: "rejected", reason: "info.input must not have the field a root " });
  });
});

describe("bounded work", () => {
  const bomb = "(a+)+$";
  const long = "a".repeat(5_000);
  /** A pattern is not run. */
  const MATCHES = { kind: "registration" };
  const TOO_MUCH = { kind: "rejected", reason: "the schema takes too much work to check" };
  const HOSTILE: readonly (readonly [why: string, schema: object, outcome: object])[] = [
    [
      "a pattern that never ends",
      { properties: { input: { properties: { queryParams: { additionalProperties: { pattern: bomb } } } } } },
      MATCHES,
    ],
    ["a pattern for field names", { patternProperties: { [bomb]: { type: "string" } } }, MATCHES],
    ["references that double", { $defs: { ...fanOut, d40: {} }, anyOf: [{ $ref: "#/$defs/d0" }] }, TOO_MUCH],
    [
      "a length that is checked again and again",
      {
        allOf: Array.from({ length: 150 }, () => ({ $ref: "#/$defs/a" })),
        $defs: {
          a: {
            properties: {
              input: { properties: { queryParams: { additionalProperties: { minLength: 0, maxLength: 9_999 } } } },
            },
          },
        },
      },
      TOO_MUCH,
    ],
    [
      "a long enum for many values",
      {
        $defs: { e: { anyOf: [{ enum: Array.from({ length: 300 }, (_, at) => -at) }, {}] } },
        additionalProperties: { properties: { queryParams: { additionalProperties: { $ref: "#/$defs/e" } } } },
      },
      TOO_MUCH,
    ],
  ];
  test.each(HOSTILE)("a declaration is read in a bounded number of steps with %s", (_why, schema, outcome) => {
    const queryParams = { city: `${long}!`, ...wide(300) };
    const request = requestWith({ bazaar: { info: { input: { ...DECLARATION.info.input, queryParams } }, schema } });
    expect(readRegistration(request)).toMatchObject(outcome);
  });
});

test("readRegistration returns for any input", () => {
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

test("a declaration with a getter that throws is rejected", () => {
  const trap = {
    get info() {
      throw new RangeError("no");
    },
  };
  expect(readRegistration(requestWith({ bazaar: trap })).kind).toBe("rejected");
});
