/**
 * The brief's section 2, "Resources and their fields", one test for each row and sentence. 2.8 only names section 6.
 *
 * @module
 */
import { createDiscoveryClient } from "@farebox/bazaar";
import { createPayments, type RouteConfig } from "@farebox/express";
import { createFacilitator } from "@farebox/facilitator";
import { createTestFacilitator } from "@farebox/testing";
import { declareDiscoveryExtension, extractDiscoveryInfo } from "@x402/extensions/bazaar";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Library, type LibraryOptions, SOLANA, yesScheme } from "../catalog/library.js";
import { PATIENT_SELLER } from "../interop/servers.js";
import {
  ASSET,
  buy,
  challengeOf,
  closeAllAtEnd,
  declared,
  entriesOf,
  type Json,
  listRoute,
  NETWORK,
  OFFER,
  offerIn,
  openFacilitator,
  openSeller,
  openTools,
  PAYEE,
  readerOf,
  type ToolSeller,
  toolChallengeOf,
} from "./marketplace.js";

closeAllAtEnd();

const WEATHER = declared(
  {
    discoverable: true,
    input: { city: "Rome" },
    inputSchema: { queryParams: { city: { type: "string", description: "Name of the town", required: true } } },
    outputSchema: { type: "object", properties: { celsius: { type: "number" } } },
  },
  { mimeType: "application/json" },
);
const TOOL = {
  accepts: OFFER,
  description: "The weather in a city",
  inputSchema: { city: z.string().describe("Name of the town") },
  example: { city: "Rome" },
} as const;
const sunny = () => ({ content: [{ type: "text" as const, text: "sunny" }] });

let library: Library;
let url: string;
/** An entry of each kind, and the 402 of each. */
let http: Json;
let mcp: Json;
let challenge: { header: Json; body: Json };
let tools: ToolSeller;
let toolChallenge: Json;

beforeAll(async () => {
  library = await openFacilitator();
  const sold = await listRoute(library, "GET /weather", WEATHER, "/weather?city=Rome");
  ({ url } = sold);
  http = sold.entry;
  challenge = await challengeOf(`${url}/weather`);
  tools = await openTools(library.url, (some) => void some.tool("get_weather", TOOL, sunny));
  toolChallenge = toolChallengeOf(await tools.ask("get_weather", { city: "Rome" }));
  await tools.call("get_weather", { city: "Rome" });
  mcp = (await entriesOf(library, "?type=mcp"))[0]!;
});

const inputOf = (offer: Json) => (offer["outputSchema"] as { input: Json }).input;

/** A table that is read at start. */
function read(config: object, key = "GET /weather") {
  const payments = createPayments({ ...PATIENT_SELLER, facilitator: createTestFacilitator() });
  return () => payments.routes({ [key]: config as RouteConfig });
}

