/**
 * Any JSON in the place of the payment. Nothing throws, hangs, runs or is charged.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { openShop, problemOf } from "./shop.js";

/** One that is kept, and the one of this run. */
const SEEDS = [20_261_128, Number(process.env["FAREBOX_SEED"])];

const nested = (depth: number) => JSON.parse("[".repeat(depth) + "]".repeat(depth));

const BAD: readonly (readonly [what: string, payment: unknown, error: RegExp])[] = [
  ["null", null, /^invalid_payload: the payment is not a JSON object$/],
  ["a string", "eyJ4NDAyVmVyc2lvbiI6Mn0=", /^invalid_payload: the payment is not a JSON object$/],
  ["a number", 402, /not a JSON object/],
  ["a list", [], /not a JSON object/],
  ["an empty object", {}, /^invalid_x402_version/],
  ["version 1", { x402Version: 1, scheme: "exact", network: "base", payload: {} }, /^invalid_x402_version/],
  ["only a version", { x402Version: 2 }, /not a PaymentPayload/],
  ["a prototype", JSON.parse('{"x402Version":2,"__proto__":{"accepted":{},"payload":{}}}'), /not a PaymentPayload/],
  ["too long", { x402Version: 2, payload: { a: "x".repeat(20_000) } }, /longer than 12288 bytes/],
  ["much too long", { x402Version: 2, payload: { a: "x".repeat(3_000_000) } }, /longer than 12288 bytes/],
  ["33 levels", { x402Version: 2, payload: nested(32) }, /nested too deeply/],
  ["1000 levels", { x402Version: 2, payload: nested(1000) }, /nested too deeply/],
  ["a NUL", { x402Version: 2, payload: { a: "\u0000" } }, /NUL/],
];

test("a payment that is not valid gets a challenge that names the problem", async () => {
  const shop = await openShop();
  for (const [what, payment, error] of BAD) {
    const result = await shop.ask({ payment });
    expect([what, result.isError]).toEqual([what, true]);
    expect(problemOf(result)).toMatchObject({ x402Version: 2, error: expect.stringMatching(error), accepts: [{}] });
  }
  const asked = shop.facilitatorServer.requests.filter(({ operation }) => operation !== "supported");
  expect([shop.runs(), asked]).toEqual([0, []]);
});

test("a payment nested so deeply that it can hardly be parsed does no harm", async () => {
  const shop = await openShop();
  const deep = "[".repeat(200_000) + "]".repeat(200_000);
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"goods","_meta":{"x402/payment":${deep}}}}`;
  const headers = {
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "mcp-session-id": shop.transport.sessionId!,
  };
  const response = await fetch(`${shop.url}/mcp`, { method: "POST", headers, body });
  await response.text();
  expect(shop.runs()).toBe(0);
  expect((await shop.ask()).isError).toBe(true);
});

test.each(SEEDS)(
  "any JSON as a payment gets an error result, and the handler does not run (FAREBOX_SEED=%i)",
  async (seed) => {
    const shop = await openShop();
    const good = await shop.sign();
    const keys = fc.constantFrom("x402Version", "accepted", "payload", "resource", "extensions", "scheme", "signature");
    const odd = fc.oneof(fc.jsonValue(), fc.dictionary(keys, fc.jsonValue()));
    /** A good payment with one changed field. */
    const spoilt = fc
      .tuple(fc.constantFrom("accepted", "payload", "x402Version"), odd)
      .map(([key, value]) => ({ ...good, [key]: value }));
    await fc.assert(
      fc.asyncProperty(fc.oneof(odd, spoilt), async (payment) => {
        fc.pre(payment !== undefined);
        const result = await shop.ask({ payment });
        expect(result.isError).toBe(true);
        expect(problemOf(result)).toHaveProperty("error");
      }),
      { seed, numRuns: 40 },
    );
    expect([shop.runs(), shop.settlements(), await shop.spent()]).toEqual([0, 0, 0n]);
  },
);
