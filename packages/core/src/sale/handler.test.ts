import { describe, expect, test, vi } from "vitest";
import { AmountError, StateError } from "../errors.js";
import type { Unmetered } from "../options.js";
import { createOffer, type Offer } from "../scheme/offer.js";
import { createSettledAmount, MeteredAmount, WholeAmount } from "./handler.js";
import {
  admissionOf,
  createShop,
  createTestScheme,
  decodeHeader,
  HANDLED,
  NETWORK,
  PAY_TO,
  PAYER,
  ROUTES,
  readResponse,
  responseOf,
  SETTLED,
  stageOf,
} from "./shop.fixture.js";

/** The amount of one payment, by its scheme. */
function createAmount(offer: Offer, unmetered: Unmetered): MeteredAmount | WholeAmount {
  return offer.scheme.allowsLess ? new MeteredAmount(offer, unmetered) : new WholeAmount(offer);
}

const ASSET = { id: "0xA", symbol: "USDC", decimals: 6, extra: {} };
const WIRE = { network: NETWORK, maxTimeoutSeconds: 300, extra: {} };

function offerOf(allowsLess: boolean) {
  return createOffer(
    createTestScheme({ allowsLess }),
    { asset: ASSET, amount: 10_000n, payTo: PAY_TO, isInDollars: true },
    WIRE,
  );
}

