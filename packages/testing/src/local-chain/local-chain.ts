/**
 * A chain on this machine that equals Base Sepolia for a payment: chain id 84532, and Circle's USDC, Permit2 and the x402
 * proxies at their addresses.
 *
 * @module
 */
import type { Address } from "viem";
import { concatHex, isAddress, numberToHex, padHex } from "viem/utils";
import { type AnvilProcess, locateAnvil, startAnvil } from "./anvil.js";
import { OWNED_WALLET_CODE, PLAIN_TOKEN_CODE } from "./contracts.generated.js";
import { installFiatToken, mintUsdc, USDC, usdcBalance } from "./fiat-token.js";
import { approvePermit2, installPermit2 } from "./permit2.js";
import { createRpc, deploy, enableOperator, LocalChainError, type Rpc, toBigInt } from "./rpc.js";

/** Options of `startLocalChain`. */
export interface LocalChainOptions {
  /** Port on 127.0.0.1. Default 0: a free port. */
  readonly port?: number;
  /** Path of an anvil binary. Default: the one in the package `@foundry-rs/anvil`. */
  readonly binary?: string;
  /** Closes the chain when it aborts, even while the chain starts. */
  readonly signal?: AbortSignal;
}

/** Funds for an address. */
export interface Funds {
  /** Atomic units of USDC, 6 decimals: `1_000_000n` is one USDC. Added to the balance by minting. */
  readonly usdc?: bigint;
  /** Wei, added to the balance. */
  readonly eth?: bigint;
}

/** A running local chain. It does not keep the process alive, and ends with it. */
export interface LocalChain {
  readonly rpcUrl: string;
  readonly chainId: 84532;
  readonly network: "eip155:84532";
  /** USDC: EIP-712 domain name `USDC`, version `2`, 6 decimals. */
  readonly asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
  /**
   * Gives USDC and ETH to an address.
   *
   * @throws {@link LocalChainError} when mining is paused and USDC is requested, or the address is malformed
   */
  fund(address: Address, funds: Funds): Promise<void>;
  /** Atomic units of USDC in the latest block. */
  balanceOf(address: Address): Promise<bigint>;
  /**
   * Deploys a contract wallet (ERC-1271) that accepts the owner's signatures, and returns its address. Pass it as `wallet` to
   * a payer.
   */
  deployWallet(owner: Address): Promise<Address>;
  /**
   * Deploys a plain ERC-20 token with 6 decimals, and returns its address. Only Permit2 can pay with it.
   *
   * @param holder - The owner of the whole supply.
   * @param supply - Atomic units. Default 10^15.
   */
  deployToken(holder: Address, supply?: bigint): Promise<Address>;
  /**
   * Approves Permit2 for the USDC of an address (a key or a contract wallet), which a payer does once before it pays by
   * Permit2. Increments the nonce of the address, like its own transaction.
   *
   * @param amount - Atomic units; replaces the earlier allowance, `0n` revokes it. Default: no limit.
   * @throws {@link LocalChainError} when mining is paused
   */
  approvePermit2(owner: Address, amount?: bigint): Promise<void>;
  /** Unix seconds of the latest block. */
  now(): Promise<number>;
  /** Moves the clock of the chain forward, and mines a block with the new time. Whole seconds, at least 1. */
  increaseTime(seconds: number): Promise<void>;
  /** Mines one block with the pending transactions, even while mining is paused. */
  mine(): Promise<void>;
  /** Keeps transactions pending until {@link LocalChain.mine} or {@link LocalChain.resumeMining}. */
  pauseMining(): Promise<void>;
  /** Mines pending transactions, and from now on each transaction at once. */
  resumeMining(): Promise<void>;
  /** Ends the chain, and resolves when its process has ended. Further calls do nothing. */
  close(): Promise<void>;
}

const CHAIN_ID = 84532;

/**
 * Starts a local chain with USDC on it, well within a second.
 *
 * @throws {@link LocalChainError} when anvil or the package of USDC is not installed, anvil does not support this
 *   platform, the port is busy or invalid, or `signal` aborts
 */