describe("2.1", () => {
  test("2.1 `accepts`: array of payment requirement objects. Payment options of the resource (2.2)", () => {
    expect(http["accepts"]).toMatchObject([{ scheme: "exact", network: NETWORK, payTo: PAYEE }]);
    expect(mcp["accepts"]).toMatchObject([{ scheme: "exact", network: NETWORK, payTo: PAYEE }]);
  });

  test("2.1 `lastUpdated`: string, ISO 8601 timestamp with milliseconds. Time of last catalog update", async () => {
    let now = Date.parse("2026-01-02T03:04:05.006Z");
    const catalog = await openFacilitator({ now: () => now });
    const seller = await listRoute(catalog, "GET /weather", declared(), "/weather");
    expect(seller.entry.lastUpdated).toBe("2026-01-02T03:04:05.006Z");
    now += 60_000;
    await buy(`${seller.url}/weather`);
    expect((await entriesOf(catalog))[0]?.lastUpdated).toBe("2026-01-02T03:05:05.006Z");
  });

  test("2.1 `metadata`: object. May be empty.", () => {
    expect([http["metadata"], mcp["metadata"]]).toEqual([{}, {}]);
  });

  test("2.1 `resource`: string. URL of the HTTP endpoint", () => {
    expect(http["resource"]).toBe(`${url}/weather`);
  });

  test("2.1 `resource`: for an MCP tool an identifier of the form `mcp://tool/<tool_name>`, which is not a transport URL", async () => {
    const { entries } = await listNamed({ owners: { checkOwners: false } });
    await expect(entries()).resolves.toMatchObject([{ type: "mcp", resource: "mcp://tool/get_weather" }]);
  });

  // 2.1 `resource`: for an MCP tool an identifier of the form `mcp://tool/<tool_name>`, which is not a transport URL
  test("2.1 `resource`: the same in a catalog that shows only what the server of a tool confirms", async () => {
    const { entries, outcome } = await listNamed({ owners: { checkOwners: true, unverified: "hide" } });
    expect(outcome()).toMatch(/^(?:processing|success)$/);
    await expect
      .poll(entries, { timeout: 60_000 })
      .toMatchObject([{ type: "mcp", resource: "mcp://tool/get_weather", toolName: "get_weather" }]);
  });

  /** Reads the entries of a catalog, after a tool with such an identifier was paid for. */
  async function listNamed(options: LibraryOptions) {
    const catalog = await openFacilitator(options);
    const config = { ...TOOL, resource: { url: "mcp://tool/get_weather" } };
    const seller = await openTools(catalog.url, (some) => void some.tool("get_weather", config, sunny));
    expect(await seller.call("get_weather", { city: "Rome" })).toMatchObject({ content: [{ text: "sunny" }] });
    const outcome = () => seller.payments.listing("tool get_weather")?.status;
    return { entries: () => entriesOf(catalog), outcome };
  }

  test("2.1 `type`: string. `http` or `mcp`", () => {
    expect([http["type"], mcp["type"]]).toEqual(["http", "mcp"]);
  });

  test("2.1 `x402Version`: integer. `2` in the published entry shape", () => {
    expect([http["x402Version"], mcp["x402Version"]]).toEqual([2, 2]);
  });

  test("2.1 The identifying key of an entry is `resource` for `http`.", async () => {
    await buy(`${url}/weather?city=Oslo`);
    expect((await entriesOf(library)).filter(({ resource }) => resource === `${url}/weather`)).toHaveLength(1);
  });

  test("2.1 For `mcp` the key is the tuple (`resource`, `input.toolName`), because several tools share one server endpoint.", async () => {
    const catalog = await openFacilitator();
    const seller = await openTools(catalog.url, (some) => {
      some.tool("get_weather", TOOL, sunny);
      some.tool("get_news", TOOL, sunny);
    });
    for (const name of ["get_weather", "get_news", "get_weather"]) await seller.call(name, { city: "Rome" });
    const keys = (await entriesOf(catalog)).map((entry) => [entry.resource, inputOf(offerIn(entry))["toolName"]]);
    expect(keys).toEqual([
      [`${seller.url}/mcp`, "get_weather"],
      [`${seller.url}/mcp`, "get_news"],
    ]);
  });

  test("2.1 For parameterized HTTP routes the catalog key is `routeTemplate` (2.5).", async () => {
    const catalog = await openFacilitator();
    const seller = await listRoute(catalog, "GET /users/:id", declared(), "/users/7");
    await buy(`${seller.url}/users/8`);
    expect(await entriesOf(catalog)).toMatchObject([
      { resource: `${seller.url}/users/:id`, routeTemplate: "/users/:id" },
    ]);
  });

  test("2.1 Client libraries may expose an entry's discovery data as `discoveryInfo` with an `input` object (for MCP: `discoveryInfo.input.toolName`).", async () => {
    const { entries } = await createDiscoveryClient({ url: library.url }).list();
    expect(entries.find(({ type }) => type === "http")).toMatchObject({ discoveryInfo: { input: { method: "GET" } } });
    expect(entries.find(({ type }) => type === "mcp")).toMatchObject({
      discoveryInfo: { input: { toolName: "get_weather" } },
    });
  });
});

