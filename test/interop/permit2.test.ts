/**
 * The reference's own clients pay by Permit2, unchanged: our seller and our facilitator for `exact`; for `upto` a seller
 * that only passes on what it gets, so that our facilitator sees what the client has signed.
 */
import type { FacilitatorRequest, PaymentRequirements, SettlementResponse } from "@farebox/core";
import { createExactEvmScheme, createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { paymentMiddleware } from "@farebox/express";
import { createFacilitator, facilitatorRouter, type LocalFacilitator } from "@farebox/facilitator";
import { anvilAccounts, type LocalChain } from "@farebox/testing";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import express from "express";
import type { Hex } from "viem";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PATIENT } from "../facilitator/stage.js";
import { borrowChain } from "../worker-chain.js";
import { listen, PATIENT_SELLER, type Running } from "./servers.js";

const signer = anvilAccounts[0]!;
const running: Running[] = [];
let chain: LocalChain;
let facilitator: LocalFacilitator;
let facilitatorUrl: string;

beforeAll(async () => {
  chain = await borrowChain();
  const { network, rpcUrl } = chain;
  const rpc = createRpcChain({ network, rpcUrl, privateKey: signer.privateKey, ...PATIENT });
  const schemes = [createExactEvmScheme({ chain: rpc }), createUptoEvmScheme({ chain: rpc })];
  facilitator = createFacilitator({ schemes });
  facilitatorUrl = await start(express().use(facilitatorRouter(facilitator, { open: true })));
});

afterAll(async () => {
  for (const server of running) await server.close();
  await chain.close();
});

async function start(app: express.Express): Promise<string> {
  const server = await listen(app);
  running.push(server);
  return server.url;
}

/** A payer with a dollar. */
async function openAccount(): Promise<PrivateKeyAccount> {
  const account = privateKeyToAccount(generatePrivateKey());
  await chain.fund(account.address, { usdc: 1_000_000n });
  return account;
}

/** The reference's client, with a node to ask about allowances: it signs for one where that lacks. */
function clientOf(account: PrivateKeyAccount, options: { readonly rpcUrl?: string } = { rpcUrl: chain.rpcUrl }) {
  return wrapFetchWithPaymentFromConfig(fetch, {
    schemes: [
      { network: "eip155:*", client: new ExactEvmScheme(account, options) },
      { network: "eip155:*", client: new UptoEvmScheme(account, options) },
    ],
  });
}

function newAddress(): Hex {
  return privateKeyToAccount(generatePrivateKey()).address;
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");
const decode = (text: string) => JSON.parse(Buffer.from(text, "base64").toString("utf8"));

/** As a client needs it to know that an allowance may be signed for. */
const SPONSORING = {
  eip2612GasSponsoring: {
    info: { description: "The facilitator pays for the allowance.", version: "1" },
    schema: { type: "object" },
  },
};

describe("exact by Permit2", () => {
  async function openSeller(payTo: Hex, extensions?: typeof SPONSORING): Promise<string> {
    const price = { asset: chain.asset, amount: "2500", extra: { assetTransferMethod: "permit2" } };
    const accepts = { scheme: "exact", network: chain.network, price, payTo } as const;
    const app = express();
    const route = extensions === undefined ? { accepts } : { accepts, extensions };
    app.use(paymentMiddleware({ "GET /weather": route }, { facilitator: facilitatorUrl, ...PATIENT_SELLER }));
    app.get("/weather", (_req, res) => void res.json({ weather: "sunny" }));
    return `${await start(app)}/weather`;
  }

  test("is paid to our seller by @x402/fetch", async () => {
    const [account, payTo] = [await openAccount(), newAddress()];
    await chain.approvePermit2(account.address);
    const response = await clientOf(account)(await openSeller(payTo));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ weather: "sunny" });
    expect(decode(response.headers.get("PAYMENT-RESPONSE") ?? "")).toMatchObject({ success: true, amount: "2500" });
    expect(await chain.balanceOf(account.address)).toBe(997_500n);
    expect(await chain.balanceOf(payTo)).toBe(2_500n);
  });

  test("is refused where the payer has not allowed it and signs for nothing, and nothing moves", async () => {
    const [account, payTo] = [await openAccount(), newAddress()];
    const response = await clientOf(account, {})(await openSeller(payTo));
    expect(response.status).toBe(412);
    expect(decode(response.headers.get("PAYMENT-REQUIRED") ?? "")).toMatchObject({
      error: "permit2_allowance_required",
    });
    expect(await chain.balanceOf(payTo)).toBe(0n);
  });

  test.each([
    { what: "the route declares eip2612GasSponsoring", extensions: SPONSORING },
    { what: "the facilitator lists eip2612GasSponsoring", extensions: undefined },
  ])("needs no allowance beforehand where $what", async ({ extensions }) => {
    const [account, payTo] = [await openAccount(), newAddress()];
    const response = await clientOf(account)(await openSeller(payTo, extensions));
    expect(response.status).toBe(200);
    expect(await chain.balanceOf(account.address)).toBe(997_500n);
    expect(await chain.balanceOf(payTo)).toBe(2_500n);
  });
});