export async function startLocalChain(options: LocalChainOptions = {}): Promise<LocalChain> {
  const { port = 0, binary, signal } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new LocalChainError(`a port is an integer from 0 to 65535, received ${port}`);
  }
  refuseAborted(signal);
  const executable = binary === undefined ? locateAnvil() : { file: binary, args: [] };
  const anvil = await startAnvil({ executable, chainId: CHAIN_ID, port });
  const close = (): Promise<void> => {
    signal?.removeEventListener("abort", close);
    return anvil.close();
  };
  signal?.addEventListener("abort", close);
  try {
    refuseAborted(signal);
    const rpc = createRpc(anvil.rpcUrl);
    await enableOperator(rpc);
    await installFiatToken(rpc);
    await installPermit2(rpc);
    return openChain({ ...anvil, close }, rpc);
  } catch (error) {
    await close();
    refuseAborted(signal);
    throw error;
  }
}

function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new LocalChainError("the local chain was aborted", { cause: signal.reason });
}

function openChain(anvil: AnvilProcess, rpc: Rpc): LocalChain {
  let paused = false;
  let turn: Promise<unknown> = Promise.resolve();
  /** Sends the operator's transactions one after another: two at once would take the same nonce. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(work);
    turn = result.catch(() => {});
    return result;
  };
  return {
    rpcUrl: anvil.rpcUrl,
    chainId: CHAIN_ID,
    network: `eip155:${CHAIN_ID}`,
    asset: USDC,
    fund: (address, funds) => inTurn(() => fund(rpc, address, { ...funds, paused })),
    balanceOf: (address) => usdcBalance(rpc, address),
    deployWallet: (owner) =>
      inTurn(async () => {
        checkAddress(owner);
        return deploy(rpc, concatHex([OWNED_WALLET_CODE, padHex(owner)]));
      }),
    deployToken: (holder, supply = 10n ** 15n) =>
      inTurn(async () => {
        checkAddress(holder);
        return deploy(rpc, concatHex([PLAIN_TOKEN_CODE, padHex(holder), numberToHex(supply, { size: 32 })]));
      }),
    approvePermit2: (owner, amount = 2n ** 256n - 1n) =>
      inTurn(async () => {
        checkAddress(owner);
        if (paused) throw new LocalChainError("Permit2 cannot be approved while mining is paused");
        await approvePermit2(rpc, USDC, owner, amount);
      }),
    now: () => blockTime(rpc),
    increaseTime: async (seconds) => {
      if (!Number.isInteger(seconds) || seconds < 1) {
        throw new LocalChainError(`time is increased by whole seconds, at least 1, received ${seconds}`);
      }
      await rpc("evm_increaseTime", seconds);
      await rpc("evm_mine");
    },
    mine: async () => void (await rpc("evm_mine")),
    pauseMining: async () => {
      paused = true;
      await rpc("evm_setAutomine", false);
    },
    resumeMining: async () => {
      await rpc("evm_setAutomine", true);
      await rpc("evm_mine");
      paused = false;
    },
    close: () => anvil.close(),
  };
}

async function fund(
  rpc: Rpc,
  address: Address,
  { usdc = 0n, eth = 0n, paused }: Funds & { readonly paused: boolean },
): Promise<void> {
  checkAddress(address);
  if (usdc < 0n || eth < 0n) throw new LocalChainError("an amount must not be negative");
  if (eth > 0n) await addEth(rpc, address, eth);
  if (usdc === 0n) return;
  if (paused) throw new LocalChainError("USDC cannot be minted while mining is paused");
  await mintUsdc(rpc, address, usdc);
}

function checkAddress(address: Address): void {
  if (!isAddress(address)) throw new LocalChainError(`${address} is not an address`);
}

async function addEth(rpc: Rpc, address: Address, wei: bigint): Promise<void> {
  const before = toBigInt(await rpc("eth_getBalance", address, "latest"));
  await rpc("anvil_setBalance", address, numberToHex(before + wei));
}

async function blockTime(rpc: Rpc): Promise<number> {
  const block = await rpc("eth_getBlockByNumber", "latest", false);
  const timestamp = typeof block === "object" && block !== null && "timestamp" in block ? block.timestamp : undefined;
  return Number(toBigInt(timestamp));
}
