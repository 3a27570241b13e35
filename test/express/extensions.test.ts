/**
 * Extensions that have a say in each challenge and receipt, over real HTTP.
 */
import {
  type ChallengeContext,
  type CompiledDeclaration,
  createMemoryStore,
  type Extension,
  type PaymentPayload,
  type PaymentRecord,
  type SettledContext,
  type SettlementResponse,
} from "@farebox/core";
import { createPayments, type PaymentHooks, type Payments, type RouteConfig } from "@farebox/express";
import type { PayResult } from "@farebox/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ObservedPlan, type ObservedShop, openObservedShop } from "./observed-shop.js";
import { createLeasingStore } from "./shared-store.js";
import { expectNoStrayErrors, PATIENT, PAY_TO, PRICED, VERSIONS } from "./shop.js";

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

const STAMPED: RouteConfig = { ...PRICED, extensions: { stamp: {} } };
const BOTH: RouteConfig = { ...PRICED, extensions: { stamp: {}, kept: {} } };
const ROUTES = { "/paid": STAMPED, "GET /upfront": { ...STAMPED, settle: "before" } } as const;

const QUIET = { info() {}, warn() {}, error() {} };

function fail(error: Error): () => never {
  return () => {
    throw error;
  };
}

/** Something that happens once. */
function latch() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

