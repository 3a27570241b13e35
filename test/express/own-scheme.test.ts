/**
 * A scheme of the seller's own, as docs/guides/write-a-scheme.md describes it: vouchers, signed with a shared secret.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Facilitator, PaymentPayload, PaymentReading, Scheme } from "@farebox/core";
import { encodePaymentSignature } from "@farebox/core/protocol";
import { parsePrice } from "@farebox/core/scheme";
import { type PaymentsOptions, paymentMiddleware, type RouteConfig } from "@farebox/express";
import { describe, expect, test } from "vitest";
import { expectNoStrayErrors, openShop, PAY_TO, VERSIONS } from "./shop.js";

const SECRET = "between the shop and its bank";
const NETWORK = "eip155:84532";

interface Voucher {
  readonly id: string;
  readonly cents: string;
  readonly seal: string;
}

function sealOf(id: string, cents: string): string {
  return createHmac("sha256", SECRET).update(`${id} ${cents}`).digest("hex");
}

function isVoucher(payload: unknown): payload is Voucher {
  const { id, cents, seal } = { ...(payload as Partial<Voucher>) };
  return typeof id === "string" && /^[a-z0-9]{4,40}$/.test(id) && typeof cents === "string" && typeof seal === "string";
}

function isSealed({ id, cents, seal }: Voucher): boolean {
  const right = Buffer.from(sealOf(id, cents));
  const given = Buffer.from(seal);
  return given.length === right.length && timingSafeEqual(given, right);
}

const CENTS = { id: "cents", symbol: "cents", decimals: 2, extra: {} };

function voucherScheme(changes: Partial<Scheme> = {}): Scheme {
  return {
    scheme: "voucher",
    networks: "eip155:*",
    compileTerms({ price, payTo }) {
      const parsed =
        typeof price === "string" ? parsePrice(price, [CENTS]) : { ok: false as const, expected: "dollars" };
      return parsed.ok ? { ...parsed, payTo } : { ok: false, issues: [{ term: "price", expected: parsed.expected }] };
    },
    sameAddress: (a, b) => a === b,
    readPayment(payload, { amount, network }, nowSeconds): PaymentReading {
      if (!isVoucher(payload) || !isSealed(payload)) return { kind: "refused", reason: "invalid_payload" };
      if (payload.cents !== amount) return { kind: "refused", reason: "insufficient_funds" };
      return {
        kind: "readable",
        payload: { id: payload.id, cents: payload.cents, seal: payload.seal },
        identity: `${network}|voucher|${payload.id}`,
        payer: payload.id,
        expiresAtSeconds: nowSeconds + 60,
        expiredReason: "invalid_payload",
      };
    },
    ...changes,
  };
}

/** Accepts each voucher once. */
function createBank(): Facilitator & { readonly taken: readonly string[]; readonly asked: readonly unknown[] } {
  const taken: string[] = [];
  const asked: unknown[] = [];
  const idOf = (payment: { readonly payload: unknown }) => {
    asked.push(payment.payload);
    return (payment.payload as Voucher).id;
  };
  return {
    taken,
    asked,
    verify: async ({ paymentPayload }) => ({
      isValid: !taken.includes(idOf(paymentPayload)),
      invalidReason: "invalid_payload",
    }),
    async settle({ paymentPayload }) {
      taken.push(idOf(paymentPayload));
      return { success: true, transaction: `ledger-${taken.length}`, network: NETWORK };
    },
    supported: async () => ({
      kinds: [{ x402Version: 2, scheme: "voucher", network: NETWORK, extra: { bank: "b1" } }],
      extensions: [],
      signers: {},
    }),
  };
}

const ROUTE: RouteConfig = { accepts: { scheme: "voucher", price: "$0.05", network: NETWORK, payTo: PAY_TO } };