describe("2.2", () => {
  /** The requirement of an entry, and that of a 402 in its header and in its body. */
  const offers = (): readonly Json[] => [offerIn(http), offerIn(challenge.header), offerIn(challenge.body)];

  const ROWS: readonly (readonly [field: string, row: string, value: unknown])[] = [
    ["network", "string. CAIP-2 identifier", NETWORK],
    ["asset", "string. Token contract address (`<asset_address>`)", ASSET],
    ["payTo", "string. Receiving wallet address (`<wallet_address>`)", PAYEE],
    ["maxAmountRequired", "string. Amount in atomic units of the asset (6 decimals for the stablecoin).", "1000"],
    ["maxTimeoutSeconds", "integer. Seconds", 300],
    ["mimeType", "string. May be empty", "application/json"],
    ["description", "string. May be empty", "Tells the weather"],
    ["extra", "object. Asset info with string fields `name` and `version`", { name: "USDC", version: "2" }],
  ];

  test.each(ROWS)("2.2 `%s`: %s", (field, _row, value) => {
    for (const offer of offers()) expect(offer[field]).toEqual(value);
  });

  test("2.2 `scheme`: string. `exact` or `upto`", async () => {
    for (const offer of offers()) expect(offer["scheme"]).toBe("exact");
    const seller = await openSeller(library.url, { "GET /words": { accepts: { ...OFFER, scheme: "upto" } } });
    expect(offerIn((await challengeOf(`${seller.url}/words`)).header)["scheme"]).toBe("upto");
  });

  test("2.2 Some client examples read the same quantity from a field named `amount`.", () => {
    for (const offer of offers()) expect(offer["amount"]).toBe(offer["maxAmountRequired"]);
  });

  test("2.2 `mimeType`, `description`: May be empty", async () => {
    const seller = await openSeller(library.url, { "GET /plain": { accepts: OFFER } });
    const { header, body } = await challengeOf(`${seller.url}/plain`);
    for (const said of [header, body]) expect(offerIn(said)).toMatchObject({ mimeType: "", description: "" });
  });

  test("2.2 `resource`: string. Same as the entry's resource", () => {
    for (const offer of offers()) expect(offer["resource"]).toBe(http["resource"]);
  });

  test("2.2 `outputSchema`: object. Holds `input` (2.3) and `output` (may be null)", async () => {
    for (const offer of offers()) {
      expect(offer["outputSchema"]).toEqual({
        input: expect.objectContaining({ type: "http" }),
        output: { type: "object", properties: { celsius: { type: "number" } } },
      });
    }
    const bare = await listRoute(library, "GET /bare", declared(), "/bare");
    expect(offerIn(bare.entry)).toMatchObject({ outputSchema: { output: null } });
  });

  test("2.2 An offer on an SVM network has its network, and the field `extra` of its scheme", async () => {
    const payTo = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4";
    const scheme = { ...yesScheme("exact", SOLANA), extra: { feePayer: payTo } };
    const { url: at } = await openSeller(createFacilitator({ schemes: [scheme] }), {
      "GET /weather": { accepts: { ...OFFER, network: SOLANA, payTo } },
    });
    expect(offerIn((await challengeOf(`${at}/weather`)).header)).toMatchObject({
      network: SOLANA,
      extra: { feePayer: payTo },
    });
  });

  /** What every requirement has, by the table of 2.2. */
  const FIELDS = [
    ...["scheme", "network", "asset", "payTo", "maxAmountRequired", "maxTimeoutSeconds", "mimeType", "description"],
    ...["resource", "extra", "outputSchema"],
  ];

  test("2.2 A requirement has all fields in the header, for three offers and six parameters, ten and sixteen", async () => {
    for (const count of [6, 10, 16]) {
      const names = Array.from({ length: count }, (_, at) => `parameter${at}`);
      const parameter = { type: "string", description: "A parameter with a short description" };
      const bazaar = {
        discoverable: true,
        input: Object.fromEntries(names.map((name) => [name, "x"])),
        inputSchema: { queryParams: Object.fromEntries(names.map((name) => [name, parameter])) },
        outputSchema: { type: "object", properties: { celsius: { type: "number" } } },
      };
      const accepts = [OFFER, { ...OFFER, scheme: "upto" }, { ...OFFER, network: "eip155:8453" }];
      const seller = await openSeller(library.url, { "GET /weather": declared(bazaar, { accepts }) });
      const { header } = await challengeOf(`${seller.url}/weather`);
      expect(header["accepts"]).toHaveLength(3);
      for (const offer of header["accepts"] as Json[])
        expect(Object.keys(offer)).toEqual(expect.arrayContaining(FIELDS));
    }
  });

  test("2.2 A requirement of an entry, and one in the body, has all fields", () => {
    for (const offer of [offerIn(http), offerIn(mcp), offerIn(challenge.body)]) {
      expect(Object.keys(offer)).toEqual(expect.arrayContaining(FIELDS));
    }
  });
});

