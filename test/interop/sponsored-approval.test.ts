/**
 * A token with nothing but ERC-20, and payers without the network's coin: the reference's own client pays with it at our
 * seller, who declares nothing by hand, because our facilitator lists `erc20ApprovalGasSponsoring`.
 */
import type { SponsoringOptions } from "@farebox/evm/facilitator";
import { createExactEvmScheme, createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { paymentMiddleware, setSettlementOverrides } from "@farebox/express";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import { anvilAccounts, type LocalChain } from "@farebox/testing";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import express from "express";
import { createPublicClient, createWalletClient, type Hex, http, type PublicClient, parseAbi } from "viem";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PATIENT, receiptOf } from "../facilitator/stage.js";
import { borrowChain } from "../worker-chain.js";
import { listen, PATIENT_SELLER, type Running } from "./servers.js";

const ERC20 = parseAbi(["function transfer(address, uint256)", "function balanceOf(address) view returns (uint256)"]);
const SPONSORING: SponsoringOptions = { maxGrantWei: 10n ** 16n, maxGrantWeiPerHour: 10n ** 17n };

const [signer, holder] = [anvilAccounts[0]!, anvilAccounts[1]!];
const running: Running[] = [];
let chain: LocalChain;
let token: Hex;

beforeAll(async () => {
  chain = await borrowChain();
  token = await chain.deployToken(holder.address);
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

function startFacilitator(sponsoring?: SponsoringOptions): Promise<string> {
  const { network, rpcUrl } = chain;
  const { privateKey } = signer;
  const options = { network, rpcUrl, privateKey, ...PATIENT };
  const rpc = createRpcChain(sponsoring === undefined ? options : { ...options, sponsoring });
  const schemes = [createExactEvmScheme({ chain: rpc }), createUptoEvmScheme({ chain: rpc })];
  return start(express().use(facilitatorRouter(createFacilitator({ schemes }), { open: true })));
}

async function startSeller(scheme: "exact" | "upto", facilitator: string): Promise<{ url: string; payTo: Hex }> {
  const payTo = privateKeyToAccount(generatePrivateKey()).address;
  const price = { asset: token, amount: "5000", extra: { assetTransferMethod: "permit2" } };
  const app = express();
  app.use(
    paymentMiddleware(
      { "GET /words": { accepts: { scheme, network: chain.network, price, payTo } } },
      { facilitator, ...PATIENT_SELLER },
    ),
  );
  app.get("/words", (_req, res) => {
    if (scheme === "upto") setSettlementOverrides(res, { amount: "1234" });
    res.json({ words: 3 });
  });
  return { url: `${await start(app)}/words`, payTo };
}

/** Somebody who has the token and nothing else. */
async function openAccount(): Promise<PrivateKeyAccount> {
  const account = privateKeyToAccount(generatePrivateKey());
  const wallet = createWalletClient({ account: privateKeyToAccount(holder.privateKey), transport: http(chain.rpcUrl) });
  const args = [account.address, 1_000_000n] as const;
  const call = { address: token, abi: ERC20, functionName: "transfer", args, chain: null } as const;
  await receiptOf(reader(), await wallet.writeContract(call));
  return account;
}

function clientOf(account: PrivateKeyAccount) {
  const options = { rpcUrl: chain.rpcUrl };
  return wrapFetchWithPaymentFromConfig(fetch, {
    schemes: [
      { network: "eip155:*", client: new ExactEvmScheme(account, options) },
      { network: "eip155:*", client: new UptoEvmScheme(account, options) },
    ],
    spendControls: false,
  });
}

function reader(): PublicClient {
  return createPublicClient({ transport: http(chain.rpcUrl) });
}

function balanceOf(owner: Hex): Promise<bigint> {
  return reader().readContract({ address: token, abi: ERC20, functionName: "balanceOf", args: [owner] });
}

describe.each([
  { scheme: "exact", amount: 5_000n },
  { scheme: "upto", amount: 1_234n },
] as const)("$scheme", ({ scheme, amount }) => {
  test("is paid with a token without EIP-2612, twice, by a payer without the network's coin", async () => {
    const [account, { url, payTo }] = [
      await openAccount(),
      await startSeller(scheme, await startFacilitator(SPONSORING)),
    ];
    for (const times of [1n, 2n]) {
      const response = await clientOf(account)(url);
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ words: 3 });
      expect(await balanceOf(payTo)).toBe(times * amount);
    }
    expect(await balanceOf(account.address)).toBe(1_000_000n - 2n * amount);
  });

  test("is answered 412 where the facilitator does not sponsor, and the challenge does not say that it does", async () => {
    const [account, { url, payTo }] = [await openAccount(), await startSeller(scheme, await startFacilitator())];
    const response = await clientOf(account)(url);
    expect(response.status).toBe(412);
    const challenge = JSON.parse(Buffer.from(response.headers.get("PAYMENT-REQUIRED") ?? "", "base64").toString());
    expect(challenge.error).toBe("permit2_allowance_required");
    expect(Object.keys(challenge.extensions)).toEqual(["payment-identifier"]);
    expect(await balanceOf(payTo)).toBe(0n);
  });
});
