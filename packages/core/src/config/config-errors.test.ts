import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createPaymentsEngine, createPaymentsGate } from "../engine.js";
import { ConfigError } from "../errors.js";
import { SILENT } from "../events/logger.js";
import { createFakeFacilitator, createTestScheme, NETWORK, PAY_TO, ROUTES } from "../sale/shop.fixture.js";

const SECRET = "hunter2";

function messageOf(create: () => unknown): string {
  try {
    create();
    return "";
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return `${error.message} ${JSON.stringify(error.issues)}`;
  }
}

describe("a configuration error", () => {
  test.each<[facilitator: unknown, why: string]>([
    [{ headers: { authorization: SECRET } }, "the URL is missing"],
    [{ uri: "https://x.org", headers: { authorization: SECRET } }, "the URL is mistyped"],
    [{ url: "x.org", headers: { authorization: SECRET } }, "the URL is invalid"],
    [{ url: 5, headers: { authorization: SECRET } }, "the URL is a number"],
    [{ url: "https://x.org", headers: SECRET }, "the headers are a text"],
    [{ url: "https://x.org", headers: [SECRET] }, "the headers are a list"],
    [{ url: "https://x.org", headers: { authorization: [SECRET] } }, "a header is a list"],
    [{ url: "https://x.org", headers: { authorization: `${SECRET}\nx` } }, "a header has a line break"],
    [{ url: "https://x.org", headers: { authorization: `${SECRET}ключ` } }, "a header has letters of another script"],
    [{ url: "https://x.org", authorization: SECRET }, "the header is beside the headers"],
    [`https://key:${SECRET}@x.org`, "the URL has credentials"],
    [new URL(`https://key:${SECRET}@x.org`), "the URL object has credentials"],
    [`https://key:pa/ss?${SECRET}@x.org`, "the URL has credentials and is invalid"],
    [`ftp://key:${SECRET}@x.org`, "the URL has credentials and another scheme"],
    [`https://x.org?key=${SECRET}`, "the URL has a query"],
    [`x.org#${SECRET}`, "the URL has a fragment and is invalid"],
    [{ verify: SECRET, settle: SECRET }, "half a facilitator"],
    [{ url: { url: "https://x.org", headers: { authorization: SECRET } } }, "the URL is a whole facilitator"],
    [[`https://key:${SECRET}@x.org`], "the URL is in a list"],
  ])("a configuration error never quotes a secret in a facilitator: %o, %s", (facilitator) => {
    const message = messageOf(() => createPaymentsEngine({ facilitator } as never, { schemes: [] }));
    expect(message).toContain("options.facilitator");
    expect(message).not.toContain(SECRET);
  });

  test.each<[store: unknown, why: string]>([
    [`redis://:${SECRET}@localhost`, "an address"],
    [{ password: SECRET }, "its options"],
  ])("a configuration error never quotes a secret in a store: %o, %s", (store) => {
    const message = messageOf(() =>
      createPaymentsEngine({ facilitator: createFakeFacilitator(), store } as never, { schemes: [] }),
    );
    expect(message).toContain("options.store");
    expect(message).not.toContain(SECRET);
  });

  test("a configuration error never quotes a secret in a public URL", () => {
    const publicUrl = `https://key:${SECRET}@api.example.com`;
    const message = messageOf(() =>
      createPaymentsEngine({ facilitator: createFakeFacilitator(), publicUrl }, { schemes: [] }),
    );
    expect(message).toContain("options.publicUrl");
    expect(message).not.toContain(SECRET);
  });
});