describe.each(VERSIONS)("on %s, a scheme of the seller's own", (_, express) => {
  async function openVoucherShop(scheme = voucherScheme(), more: Partial<PaymentsOptions> = {}) {
    const bank = createBank();
    const options = { facilitator: bank, schemes: [scheme], ...more };
    const shop = await openShop(express, {
      routes: { "GET /paid": ROUTE },
      options,
      handler: (req, res) => void res.json({ payer: req.payment?.payer, amount: req.payment?.amount }),
    });
    const send = (payload: Readonly<Record<string, unknown>>) => {
      const accepted = { scheme: "voucher", network: NETWORK, amount: "5", asset: "cents", payTo: PAY_TO };
      const payment: PaymentPayload = { x402Version: 2, accepted, payload };
      return shop.ask({ payment: encodePaymentSignature(payment) });
    };
    return { bank, shop, send };
  }

  const GOOD = { id: "abcd", cents: "5", seal: sealOf("abcd", "5") };

  test("a seller's own scheme is offered, claimed, verified, settled, and taken once", async () => {
    const { bank, shop, send } = await openVoucherShop();
    const { challenge } = await shop.ask();
    expect(challenge?.accepts).toMatchObject([{ scheme: "voucher", network: NETWORK, amount: "5", asset: "cents" }]);
    const served = await send(GOOD);
    expect([served.status, served.json()]).toEqual([200, { payer: "abcd", amount: "5" }]);
    for (const again of [GOOD, { seal: GOOD.seal, cents: "5", id: "abcd", more: 1 }]) {
      expect((await send(again)).challenge?.error).toBe("payment_already_used");
    }
    expect(bank.taken).toEqual(["abcd"]);
  });

  test.each([
    ["a seal of another", { ...GOOD, seal: sealOf("abce", "5") }, "invalid_payload"],
    ["no seal", { id: "abcd", cents: "5" }, "invalid_payload"],
    ["too little", { id: "abcd", cents: "4", seal: sealOf("abcd", "4") }, "insufficient_funds"],
    ["nothing", {}, "invalid_payload"],
  ])("a seller's own scheme refuses %s by itself, and no facilitator is asked", async (_what, voucher, error) => {
    const { bank, send } = await openVoucherShop();
    const refused = await send(voucher);
    expect([refused.status, refused.challenge?.error, bank.taken]).toEqual([402, error, []]);
  });

  test("a seller's own scheme may end a payment before it is forgotten: a later handler is stopped, and nothing is charged", async () => {
    expectNoStrayErrors();
    const plain = voucherScheme();
    const scheme = voucherScheme({
      readPayment(payload, requirements, nowSeconds) {
        const reading = plain.readPayment(payload, requirements, nowSeconds);
        return reading.kind === "refused" ? reading : { ...reading, settleBySeconds: nowSeconds + 20 };
      },
    });
    const bank = createBank();
    const timers = new Map<() => void, number>();
    let nowMs = 1_800_000_000_000;
    let begin = (_signal: AbortSignal): void => {};
    const running = new Promise<AbortSignal>((resolve) => {
      begin = resolve;
    });
    const shop = await openShop(express, {
      routes: { "GET /paid": ROUTE },
      options: {
        facilitator: bank,
        schemes: [scheme],
        now: () => nowMs,
        timer(act, delayMs) {
          timers.set(act, nowMs + delayMs);
          return () => void timers.delete(act);
        },
      },
      handler: (req) => begin(req.payment!.signal),
    });
    const accepted = { scheme: "voucher", network: NETWORK, amount: "5", asset: "cents", payTo: PAY_TO };
    const payment = encodePaymentSignature({ x402Version: 2, accepted, payload: { ...GOOD } });
    const asked = shop.ask({ payment });
    const signal = await running;
    const pass = (ms: number) => {
      nowMs += ms;
      for (const [act, atMs] of timers) if (atMs <= nowMs && timers.delete(act)) act();
    };
    pass(14_000);
    expect(signal.aborted).toBe(false);
    pass(1);
    expect(signal.reason).toMatchObject({ code: "ERR_FAREBOX_PAYMENT_ABORTED", reason: "expired" });
    const { status, text } = await asked;
    expect([status, JSON.parse(text).error, bank.taken]).toEqual([504, "payment_expired", []]);
    const again = await shop.ask({ payment });
    expect([again.status, again.challenge?.error]).toEqual([402, "payment_expired"]);
  });

  test.each([
    ["no payload", undefined],
    ["a text", "voucher"],
    ["a list", []],
  ])(
    "a seller's own scheme that returns %s in place of the payload sells nothing, and the log says why",
    async (_what, payload) => {
      const plain = voucherScheme();
      const scheme = voucherScheme({
        readPayment(...given) {
          const reading = plain.readPayment(...given);
          return reading.kind === "refused" ? reading : { ...reading, payload: payload as never };
        },
      });
      const log: unknown[] = [];
      const logger = {
        info() {},
        warn() {},
        error: (event: string, fields: unknown) => void log.push([event, fields]),
      };
      const { bank, send } = await openVoucherShop(scheme, { logger });
      expect([(await send(GOOD)).status, bank.taken]).toEqual([503, []]);
      const message = "scheme voucher: readPayment returned no payload: return the fields that it has read";
      const fields = { route: "GET /paid", error: "SchemeError", code: "ERR_FAREBOX_SCHEME", message };
      expect(log).toEqual([["decision_failed", fields]]);
    },
  );

  test("a seller's own scheme passes on only what it has read", async () => {
    const { bank, send } = await openVoucherShop();
    expect((await send({ more: "x", ...GOOD, seal2: { deep: [] } })).status).toBe(200);
    expect(bank.asked).toEqual([GOOD, GOOD]);
  });

  test("a seller's own scheme adds what its facilitator says to its offers", async () => {
    const completeExtra: Scheme["completeExtra"] = ({ bank }) => (typeof bank === "string" ? { bank } : undefined);
    const { shop, send } = await openVoucherShop(voucherScheme({ completeExtra }));
    const { challenge } = await shop.ask();
    expect(challenge?.accepts[0]?.extra).toEqual({ bank: "b1" });
    expect((await send(GOOD)).status).toBe(200);
  });
});

