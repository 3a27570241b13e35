/** Of a client's payload, a facilitator and the store get what the scheme has read, in one spelling. */
import { createMemoryStore, type Facilitator, FacilitatorError, type PaymentPayload } from "@farebox/core";
import type { RouteConfig } from "@farebox/express";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import { describe, expect, test } from "vitest";
import { openShop, PAY_TO, PRICED, VERSIONS } from "./shop.js";

const NETWORK = "eip155:84532";
const TERMS = { network: NETWORK, payTo: PAY_TO } as const;

const BY_PERMIT2: RouteConfig = {
  accepts: { ...TERMS, scheme: "exact", price: "$0.01", extra: { assetTransferMethod: "permit2" } },
};
const UPTO: RouteConfig = { accepts: { ...TERMS, scheme: "upto", price: "$0.01" } };

type Json = Readonly<Record<string, unknown>>;

/** Throws on an empty permit, as the reference's facilitator does, and takes a whole one for the payment. */
function createForgetful() {
  const inner = createTestFacilitator();
  const seen = { verify: [] as Json[], settle: [] as Json[] };
  const permitOf = ({ permit2Authorization: permit }: Json): Json | undefined => {
    if (permit === undefined) return undefined;
    if ((permit as Json)["from"] !== undefined) return permit as Json;
    const failure = {
      code: "ERR_FAREBOX_FACILITATOR_STATUS",
      operation: "verify",
      outcome: "none",
      status: 500,
    } as const;
    throw new FacilitatorError("the facilitator failed", failure);
  };
  const facilitator: Facilitator = {
    async verify(request) {
      const { payload } = request.paymentPayload;
      seen.verify.push(payload);
      const permit = permitOf(payload);
      return permit === undefined ? inner.verify(request) : { isValid: true, payer: String(permit["from"]) };
    },
    async settle(request) {
      const { payload } = request.paymentPayload;
      seen.settle.push(payload);
      if (permitOf(payload) === undefined) return inner.settle(request);
      return { success: true, transaction: `0x${"ab".repeat(32)}`, network: NETWORK };
    },
    supported: (options) => inner.supported(options),
  };
  return { facilitator, seen, fund: (address: `0x${string}`) => inner.ledger.fund(address, 1_000_000n) };
}

function openAt(facilitator: Facilitator, route: RouteConfig, options: object = {}) {
  return (express: (typeof VERSIONS)[number][1], runs: string[] = []) =>
    openShop(express, {
      routes: { "/paid": route },
      options: { facilitator, ...options },
      handler: (req, res) => {
        runs.push(req.payment?.payer ?? "nobody");
        res.json({ goods: true });
      },
    });
}

const upperCase = (text: unknown) => `0x${String(text).slice(2).toUpperCase()}`;

/** The same payment in another spelling, with fields that nobody signed. */
const SPELLINGS: Readonly<Record<string, (payload: Json) => Json>> = {
  "fields that nobody reads"(payload) {
    const deep = (value: unknown): unknown =>
      typeof value === "object" ? { more: { a: [1] }, ...mapValues(value as Json, deep), __more: "x" } : value;
    return deep(payload) as Json;
  },
  "hexadecimal in upper case": (payload) =>
    mapDeep(payload, (text) => (text.startsWith("0x") ? upperCase(text) : text)),
  "hexadecimal in lower case": (payload) => mapDeep(payload, (text) => text.toLowerCase()),
  "fields in another order": (payload) => reverse(payload) as Json,
};

function mapValues(object: Json, change: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}

function mapDeep(object: Json, change: (text: string) => string): Json {
  return mapValues(object, (value) => (typeof value === "string" ? change(value) : mapDeep(value as Json, change)));
}

function reverse(value: unknown): unknown {
  if (typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value as Json)
      .reverse()
      .map(([key, inner]) => [key, reverse(inner)]),
  );
}

