/**
 * The stage of the facilitator's tests: a chain, payers with money on it, and the scheme over JSON-RPC.
 *
 * @module
 */
import type { FacilitatorRequest, FacilitatorScheme, PaymentRequirements } from "@farebox/core";
import { createExactEvmScheme, createRpcChain, type RpcChainOptions } from "@farebox/evm/facilitator";
import { createPayer, type LocalChain, type Payer, type SignOptions } from "@farebox/testing";
import {
  concat,
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
  type PublicClient,
  parseAbi,
  parseSignature,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { borrowChain } from "../worker-chain.js";

export const TOKEN = parseAbi([
  "function transferWithAuthorization(address, address, uint256, uint256, uint256, bytes32, uint8, bytes32, bytes32)",
  "function cancelAuthorization(address, bytes32, uint8, bytes32, bytes32)",
  "function transfer(address, uint256) returns (bool)",
  "function blacklister() view returns (address)",
  "function blacklist(address)",
  "function pauser() view returns (address)",
  "function pause()",
  "function unpause()",
]);

export const NETWORK = "eip155:84532";

/** The longest limits that a chain accepts: only a test that says so measures time. */
export const PATIENT = { pollingIntervalMs: 10, receiptTimeoutMs: 600_000, requestTimeoutMs: 60_000 } as const;

/** The default amount of a payment. */
export const AMOUNT = 100n;

/** The offer of a new seller. */
export function createOffer(changes: Partial<PaymentRequirements> = {}): PaymentRequirements {
  return {
    scheme: "exact",
    network: NETWORK,
    amount: String(AMOUNT),
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    payTo: newAddress(),
    maxTimeoutSeconds: 600,
    extra: { name: "USDC", version: "2" },
    ...changes,
  };
}

export function newAddress(): Hex {
  return privateKeyToAccount(generatePrivateKey()).address;
}

/** A seller's request to a facilitator. */
export async function signFor(
  payer: Payer,
  offer: PaymentRequirements,
  options: SignOptions = {},
): Promise<FacilitatorRequest> {
  const { payload } = await payer.signExact(offer, options);
  return { x402Version: 2, paymentPayload: { x402Version: 2, accepted: offer, payload }, paymentRequirements: offer };
}

/** The two parts of a payload that tests read. */
export function payloadOf(request: FacilitatorRequest) {
  return request.paymentPayload.payload as {
    readonly signature: Hex;
    readonly authorization: Readonly<Record<"from" | "to" | "value" | "validAfter" | "validBefore" | "nonce", string>>;
  };
}

/** The same request with another signature. */
export function withSignature(request: FacilitatorRequest, signature: string): FacilitatorRequest {
  const payload = { ...request.paymentPayload.payload, signature };
  return { ...request, paymentPayload: { ...request.paymentPayload, payload } };
}

/** A chain, and the accounts that act on it. */
export interface Stage {
  readonly chain: LocalChain;
  readonly client: PublicClient;
  rpc(method: string, ...params: readonly unknown[]): Promise<unknown>;
  /** A new account that can pay for transactions. */
  signer(): Promise<Hex>;
  /** The scheme in a new process. */
  scheme(options: Partial<RpcChainOptions> & { readonly privateKey: Hex }, now?: () => number): FacilitatorScheme;
  /** A new payer with a balance in atomic units. */
  payer(usdc?: bigint): Promise<Payer>;
  /** A payment of {@link AMOUNT} by a new payer. */
  payment(options?: SignOptions): Promise<FacilitatorRequest>;
  /** Carries out a signed payment outside of the facilitator, as any account may, and waits until it is mined. */
  frontRun(request: FacilitatorRequest): Promise<Hex>;
  /** The same, without waiting. */
  sendAhead(request: FacilitatorRequest, gasPrice?: bigint): Promise<Hex>;
  /** Carries out two payments in one transaction, in this order. */
  frontRunBoth(first: FacilitatorRequest, second: FacilitatorRequest): Promise<void>;
  /** Mines a block at this time, in Unix seconds, which must be later than the latest block's. */
  mineAt(seconds: number): Promise<void>;
  /** Calls the token from an account that is allowed to, and waits until the call is mined. */
  command(from: Hex, data: Hex): Promise<void>;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const chain = await borrowChain();
  const client = createPublicClient({ transport: http(chain.rpcUrl) });
  const rpc: Stage["rpc"] = async (method, ...params) => client.request({ method, params } as never);
  const signer = async () => {
    const privateKey = generatePrivateKey();
    await chain.fund(privateKeyToAccount(privateKey).address, { eth: 10n ** 18n });
    return privateKey;
  };
  const sendAhead: Stage["sendAhead"] = async (request, gasPrice = 10n ** 10n) => {
    const account = privateKeyToAccount(await signer());
    const wallet = createWalletClient({ account, transport: http(chain.rpcUrl) });
    const call = { to: chain.asset, data: encodeTransfer(request), gas: 300_000n, gasPrice };
    return wallet.sendTransaction({ ...call, chain: null });
  };
  // One after the other, because one account of the chain mints.
  let minting: Promise<unknown> = Promise.resolve();
  const payer: Stage["payer"] = async (usdc = AMOUNT) => {
    const created = createPayer();
    minting = minting.then(() => chain.fund(created.address, { usdc }));
    await minting;
    return created;
  };
  return {
    chain,
    client,
    rpc,
    signer,
    payer,
    scheme: (options, now = Date.now) => {
      return createExactEvmScheme({
        chain: createRpcChain({ network: NETWORK, rpcUrl: chain.rpcUrl, ...PATIENT, ...options }),
        now,
      });
    },
    payment: async (options) => signFor(await payer(), createOffer(), options),
    frontRun: async (request) => {
      const hash = await sendAhead(request);
      await receiptOf(client, hash);
      return hash;
    },
    sendAhead,
    frontRunBoth: async (first, second) => {
      const account = privateKeyToAccount(await signer());
      const wallet = createWalletClient({ account, transport: http(chain.rpcUrl) });
      const to = account.address.toLowerCase().replace(/.$/, "0") as Hex;
      await rpc("anvil_setCode", to, callTwice(chain.asset));
      const data = concat([encodeTransfer(first), encodeTransfer(second)]);
      const hash = await wallet.sendTransaction({ to, data, gas: 500_000n, gasPrice: 10n ** 10n, chain: null });
      await receiptOf(client, hash);
    },
    mineAt: async (seconds) => {
      await rpc("evm_setNextBlockTimestamp", seconds);
      await chain.mine();
    },
    command: async (from, data) => {
      await rpc("anvil_impersonateAccount", from);
      await rpc("anvil_setBalance", from, "0xde0b6b3a7640000");
      await rpc("eth_sendTransactionSync", { from, to: chain.asset, data, gas: "0x493e0" });
    },
    close: () => chain.close(),
  };
}

/**
 * Resolves with the receipt of a transaction once it is on chain. viem's own waiter asks once for each new block, and ignores a block that
 * comes while it asks about the one before. A chain that mines for transactions only may have no other block to come.
 */
export async function receiptOf(client: PublicClient, hash: Hex): Promise<TransactionReceipt> {
  for (;;) {
    try {
      return await client.getTransactionReceipt({ hash });
    } catch (error) {
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
    }
  }
}

/** Code that calls a contract with the first half of its calldata, and then with the second. */
function callTwice(target: Hex): Hex {
  const half = "610124";
  const call = `60006000${half}6000600073${target.slice(2)}5af150`;
  return `0x${half}6000600037${call}${half}${half}600037${call}`;
}

function encodeTransfer(request: FacilitatorRequest): Hex {
  const { signature, authorization } = payloadOf(request);
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const { r, s, yParity } = parseSignature(signature);
  const window = [BigInt(validAfter), BigInt(validBefore)] as const;
  return encodeFunctionData({
    abi: TOKEN,
    functionName: "transferWithAuthorization",
    args: [from as Hex, to as Hex, BigInt(value), ...window, nonce as Hex, 27 + yParity, r, s],
  });
}