describe("an amount to settle", () => {
  test("an amount is the one that was set last", () => {
    const charged = createAmount(offerOf(true), "maximum");
    expect(charged.value).toBe(10_000n);
    for (const [set, amount] of [
      ["1", 1n],
      ["50%", 5_000n],
      ["$0.002", 2_000n],
      ["0", 0n],
    ] as const) {
      charged.settle(set);
      expect(charged.value).toBe(amount);
    }
    charged.settle("12.34%");
    expect(charged.close()).toBe(1_234n);
  });

  test("an amount converts dollars by the decimals of the offer's asset", () => {
    const asset = { ...ASSET, symbol: "mUSD", decimals: 18 };
    const terms = { asset, amount: 10n ** 17n, payTo: PAY_TO, isInDollars: true };
    const charged = createAmount(createOffer(createTestScheme({ allowsLess: true }), terms, WIRE), "maximum");
    charged.settle("$0.0123");
    expect(charged.value).toBe(12_300_000_000_000_000n);
  });

  test.each<[unmetered: Unmetered, amount: bigint, closed: bigint | "missing"]>([
    ["maximum", 10_000n, 10_000n],
    ["zero", 0n, 0n],
    ["error", 0n, "missing"],
  ])("an amount without usage, with unmetered: %s is %d", (unmetered, amount, closed) => {
    const charged = createAmount(offerOf(true), unmetered);
    expect([charged.value, charged.close()]).toEqual([amount, closed]);
  });

  test.each(["10001", "100.01%", "$0.02", "1.234%", "-1", "", "ten"])(
    "an amount that rejects %j is refused until a good amount is set",
    (amount) => {
      for (const unmetered of ["maximum", "zero", "error"] as const) {
        for (const before of [undefined, "5"]) {
          const charged = createAmount(offerOf(true), unmetered);
          if (before !== undefined) charged.settle(before);
          expect(() => charged.settle(amount)).toThrow(AmountError);
          expect(charged.value).toBe(0n);
          charged.charge("1");
          expect(charged.close()).toEqual({ refused: expect.stringMatching(/^amount: expected .*, received/) });
        }
      }
      const charged = createAmount(offerOf(true), "maximum");
      expect(() => charged.settle(amount)).toThrow(AmountError);
      charged.settle("7");
      expect([charged.value, charged.close()]).toEqual([7n, 7n]);
    },
  );

  test.each(["-1", "", "ten", "1.234%", "$-0.001"])("an amount that rejects a charge of %j is refused", (amount) => {
    const charged = createAmount(offerOf(true), "maximum");
    charged.charge("5");
    expect(() => charged.charge(amount)).toThrow(AmountError);
    charged.charge("5");
    expect([charged.value, charged.close()]).toEqual([0n, { refused: expect.any(String) }]);
  });

  test("an amount adds up partial charges and rounds once", () => {
    const charged = createAmount(offerOf(true), "maximum");
    expect([charged.value, charged.remaining]).toEqual([10_000n, 10_000n]);
    for (let token = 0; token < 15; token++) charged.charge("$0.0000001");
    expect([charged.value, charged.remaining]).toEqual([2n, 9_998n]);
    charged.charge("5");
    charged.charge("0.01%");
    expect([charged.value, charged.remaining]).toEqual([8n, 9_992n]);
    charged.settle("100");
    charged.charge("$0.000001");
    expect(charged.close()).toBe(101n);
    expect(charged.remaining).toBe(0n);
  });

  test("an amount is zero after a charge of zero, with unmetered: zero or error", () => {
    for (const unmetered of ["zero", "error"] as const) {
      const charged = createAmount(offerOf(true), unmetered);
      charged.charge("0");
      expect(charged.close()).toBe(0n);
    }
  });

  test("an amount rejects a charge above the maximum and keeps the charges before it", () => {
    const charged = createAmount(offerOf(true), "maximum");
    charged.charge("99.99%");
    expect(() => charged.charge("$0.0000011")).toThrow(/at most what is left of what was authorized, 1 atomic units/);
    charged.charge("$0.0000009");
    expect(() => charged.charge("1")).toThrow(AmountError);
    expect([charged.remaining, charged.close()]).toEqual([0n, 10_000n]);
  });

  test("an amount is refused after a first charge above the maximum, until something is charged", () => {
    for (const unmetered of ["maximum", "zero", "error"] as const) {
      const charged = createAmount(offerOf(true), unmetered);
      expect(() => charged.charge("10001")).toThrow(AmountError);
      expect([charged.value, charged.close()]).toEqual([
        0n,
        { refused: expect.stringContaining("at most what is left") },
      ]);
    }
    const charged = createAmount(offerOf(true), "maximum");
    expect(() => charged.charge("10001")).toThrow(AmountError);
    charged.charge("9");
    expect([charged.value, charged.close()]).toEqual([9n, 9n]);
  });

  test.each<[set: "settle" | "charge", amount: string]>([
    ["settle", "1"],
    ["settle", "0"],
    ["settle", "ten"],
    ["charge", "1"],
    ["charge", "10000"],
  ])("a scheme that takes the whole amount refuses %s(%j), until the whole is set", (set, amount) => {
    const charged = createAmount(offerOf(false), "maximum");
    expect([charged.value, charged.remaining]).toEqual([10_000n, 0n]);
    expect(() => charged[set](amount)).toThrow(StateError);
    expect(charged.value).toBe(0n);
    expect(charged.close()).toEqual({ refused: expect.stringContaining("takes the whole amount") });
    const corrected = createAmount(offerOf(false), "maximum");
    expect(() => corrected[set](amount)).toThrow(StateError);
    corrected.settle("100%");
    expect([corrected.value, corrected.close()]).toEqual([10_000n, 10_000n]);
  });

  test("an amount cannot change after it is closed", () => {
    const charged = createAmount(offerOf(true), "maximum");
    charged.close();
    expect(() => charged.settle("1")).toThrow(/before the response ends/);
    expect(() => charged.charge("1")).toThrow(/before the response ends/);
  });

  test("an amount cannot change after it was settled", () => {
    const refused = vi.fn();
    const charged = createSettledAmount(offerOf(true), 7n, refused);
    charged.settle("1");
    charged.charge("1");
    expect([charged.value, charged.remaining, charged.close()]).toEqual([7n, 0n, 7n]);
    expect(refused).not.toHaveBeenCalled();
    const whole = createSettledAmount(offerOf(false), 7n, refused);
    expect(() => whole.settle("1")).toThrow(StateError);
    expect(() => whole.charge("1")).toThrow(StateError);
    expect([whole.value, whole.close()]).toEqual([7n, 7n]);
    expect(refused.mock.calls).toEqual([[{ refused: expect.stringContaining("takes the whole amount") }]]);
  });
});

