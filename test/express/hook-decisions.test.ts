/**
 * What hooks may decide besides 403 and a grant, over real HTTP: 402, a body of the seller's, a payment that needs no
 * facilitator, a response in place of the handler's.
 */

import { encodePaymentSignature } from "@farebox/core/protocol";
import type { Denial, PaymentHooks, SellersBody, VerifyFailure } from "@farebox/express";
import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { openObservedShop } from "./observed-shop.js";
import { expectNoStrayErrors, PAY_TO, type ShopPlan, VERSIONS } from "./shop.js";

const HOSTILE = "No \r\nX-Evil: 1\u2028 \u{1f600} more";

const CYCLE: { self?: unknown } = {};
CYCLE.self = CYCLE;

/** A promise, and what resolves it. */
function signal() {
  let resolve = () => {};
  const promise = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve };
}

describe.each(VERSIONS)("on %s", (name, express) => {
  const open = (hooks: PaymentHooks, plan: ShopPlan = {}) => {
    expectNoStrayErrors();
    return openObservedShop(express, { ...plan, options: { hooks, ...plan.options } });
  };

  const REFUSED_HEADERS: readonly (readonly [name: string, value: string | number])[] = [
    ["PAYMENT-RESPONSE", "e30="],
    ["payment-anything", "1"],
    ["X-Payment-Response", "1"],
    ["Content-Length", "1"],
    ["Transfer-Encoding", "chunked"],
    ["Cache-Control", "public"],
    ["Set-Cookie", "a=b"],
    ["Bad Name", "1"],
    ["X-Split", "1\r\nX-Evil: 1"],
    ["X-Number", 1],
  ];

  describe("a denial with 402", () => {
    const DENYING: readonly (readonly [hook: keyof PaymentHooks, path: string, hasReceipt: boolean])[] = [
      ["onRequest", "/paid", false],
      ["beforeVerify", "/paid", false],
      ["afterVerify", "/paid", false],
      ["beforeSettle", "/paid", true],
      ["onRequest", "/upfront", false],
      ["beforeVerify", "/upfront", false],
      ["beforeSettle", "/upfront", true],
    ];

    test("of any hook is a challenge with its reason, and the payment stays unused", async () => {
      let denying: keyof PaymentHooks | undefined;
      const denial: Denial = { deny: HOSTILE, status: 402 };
      const by = (hook: keyof PaymentHooks) => () => (denying === hook ? denial : undefined);
      const hooks = Object.fromEntries(DENYING.map(([hook]) => [hook, by(hook)]));
      const shop = await open(hooks);
      const headers = { "/paid": (await shop.sign()).header, "/upfront": (await shop.sign("/upfront")).header };
      for (const [hook, path, hasReceipt] of DENYING) {
        const header = headers[path as keyof typeof headers];
        const about = `${hook} at ${path}`;
        denying = hook;
        const denied = await shop.ask({ path, payment: header });
        expect([denied.status, denied.challenge?.error, denied.json()], about).toEqual([
          402,
          HOSTILE,
          denied.challenge,
        ]);
        expect([denied.challenge?.accepts[0]?.amount, denied.headers["x-evil"]], about).toEqual(["10000", undefined]);
        const receipt = {
          success: false,
          errorReason: "No X-Evil: 1 more",
          transaction: "",
          payer: shop.payer.address,
        };
        if (hasReceipt) expect(denied.receipt, about).toMatchObject({ ...receipt, network: "eip155:84532" });
        else expect(denied.receipt, about).toBeUndefined();
        expect(shop.facilitator.settled, about).toEqual([]);
        expect(JSON.stringify(shop.log), about).not.toContain("hook_failed");
      }
      denying = undefined;
      for (const [path, payment] of Object.entries(headers)) {
        expect(await shop.ask({ path, payment })).toMatchObject({ status: 200, text: "goods" });
      }
    });

    test("of onRequest names the price of this very request, and is 403 where there is nothing to pay", async () => {
      const price = ({ search }: { readonly search: string }) => (search === "" ? "$0.03" : "$0") as "$0.03";
      const accepts = { price, network: "eip155:84532", payTo: PAY_TO };
      const shop = await open(
        { onRequest: () => ({ deny: "pay", status: 402 }) },
        { routes: { "/paid": { accepts, free: true } } },
      );
      const denied = await shop.ask();
      expect([denied.status, denied.challenge!.error, denied.challenge!.accepts[0]!.amount]).toEqual([
        402,
        "pay",
        "30000",
      ]);
      const free = await shop.ask({ path: "/paid?free" });
      expect([free.status, free.json()]).toEqual([403, { error: "denied", message: "pay" }]);
      expect(shop.told()).toEqual(["denied onRequest", "denied onRequest"]);
    });
  });

  test("onPaid adds headers to the response, before it is delivered and whether it settles before or after", async () => {
    const shop = await open({
      async onPaid({ payer }, { request, response }) {
        await new Promise(setImmediate);
        response!.setHeader("X-Invoice", `${request!.path} of ${payer}`);
        response!.setHeader("X-Powered-By", "the seller");
      },
    });
    for (const path of ["/paid", "/upfront"]) {
      const { text, headers } = await shop.pay({ path });
      expect([text, headers["x-invoice"]]).toEqual(["goods", `${path} of ${shop.payer.address}`]);
      expect(headers["x-powered-by"]).toBe("the seller");
      expect(headers["payment-response"]).toBeTypeOf("string");
    }
    expect(JSON.stringify(shop.log)).not.toContain("hook_failed");
  });

  test("onPaid cannot set headers that are not its own, and the response goes out without them", async () => {
    let refused: readonly [string, string | number] = ["", ""];
    const shop = await open({
      onPaid(_payment, { response }) {
        response!.setHeader("X-Before", "1");
        const [header, value] = refused;
        response!.setHeader(header, value as string);
      },
    });
    const failed: unknown[] = [];
    shop.payments.on("hook_failed", ({ hook }) => failed.push(hook));
    for (const [at, row] of REFUSED_HEADERS.entries()) {
      refused = row;
      const { text, headers } = await shop.pay();
      expect([text, headers["x-before"], headers["x-evil"]], row.join()).toEqual(["goods", "1", undefined]);
      expect(headers["content-length"], row.join()).toBe("5");
      expect(JSON.parse(Buffer.from(String(headers["payment-response"]), "base64").toString())).toMatchObject({
        success: true,
      });
      expect(failed, row.join()).toEqual(Array.from({ length: at + 1 }, () => "onPaid"));
    }
  });

  // Below Express, both versions are the same.
  if (name === "Express 4") return;

  describe("a body of the seller's", () => {
    const BODIES: readonly (readonly [what: string, body: SellersBody, type: string, text: string])[] = [
      [
        "JSON",
        { contentType: "application/json", body: { why: [1] } },
        "application/json; charset=utf-8",
        '{"why":[1]}',
      ],
      ["text", { contentType: "text/html;charset=ascii", body: "<b>no</b>" }, "text/html;charset=ascii", "<b>no</b>"],
      ["bytes", { contentType: "image/gif", body: Buffer.from("GIF") }, "image/gif", "GIF"],
      [
        "a DataView",
        { contentType: "image/gif", body: new DataView(new Uint8Array(Buffer.from("GIF")).buffer) },
        "image/gif",
        "GIF",
      ],
    ];

    test("replaces the one of a denial, and the headers stay", async () => {
      let denial: Denial = { deny: "no" };
      const shop = await open({ onRequest: () => denial });
      for (const [what, body, type, text] of BODIES) {
        for (const status of [402, 451]) {
          denial = { deny: "no", status, body };
          const denied = await shop.ask();
          expect([denied.status, denied.text, denied.headers["content-type"]], what).toEqual([status, text, type]);
          expect(denied.headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
          expect(denied.headers["payment-required"] !== undefined).toBe(status === 402);
        }
      }
    });

    test("is the same for a duplicate that waits", async () => {
      const body = { contentType: "text/plain", body: "sold out" };
      const shop = await open({ beforeSettle: () => ({ deny: "no", status: 402, body }) });
      const { header } = await shop.sign();
      const verify = shop.facilitator.hold("verify");
      const asked = [shop.ask({ payment: header }), shop.ask({ payment: header })];
      (await verify)();
      for (const denied of await Promise.all(asked)) {
        expect(denied).toMatchObject({ status: 402, text: "sold out", receipt: { success: false, errorReason: "no" } });
        expect(denied.challenge!.error).toBe("no");
      }
    });
  });

  test.each(["/paid", "/upfront"])(
    "a payment at %s that beforeVerify calls verified asks no facilitator before it settles",
    async (path) => {
      const shop = await open({ beforeVerify: () => ({ verified: true }) });
      expect(await shop.pay({ path })).toMatchObject({ status: 200, text: "goods", receipt: { success: true } });
      expect([shop.facilitator.verified, shop.facilitator.settled]).toEqual([[], [10_000n]]);
      expect(shop.told()).not.toContain("verified");
    },
  );

  test("a payment that beforeVerify calls verified still has to settle", async () => {
    const shop = await open({ beforeVerify: () => ({ verified: true }) });
    const { header } = await shop.sign();
    shop.facilitator.removeFunds();
    const refused = await shop.ask({ payment: header });
    expect(refused).toMatchObject({ status: 402, receipt: { success: false } });
    expect(refused.text).not.toContain("goods");
  });

  test("forged payments that beforeVerify calls verified do not use up their payer's runs", async () => {
    const shop = await open({ beforeVerify: () => ({ verified: true }) }, { options: { maxRunsPerPayer: 2 } });
    const forged = async () => {
      const { payment } = await shop.sign();
      return encodePaymentSignature({
        ...payment,
        payload: { ...payment.payload, signature: `0x${"12".repeat(65)}` },
      });
    };
    const statuses: number[] = [];
    for (let sent = 0; sent < 3; sent++) statuses.push((await shop.ask({ payment: await forged() })).status);
    // The one who sends them is limited.
    expect(statuses).toEqual([402, 402, 429]);
    expect(await shop.pay()).toMatchObject({ status: 200, text: "goods" });
    expect(shop.facilitator.settled).toEqual([10_000n]);
  });

  describe("a response of afterVerify", () => {
    const cached: PaymentHooks = {
      afterVerify: () => ({ respond: { contentType: "application/json", body: { cached: 1 } } }),
    };
    const never: RequestHandler = () => expect.unreachable("the handler ran");

    test("is sold in place of the handler's", async () => {
      const shop = await open(cached, { handler: never });
      const sold = await shop.pay();
      expect([sold.status, sold.json(), sold.receipt?.success]).toEqual([200, { cached: 1 }, true]);
      expect(sold.headers).toMatchObject({
        "content-type": "application/json; charset=utf-8",
        "cache-control": "private",
      });
      expect(shop.facilitator.settled).toEqual([10_000n]);
      expect(shop.told()).toEqual(["challenged", "claimed", "verified", "admitted", "settled"]);
    });

    const UNSENDABLE: readonly (readonly [what: string, body: unknown])[] = [
      ["a promise", Promise.resolve("late")],
      ["a stream", new ReadableStream()],
      ["a blob", new Blob(["x"])],
      ["a cycle", CYCLE],
    ];

    test("that cannot be sent is not sold", async () => {
      let body: unknown;
      const shop = await open({ afterVerify: () => ({ respond: { contentType: "text/plain", body } }) });
      const { header } = await shop.sign();
      for (const [what, unsendable] of UNSENDABLE) {
        body = unsendable;
        expect((await shop.ask({ payment: header })).status, what).toBe(403);
      }
      expect(shop.facilitator.verified.length).toBeGreaterThan(0);
      expect(shop.facilitator.settled).toEqual([]);
    });

    test("is shared with a duplicate, and gone once it is delivered, as any response", async () => {
      let arrived = 0;
      const both = signal();
      const onRequest: PaymentHooks["onRequest"] = ({ hasPayment }) => {
        arrived += hasPayment ? 1 : 0;
        if (arrived === 2) both.resolve();
      };
      const afterVerify: PaymentHooks["afterVerify"] = async (payment) => {
        await both.promise;
        // The duplicate finds the claim meanwhile.
        for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
        return cached.afterVerify?.(payment);
      };
      const shop = await open({ onRequest, afterVerify }, { handler: never });
      const { header } = await shop.sign();
      const asked = [shop.ask({ payment: header }), shop.ask({ payment: header })];
      for (const sold of await Promise.all(asked)) expect([sold.status, sold.json()]).toEqual([200, { cached: 1 }]);
      expect((await shop.ask({ payment: header })).status).toBe(402);
      expect(shop.facilitator.settled).toEqual([10_000n]);
    });

    test("is kept for the same payment if the client leaves before it", async () => {
      const closed = signal();
      const watch: RequestHandler = (req, _res, next) => {
        if (req.headers["payment-signature"] !== undefined) req.socket.once("close", () => closed.resolve());
        next();
      };
      const shop = await open(cached, { handler: never, before: [watch] });
      const { header } = await shop.sign();
      const settle = shop.facilitator.hold("settle");
      const line = await shop.connect(shop.request(header));
      const proceed = await settle;
      line.socket.destroy();
      await closed.promise;
      const settled = shop.next("settled");
      proceed();
      await settled;
      for (let again = 0; again < 2; again++) {
        const sold = await shop.ask({ payment: header });
        expect([sold.status, sold.json(), sold.receipt?.success]).toEqual([200, { cached: 1 }, true]);
      }
      expect(shop.facilitator.settled).toEqual([10_000n]);
    });

    test("is not sold if the payment does not settle, or beforeSettle denies", async () => {
      let isDenied = false;
      const shop = await open(
        { ...cached, beforeSettle: () => (isDenied ? { deny: "no" } : undefined) },
        { handler: never },
      );
      shop.facilitator.failNext("rejected");
      const refused = await shop.pay();
      expect([refused.status, refused.receipt?.success]).toEqual([402, false]);
      isDenied = true;
      expect((await shop.pay()).status).toBe(403);
      expect(shop.facilitator.settled).toEqual([]);
    });
  });

  test("onVerifyFailed is told why a payment was refused, or that nobody could be asked", async () => {
    const failures: VerifyFailure[] = [];
    const shop = await open({
      onVerifyFailed({ payer, request }, failure) {
        expect([payer, request!.path]).toEqual([shop.payer.address, "/paid"]);
        failures.push(failure);
        throw new TypeError("the seller's secret");
      },
    });
    const { header } = await shop.sign();
    const { refund } = shop.facilitator.removeFunds();
    expect((await shop.ask({ payment: header })).status).toBe(402);
    refund();
    expect((await shop.ask({ payment: header })).text).toBe("goods");
    expect(failures).toMatchObject([{ reason: "insufficient_funds" }]);
    expect(shop.log).toContainEqual({ event: "hook_failed", hook: "onVerifyFailed", error: "TypeError" });
  });

  test("onPaid ends before the client has its response", async () => {
    const order: string[] = [];
    const shop = await open({
      async onPaid({ receipt, response, request }) {
        for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
        order.push(
          `settled ${receipt.success} ${request!.path} ${response === undefined ? "" : Buffer.from(response.body!)}`,
        );
      },
    });
    for (const path of ["/paid", "/upfront"]) {
      expect((await shop.pay({ path })).text).toBe("goods");
      order.push("got");
    }
    expect(order).toEqual(["settled true /paid goods", "got", "settled true /upfront ", "got"]);
  });

  test("onPaid that throws does not keep the response back, nor the headers that it has added", async () => {
    const shop = await open({
      onPaid(_payment, { response }) {
        response!.setHeader("X-Order", "1042");
        throw new RangeError("the seller's secret");
      },
    });
    const { text, headers } = await shop.pay();
    expect([text, headers["x-order"]]).toEqual(["goods", "1042"]);
    expect(shop.log.at(-1)).toEqual({ event: "hook_failed", hook: "onPaid", error: "RangeError" });
  });
});
