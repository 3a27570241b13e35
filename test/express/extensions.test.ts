/**
 * Extensions that have a say in each challenge and receipt, over real HTTP.
 */
import type { ChallengeContext, CompiledDeclaration, Extension, PaymentPayload } from "@farebox/core";
import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { type ObservedShop, openObservedShop } from "./observed-shop.js";
import { expectNoStrayErrors, PAY_TO, PRICED, VERSIONS } from "./shop.js";

const SCHEMA = { type: "object" };
const PLAIN = { info: { version: "1", nonce: "none" }, schema: SCHEMA };

/** An extension of which the test sets all that is asked while a request waits. */
function stampOf(parts: Partial<CompiledDeclaration>, key = "stamp"): Extension {
  return { key, compile: () => ({ at: () => PLAIN, notices: [], ...parts }) };
}

/** Gives each challenge a nonce: n1, n2, … */
function numbering(): Required<Pick<CompiledDeclaration, "challenge" | "dynamicFields">> {
  let last = 0;
  return {
    dynamicFields: ["nonce"],
    challenge: async ({ declaration }) =>
      declaration && { ...declaration, info: { ...declaration.info, nonce: `n${++last}` } },
  };
}

/** What the log has about extensions. */
function failuresIn({ log }: Pick<ObservedShop, "log">) {
  return log.filter((line) => /"(extension_failed|challenge_too_large)"/.test(JSON.stringify(line)));
}

const STAMPED = { ...PRICED, extensions: { stamp: {} } };
const ROUTES = { "/paid": STAMPED, "GET /upfront": { ...STAMPED, settle: "before" } } as const;

