/**
 * A price by ticker is paid in that token, by Farebox's client and by that of `@x402/fetch`, and no other token moves.
 */
import { ASSETS } from "@farebox/evm";
import { paymentMiddleware, setSettlementOverrides } from "@farebox/express";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import { ExactEvmScheme } from "@x402/evm";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import express, { type Express } from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, onTestFinished, test } from "vitest";
import { listen, PATIENT_SELLER } from "../interop/servers.js";

const CELO = "eip155:42220";
const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

const onCelo = ASSETS.filter(({ network }) => network === CELO);

test("Celo has more than one stablecoin", () => {
  expect(onCelo.map(({ symbol }) => symbol)).toEqual(["USDC", "USDT", "USAT"]);
});

test.each(onCelo)("a price of 0.02 $symbol is paid in $symbol", async (asset) => {
  const { symbol } = asset;
  const facilitator = createTestFacilitator({ network: CELO, asset });
  const app = express();
  const routes = { "GET /x": { accepts: { network: CELO, price: `0.02 ${symbol}` as const, payTo: PAY_TO } } } as const;
  app.use(paymentMiddleware(routes, { facilitator, ...PATIENT_SELLER }));
  app.get("/x", (req, res) => {
    expect(() => setSettlementOverrides(res, { amount: "$0.01" })).toThrow("takes the whole amount");
    // A refused amount is not charged as the whole, so the handler says it.
    setSettlementOverrides(res, { amount: "20000" });
    res.json({ asset: req.payment?.asset, amount: req.payment?.amount });
  });
  const sold = { asset: asset.address, amount: "20000" };

  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 50_000n);
  const paid = await pay(app, { path: "/x", payer });
  expect([paid.status, paid.json()]).toEqual([200, sold]);

  const account = privateKeyToAccount(generatePrivateKey());
  facilitator.ledger.fund(account.address, 50_000n);
  const schemes = [{ network: "eip155:*", client: new ExactEvmScheme(account) }] as const;
  const response = await wrapFetchWithPaymentFromConfig(fetch, { schemes: [...schemes] })(`${await open(app)}/x`);
  expect([response.status, await response.json()]).toEqual([200, sold]);
  expect(facilitator.ledger.balanceOf(PAY_TO)).toBe(40_000n);
});

async function open(app: Express): Promise<string> {
  const { url, close } = await listen(app);
  onTestFinished(close);
  return url;
}