describe("2.3", () => {
  const inputs = () => [http, challenge.header, challenge.body].map((some) => inputOf(offerIn(some)));

  test("2.3 `type`: string. `http`", () => {
    for (const input of inputs()) expect(input["type"]).toBe("http");
  });

  test("2.3 `method`: string. HTTP method of the endpoint", async () => {
    for (const input of inputs()) expect(input["method"]).toBe("GET");
    const { entry } = await listRoute(library, "PUT /notes", declared(), "/notes", { method: "PUT" });
    expect(inputOf(offerIn(entry as never))["method"]).toBe("PUT");
  });

  test("2.3 `resource`: string. Path or URL used by client examples as the request target", async () => {
    for (const input of inputs()) expect(input["resource"]).toBe(`${url}/weather`);
    expect((await buy(String(inputs()[0]!["resource"]))).status).toBe(200);
  });
});

describe("2.4", () => {
  const inputs = () => [mcp, toolChallenge].map((some) => inputOf(offerIn(some)));

  test("2.4 `type`: string, required. `mcp`", () => {
    for (const input of inputs()) expect(input["type"]).toBe("mcp");
  });

  test("2.4 `toolName`: string, required. Name used in `tools/call` requests", async () => {
    for (const input of inputs()) {
      expect(await tools.call(String(input["toolName"]), { city: "Rome" })).toMatchObject({
        content: [{ text: "sunny" }],
      });
    }
  });

  test("2.4 `inputSchema`: object, required. JSON Schema of the tool arguments (MCP Tool.inputSchema format)", async () => {
    const { tools: listed } = await tools.client.listTools();
    const { $schema: _, ...told } = listed[0]!.inputSchema;
    for (const input of inputs()) {
      expect(input["inputSchema"]).toMatchObject({ type: "object", properties: told.properties, required: ["city"] });
    }
  });

  test("2.4 `description`: string, not required. Human-readable", async () => {
    for (const input of inputs()) expect(input["description"]).toBe("The weather in a city");
    const { description: _, ...undescribed } = TOOL;
    const seller = await openTools(library.url, (some) => void some.tool("silent", undescribed, sunny));
    await seller.call("silent", { city: "Rome" });
    expect((await entriesOf(library, "?type=mcp")).map(({ toolName }) => toolName)).toContain("silent");
  });

  test("2.4 `transport`: string, not required. `streamable-http` (default) or `sse`", async () => {
    for (const input of inputs()) expect(input["transport"]).toBe("streamable-http");
    const sse = await openTools(
      library.url,
      (some) => void some.tool("old", TOOL, sunny),
      (at) => ({ serverUrl: `${at}/mcp`, transport: "sse" }),
    );
    expect(inputOf(offerIn(toolChallengeOf(await sse.ask("old", { city: "Rome" }))))["transport"]).toBe("sse");
  });

  test("2.4 `example`: object, not required. Example arguments object", () => {
    for (const input of inputs()) expect(input["example"]).toEqual({ city: "Rome" });
  });
});

