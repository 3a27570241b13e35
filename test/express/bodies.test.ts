/**
 * A payment is bound to the body it was sent with, and the handler reads that body as if the gate had not.
 */
import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { openShop, PRICED, VERSIONS } from "./shop.js";

describe.each(VERSIONS)("on %s", (_, express) => {
  const sayBody: RequestHandler = (req, res) => void res.json({ got: req.body });
  const PARSERS = [express.json(), express.text(), express.raw()];

  /** The same parsers, in front of the payments or behind them. */
  const PLANS = [
    ["before the payments", { before: PARSERS }],
    ["after the payments", { behind: PARSERS }],
  ] as const;

  describe.each(PLANS)("with body parsers %s", (_where, parsers) => {
    async function openBodies() {
      return openShop(express, {
        routes: { "POST /paid": PRICED },
        handler: sayBody,
        // The body of an unpaid request does not matter; that of a paid one is bound to the payment.
        ...parsers,
      });
    }

    const BODIES: readonly (readonly [what: string, type: string, body: string, got: unknown])[] = [
      ["JSON", "application/json", JSON.stringify({ city: "Paris", days: [1, 2] }), { city: "Paris", days: [1, 2] }],
      ["text", "text/plain", "Grüße ☂", "Grüße ☂"],
      ["bytes", "application/octet-stream", "\u0000\u0001", { type: "Buffer", data: [0, 1] }],
      ["a large text", "text/plain", "x".repeat(90_000), "x".repeat(90_000)],
    ];

    test("the handler reads every body as it was sent", async () => {
      const shop = await openBodies();
      for (const [what, type, body, got] of BODIES) {
        const { status, json } = await shop.pay({ body, headers: { "Content-Type": type } });
        expect([status, json()], what).toEqual([200, { got }]);
      }
    });

    test("a duplicate with the same body gets the response, and one with another body is refused", async () => {
      const shop = await openBodies();
      const { header } = await shop.sign("/paid", "POST");
      const asked = shop.facilitator.hold("verify");
      const send = (body: object) => shop.ask({ method: "POST", payment: header, body });
      const first = [send({ a: 1 }), send({ a: 1 })];
      const verify = await asked;
      const other = await send({ a: 2 });
      expect([other.status, other.challenge?.error]).toEqual([402, "payment_already_used"]);
      verify();
      const responses = await Promise.all(first);
      expect(responses.map(({ status, text }) => [status, text])).toEqual(
        responses.map(() => [200, '{"got":{"a":1}}']),
      );
      expect(shop.facilitator.settled).toHaveLength(1);
    });

    test("a response that is settled later goes only to the same body", async () => {
      const shop = await openBodies();
      const { header } = await shop.sign("/paid", "POST");
      shop.facilitator.failNext("unknown");
      const send = (body: object) => shop.ask({ method: "POST", payment: header, body });
      expect((await send({ a: 1 })).status).toBe(503);
      expect((await send({ a: 1, b: 1 })).status).toBe(409);
      expect((await send({ a: 1 })).json()).toEqual({ got: { a: 1 } });
    });
  });

  test("a client that disconnects in the middle of its body is not charged, and may pay again with the same payment", async () => {
    const shop = await openShop(express, { routes: { "POST /paid": PRICED }, handler: sayBody });
    const { header } = await shop.sign("/paid", "POST");
    const head = `POST /paid HTTP/1.1\r\nHost: a\r\nPAYMENT-SIGNATURE: ${header}\r\nContent-Length: 100\r\n\r\n`;
    const line = await shop.connect(`${head}half`);
    const left = new Promise((resolve) => shop.server.once("request", (req) => req.once("close", resolve)));
    // The next request comes after the first on the same event loop: by then the first is waiting for its body.
    await shop.ask({ path: "/free" });
    line.socket.destroy();
    await Promise.race([left, line.ended]);
    expect((await shop.ask({ method: "POST", payment: header })).status).toBe(200);
    expect([shop.facilitator.verified.length, shop.facilitator.settled.length]).toEqual([1, 1]);
  });

  test("the gate does not wait for the body of an unpaid request", async () => {
    const shop = await openShop(express, { routes: { "POST /paid": PRICED }, handler: sayBody });
    const line = await shop.connect("POST /paid HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf");
    expect(await line.until("\r\n\r\n")).toMatch(/^HTTP\/1.1 402 /);
  });
});
