import { describe, expect, test } from "vitest";
import { createPaymentsEngine } from "../engine.js";
import { SILENT } from "../events/logger.js";
import type { Place } from "../pricing/resource.js";
import type { GateRequest } from "../route/request.js";
import type { RouteKey } from "../route/route-key.js";
import {
  admissionOf,
  createFakeFacilitator,
  createShop,
  createTestScheme,
  headerOf,
  NETWORK,
  NOW_SECONDS,
  PAY_TO,
  REQUEST,
  responseOf,
} from "./shop.fixture.js";

const accepts = { network: NETWORK, price: "$0.01", payTo: PAY_TO } as const;

describe("an ambiguous path", () => {
  const opaque = () => ({ isFound: true, before: [], after: [], beyond: [], opaque: [{ handler: {}, isMeant: true }] });

  test.each<[request: Partial<GateRequest>, why: string]>([
    [{ path: "//weather" }, "no router view tells which handler gets it"],
    [{ path: "/x/../weather", receiversOf: opaque }, "an opaque handler may resolve dots"],
    [{ path: "/%77eather", receiversOf: opaque }, "an opaque handler may decode it"],
    [{ path: "/weather", fullPath: "/x/..//weather", receiversOf: opaque }, "the full path counts"],
  ])("answers 400 with or without a payment for %o: %s", async (request) => {
    const { ask, pay, facilitator, log } = createShop();
    for (const decision of [await ask(request), await pay({}, request)]) {
      const { status, headers, json } = responseOf(decision);
      expect([status, json["error"]]).toEqual([400, "ambiguous_path"]);
      expect(json["message"]).toMatch(/Send it without dots, backslashes and encoded separators\.$/);
      expect(headers["cache-control"]).toBe("no-store");
      expect(headers["content-type"]).toBe("application/json; charset=utf-8");
      expect(headers).not.toHaveProperty("payment-required");
    }
    expect(facilitator.calls).toEqual([]);
    expect(log).toEqual([]);
  });

  test("passes an ambiguous path through when it resembles no key", async () => {
    expect(await createShop().ask({ path: "//free/%2e%2e" })).toEqual({ kind: "pass", isGranted: false });
  });
});

describe("the app's router", () => {
  test.each<[thrown: unknown, name: string]>([
    [new RangeError("secret"), "RangeError"],
    ["secret", "unknown"],
    [undefined, "unknown"],
  ])(
    "the app's router makes the gate answer 503 without running a handler when it throws %o",
    async (thrown, error) => {
      const receiversOf = () => {
        throw thrown;
      };
      const { pay, facilitator, log, store } = createShop();
      const { status, headers, text } = responseOf(await pay({}, { path: "/WEATHER", receiversOf }));
      expect([status, headers["retry-after"]]).toEqual([503, "5"]);
      expect(headers["cache-control"]).toBe("no-store");
      expect(text).not.toContain("secret");
      expect(facilitator.calls).toEqual([]);
      expect(await store.find(`${NETWORK}|n1`)).toBeUndefined();
      expect(log).toEqual([{ event: "decision_failed", fields: { route: "the router", error } }]);
    },
  );

  test("the app's router is not asked when the path equals a key or resembles none", async () => {
    const receiversOf = () => {
      throw new TypeError("asked");
    };
    const { ask, log } = createShop();
    expect(responseOf(await ask({ receiversOf })).status).toBe(402);
    expect(await ask({ path: "/free", receiversOf })).toEqual({ kind: "pass", isGranted: false });
    expect(log).toEqual([]);
  });
});

describe("an OPTIONS request", () => {
  test.each<[key: RouteKey, kind: string, why: string]>([
    ["GET /weather", "pass", "a preflight carries no payment"],
    ["/weather", "pass", "a key without a method leaves it free"],
    ["OPTIONS /weather", "respond", "a key names the method"],
  ])("an OPTIONS request at the key %s: %s, %s", async (key, kind) => {
    const { ask } = createShop({ routes: { [key]: { accepts } } });
    expect((await ask({ method: "OPTIONS" })).kind).toBe(kind);
  });
});