describe("2.5", () => {
  test("2.5.1 For routes with parameters (for example a user-id segment or country/city segments), the extension extracts the concrete values into `pathParams` (object, name to value).", async () => {
    const { url: at } = await openSeller(library.url, { "GET /weather/:country/:city": declared() });
    const { header } = await challengeOf(`${at}/weather/it/Rome`);
    expect(header).toMatchObject({
      extensions: { bazaar: { info: { input: { pathParams: { country: "it", city: "Rome" } } } } },
    });
  });

  test("2.5.2 A `routeTemplate` string is added, using `:param` syntax.", async () => {
    const { url: at } = await openSeller(library.url, { "GET /users/:id": declared(), "GET /teams/[id]": declared() });
    const template = async (path: string) => (await challengeOf(at + path)).header;
    expect(await template("/users/7")).toMatchObject({ extensions: { bazaar: { routeTemplate: "/users/:id" } } });
    expect(await template("/teams/7")).toMatchObject({ extensions: { bazaar: { routeTemplate: "/teams/:id" } } });
  });

  test("2.5.3 Facilitators use `routeTemplate` as the catalog key, so all requests matching the same pattern map to one entry.", async () => {
    const catalog = await openFacilitator();
    const { url: at } = await openSeller(catalog.url, { "GET /users/:id": declared() });
    for (const id of ["7", "8", "a%20b"]) expect((await buy(`${at}/users/${id}`)).status).toBe(200);
    expect((await readerOf(catalog).listResources()).items.map(({ resource }) => resource)).toEqual([
      `${at}/users/:id`,
    ]);
    const { header } = await challengeOf(`${at}/users/9`);
    const payment = { x402Version: 2, accepted: offerIn(header), payload: {}, ...header };
    expect(extractDiscoveryInfo(payment as never, offerIn(header) as never)?.resourceUrl).toBe(`${at}/users/:id`);
  });

  test("2.5.4 Wildcard segments (`*`) are converted to named parameters `:var1`, `:var2`, and so on.", async () => {
    const keys = ["/a/*", "/a/*/b/*", "/a/*/b/*/c/*", "/1/*/2/*/3/*/4/*/5/*/6/*/7/*/8/*"];
    const { url: at } = await openSeller(
      library.url,
      Object.fromEntries(keys.map((key) => [`GET ${key}`, declared()])),
    );
    for (const key of keys) {
      let count = 0;
      const values: Json = {};
      const path = key.replace(/\*/g, () => {
        values[`var${++count}`] = `v${count}`;
        return `v${count}`;
      });
      let named = 0;
      const routeTemplate = key.replace(/\*/g, () => `:var${++named}`);
      const { header } = await challengeOf(at + path);
      expect(header).toMatchObject({
        extensions: { bazaar: { routeTemplate, info: { input: { pathParams: values } } } },
      });
      expect((await buy(at + path)).status).toBe(200);
      expect((await entriesOf(library, "?limit=100")).at(-1)).toMatchObject({
        resource: at + routeTemplate,
        routeTemplate,
      });
    }
  });
});