describe.each(VERSIONS)("on %s", (name, express) => {
  const open = (
    parts: Partial<CompiledDeclaration> | readonly Extension[],
    plan: Pick<ObservedPlan, "routes" | "options"> = {},
  ) => {
    expectNoStrayErrors();
    const extensions = "length" in parts ? parts : [stampOf(parts)];
    return openObservedShop(express, { routes: ROUTES, ...plan, options: { ...plan.options, extensions } });
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

    // Below Express, both versions are the same.
    if (name === "Express 4") return;

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

    const FAILING: readonly (readonly [what: string, challenge: () => unknown, error: string])[] = [
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
    ];

    test("a challenge has the plain declaration when the extension fails, in any way, and the log says so", async () => {
      let failing = (): unknown => PLAIN;
      const shop = await open({ challenge: () => failing() as never });
      for (const [at, [what, challenge, error]] of FAILING.entries()) {
        failing = challenge;
        expect((await shop.ask()).challenge?.extensions?.["stamp"], what).toEqual(PLAIN);
        const failures = failuresIn(shop);
        expect(failures, what).toHaveLength(at + 1);
        expect(failures.at(-1), what).toMatchObject({
          ...{ event: "extension_failed", route: "/paid", extension: "stamp", about: "challenge", error },
        });
      }
      expect(await shop.pay()).toMatchObject({ status: 200, receipt: { success: true } });
    });

    test("a challenge has the plain declaration when the extension takes longer than five seconds", async () => {
      const asked = latch();
      const challenge = () => {
        asked.open();
        return new Promise<never>(() => {});
      };
      const shop = await open([stampOf({ challenge }), stampOf(numbering(), "number")], {
        routes: { "/paid": { ...PRICED, extensions: { stamp: {}, number: {} } } },
      });
      const asking = shop.ask();
      await asked.opened;
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

    test("the seller's own body goes out with the header that the extension had a say in", async () => {
      const unpaidBody = () => ({ contentType: "text/plain", body: "pay" });
      const shop = await open(numbering(), { routes: { "/paid": { ...STAMPED, unpaidBody } } });
      const { status, text, headers } = await shop.ask();
      const inHeader = JSON.parse(Buffer.from(String(headers["payment-required"]), "base64").toString());
      expect([status, text, inHeader.extensions.stamp.info.nonce]).toEqual([402, "pay", "n1"]);
    });

    test("a route that does not declare the extension does not ask it", async () => {
      let asked = 0;
      const shop = await open({ challenge: () => void asked++ as never }, { routes: { "/paid": PRICED } });
      expect((await shop.ask()).status).toBe(402);
      expect(asked).toBe(0);
    });

    test("a large declaration stays in the header, and what repeats other fields leaves it", async () => {
      const pad = "x".repeat(5_700);
      const shop = await open({ challenge: () => ({ info: { pad }, schema: {} }) });
      const { headers, json } = await shop.ask();
      const inHeader = JSON.parse(Buffer.from(String(headers["payment-required"]), "base64").toString());
      expect(inHeader.extensions.stamp.info).toEqual({ pad });
      expect(inHeader.extensions.farebox.truncated).toContain("outputSchema");
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

    // Below Express, both versions are the same.
    if (name === "Express 4") return;

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

  describe("a receipt that an extension adds to", () => {
    const extensionsOf = ({ receipt }: PayResult) => receipt?.extensions;

    test.each(["/paid", "/upfront"])("the receipt at %s has what the extension returns", async (path) => {
      const seen: SettledContext[] = [];
      const shop = await open({
        async receipt(context) {
          seen.push(context);
          return { thanks: context.payer };
        },
      });
      const paid = await shop.pay({ path, headers: { "X-Order": "7" } });
      expect(paid).toMatchObject({ status: 200, receipt: { success: true } });
      expect(extensionsOf(paid)).toEqual({ stamp: { thanks: shop.payer.address } });
      const { extensions: _extensions, ...receipt } = paid.receipt ?? {};
      expect(seen).toMatchObject([
        { route: expect.stringContaining(path), payer: shop.payer.address, amount: "10000" },
      ]);
      expect(seen[0]?.receipt).toEqual(receipt);
      expect(seen[0]?.request?.header("x-order")).toBe("7");
      expect(seen[0]?.payload.extensions).toHaveProperty("stamp");
      const response = { status: 200, headers: { "content-type": "text/html; charset=utf-8" } };
      if (path === "/paid") expect(seen[0]?.response).toMatchObject(response);
      else expect(seen[0]?.response).toBeUndefined();
    });

    // Below Express, both versions are the same.
    if (name === "Express 4") return;

    test("hooks and each replay, at another process too, have the same entry, and the extension is called once", async () => {
      let calls = 0;
      const extensions = [stampOf({ receipt: () => ({ number: ++calls }) })];
      const store = createMemoryStore();
      const told: SettlementResponse[] = [];
      const hooks: PaymentHooks = { afterSettle: (_payment, receipt) => void told.push(receipt) };
      const [first, second] = [
        await open(extensions, { options: { store, hooks } }),
        await open(extensions, { options: { store } }),
      ];
      const { payment } = await first.sign();
      const identified = {
        ...payment,
        extensions: {
          ...payment.extensions,
          "payment-identifier": { info: { required: false, id: "an_id_of_its_own_1" } },
        },
      };
      const paid = await Promise.all(Array.from({ length: 5 }, () => first.ask({ payment: identified })));
      const again = await first.ask({ payment: identified });
      const elsewhere = await second.ask({
        path: "/paid",
        headers: { Host: new URL(first.url).host },
        payment: identified,
      });
      const all = [...paid, again, elsewhere];
      expect(all.map(({ status }) => status)).toEqual(all.map(() => 200));
      expect(all.map(extensionsOf)).toEqual(all.map(() => ({ stamp: { number: 1 } })));
      expect(new Set(all.map(({ headers }) => headers["payment-response"])).size).toBe(1);
      expect(told).toEqual([paid[0]?.receipt]);
      expect(calls).toBe(1);
    });

    const FAILING: readonly (readonly [what: string, receipt: () => unknown, error: string])[] = [
      ["throws", fail(new RangeError("no key")), "RangeError"],
      ["rejects", () => Promise.reject(new TypeError("no key")), "TypeError"],
      ["returns a text", () => "thanks", "it returned what cannot be sent"],
      ["returns NUL in it", () => ({ at: "\0" }), "it returned what cannot be sent"],
      ["returns a bigint in it", () => ({ at: 1n }), "TypeError"],
      [
        "returns more than 4 KiB",
        () => ({ pad: "x".repeat(3_000) }),
        "the receipt would be longer than 4096 characters",
      ],
    ];

    test("a payment is sold as ever when the extension fails, in any way, and the log says so", async () => {
      let failing = (): unknown => undefined;
      const note = stampOf({ receipt: () => ({ is: "kept" }) }, "kept");
      const shop = await open([stampOf({ receipt: () => failing() as never }), note], { routes: { "/paid": BOTH } });
      for (const [at, [what, receipt, error]] of FAILING.entries()) {
        failing = receipt;
        const paid = await shop.pay();
        expect([paid.status, paid.text, extensionsOf(paid)], what).toEqual([200, "goods", { kept: { is: "kept" } }]);
        const failures = failuresIn(shop);
        expect(failures, what).toHaveLength(at + 1);
        expect(failures.at(-1), what).toMatchObject({ route: "/paid", extension: "stamp", about: "receipt", error });
      }
    });

    test("a payment is sold as ever when the extension takes longer than two seconds", async () => {
      const asked = latch();
      const shop = await open({
        receipt() {
          asked.open();
          return new Promise<never>(() => {});
        },
      });
      const paying = shop.pay();
      await asked.opened;
      shop.passTime();
      expect(await paying).toMatchObject({ status: 200, text: "goods", receipt: { success: true } });
      expect(failuresIn(shop)).toMatchObject([{ extension: "stamp", error: expect.stringContaining("2000") }]);
    });

    test("a payment has a record in settling, with a lease, while the extension is asked", async () => {
      const { options, seen } = createLeasingStore();
      let record: PaymentRecord | undefined;
      let before: readonly string[] = [];
      const shop = await open(
        {
          async receipt({ payment }) {
            record = await options.store.find(payment);
            before = [...seen];
            return {};
          },
        },
        { options },
      );
      const beganMs = Date.now();
      expect((await shop.pay()).status).toBe(200);
      expect(before).toEqual(["settling lease response"]);
      expect(record).toMatchObject({ state: "settling", leaseUntilMs: expect.any(Number) });
      expect(record?.leaseUntilMs).toBeGreaterThan(beganMs);
    });

    test("a settlement that fails does not ask the extension, and one that is found out later does", async () => {
      const requests: unknown[] = [];
      const shop = await open({
        receipt({ request }) {
          requests.push(request);
          return { late: true };
        },
      });
      shop.facilitator.failNext("rejected");
      expect(await shop.pay()).toMatchObject({ status: 402, receipt: { success: false } });
      expect(requests).toEqual([]);
      const { payment } = await shop.sign();
      shop.facilitator.failNext("unknown");
      const pending = await shop.ask({ payment });
      expect(pending.status).toBe(503);
      const settled = shop.next("settled");
      shop.passTime();
      await settled;
      expect(requests).toEqual([undefined]);
      const token = String(pending.headers["payment-retry-token"]);
      const found = await shop.ask({ payment, headers: { "PAYMENT-RETRY-TOKEN": token } });
      expect([found.status, found.text, extensionsOf(found)]).toEqual([200, "goods", { stamp: { late: true } }]);
    });

    test.each<[key: string, add: (payments: Payments) => void, notes: readonly string[]]>([
      ["the same key", (payments) => void payments.routes({ "/paid": STAMPED }), ["/paid"]],
      ["no such key", (payments) => void payments.routes({ "/other": STAMPED }), []],
      [
        "two prices for the key",
        (payments) => {
          payments.routes({ "/paid": STAMPED });
          payments.routes({ "/paid": STAMPED });
        },
        [],
      ],
    ])(
      "a process that takes over a settlement, and has %s, asks its extension about the receipt only if the key is certain (%#)",
      async (_key, add, notes) => {
        const { store } = createLeasingStore().options;
        const shop = await open({}, { options: { store } });
        shop.facilitator.failNext("unknown");
        expect((await shop.pay()).status).toBe(503);
        await shop.payments.close();
        const routes: string[] = [];
        const receipt = ({ route }: SettledContext) => void routes.push(route);
        const extensions = [stampOf({ receipt: receipt as never })];
        const other = createPayments({
          facilitator: shop.facilitator,
          store,
          extensions,
          logger: QUIET,
          deadlines: PATIENT,
          // Its tables are in no app.
          strict: false,
        });
        add(other);
        onTestFinished(() => other.close());
        expect(await other.recover()).toMatchObject({ settled: 1 });
        expect(routes).toEqual(notes);
      },
    );
  });

  describe("hooks of an extension", () => {
    test("hooks are asked after the seller's, and only on routes that declare the extension", async () => {
      const asked: string[] = [];
      const noting = (who: string): PaymentHooks => ({
        onRequest: ({ path }) => void asked.push(`${who} onRequest ${path}`),
        beforeVerify: () => void asked.push(`${who} beforeVerify`),
        afterVerify: async () => void asked.push(`${who} afterVerify`),
        beforeSettle: () => void asked.push(`${who} beforeSettle`),
        afterSettle: () => void asked.push(`${who} afterSettle`),
      });
      const shop = await open([stampOf({ hooks: noting("stamp") }), stampOf({ hooks: noting("kept") }, "kept")], {
        routes: { "/paid": BOTH, "GET /upfront": PRICED },
        options: { hooks: noting("seller") },
      });
      const { header } = await shop.sign();
      asked.length = 0;
      expect((await shop.ask({ payment: header })).status).toBe(200);
      const who = ["seller", "stamp", "kept"];
      const ofPayments = ["beforeVerify", "afterVerify", "beforeSettle", "afterSettle"];
      const all = ["onRequest /paid", ...ofPayments].flatMap((name) => who.map((one) => `${one} ${name}`));
      expect(asked).toEqual(all);
      asked.length = 0;
      expect((await shop.pay({ path: "/upfront" })).status).toBe(200);
      expect(asked).not.toEqual([]);
      expect(asked.filter((one) => !one.startsWith("seller "))).toEqual([]);
    });

    test("onPaid has the receipt with what the extension added, and the response", async () => {
      const seen: SettledContext[] = [];
      const shop = await open({
        receipt: () => ({ a: 1 }),
        hooks: { onPaid: (context) => void seen.push(context) },
      });
      const { receipt } = await shop.pay();
      expect(seen).toMatchObject([{ receipt, response: { status: 200 } }]);
      expect(JSON.parse(JSON.stringify(seen[0]))).toMatchObject({ receipt: { extensions: { stamp: { a: 1 } } } });
      expect(() => Object.assign(seen[0]?.receipt.extensions?.["stamp"] ?? {}, { a: 2 })).toThrow(TypeError);
    });

    // Below Express, both versions are the same.
    if (name === "Express 4") return;

    test("an extension lets requests in on its routes, unless the seller denies them", async () => {
      const hooks: PaymentHooks = {
        onRequest: ({ header }) => (header("x-pass") === "1" ? { grant: true } : undefined),
      };
      const sellers: PaymentHooks = { onRequest: ({ header }) => (header("x-bad") ? { deny: "no" } : undefined) };
      const shop = await open([stampOf({ hooks })], {
        routes: { "/paid": STAMPED, "GET /upfront": PRICED },
        options: { hooks: sellers },
      });
      const withPass = { headers: { "X-Pass": "1" } };
      expect(await shop.ask(withPass)).toMatchObject({ status: 200, text: "goods" });
      expect((await shop.ask({ path: "/upfront", ...withPass })).status).toBe(402);
      expect((await shop.ask({ headers: { "X-Pass": "1", "X-Bad": "1" } })).status).toBe(403);
      expect((await shop.ask()).status).toBe(402);
      expect(shop.facilitator.settled).toEqual([]);
    });

    test("a route that nobody can pay for has an extension that lets requests in, and its say in the challenge", async () => {
      const offers: number[] = [];
      const stamp = stampOf({
        challenge(context) {
          offers.push(context.offers.length);
          return { info: { nonce: "n1" }, schema: SCHEMA };
        },
        hooks: { onRequest: ({ header }) => (header("x-pass") === "1" ? { grant: true } : undefined) },
      });
      const routes = { "/paid": { accepts: [], extensions: { stamp: {} } } };
      const shop = await open([stamp], { routes });
      expect(await shop.ask({ headers: { "X-Pass": "1" } })).toMatchObject({ status: 200, text: "goods" });
      const { status, challenge } = await shop.ask();
      expect([status, challenge?.accepts, challenge?.extensions?.["stamp"]?.info]).toEqual([402, [], { nonce: "n1" }]);
      expect(offers).toEqual([0]);
      await expect(open([stampOf({})], { routes })).rejects.toThrow(/onRequest/);
    });

    test("an extension denies a payment that the seller has nothing against", async () => {
      const asked: string[] = [];
      const shop = await open([stampOf({ hooks: { beforeVerify: () => ({ deny: "too old" }) } })], {
        options: { hooks: { beforeVerify: () => void asked.push("seller") } },
      });
      const denied = await shop.pay();
      expect([denied.status, denied.json()]).toEqual([403, { error: "denied", message: "too old" }]);
      expect(asked).toEqual(["seller"]);
      expect(shop.told().at(-1)).toBe("denied beforeVerify");
    });

    test.each<[name: string, hook: () => unknown]>([
      ["throws", fail(new RangeError("broken"))],
      ["rejects", () => Promise.reject(new RangeError("broken"))],
    ])("a payment is denied when the hook of an extension %s, and the log names the extension", async (_name, hook) => {
      const shop = await open([stampOf({ hooks: { beforeSettle: hook as never } })]);
      expect((await shop.pay()).status).toBe(403);
      expect(failuresIn(shop)).toMatchObject([
        { extension: "stamp", about: "beforeSettle", error: "RangeError", message: "broken" },
      ]);
      expect(shop.facilitator.settled).toEqual([]);
    });

    test("all hooks hear of a settlement when one of them throws", async () => {
      const heard: string[] = [];
      const shop = await open(
        [
          stampOf({ hooks: { afterSettle: fail(new Error("broken")) } }),
          stampOf({ hooks: { afterSettle: () => void heard.push("kept") } }, "kept"),
        ],
        { routes: { "/paid": BOTH }, options: { hooks: { afterSettle: () => void heard.push("seller") } } },
      );
      expect((await shop.pay()).status).toBe(200);
      expect(heard).toEqual(["seller", "kept"]);
    });

    test("onPaid of each is awaited before the response, within one deadline", async () => {
      const ended: string[] = [];
      const asked = latch();
      const slow = latch();
      const shop = await open(
        [
          stampOf({ hooks: { onPaid: () => slow.opened.then(() => void ended.push("stamp")) } }),
          stampOf(
            {
              hooks: {
                onPaid() {
                  asked.open();
                  return new Promise<void>(() => {});
                },
              },
            },
            "kept",
          ),
        ],
        { routes: { "/paid": BOTH }, options: { hooks: { onPaid: async () => void ended.push("seller") } } },
      );
      const paying = shop.pay().finally(() => ended.push("response"));
      await asked.opened;
      slow.open();
      await slow.opened;
      shop.passTime();
      expect(await paying).toMatchObject({ status: 200, receipt: { success: true } });
      expect(ended).toEqual(["seller", "stamp", "response"]);
    });

    test("a payment that the seller calls verified may still be denied by an extension", async () => {
      const deny = stampOf({ hooks: { beforeVerify: () => ({ deny: "no" }) } });
      const sellers: PaymentHooks = { beforeVerify: () => ({ verified: true }) };
      const denying = await open([deny], { options: { hooks: sellers } });
      expect((await denying.pay()).status).toBe(403);
      const silent = await open([stampOf({ hooks: { beforeVerify: () => undefined } })], {
        options: { hooks: sellers },
      });
      expect((await silent.pay()).status).toBe(200);
      expect([denying.facilitator.verified, silent.facilitator.verified]).toEqual([[], []]);
    });

    test("a denial with 402 has a challenge that the extensions had a say in", async () => {
      const shop = await open({ ...numbering(), hooks: { beforeVerify: () => ({ deny: "again", status: 402 }) } });
      const denied = await shop.pay();
      expect([denied.status, denied.challenge?.error]).toEqual([402, "again"]);
      expect(denied.challenge?.extensions?.["stamp"]?.info["nonce"]).toBe("n2");
    });

    test("parts that cannot be asked are issues at the start", async () => {
      const parts = { challenge: "n1", receipt: {}, dynamicFields: "nonce" };
      const opened = open([stampOf(parts as never)], { routes: { "/paid": STAMPED } });
      await expect(opened).rejects.toThrow(/stamp\.challenge: .*\n.*stamp\.receipt: .*\n.*stamp\.dynamicFields: /);
    });

    test("a hook that is no function is an issue at the start", async () => {
      const hooks = { beforeVerify: true, beforeVerfy: () => undefined };
      const opened = open([stampOf({ hooks: hooks as never })], { routes: { "/paid": STAMPED } });
      await expect(opened).rejects.toThrow(
        /extensions\.stamp\.hooks\.beforeVerify: expected a function, received true/,
      );
      await expect(opened).rejects.toThrow(/beforeVerfy/);
    });
  });
});
