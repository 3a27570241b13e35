/**
 * Where the example servers sell: local chains for EVM, Solana and Algorand, a facilitator for all three, and the reference's clients.
 *
 * @module
 */
import { createExactEvmScheme, createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import { anvilAccounts, type LocalChain, startLocalChain } from "@farebox/testing";
import { createKeyPairSignerFromBytes } from "@solana/kit";
import { toClientAvmSigner } from "@x402/avm";
import { ExactAvmScheme } from "@x402/avm/exact/client";
import { wrapAxiosWithPaymentFromConfig } from "@x402/axios";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { ExactSvmScheme } from "@x402/svm/exact/client";
import axios from "axios";
import express from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import * as avm from "../../../packages/avm/src/payments.fixture.js";
import * as svm from "../../../packages/svm/src/payments.fixture.js";
import { facilitatorOf } from "../../avm/both-sides.js";
import { RICH } from "../../avm/ledger.js";
import { LocalAlgod } from "../../avm/local-algod.js";
import { listen, type Running } from "../../interop/servers.js";
import { type LocalSvm, startLocalSvm } from "../../svm/local-svm.js";

const PURSE = 1_000_000n;

/** The three chains and their facilitator. */
export interface Town {
  readonly chain: LocalChain;
  readonly svm: LocalSvm;
  readonly algod: LocalAlgod;
  readonly facilitator: string;
  /** The key of who is paid on EVM. The account has ETH, for a server that settles by itself. */
  readonly payeeKey: `0x${string}`;
  /** Who is paid, on each chain. */
  readonly payees: Readonly<Record<"evm" | "svm" | "avm", string>>;
  /** Atomic units that the payees have, all together. */
  earned(): Promise<bigint>;
  /** A new buyer with a dollar on each chain. */
  createBuyer(options?: { readonly approvesPermit2?: boolean }): Promise<Buyer>;
  close(): Promise<void>;
}

/** Pays by the reference's clients. `by`: on which network; it takes the first offer there. */
export interface Buyer {
  readonly address: `0x${string}`;
  fetch(url: string, init?: RequestInit, by?: Chain): Promise<Response>;
  axios(url: string, by?: Chain): Promise<Response>;
}

/** The first part of a network's name. */
export type Chain = "eip155" | "solana" | "algorand";

/** Starts everything. */
export async function openTown(): Promise<Town> {
  const [chain, solana, algod] = await Promise.all([
    startLocalChain(),
    startLocalSvm(svm.FEE_PAYER.publicKey),
    LocalAlgod.start(),
  ]);
  const payeeKey = generatePrivateKey();
  const payee = privateKeyToAccount(payeeKey).address;
  await chain.fund(payee, { eth: 10n ** 18n });
  solana.fund(svm.PAYER.publicKey, PURSE);
  solana.fund(svm.PAY_TO, 0n);
  for (const address of [avm.PAYER.addr, avm.FEE_PAYER.addr, avm.PAY_TO]) {
    for (const asset of [0n, avm.USDC]) algod.ledger.give(address, asset === 0n ? RICH : PURSE, asset);
  }
  const facilitator = await startFacilitator(chain, solana, algod);
  const before = algod.ledger.balanceOf(avm.PAY_TO, avm.USDC) ?? 0n;

  return {
    chain,
    svm: solana,
    algod,
    facilitator: facilitator.url,
    payeeKey,
    payees: { evm: payee, svm: svm.PAY_TO.toBase58(), avm: avm.PAY_TO.toString() },
    async earned() {
      const onAlgorand = (algod.ledger.balanceOf(avm.PAY_TO, avm.USDC) ?? 0n) - before;
      return (await chain.balanceOf(payee)) + (solana.balanceOf(svm.PAY_TO) ?? 0n) + onAlgorand;
    },
    createBuyer: (options = {}) => createBuyer(chain, solana, algod, options.approvesPermit2 === true),
    async close() {
      await Promise.all([facilitator.close(), chain.close(), solana.close(), algod.close()]);
    },
  };
}

function startFacilitator(chain: LocalChain, solana: LocalSvm, algod: LocalAlgod): Promise<Running> {
  const { network, rpcUrl } = chain;
  const { privateKey } = anvilAccounts[0]!;
  const sponsoring = { maxGrantWei: 10n ** 16n, maxGrantWeiPerHour: 10n ** 17n };
  const evm = createRpcChain({ network, rpcUrl, privateKey, pollingIntervalMs: 25, sponsoring });
  const onSolana = createRpcSvmChain({
    network: svm.NETWORK,
    rpcUrl: solana.rpcUrl,
    privateKey: svm.FEE_PAYER.secretKey,
    pollingIntervalMs: 10,
  });
  const schemes = [
    createExactEvmScheme({ chain: evm }),
    createUptoEvmScheme({ chain: evm }),
    createExactSvmScheme({ chain: onSolana }),
    facilitatorOf(algod),
  ];
  return listen(express().use(facilitatorRouter(createFacilitator({ schemes }), { open: true })));
}

async function createBuyer(
  chain: LocalChain,
  solana: LocalSvm,
  algod: LocalAlgod,
  approvesPermit2: boolean,
): Promise<Buyer> {
  const account = privateKeyToAccount(generatePrivateKey());
  await chain.fund(account.address, { usdc: PURSE, eth: 10n ** 18n });
  if (approvesPermit2) await chain.approvePermit2(account.address);
  const rpc = { rpcUrl: chain.rpcUrl };
  const solanaSigner = await createKeyPairSignerFromBytes(svm.PAYER.secretKey);
  const schemes = {
    eip155: [
      { network: "eip155:*", client: new ExactEvmScheme(account, rpc) },
      { network: "eip155:*", client: new UptoEvmScheme(account, rpc) },
    ],
    solana: [{ network: "solana:*", client: new ExactSvmScheme(solanaSigner, { rpcUrl: solana.rpcUrl }) }],
    algorand: [
      {
        network: "algorand:*",
        client: new ExactAvmScheme(toClientAvmSigner(avm.base64(avm.PAYER.sk)), { algodUrl: algod.url }),
      },
    ],
  };
  return {
    address: account.address,
    fetch: (url, init, by = "eip155") =>
      wrapFetchWithPaymentFromConfig(fetch, { schemes: schemes[by] as never })(url, init),
    async axios(url, by = "eip155") {
      const instance = axios.create({
        // The wrapper pays for what is an error to axios.
        validateStatus: (status) => status !== 402,
        responseType: "text",
        transformResponse: [],
      });
      const got = await wrapAxiosWithPaymentFromConfig(instance, { schemes: schemes[by] as never })
        .get(url)
        .catch((error: unknown) => refusedBy(error));
      return new Response(got.data as string, { status: got.status, headers: got.headers as Record<string, string> });
    },
  };
}

/** The response that a wrapped client throws: a 402 that answers a payment. */
function refusedBy(error: unknown): { status: number; data: unknown; headers: unknown } {
  if (axios.isAxiosError(error) && error.response !== undefined) return error.response;
  throw error;
}