describe("2.6", () => {
  test("2.6 route key: string, required. `<METHOD> <path>`", async () => {
    const { url: at } = await openSeller(library.url, { "POST /weather": declared() });
    expect((await challengeOf(`${at}/weather`, { method: "POST" })).status).toBe(402);
    expect((await fetch(`${at}/other`)).status).toBe(200);
    expect(read(WEATHER, "weather")).toThrow(/<METHOD> <path>/);
  });

  test("2.6 `accepts`: array (a single object is also accepted), required.", async () => {
    const { url: at } = await openSeller(library.url, {
      "GET /one": { accepts: OFFER },
      "GET /array": { accepts: [OFFER, { ...OFFER, network: "eip155:8453" }] },
    });
    expect((await challengeOf(`${at}/one`)).header["accepts"]).toHaveLength(1);
    expect((await challengeOf(`${at}/array`)).header["accepts"]).toHaveLength(2);
    expect(read({ description: "free?" })).toThrow(/accepts/);
  });

  test("2.6 `accepts[].scheme`: string, required. `exact` or `upto`", async () => {
    const { url: at } = await openSeller(library.url, {
      "GET /words": { accepts: [OFFER, { ...OFFER, scheme: "upto" }] },
    });
    const { header } = await challengeOf(`${at}/words`);
    expect(header["accepts"]).toMatchObject([{ scheme: "exact" }, { scheme: "upto" }]);
    expect(read({ accepts: { ...OFFER, scheme: "barter" } })).toThrow(/scheme/);
  });

  test("2.6 `accepts[].price`: string, required. Dollar-prefixed price string. For `exact`: the fixed price. For `upto`: the maximum the client authorizes.", async () => {
    const accepts = [OFFER, { ...OFFER, scheme: "upto", price: "$0.10" }] as const;
    const { url: at } = await openSeller(library.url, { "GET /words": { accepts } });
    expect((await challengeOf(`${at}/words`)).header["accepts"]).toMatchObject([
      { amount: "1000" },
      { amount: "100000" },
    ]);
    const { price: _, ...unpriced } = OFFER;
    expect(read({ accepts: unpriced })).toThrow(/price/);
    expect(read({ accepts: { ...OFFER, price: "0.10" } })).toThrow(/price/);
  });

  test("2.6 `accepts[].network`: string, required. CAIP-2", () => {
    const { network: _, ...nowhere } = OFFER;
    expect(read({ accepts: nowhere })).toThrow(/network/);
    expect(read({ accepts: { ...OFFER, network: "base" } })).toThrow(/CAIP-2/);
    expect(read({ accepts: OFFER })).not.toThrow();
  });

  test("2.6 `accepts[].payTo`: string, required. Receiving wallet address", () => {
    const { payTo: _, ...unpaid } = OFFER;
    expect(read({ accepts: unpaid })).toThrow(/payTo/);
    expect(read({ accepts: { ...OFFER, payTo: "somebody" } })).toThrow(/payTo/);
  });

  test("2.6 `description`, `mimeType`: string, not required. Resource description; response MIME type", async () => {
    expect(challenge.header["resource"]).toMatchObject({
      description: "Tells the weather",
      mimeType: "application/json",
    });
    expect(read({ accepts: OFFER })).not.toThrow();
    expect(read({ accepts: OFFER, description: 7 })).toThrow(/description/);
  });

  test("2.6 `extensions`: object, not required. E.g. the `bazaar` key", () => {
    expect(challenge.header).toHaveProperty("extensions.bazaar");
    expect(read({ accepts: OFFER, extensions: "bazaar" })).toThrow(/extensions/);
  });
});