describe("a handler that charges less than the maximum", () => {
  function createMetered(route: object = {}) {
    const routes = { "GET /weather": { ...ROUTES["GET /weather"], ...route } };
    const shop = createShop({ routes, scheme: createTestScheme({ allowsLess: true }) });
    const run = async (amount?: string) => {
      const admission = admissionOf(await shop.pay());
      if (amount !== undefined) admission.payment.settle(amount);
      return admission.complete(HANDLED);
    };
    const settled = () => shop.facilitator.calls.find(({ operation }) => operation === "settle")?.request;
    return { ...shop, run, settled };
  }

  test("settles the lower amount of a handler after verification of the maximum", async () => {
    const { run, facilitator, settled } = createMetered();
    facilitator.settles = { ...SETTLED, amount: "1234" };
    const release = await run("12.34%");
    expect(facilitator.calls[0]?.request.paymentRequirements.amount).toBe("10000");
    expect(settled()?.paymentRequirements.amount).toBe("1234");
    expect(settled()?.paymentPayload.accepted.amount).toBe("10000");
    const [[, receipt] = []] = release.kind === "release" ? release.headers : [];
    expect(decodeHeader(receipt)).toEqual({ ...SETTLED, amount: "1234" });
  });

  test("a handler sees the current amount, the remaining amount and the maximum", async () => {
    const { payment } = admissionOf(await createMetered().pay());
    payment.settle("5");
    payment.charge("$0.0000004");
    expect([payment.amount, payment.remaining, payment.maxAmount]).toEqual(["5", "9994", "10000"]);
    expect(JSON.parse(JSON.stringify(payment))).toEqual({
      payer: PAYER,
      scheme: "exact",
      network: NETWORK,
      asset: "0xASSET",
      amount: "5",
      maxAmount: "10000",
      routeTemplate: "/weather",
      pathParams: {},
    });
  });

  test("uses the payment without a settlement when the amount is zero", async () => {
    const { run, facilitator, pay } = createMetered();
    const release = await run("0");
    const [[, receipt] = []] = release.kind === "release" ? release.headers : [];
    expect(decodeHeader(receipt)).toEqual({
      success: true,
      payer: PAYER,
      transaction: "",
      network: NETWORK,
      amount: "0",
    });
    expect(facilitator.count("settle")).toBe(0);
    expect(responseOf(await pay()).json["error"]).toBe("payment_already_used");
  });

  test("answers 500 without a charge when unmetered is error and no amount was set", async () => {
    const { run, facilitator, pay, log } = createMetered({ unmetered: "error" });
    const release = await run();
    expect(release.kind === "replace" && readResponse(release.response)).toMatchObject({ status: 500 });
    expect(facilitator.count("settle")).toBe(0);
    expect(log).toMatchObject([{ event: "amount_not_said" }]);
    expect(stageOf(await pay())).toBe("held");
  });

  test.each<[outcome: string, result: unknown]>([
    ["unknown", new Error("lost")],
    ["unknown again", { ...SETTLED, amount: "10000" }],
  ])("repeats the settlement with the same amount when the outcome was %s", async (_outcome, result) => {
    const { run, facilitator, pay } = createMetered();
    facilitator.settles = result;
    await run("777");
    facilitator.settles = { ...SETTLED, amount: "777" };
    expect(responseOf(await pay()).text).toBe("sunny");
    const amounts = facilitator.calls.map(({ request }) => request.paymentRequirements.amount);
    expect(amounts).toEqual(["10000", "777", "777"]);
  });

  test("treats a settlement of another amount as unknown", async () => {
    const { run, facilitator, store } = createMetered();
    facilitator.settles = { ...SETTLED, amount: "10000" };
    expect((await run("777")).kind).toBe("replace");
    expect((await store.find(`${NETWORK}|n1`))?.state).toBe("unknown");
  });

  test('throws at startup for unmetered: "half"', () => {
    expect(() => createMetered({ unmetered: "half" })).toThrow(/"maximum", "zero" or "error"/);
  });

  test("throws at startup for unmetered in a scheme that takes the whole amount", () => {
    const routes = { "GET /weather": { ...ROUTES["GET /weather"], unmetered: "zero" as const } };
    expect(() => createShop({ routes })).toThrow(/an offer by "upto"/);
  });
});
