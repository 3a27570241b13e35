/**
 * A price by ticker is paid in that token by the reference's client, also in a token of Token-2022.
 */
import { paymentMiddleware } from "@farebox/express";
import { ASSETS } from "@farebox/svm";
import express, { type Express } from "express";
import { expect, onTestFinished, test } from "vitest";
import {
  FEE_PAYER,
  NETWORK,
  PAY_TO,
  PAYER,
  PublicKey,
  TOKEN,
  TOKEN_2022,
} from "../../packages/svm/src/payments.fixture.js";
import { listen, PATIENT_SELLER } from "../interop/servers.js";
import { startLocalSvm } from "./local-svm.js";
import { ourFacilitator, referenceClient } from "./peers.js";

test.each(ASSETS.filter(({ network }) => network === NETWORK))(
  "a price of 0.002 $symbol is paid in $symbol, a token of $program",
  async ({ symbol, mint, program }) => {
    const local = await startLocalSvm(FEE_PAYER.publicKey);
    onTestFinished(() => local.close());
    const token = new PublicKey(mint);
    const owner = program === "token" ? TOKEN : TOKEN_2022;
    local.createMint(token, owner);
    local.fund(PAYER.publicKey, 5_000n, token, owner);
    local.fund(PAY_TO, 0n, token, owner);

    const facilitator = await open(await ourFacilitator(local.rpcUrl));
    const accepts = { network: NETWORK, price: `0.002 ${symbol.toLowerCase()}`, payTo: PAY_TO.toBase58() } as never;
    const app = express().use(
      paymentMiddleware({ "GET /x": { accepts } }, { ...PATIENT_SELLER, strict: false, facilitator }),
    );
    app.get("/x", (req, res) => void res.json({ asset: req.payment?.asset }));

    const response = await (await referenceClient(PAYER, local.rpcUrl))(`${await open(app)}/x`);
    expect([response.status, await response.json()]).toEqual([200, { asset: mint }]);
    expect(local.balanceOf(PAY_TO, token, owner)).toBe(2_000n);
    expect(local.balanceOf(PAYER.publicKey, token, owner)).toBe(3_000n);
  },
);

async function open(app: Express): Promise<string> {
  const { url, close } = await listen(app);
  onTestFinished(close);
  return url;
}