describe.each(VERSIONS)("on %s", (_, express) => {
  const open = (
    parts: Partial<CompiledDeclaration> | readonly Extension[],
    plan: { readonly handler?: RequestHandler; readonly routes?: Readonly<Record<string, typeof STAMPED>> } = {},
  ) => {
    expectNoStrayErrors();
    const extensions = "length" in parts ? parts : [stampOf(parts)];
    return openObservedShop(express, { routes: ROUTES, ...plan, options: { extensions } });
  };

  describe("a challenge that an extension has a say in", () => {
    test("each challenge is written anew, and its header has what its body has", async () => {
      const shop = await open(numbering());
      const nonces = [];
      for (const headers of [{}, {}, { "User-Agent": "Mozilla/5.0", Accept: "text/html" }]) {
        const { status, challenge } = await shop.ask({ headers });
        nonces.push([status, challenge?.extensions?.["stamp"]]);
      }
      const stamp = (nonce: string) => [402, { info: { version: "1", nonce }, schema: SCHEMA }];
      expect(nonces).toEqual([stamp("n1"), stamp("n2"), stamp("n3")]);
      const { headers, json } = await shop.ask();
      const inHeader = JSON.parse(Buffer.from(String(headers["payment-required"]), "base64").toString());
      expect(inHeader).toEqual(json());
      expect(shop.told()).toEqual(Array.from({ length: 4 }, () => "challenged"));
    });

    test("the extension gets request, resource, offers, declaration and error", async () => {
      const seen: ChallengeContext[] = [];
      const shop = await open({
        challenge(context) {
          seen.push(context);
          return context.declaration;
        },
      });
      const { challenge } = await shop.ask({ path: "/paid?a=1", method: "POST", headers: { "X-Tier": "gold" } });
      expect(seen).toMatchObject([
        {
          request: { method: "POST", path: "/paid", route: "/paid", hasPayment: false },
          resource: { url: `${shop.url}/paid`, description: "Tested" },
          offers: [
            { scheme: "exact", network: "eip155:84532", amount: "10000", payTo: PAY_TO, extra: { name: "USDC" } },
          ],
          declaration: PLAIN,
          error: "Payment required",
        },
      ]);
      expect(seen[0]?.request.header("x-tier")).toBe("gold");
      expect(challenge?.extensions).toMatchObject({ stamp: PLAIN, "payment-identifier": {} });
    });

    test("a refused payment gets a challenge of its own, with its reason", async () => {
      const errors: string[] = [];
      const { challenge } = numbering();
      const shop = await open({
        challenge(context) {
          errors.push(context.error);
          return challenge(context);
        },
      });
      const { payment } = await shop.sign();
      const funds = shop.facilitator.removeFunds();
      const refused = await shop.ask({ payment });
      expect([refused.status, refused.challenge?.extensions?.["stamp"]?.info]).toEqual([
        402,
        { version: "1", nonce: "n2" },
      ]);
      funds.refund();
      shop.facilitator.failNext("rejected");
      const unsettled = await shop.ask({ payment });
      expect([unsettled.status, unsettled.challenge?.extensions?.["stamp"]?.info["nonce"]]).toEqual([402, "n3"]);
      expect(await shop.ask({ payment })).toMatchObject({ status: 402, challenge: { error: errors[3] } });
      const malformed = await shop.ask({ payment: "no payment" });
      expect([malformed.status, malformed.challenge?.extensions?.["stamp"]?.info["nonce"]]).toEqual([400, "n5"]);
      const other = await shop.ask({ payment: { ...payment, accepted: { ...payment.accepted, amount: "1" } } });
      expect([other.status, other.challenge?.extensions?.["stamp"]?.info["nonce"]]).toEqual([402, "n6"]);
      expect(errors).toMatchObject([
        "Payment required",
        expect.stringContaining("insufficient_funds"),
        expect.stringContaining("insufficient_funds"),
        expect.any(String),
        expect.stringContaining("invalid_payload"),
        expect.stringContaining("invalid_payment_requirements"),
      ]);
    });

    test.each<[what: string, challenge: () => unknown, error: string]>([
      [
        "throws",
        () => {
          throw new RangeError("no key");
        },
        "RangeError",
      ],
      ["rejects", () => Promise.reject(new TypeError("no key")), "TypeError"],
      ["returns no declaration", () => ({ info: {} }), "it returned what cannot be sent"],
      ["returns a text", () => "signed", "it returned what cannot be sent"],
      ["returns a bigint in it", () => ({ info: { at: 1n }, schema: {} }), "TypeError"],
      ["returns NUL in it", () => ({ info: { at: "\0" }, schema: {} }), "it returned what cannot be sent"],
    ])(
      "a challenge has the plain declaration when the extension %s, and the log says so",
      async (_what, challenge, error) => {
        const shop = await open({ challenge: challenge as never });
        expect((await shop.ask()).challenge?.extensions?.["stamp"]).toEqual(PLAIN);
        expect(failuresIn(shop)).toMatchObject([
          { event: "extension_failed", route: "/paid", extension: "stamp", about: "challenge", error },
        ]);
        expect(await shop.pay()).toMatchObject({ status: 200, receipt: { success: true } });
      },
    );

    test("a challenge has the plain declaration when the extension takes longer than five seconds", async () => {
      let asked = () => {};
      const isAsked = new Promise<void>((resolve) => {
        asked = resolve;
      });
      const challenge = () => {
        asked();
        return new Promise<never>(() => {});
      };
      const shop = await open([stampOf({ challenge }), stampOf(numbering(), "number")], {
        routes: { "/paid": { ...PRICED, extensions: { stamp: {}, number: {} } } as never },
      });
      const asking = shop.ask();
      await isAsked;
      shop.passTime();
      const { extensions } = (await asking).challenge ?? {};
      expect(extensions).toMatchObject({ stamp: PLAIN, number: { info: { nonce: "n1" } } });
      expect(failuresIn(shop)).toMatchObject([
        { event: "extension_failed", extension: "stamp", error: expect.stringContaining("5000") },
      ]);
    });

    test("a challenge has no declaration when the extension returns none", async () => {
      const shop = await open({ challenge: () => undefined });
      expect((await shop.ask()).challenge?.extensions).not.toHaveProperty("stamp");
      expect(failuresIn(shop)).toEqual([]);
    });

    test("an extension that changes what it was given changes no other challenge", async () => {
      const shop = await open({
        challenge({ declaration }) {
          const kept = JSON.stringify(declaration);
          (declaration?.info as Record<string, unknown>)["version"] = "changed";
          return JSON.parse(kept);
        },
      });
      await shop.ask();
      expect((await shop.ask()).challenge?.extensions?.["stamp"]).toEqual(PLAIN);
    });

    test("a route that does not declare the extension does not ask it", async () => {
      let asked = 0;
      const shop = await open(
        { challenge: () => void asked++ as never },
        { routes: { "/paid": PRICED as typeof STAMPED } },
      );
      expect((await shop.ask()).status).toBe(402);
      expect(asked).toBe(0);
    });

    test("a large declaration stays in the header, and what repeats other fields leaves it", async () => {
      const pad = "x".repeat(2_400);
      const shop = await open({ challenge: () => ({ info: { pad }, schema: {} }) });
      const { headers, json } = await shop.ask();
      const inHeader = JSON.parse(Buffer.from(String(headers["payment-required"]), "base64").toString());
      expect(inHeader.extensions.stamp.info).toEqual({ pad });
      expect(inHeader.accepts[0]).not.toHaveProperty("outputSchema");
      expect(json()).toMatchObject({ accepts: [{ outputSchema: {} }] });
    });

    test("a challenge that most proxies refuse is logged once", async () => {
      const pad = "x".repeat(7_000);
      const shop = await open({ challenge: () => ({ info: { pad }, schema: {} }) });
      await shop.ask();
      await shop.ask();
      expect(failuresIn(shop)).toMatchObject([{ route: "/paid", characters: expect.any(Number) }]);
    });
  });

  describe("the client's copy of a declaration", () => {
    test("the facilitator gets the client's dynamic fields, its additions, and our own fields", async () => {
      const shop = await open(numbering());
      const { payment } = await shop.sign();
      const info = { version: "2", nonce: "n1", added: true };
      const sent: PaymentPayload = { ...payment, extensions: { ...payment.extensions, stamp: { ...PLAIN, info } } };
      expect((await shop.ask({ payment: sent })).status).toBe(200);
      const [verified] = shop.facilitator.verified;
      expect(verified?.extensions).toEqual({ stamp: { ...PLAIN, info: { version: "1", nonce: "n1", added: true } } });
    });

    test("the facilitator gets our own fields when the client sends none back", async () => {
      const shop = await open(numbering());
      const { extensions: _extensions, ...payment } = (await shop.sign()).payment;
      expect((await shop.ask({ payment })).status).toBe(200);
      expect(shop.facilitator.verified[0]?.extensions).toEqual({ stamp: PLAIN });
    });

    test("a field that is not dynamic stays ours, whatever the challenge had", async () => {
      const { challenge } = numbering();
      const shop = await open({ challenge });
      expect((await shop.pay()).status).toBe(200);
      expect(shop.facilitator.verified[0]?.extensions).toEqual({ stamp: PLAIN });
    });
  });
});