describe("the gate of one route (charge)", () => {
  const accepts = { network: NETWORK, price: "$0.01", payTo: PAY_TO } as const;
  const match: Place = { routeTemplate: "/w/:city", pathParams: { city: "Paris" } };

  function createRoute(locate: () => Place = () => match) {
    const facilitator = createFakeFacilitator();
    const asked: string[] = [];
    const options = { facilitator, now: () => NOW_SECONDS * 1000, logger: SILENT };
    const gate = createPaymentsEngine(options, { schemes: [createTestScheme()] }).charge({
      accepts,
      description: "One",
    });
    const ask = async (request: Partial<GateRequest>) =>
      gate.decide({ ...REQUEST, ...request }, () => {
        asked.push("locate");
        return locate();
      });
    return { facilitator, asked, ask };
  }

  test.each(["/weather", "/any/where", "/WEATHER//", "/%2e%2e/x", ""])(
    "the gate of charge prices every path, such as %j",
    async (path) => {
      const { ask, facilitator } = createRoute();
      const { status, json } = responseOf(await ask({ path }));
      expect(status).toBe(402);
      expect(json).toMatchObject({ resource: { description: "One" }, accepts: [{ amount: "10000" }] });
      expect(facilitator.calls).toEqual([]);
    },
  );

  test.each<[why: string, status: number, paymentSignature: string | undefined]>([
    ["no payment", 402, undefined],
    ["a malformed payment", 400, "junk"],
    ["a payment that matches no offer", 402, headerOf({ accepted: { amount: "1" } })],
    ["a payment that the scheme refuses", 402, headerOf({ payload: { nonce: undefined as never } })],
  ])("does not locate the request for %s, and answers %i", async (_why, status, paymentSignature) => {
    const { ask, asked } = createRoute();
    expect(responseOf(await ask({ paymentSignature })).status).toBe(status);
    expect(asked).toEqual([]);
  });

  test("locates a paid request once and gives the handler its path parameters", async () => {
    const { ask, asked, facilitator } = createRoute();
    const { payment } = admissionOf(await ask({ path: "/w/Paris", paymentSignature: headerOf() }));
    expect(payment).toMatchObject(match);
    expect(asked).toEqual(["locate"]);
    expect(facilitator.count("verify")).toBe(1);
  });

  test("answers 503 and calls no facilitator when locating the request throws", async () => {
    const { ask, facilitator } = createRoute(() => {
      throw new TypeError("secret");
    });
    const { status, text } = responseOf(await ask({ paymentSignature: headerOf() }));
    expect(status).toBe(503);
    expect(text).not.toContain("secret");
    expect(facilitator.calls).toEqual([]);
  });
});

describe("the route template and path parameters of a payment", () => {
  test.each<[key: RouteKey, request: Partial<GateRequest>, match: Place, why: string]>([
    ["GET /u/:id", { path: "/u/%C3%A9" }, { routeTemplate: "/u/:id", pathParams: { id: "é" } }, "decoded"],
    ["GET /u{/:id}", { path: "/u" }, { routeTemplate: "/u", pathParams: {} }, "the form of the key that matched"],
    ["GET /f/*rest", { path: "/f/a/b" }, { routeTemplate: "/f/:rest", pathParams: { rest: "a/b" } }, "a wildcard"],
    [
      "GET /u/[id]",
      { path: "/u/7", mountPath: "/acme", mountTemplate: () => "/:tenant" },
      { routeTemplate: "/:tenant/u/:id", pathParams: { tenant: "acme", id: "7" } },
      "below a mount",
    ],
    [
      "GET /acme/u/:id",
      { path: "/u/7", mountPath: "/acme", mountTemplate: () => "/:tenant" },
      { routeTemplate: "/acme/u/:id", pathParams: { id: "7" } },
      "a key with the full path",
    ],
    [
      "GET /U/:id",
      { path: "/u/7/" },
      { routeTemplate: "/U/:id", pathParams: { id: "7" } },
      "another case than the key's",
    ],
  ])("the key %s at %o gives the handler %j: %s", async (key, request, match) => {
    const { payment } = admissionOf(await createShop({ routes: { [key]: { accepts } } }).pay({}, request));
    expect(payment).toMatchObject(match);
    expect(payment.pathParams).toEqual(match.pathParams);
    expect(Object.isFrozen(payment.pathParams)).toBe(true);
  });
});
