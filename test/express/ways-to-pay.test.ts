/**
 * One route with several ways to pay: each has its own price, transfer method, and time at which the money moves.
 */
import type { Scheme } from "@farebox/core";
import { encodePaymentSignature } from "@farebox/core/protocol";
import { ASSETS, exactEvm } from "@farebox/evm";
import type { PaymentOption, PriceParser } from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";
import { ExactEvmScheme } from "@x402/evm";
import { ExactEvmScheme as TheirScheme } from "@x402/evm/exact/server";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { openShop, PAY_TO, type ShopPlan, VERSIONS } from "./shop.js";

const NETWORK = "eip155:84532";
const OPTION: PaymentOption = { price: "$0.01", network: NETWORK, payTo: PAY_TO };

describe.each(VERSIONS)("on %s", (_, express) => {
  const sell = (accepts: readonly PaymentOption[], plan: ShopPlan = {}) =>
    openShop(express, {
      routes: { "GET /paid": { accepts } },
      handler: (req, res) => void res.json({ amount: req.payment?.amount }),
      ...plan,
    });

  test.each(["exact", "upto"])("a quote for a price in dollars holds for %s by Permit2", async (scheme) => {
    let price = "$0.01";
    const shop = await sell([{ ...OPTION, scheme, price: () => price, extra: { assetTransferMethod: "permit2" } }]);
    const { challenge } = await shop.ask();
    const offer = challenge!.accepts[0]!;
    expect(offer).toMatchObject({ amount: "10000", extra: { name: "USDC", assetTransferMethod: "permit2" } });
    const sign = scheme === "upto" ? shop.payer.signUpto : shop.payer.signExact;
    const payment = await sign(offer, { challenge: challenge! });
    price = "$0.02";
    const paid = await shop.ask({ payment: encodePaymentSignature(payment) });
    expect([paid.status, paid.challenge?.error]).toEqual([200, undefined]);
  });

  test("one route takes an asset by EIP-3009 and by Permit2, each settled at its own time", async () => {
    const seen: number[] = [];
    const byPermit2 = { ...OPTION, settle: "before", extra: { assetTransferMethod: "permit2" } } as const;
    const shop = await sell([OPTION, byPermit2], {
      handler: (_req, res) => {
        seen.push(shop.facilitator.settled.length);
        res.status(500).json({});
      },
    });
    const { challenge } = await shop.ask();
    for (const offer of challenge!.accepts) {
      const payment = await shop.payer.signExact(offer, { challenge: challenge! });
      expect((await shop.ask({ payment: encodePaymentSignature(payment) })).status).toBe(500);
    }
    // The handler failed: nothing is charged for the first, and the second had settled when the handler ran.
    expect([seen, shop.facilitator.settled]).toEqual([[0, 1], [10_000n]]);
  });
});

const CELO = "eip155:42220";
const [, USDT] = ASSETS.filter(({ network }) => network === CELO);
const AT_CELO = { price: "$0.02", network: CELO, payTo: PAY_TO } as const;

/** Pays once with the client of `@x402/fetch`. */
async function payByFetch(plan: ShopPlan) {
  const facilitator = createTestFacilitator({ network: CELO, asset: USDT! });
  const account = privateKeyToAccount(generatePrivateKey());
  facilitator.ledger.fund(account.address, 50_000n);
  const shop = await openShop(VERSIONS[0]![1], {
    routes: { "GET /paid": { accepts: AT_CELO } },
    handler: (req, res) => void res.json({ asset: req.payment?.asset, amount: req.payment?.amount }),
    ...plan,
    options: { facilitator, ...plan.options },
  });
  const schemes = [{ network: "eip155:*", client: new ExactEvmScheme(account) }] as const;
  const { challenge } = await shop.ask();
  const response = await wrapFetchWithPaymentFromConfig(fetch, { schemes: [...schemes] })(`${shop.url}/paid`);
  return { challenge, status: response.status, sold: await response.json(), got: facilitator.ledger.balanceOf(PAY_TO) };
}

const toTether: PriceParser["parse"] = (amount) => {
  expect(amount).toBe("0.02");
  return { asset: USDT!.address, amount: "20000" };
};

test.each<[what: string, parse: PriceParser["parse"]]>([
  ["at once", toTether],
  ["later", async (amount, network) => toTether(amount, network)],
])("a dollar that a parser reads %s as another token is paid in it by @x402/fetch", async (_what, parse) => {
  const paid = await payByFetch({ options: { priceParsers: [{ network: CELO, parse }] } });
  expect(paid).toMatchObject({ status: 200, sold: { asset: USDT!.address, amount: "20000" }, got: 20_000n });
  expect(paid.challenge?.accepts[0]?.extra).not.toHaveProperty("quote");
});

test("a scheme of the reference's, behind offer, is paid by @x402/fetch", async () => {
  const theirs = new TheirScheme().registerMoneyParser(async () => ({
    asset: USDT!.address,
    amount: "20000",
    extra: { name: USDT!.name, version: USDT!.version },
  }));
  const scheme: Scheme = {
    ...exactEvm(),
    async offer({ network, price, payTo, extra }, kind) {
      const { asset, amount, extra: own } = await theirs.parsePrice(price as string, network);
      const terms = {
        scheme: "exact",
        network,
        asset,
        amount,
        payTo,
        maxTimeoutSeconds: 300,
        extra: { ...own, ...extra },
      };
      const supported = { x402Version: 2, scheme: "exact", network, extra: kind.extra };
      const offered = await theirs.enhancePaymentRequirements(terms, supported, [...kind.extensions]);
      const made = { id: offered.asset, symbol: "USDT", decimals: 6, extra: offered.extra };
      return { ok: true, asset: made, amount: BigInt(offered.amount), payTo: offered.payTo };
    },
  };
  const paid = await payByFetch({ options: { schemes: [scheme] } });
  expect(paid).toMatchObject({ status: 200, sold: { asset: USDT!.address, amount: "20000" }, got: 20_000n });
});
