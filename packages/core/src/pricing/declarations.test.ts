import { describe, expect, test } from "vitest";
import { createPaymentsEngine, createPaymentsGate } from "../engine.js";
import { SILENT } from "../events/logger.js";
import type { CompiledDeclaration, Extension } from "../extension.js";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { RouteConfig } from "../options.js";
import { createFakeFacilitator, createTestScheme, NETWORK, PAY_TO } from "../sale/shop.fixture.js";

const ACCEPTS = { network: NETWORK, price: "$0.01", payTo: PAY_TO } as const;

/** An extension whose declaration repeats its input, the template and the path parameters. */
function createEcho(changes: Partial<CompiledDeclaration> = {}): Extension {
  return {
    key: "echo",
    compile(declaration, { path, route, issues }) {
      if (declaration === null || "bad" in (declaration as object)) {
        issues.add(path, "something good", declaration);
        return undefined;
      }
      const fixed = { info: { declaration, params: route.paths?.[0]?.params }, schema: {} };
      return {
        at({ locate }) {
          const { routeTemplate, pathParams } = locate();
          return Object.keys(pathParams).length === 0 ? fixed : { ...fixed, routeTemplate, pathParams };
        },
        notices: [],
        ...changes,
      };
    },
  };
}

const REQUEST = {
  method: "GET",
  mountPath: "",
  search: "",
  origin: "https://a.example",
  accept: undefined,
  userAgent: undefined,
  paymentSignature: undefined,
};

async function challengeAt(path: string, route: RouteConfig, { key = "GET /a/:id", extensions = [createEcho()] } = {}) {
  const { gate, engine } = createPaymentsGate(
    { [key]: route },
    { facilitator: createFakeFacilitator(), logger: SILENT },
    { schemes: [createTestScheme()], extensions },
  );
  const decision = await gate.decide({ ...REQUEST, path });
  if (decision.kind !== "respond") throw new Error(decision.kind);
  return { engine, response: decision.response, json: JSON.parse(String(decision.response.body)) };
}

describe("a route that declares an extension", () => {
  test("a route has the declaration for the request in its challenge", async () => {
    const { json } = await challengeAt("/a/b%20c", { accepts: ACCEPTS, extensions: { echo: { x: 1 } } });
    expect(json.extensions.echo).toEqual({
      info: { declaration: { x: 1 }, params: ["id"] },
      schema: {},
      routeTemplate: "/a/:id",
      pathParams: { id: "b c" },
    });
  });

  test("a route has the extension's outline as outputSchema in each offer", async () => {
    const outline = () => ({ input: { type: "echo" }, output: { y: 2 } });
    const extensions = [createEcho({ outline })];
    const { json } = await challengeAt("/a/b", { accepts: ACCEPTS, extensions: { echo: {} } }, { extensions });
    expect(json.accepts[0].outputSchema).toEqual({ input: { type: "echo" }, output: { y: 2 } });
  });

  test("a route throws at startup when its extension reports an issue", () => {
    const create = () =>
      createPaymentsGate(
        { "GET /a": { accepts: ACCEPTS, extensions: { echo: { bad: 1 } } } },
        { facilitator: createFakeFacilitator(), logger: SILENT },
        { schemes: [createTestScheme()], extensions: [createEcho()] },
      );
    expect(create).toThrow('routes["GET /a"].extensions.echo: expected something good');
  });

  test("a route uses the seller's extension before the built-in one", () => {
    const own = createEcho({ notices: [{ code: "FAREBOX_EXAMPLE_MISSING", message: "mine" }] });
    const engine = createPaymentsEngine(
      { facilitator: createFakeFacilitator(), extensions: [own], logger: SILENT },
      { schemes: [createTestScheme()], extensions: [createEcho()] },
    );
    engine.routes({ "GET /a": { accepts: ACCEPTS, extensions: { echo: {} } } });
    expect(engine.report().findings).toMatchObject([
      { code: "FAREBOX_EXAMPLE_MISSING", route: "GET /a", message: "mine" },
    ]);
  });

  test("a route has the name, tags and icon of the service in its resource", async () => {
    const route: RouteConfig = { accepts: ACCEPTS, extensions: { echo: {} }, serviceName: "Mine", tags: ["a"] };
    const { json } = await challengeAt("/a/b", route);
    const resource: FacilitatorRequest["paymentPayload"]["resource"] = json.resource;
    expect(resource).toEqual({
      url: "https://a.example/a/b",
      description: "",
      mimeType: "",
      serviceName: "Mine",
      tags: ["a"],
    });
  });
});