describe("2.7", () => {
  test("2.7 `discoverable`: boolean. Marks the route as listable", async () => {
    const catalog = await openFacilitator();
    const { url: at } = await openSeller(catalog.url, {
      "GET /shown": declared({ discoverable: true }),
      "GET /hidden": declared({ discoverable: false }),
    });
    for (const path of ["shown", "hidden"]) expect((await buy(`${at}/${path}`)).status).toBe(200);
    expect((await entriesOf(catalog)).map(({ resource }) => resource)).toEqual([`${at}/shown`]);
  });

  test("2.7 `input`: object. Example input values", () => {
    expect(http).toMatchObject({ discoveryInfo: { input: { queryParams: { city: "Rome" } } } });
  });

  const schemaIn = (some: Json) =>
    (some as { extensions: { bazaar: { schema: { properties: { input: { properties: Json } } } } } }).extensions.bazaar
      .schema.properties.input.properties;

  test("2.7 `inputSchema`: `queryParams`, an object mapping each parameter name to `{type, description, required}`", () => {
    const queryParams = {
      properties: { city: { type: "string", description: "Name of the town" } },
      required: ["city"],
    };
    for (const some of [http, challenge.header]) expect(schemaIn(some)).toMatchObject({ queryParams });
  });

  test("2.7 `inputSchema`: or JSON Schema style `properties` plus `required` (array of names)", async () => {
    const inputSchema = { properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] };
    const { entry } = await listRoute(
      library,
      "GET /in",
      declared({ inputSchema, input: { city: "Rome" } }),
      "/in?city=Rome",
    );
    expect(schemaIn(entry as never)).toMatchObject({ queryParams: inputSchema });
  });

  test("2.7 `outputSchema`: object. JSON Schema of the response (`type`, `properties`)", () => {
    const outputSchema = { output: { type: "object", properties: { celsius: { type: "number" } } } };
    expect(offerIn(http)).toMatchObject({ outputSchema });
    expect(offerIn(challenge.body)).toMatchObject({ outputSchema });
  });

  /** As the brief writes it. */
  const DECLARED_TOOL = {
    toolName: "get_weather",
    description: "The weather in a city",
    transport: "sse",
    inputSchema: { properties: { city: { type: "string" } }, required: ["city"] },
    example: { city: "Rome" },
  };

  test("2.7 For MCP tools the declaration carries `toolName`, `description`, `transport` (`streamable-http` or `sse`), `inputSchema` (`properties`, `required`) and `example`.", async () => {
    const { entry } = await listRoute(library, "POST /mcp", declared(DECLARED_TOOL), "/mcp", { method: "POST" });
    expect(entry).toMatchObject({
      type: "mcp",
      discoveryInfo: { input: { type: "mcp", ...DECLARED_TOOL, inputSchema: { required: ["city"] } } },
    });
  });

  test("2.7 A tool's declaration by the reference's helper carries its `inputSchema`", async () => {
    const inputSchema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const extensions = declareDiscoveryExtension({ toolName: "get_weather", inputSchema } as never);
    const seller = await openTools(
      library.url,
      (some) => void some.tool("get_weather", { accepts: OFFER, extensions } as never, sunny as never),
    );
    const { tools: listed } = await seller.client.listTools();
    expect(listed).toMatchObject([{ name: "get_weather", inputSchema }]);
  });

  test("2.7 The wrapper config for a paid MCP tool also carries `accepts`, `resource` (`url` of form `mcp://tool/<tool_name>`, `description`) and `extensions`.", async () => {
    const config = {
      accepts: [OFFER],
      resource: { url: "mcp://tool/get_weather", description: "Weather by a tool" },
      extensions: { bazaar: { discoverable: true } },
      inputSchema: TOOL.inputSchema,
    } as const;
    const seller = await openTools(library.url, (some) => void some.tool("get_weather", config, sunny));
    const said = toolChallengeOf(await seller.ask("get_weather", { city: "Rome" }));
    expect(said).toMatchObject({
      resource: { url: "mcp://tool/get_weather", description: "Weather by a tool" },
      accepts: [{ network: NETWORK, payTo: PAYEE }],
      extensions: { bazaar: { info: { input: { toolName: "get_weather" } } } },
    });
  });

  test("2.7 Parameter descriptions should state what each parameter does, briefly; this makes calls by agents more accurate.", async () => {
    // They are there for an agent to read.
    const { resources } = await readerOf(library).search({ query: "weather by the name of a town", type: "http" });
    expect(JSON.stringify(resources)).toContain("Name of the town");
    const { tools: listed } = await tools.client.listTools();
    expect(listed[0]?.inputSchema.properties).toMatchObject({ city: { description: "Name of the town" } });
  });
});