describe("a scheme is found", () => {
  const open = (schemes: readonly Scheme[], network: `eip155:${number}` = NETWORK) =>
    paymentMiddleware(
      { "GET /paid": { accepts: { scheme: "voucher", price: "$0.05", network, payTo: PAY_TO } } },
      { facilitator: createBank(), schemes },
    );

  test.each<[networks: Scheme["networks"], network: `eip155:${number}`]>([
    ["eip155:*", "eip155:84532"],
    ["eip155:*", "eip155:1"],
    ["eip155:1", "eip155:1"],
  ])("a scheme is found on %s for %s", (networks, network) => {
    expect(open([voucherScheme({ networks })], network)).toBeTypeOf("function");
  });

  test.each<[networks: Scheme["networks"]]>([["eip155:1"], ["solana:*"]])("a scheme is not found on %s", (networks) => {
    expect(() => open([voucherScheme({ networks })])).toThrow(
      /a scheme that works on eip155:84532; known are voucher on /,
    );
  });

  test("a scheme is found by name, and the seller's comes before ours", () => {
    const compiled: string[] = [];
    const mine = (name: string): Scheme => ({
      ...voucherScheme({ scheme: "exact" }),
      compileTerms(terms) {
        compiled.push(name);
        return voucherScheme().compileTerms(terms);
      },
    });
    paymentMiddleware(
      { "GET /paid": { accepts: { price: "$0.05", network: NETWORK, payTo: PAY_TO } } },
      { facilitator: createBank(), schemes: [mine("first"), mine("second")] },
    );
    expect(compiled).toEqual(["first"]);
  });

  test("a scheme that lacks a part is refused at start", () => {
    const { readPayment: _, ...lacking } = voucherScheme();
    expect(() => open([lacking as Scheme])).toThrow(/options.schemes: expected an array of schemes/);
  });
});