describe.each(VERSIONS)("on %s, a payload", (_, express) => {
  test.each([
    ["an empty permit", { permit2Authorization: {} }],
    ["a permit of another form", { permit2Authorization: { permitted: null, witness: [] } }],
    ["a permit that is a text", { permit2Authorization: "x".repeat(1_000) }],
  ])("is passed on without %s beside its authorization", async (_what, beside) => {
    const { facilitator, seen, fund } = createForgetful();
    const shop = await openAt(facilitator, PRICED)(express);
    fund(shop.payer.address);
    const { payment } = await shop.sign();
    const served = await shop.ask({ payment: { ...payment, payload: { ...payment.payload, ...beside } } });
    expect(served.status).toBe(200);
    expect([seen.verify, seen.settle]).toEqual([[payment.payload], [payment.payload]]);
  });

  test("is passed on without a signed permit beside made-up authorizations: no handler runs", async () => {
    const { facilitator, seen, fund } = createForgetful();
    const runs: string[] = [];
    const shop = await openAt(facilitator, PRICED)(express, runs);
    fund(shop.payer.address);
    const { challenge } = await shop.ask();
    const [offer] = challenge!.accepts;
    const permit = await shop.payer.signExact({
      ...offer!,
      extra: { ...offer!.extra, assetTransferMethod: "permit2" },
    });
    for (let at = 0; at < 3; at++) {
      const { payment } = await shop.sign();
      const { authorization } = payment.payload as { authorization: Json };
      const refused = await shop.ask({ payment: { ...payment, payload: { ...permit.payload, authorization } } });
      expect(refused.status).toBe(402);
    }
    expect([runs, seen.settle]).toEqual([[], []]);
    expect(seen.verify.flatMap(Object.keys)).not.toContain("permit2Authorization");
  });

  describe.each([
    ["an authorization", PRICED],
    ["a permit", BY_PERMIT2],
    ["a permit for a maximum", UPTO],
  ])("with %s", (_what, route) => {
    test.each(Object.entries(SPELLINGS))(
      "and %s reaches facilitator and store as it was signed",
      async (_how, spell) => {
        const inner = createTestFacilitator();
        const store = createMemoryStore();
        const stored: unknown[] = [];
        const watching = Object.assign(Object.create(store), {
          transition(change: Parameters<typeof store.transition>[0]) {
            if (change.request != null) stored.push(change.request.paymentPayload.payload);
            return store.transition(change);
          },
        });
        const hooked: unknown[] = [];
        const hooks = { afterSettle: ({ payload }: { payload: PaymentPayload }) => void hooked.push(payload.payload) };
        const runs: string[] = [];
        const shop = await openAt(inner, route, { store: watching, hooks })(express, runs);
        inner.ledger.fund(shop.payer.address, 1_000_000n);
        const { payment } = await shop.sign();
        const served = await shop.ask({ payment: { ...payment, payload: spell(payment.payload) } });
        expect([served.status, served.receipt?.payer, runs]).toEqual([200, shop.payer.address, [shop.payer.address]]);
        const { verify, settle } = inner.calls;
        const passedOn = [...verify, ...settle].map(({ paymentPayload }) => paymentPayload.payload);
        const texts = [...passedOn, ...stored, ...hooked].map((payload) => JSON.stringify(payload));
        expect(texts).toEqual(Array.from({ length: 4 }, () => JSON.stringify(payment.payload)));
        // The same payment, as it was signed: it has bought its response.
        expect((await shop.ask({ payment })).challenge?.error).toBe("payment_already_used");
      },
    );
  });

  test("in two spellings at two sellers with one store is one payment", async () => {
    const inner = createTestFacilitator();
    const store = createMemoryStore();
    const runs: string[] = [];
    const sellers = await Promise.all([0, 1].map(() => openAt(inner, PRICED, { store })(express, runs)));
    const payer = createPayer();
    inner.ledger.fund(payer.address, 1_000_000n);
    const { challenge } = await sellers[0]!.ask();
    const payment = await payer.signExact(challenge!.accepts[0]!, { challenge: challenge! });
    const spelled = Object.values(SPELLINGS).map((spell) => ({ ...payment, payload: spell(payment.payload) }));
    const answers = await Promise.all(
      spelled.map((one, at) => pay(sellers[at % 2]!.url, { path: "/paid", payment: one })),
    );
    expect(answers.map(({ status }) => status)).toContain(200);
    expect([runs.length, inner.ledger.transfers.length]).toEqual([1, 1]);
  });
});