describe("a large challenge", () => {
  const filler = (size: number) => ({ echo: { text: "x".repeat(size) } });

  test("a large challenge is a finding above the limit of most proxies", async () => {
    const { engine } = await challengeAt("/a/b", { accepts: ACCEPTS, extensions: filler(7000) });
    expect(engine.report().findings).toMatchObject([{ code: "FAREBOX_CHALLENGE_TOO_LARGE", route: "GET /a/:id" }]);
  });

  test("a large challenge is a finding above the limit of some proxies, which keeps no strict seller from starting", async () => {
    const { engine } = await challengeAt("/a/b", { accepts: ACCEPTS, extensions: filler(4000) });
    expect(engine.report().findings).toMatchObject([
      {
        code: "FAREBOX_CHALLENGE_LARGE",
        route: "GET /a/:id",
        message: expect.stringMatching(/^Its PAYMENT-REQUIRED header has \d{4} characters$/),
      },
    ]);
    expect(engine.report().routes[0]?.leftOut).toEqual([]);
  });

  test("the report says what the header of a large challenge leaves out", async () => {
    const { engine } = await challengeAt("/a/b", {
      ...{ accepts: ACCEPTS, description: "d".repeat(450), extensions: filler(4500) },
    });
    expect(engine.report().routes[0]?.leftOut).toEqual(["description"]);
    expect(engine.report().findings).toMatchObject([
      { code: "FAREBOX_CHALLENGE_LARGE", message: expect.stringMatching(/ characters, and lacks description$/) },
    ]);
  });

  test("a route that functions price is large by its offers as they will be, with room for their quotes", async () => {
    const accepts = Array.from({ length: 6 }, () => ({ ...ACCEPTS, price: () => "$0.01" }));
    const { engine, json } = await challengeAt("/a/b", { accepts, description: "d".repeat(100) });
    const { routes, findings } = engine.report();
    expect(findings).toMatchObject([{ code: "FAREBOX_CHALLENGE_LARGE" }]);
    expect(routes[0]?.leftOut).toEqual([]);
    const sent = Math.ceil(Buffer.byteLength(JSON.stringify(json)) / 3) * 4;
    expect(sent).toBeGreaterThan(4096);
    const [, said] = /has (\d+) characters/.exec(findings[0]?.message ?? "") ?? [];
    expect(Math.abs(Number(said) - sent)).toBeLessThan(200);
  });

  test("a large challenge is shortened, which is logged once", async () => {
    const logged: unknown[] = [];
    const logger = {
      warn() {},
      error() {},
      info: (event: string, fields: object) => void logged.push({ event, ...fields }),
    };
    const { gate } = createPaymentsGate(
      { "GET /a": { accepts: ACCEPTS, extensions: filler(5600) } },
      { facilitator: createFakeFacilitator(), logger },
      { schemes: [createTestScheme()], extensions: [createEcho()] },
    );
    for (const origin of ["https://a.example", "https://b.example", "https://a.example"]) {
      await gate.decide({ ...REQUEST, path: "/a", origin });
    }
    const leftOut = "outputSchema, maxAmountRequired";
    expect(logged).toEqual([{ event: "challenge_shortened", route: "GET /a", leftOut }]);
  });

  test("a challenge throws at startup when it is nested too deeply to be read", () => {
    const deep = Array.from({ length: 40 }).reduce<object>((inner) => ({ a: inner }), {});
    const create = () =>
      createPaymentsGate(
        { "GET /a": { accepts: ACCEPTS, extensions: { echo: deep } } },
        { facilitator: createFakeFacilitator(), logger: SILENT },
        { schemes: [createTestScheme()], extensions: [createEcho()] },
      );
    expect(create).toThrow("levels of nesting");
  });
});

describe("a public route without https", () => {
  const extensions = [createEcho({ isPublic: true })];
  const create = (publicUrl?: string) =>
    createPaymentsGate(
      { "GET /a": { accepts: ACCEPTS, extensions: { echo: {} } } },
      {
        facilitator: createFakeFacilitator(),
        logger: SILENT,
        strict: true,
        ...(publicUrl === undefined ? {} : { publicUrl }),
      },
      { schemes: [createTestScheme()], extensions },
    );

  test.each<[publicUrl: string, codes: readonly string[]]>([
    ["http://api.example.com", ["FAREBOX_NOT_HTTPS"]],
    ["https://api.example.com", []],
    ["http://localhost:3000", []],
  ])("a public route with the public URL %s has the findings %j", (publicUrl, codes) => {
    expect(
      create(publicUrl)
        .engine.report()
        .findings.map(({ code }) => code),
    ).toEqual(codes);
  });

  test("a public route is a finding after a request over http", async () => {
    const { engine, gate } = create();
    await gate.decide({ ...REQUEST, path: "/a", origin: "http://api.example.com" });
    expect(engine.report().findings).toMatchObject([{ code: "FAREBOX_NOT_HTTPS" }]);
  });
});