/** A proxy that throws on every access. */
function trap(): object {
  const refuse = () => {
    throw new RangeError("do not touch");
  };
  return new Proxy({}, { get: refuse, has: refuse, ownKeys: refuse, getOwnPropertyDescriptor: refuse });
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const circular: Record<string, unknown> = {};
circular["self"] = circular;

const HOSTILE: readonly [value: () => unknown, why: string][] = [
  [trap, "a proxy that throws"],
  [revoked, "a proxy that is revoked"],
  [
    () => ({
      get url() {
        throw new RangeError("no");
      },
      get price() {
        throw new RangeError("no");
      },
      get "eip155:*"() {
        throw new RangeError("no");
      },
    }),
    "getters that throw",
  ],
  [
    () => ({
      toJSON() {
        throw new RangeError("no");
      },
    }),
    "toJSON that throws",
  ],
  [
    () => ({
      toString() {
        throw new RangeError("no");
      },
    }),
    "toString that throws",
  ],
  [() => circular, "a circle"],
  [() => Object.create(null), "an object without a prototype"],
  [() => Symbol("s"), "a symbol"],
  [() => 10n, "a bigint"],
  [() => new Map([["price", "$1"]]), "a map"],
  [() => JSON.parse('{"__proto__":{"price":"$1"}}'), "a key called __proto__"],
];

const OPTION_KEYS = [
  "facilitator",
  "payTo",
  "networks",
  "schemes",
  "rpc",
  "publicUrl",
  "holdBytes",
  "deadlines",
  "store",
  "logger",
];

describe.each(HOSTILE)("the hostile value %o (%s)", (create) => {
  const good = { facilitator: createFakeFacilitator(), logger: SILENT };

  function expectCoded(make: () => unknown): void {
    try {
      make();
    } catch (error) {
      expect(error).toMatchObject({ name: "ConfigError", code: "ERR_FAREBOX_CONFIG" });
      expect((error as ConfigError).issues.length).toBeGreaterThan(0);
    }
  }

  test("a hostile value is accepted or causes a ConfigError as options or as any option", () => {
    expectCoded(() => createPaymentsEngine(create() as never, { schemes: [] }));
    for (const key of [...OPTION_KEYS, "now"]) {
      expectCoded(() => createPaymentsEngine({ ...good, [key]: create() } as never, { schemes: [] }));
    }
    expectCoded(() =>
      createPaymentsEngine({ ...good, facilitator: { url: "https://x.org", headers: create() } } as never, {
        schemes: [],
      }),
    );
  });

  test("a hostile value is accepted or causes a ConfigError as routes or anywhere in a route", () => {
    const offer = { network: NETWORK, price: "$1", payTo: PAY_TO };
    const gate = (routes: unknown) => createPaymentsGate(routes as never, good, { schemes: [createTestScheme()] });
    expectCoded(() => gate(create()));
    expectCoded(() => gate({ "GET /a": create() }));
    for (const key of ["accepts", "price", "description", "mimeType", "extensions"]) {
      expectCoded(() => gate({ "GET /a": { accepts: offer, [key]: create() } }));
    }
    for (const key of ["scheme", "price", "network", "payTo", "maxTimeoutSeconds", "extra"]) {
      expectCoded(() => gate({ "GET /a": { accepts: [{ ...offer, [key]: create() }] } }));
    }
    expectCoded(() => gate({ "GET /a": { accepts: offer, extensions: { x: { info: create(), schema: {} } } } }));
  });
});

test("a scheme that throws while it compiles causes a ConfigError with its cause", () => {
  const cause = new RangeError("no such token");
  const scheme = createTestScheme({
    compileTerms: () => {
      throw cause;
    },
  });
  expect(() => createPaymentsGate(ROUTES, { facilitator: createFakeFacilitator() }, { schemes: [scheme] })).toThrow(
    expect.objectContaining({ code: "ERR_FAREBOX_CONFIG", cause }),
  );
});

test("options and routes of any value throw nothing but a ConfigError", () => {
  const keys = fc.constantFrom(...OPTION_KEYS, "now", "GET /a", "price", "accepts");
  const anything = fc.oneof(fc.anything(), fc.dictionary(keys, fc.anything()));
  fc.assert(
    fc.property(anything, anything, (options, routes) => {
      messageOf(() => createPaymentsGate(routes as never, options as never, { schemes: [] }));
      messageOf(() =>
        createPaymentsGate(
          ROUTES,
          { facilitator: createFakeFacilitator(), logger: SILENT, ...(options as object) } as never,
          {
            schemes: [],
          },
        ),
      );
    }),
  );
});