describe("upto", () => {
  /** What a relaying seller has been told. */
  interface Told {
    readonly url: string;
    readonly settlements: SettlementResponse[];
  }

  /** Sells for at most 5000, and takes `amount` of it. */
  async function openRelay(payTo: Hex, amount: string, extensions?: typeof SPONSORING): Promise<Told> {
    const [kind] = (await facilitator.supported()).kinds.filter(({ scheme }) => scheme === "upto");
    const offer: PaymentRequirements = {
      scheme: "upto",
      network: chain.network,
      amount: "5000",
      asset: chain.asset,
      payTo,
      maxTimeoutSeconds: 300,
      extra: { name: "USDC", version: "2", assetTransferMethod: "permit2", ...kind?.extra },
    };
    const settlements: SettlementResponse[] = [];
    const app = express();
    app.get("/words", async (req, res) => {
      const header = req.get("PAYMENT-SIGNATURE");
      const resource = { url: "http://localhost/words", description: "", mimeType: "application/json" };
      const challenge = {
        x402Version: 2,
        error: "payment needed",
        resource,
        accepts: [offer],
        ...(extensions ? { extensions } : {}),
      };
      if (header === undefined) return void res.status(402).set("PAYMENT-REQUIRED", encode(challenge)).json({});
      const paymentPayload = decode(header) as FacilitatorRequest["paymentPayload"];
      const request = { x402Version: 2, paymentPayload, paymentRequirements: offer } as const;
      const verified = await facilitator.verify(request);
      if (!verified.isValid) return void res.status(403).json(verified);
      const settled = await facilitator.settle({ ...request, paymentRequirements: { ...offer, amount } });
      settlements.push(settled);
      res.set("PAYMENT-RESPONSE", encode(settled)).json({ words: 3 });
    });
    return { url: `${await start(app)}/words`, settlements };
  }

  test.each([
    { what: "all", amount: 5_000n },
    { what: "a part", amount: 1_234n },
    { what: "nothing", amount: 0n },
  ])("is authorized by @x402/fetch, and $what of it is taken", async ({ amount }) => {
    const [account, payTo] = [await openAccount(), newAddress()];
    await chain.approvePermit2(account.address);
    const { url, settlements } = await openRelay(payTo, String(amount));
    const response = await clientOf(account)(url);
    expect(response.status).toBe(200);
    expect(settlements).toMatchObject([{ success: true, amount: String(amount) }]);
    expect(await chain.balanceOf(account.address)).toBe(1_000_000n - amount);
    expect(await chain.balanceOf(payTo)).toBe(amount);
  });

  test("needs no allowance beforehand with eip2612GasSponsoring", async () => {
    const [account, payTo] = [await openAccount(), newAddress()];
    const { url, settlements } = await openRelay(payTo, "1234", SPONSORING);
    expect((await clientOf(account)(url)).status).toBe(200);
    expect(settlements).toMatchObject([{ success: true, amount: "1234" }]);
    expect(await chain.balanceOf(account.address)).toBe(998_766n);
    expect(await chain.balanceOf(payTo)).toBe(1_234n);
  });

  test("is refused where the payer has not allowed it", async () => {
    const { url } = await openRelay(newAddress(), "1234");
    const response = await clientOf(await openAccount())(url);
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ invalidReason: "permit2_allowance_required" });
  });
});
