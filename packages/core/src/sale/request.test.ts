import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ExtensionDeclaration } from "../protocol/documents.js";
import { createOffer } from "../scheme/offer.js";
import { toFacilitatorRequest } from "./request.js";
import { createTestScheme, NETWORK, PAY_TO, type PaymentOverrides, paymentOf } from "./shop.fixture.js";

const OFFER = createOffer(
  createTestScheme(),
  {
    asset: { id: "0xA", symbol: "USDC", decimals: 6, extra: { name: "USDC" } },
    amount: 10_000n,
    payTo: PAY_TO,
    isInDollars: true,
  },
  { network: NETWORK, maxTimeoutSeconds: 300, extra: {} },
);
const RESOURCE = { url: "https://shop.example/weather", description: "Weather", mimeType: "" };

const ID: ExtensionDeclaration = { info: { required: false, nested: { a: 1 } }, schema: { type: "object" } };
const BAZAAR: ExtensionDeclaration = { info: { input: { type: "http" } }, schema: {}, routeTemplate: "/weather" };
const DECLARED = { "gas-sponsoring": ID, bazaar: BAZAAR };

function extensionsSent(theirs: PaymentOverrides["extensions"], declared: typeof DECLARED | undefined = DECLARED) {
  const payment = paymentOf(theirs === undefined ? {} : { extensions: theirs });
  return toFacilitatorRequest(payment, OFFER, { resource: RESOURCE, extensions: declared }).paymentPayload.extensions;
}

describe("the request to a facilitator", () => {
  test("the request to a facilitator has the seller's offer and resource and the client's payload", () => {
    const accepted = {
      extra: { name: "Evil" },
      outputSchema: {},
      maxTimeoutSeconds: 1,
    } as PaymentOverrides["accepted"];
    const payment = paymentOf({ accepted: accepted!, resource: { url: "https://evil.example" } });
    expect(toFacilitatorRequest(payment, OFFER, { resource: RESOURCE, extensions: undefined })).toEqual({
      x402Version: 2,
      paymentPayload: {
        x402Version: 2,
        payload: payment.payload,
        accepted: OFFER.requirements,
        resource: RESOURCE,
      },
      paymentRequirements: OFFER.requirements,
    });
  });

  test("the request to a facilitator has only the protocol's seven fields in its offer", () => {
    const names = ["scheme", "network", "amount", "asset", "payTo", "maxTimeoutSeconds", "extra"];
    expect(Object.keys(OFFER.requirements)).toEqual(names);
    expect(Object.isFrozen(OFFER.requirements) && Object.isFrozen(OFFER.requirements.extra)).toBe(true);
  });
});

describe("extensions in the request to a facilitator", () => {
  test("a client's codes are those that a transaction may carry, each once", () => {
    const declared = { "builder-code": { info: { a: "app", s: ["svc"] }, schema: {} } } as never;
    const theirs = (s: unknown) => ({ "builder-code": { info: { a: "evil", s } } }) as never;
    const sent = (s: unknown) => extensionsSent(theirs(s), declared)?.["builder-code"];
    const long = "z".repeat(33);
    expect(sent([{ a: 1 }, "<BAD>", 5, "Agent", long, "agent", "agent", "svc", ""])).toMatchObject({
      info: { a: "app", s: ["agent", "svc"] },
    });
  });

  test.each<[theirs: PaymentOverrides["extensions"], why: string]>([
    [undefined, "no extensions"],
    [null, "null"],
    [{}, "an empty object"],
    [{ "gas-sponsoring": null }, "null for one"],
    [{ "gas-sponsoring": { id: "x" } }, "no info in it"],
    [{ "gas-sponsoring": { info: ["x"] } }, "a list as info"],
    [{ "gas-sponsoring": { info: ID.info } }, "the echo"],
    [{ evil: { info: { a: 1 }, schema: {} } }, "an undeclared extension"],
    [{ bazaar: { info: { output: "mine" }, routeTemplate: "/free" } }, "an addition to the catalog"],
    [{ "gas-sponsoring": { info: {}, schema: { type: "string" }, more: 1 } }, "additions beside the info"],
    [{ "gas-sponsoring": { info: { required: true, nested: { a: 2, b: 3 } } } }, "changes"],
    [JSON.parse('{"__proto__":{"gas-sponsoring":{"info":{"x":1}}}}'), "a prototype"],
  ])("extensions stay as declared when the client sends %j: %s", (theirs) => {
    expect(extensionsSent(theirs)).toEqual(DECLARED);
  });

  test("extensions include what the client adds to the info and keep the seller's fields", () => {
    const theirs = { "gas-sponsoring": { info: { id: "pay_1", required: true, more: { deep: [] } } } };
    expect(extensionsSent(theirs)).toEqual({
      ...DECLARED,
      "gas-sponsoring": { ...ID, info: { ...ID.info, id: "pay_1", more: { deep: [] } } },
    });
  });

  test("extensions are left out when the route declares none", () => {
    const payment = paymentOf({ extensions: { evil: { info: {} } } });
    const about = { resource: RESOURCE, extensions: undefined };
    expect(toFacilitatorRequest(payment, OFFER, about).paymentPayload).not.toHaveProperty("extensions");
  });

  test("extensions take no prototype from the client", () => {
    const theirs = JSON.parse('{"gas-sponsoring":{"info":{"__proto__":{"admin":true},"id":"x"}}}');
    const info = extensionsSent(theirs)?.["gas-sponsoring"] as { info: Record<string, unknown> };
    expect(info.info["admin"]).toBeUndefined();
    expect(Object.getPrototypeOf(info.info)).toBe(Object.prototype);
    expect(JSON.stringify(info)).not.toContain("admin");
  });

  test("extensions never lose or change a declared field, for any client input", () => {
    const names = fc.constantFrom("gas-sponsoring", "bazaar", "__proto__", "constructor", "evil");
    const infos = fc.dictionary(fc.constantFrom("required", "nested", "id", "__proto__"), fc.jsonValue());
    const echoes = fc.oneof(fc.jsonValue(), fc.record({ info: infos, schema: fc.jsonValue() }));
    fc.assert(
      fc.property(fc.dictionary(names, echoes), (theirs) => {
        const sent = extensionsSent(theirs) as typeof DECLARED;
        expect(Object.keys(sent)).toEqual(Object.keys(DECLARED));
        expect(sent.bazaar).toBe(BAZAAR);
        expect(sent["gas-sponsoring"]).toMatchObject(ID);
        expect(Object.keys(sent["gas-sponsoring"])).toEqual(["info", "schema"]);
      }),
    );
  });
});
