/**
 * A chain on this machine that looks like Base Sepolia to a payment: chain id 84532, Circle's USDC at its address, Permit2
 * and the proxies of x402 at theirs.
 *
 * @module
 */
import type { Address } from "viem";
import { concatHex, isAddress, numberToHex, padHex } from "viem/utils";
import { type AnvilProcess, startAnvil } from "./anvil-process.js";
import { installFiatToken, mintUsdc, USDC, usdcBalance } from "./fiat-token.js";
import { createRpc, type Rpc, toBigInt } from "./json-rpc.js";
import { LocalChainError } from "./local-chain-error.js";
import { locateAnvil } from "./locate-anvil.js";
import { deploy, enableOperator } from "./operator.js";
import { OWNED_WALLET_CODE } from "./owned-wallet.generated.js";
import { approvePermit2, installPermit2 } from "./permit2.js";
import { PLAIN_TOKEN_CODE } from "./plain-token.generated.js";

/** How to start a local chain. */
export interface LocalChainOptions {
  /** Port on 127.0.0.1. Default 0: any free one. */
  readonly port?: number;
  /** Path of an anvil binary. Default: the one in the package `@foundry-rs/anvil`. */
  readonly binary?: string;
  /** Closes the chain when it aborts, also while the chain is starting. */
  readonly signal?: AbortSignal;
}

/** What to give to an address. */
export interface Funds {
  /** Atomic units of USDC, 6 decimals: `1_000_000n` is one USDC. Minted, so it adds to what is there. */
  readonly usdc?: bigint;
  /** Wei; added to what is there. */
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
   * @throws {@link LocalChainError} when mining is paused and USDC is asked for, or the address is not one
   */
  fund(address: Address, funds: Funds): Promise<void>;
  /** Atomic units of USDC in the latest block. */
  balanceOf(address: Address): Promise<bigint>;
  /**
   * Deploys a contract wallet (ERC-1271) that accepts the owner's signatures, and yields its address. A payer whose
   * `wallet` it is pays from it.
   */
  deployWallet(owner: Address): Promise<Address>;
  /**
   * Deploys a token that has nothing but ERC-20, 6 decimals, and yields its address: it can be paid with by Permit2 only.
   *
   * @param holder - Who has all of it.
   * @param supply - Atomic units. Default 10^15.
   */
  deployToken(holder: Address, supply?: bigint): Promise<Address>;
  /**
   * Lets Permit2 move USDC of an address, key or contract wallet, as its own transaction would: what a payer does once
   * before paying by Permit2. It takes one of the address's transaction counts.
   *
   * @param amount - Atomic units, in place of what was allowed before; `0n` takes it back. Default: without limit.
   * @throws {@link LocalChainError} when mining is paused
   */
  approvePermit2(owner: Address, amount?: bigint): Promise<void>;
  /** Seconds since the epoch, as the latest block has it. */
  now(): Promise<number>;
  /** Moves the clock of the chain forward and mines a block with the new time. Whole seconds, at least 1. */
  increaseTime(seconds: number): Promise<void>;
  /** Mines one block with whatever is waiting, also while mining is paused. */
  mine(): Promise<void>;
  /** Leaves transactions waiting, until {@link LocalChain.mine} or {@link LocalChain.resumeMining}. */
  pauseMining(): Promise<void>;
  /** Mines what is waiting, and every transaction at once from now on. */
  resumeMining(): Promise<void>;
  /** Ends the chain and resolves when its process has ended; may be called again. */
  close(): Promise<void>;
}

const CHAIN_ID = 84532;

/**
 * Starts a local chain with USDC on it, well within a second.
 *
 * @throws {@link LocalChainError} when anvil or the token's artifacts are not installed, there is no binary for this
 *   platform, the port is busy or not a port, or `signal` aborts
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
  /** The operator's transactions go one after the other: two at once would take the same count. */
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
    fund: (address, funds) => inTurn(() => give(rpc, address, { ...funds, paused })),
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
        await approvePermit2(rpc, { token: USDC, owner, amount });
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

async function give(
  rpc: Rpc,
  address: Address,
  { usdc = 0n, eth = 0n, paused }: Funds & { readonly paused: boolean },
): Promise<void> {
  checkAddress(address);
  if (usdc < 0n || eth < 0n) throw new LocalChainError("a negative amount cannot be given");
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
