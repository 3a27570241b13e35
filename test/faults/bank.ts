/**
 * Where the money of a fault test lies, behind a facilitator that fails on demand: a ledger in memory, or a real chain.
 *
 * @module
 */
import type { Facilitator } from "@farebox/core";
import { createExactEvmScheme, createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { createFacilitator } from "@farebox/facilitator";
import {
  anvilAccounts,
  createTestFacilitator,
  type FacilitatorServer,
  type Ledger,
  type LocalChain,
  startFacilitatorServer,
  startLocalChain,
} from "@farebox/testing";

type Address = `0x${string}`;

/** A facilitator behind HTTP, and the accounts whose money it moves. */
export interface Bank {
  readonly server: FacilitatorServer;
  /** Gives atomic units. */
  fund(address: Address, amount: bigint): Promise<void>;
  balanceOf(address: Address): Promise<bigint>;
  close(): Promise<void>;
}

/** A bank whose money is in memory, and what has moved there. */
export interface LedgerBank extends Bank {
  readonly ledger: Ledger;
}

/** Opens a bank whose money is in memory. */
export async function openLedger(port = 0): Promise<LedgerBank> {
  const facilitator = createTestFacilitator();
  const { ledger } = facilitator;
  const server = await startFacilitatorServer({ facilitator, port });
  return {
    server,
    ledger,
    fund: async (address, amount) => ledger.fund(address, amount),
    balanceOf: async (address) => ledger.balanceOf(address),
    close: () => server.close(),
  };
}

/** A bank on a chain, where Permit2 is. */
export interface ChainBank extends Bank {
  /** Lets Permit2 move an owner's money, as `upto` needs it. */
  allowPermit2(owner: Address): Promise<void>;
}

/** Starts a local chain, and our facilitator over its JSON-RPC. */
export async function startChain(): Promise<{ readonly chain: LocalChain; readonly facilitator: Facilitator }> {
  const chain = await startLocalChain();
  const { privateKey } = anvilAccounts[0]!;
  const rpc = createRpcChain({ network: chain.network, rpcUrl: chain.rpcUrl, privateKey, pollingIntervalMs: 10 });
  const schemes = [createExactEvmScheme({ chain: rpc }), createUptoEvmScheme({ chain: rpc })];
  return { chain, facilitator: createFacilitator({ schemes }) };
}

/** Opens a bank whose money is USDC on a local chain. */
export async function openChain(): Promise<ChainBank> {
  const { chain, facilitator } = await startChain();
  const server = await startFacilitatorServer({ facilitator });
  return {
    server,
    fund: (address, usdc) => chain.fund(address, { usdc }),
    allowPermit2: (owner) => chain.approvePermit2(owner),
    balanceOf: (address) => chain.balanceOf(address),
    async close() {
      await server.close();
      await chain.close();
    },
  };
}

/** What is said about money holds in both. */
export const BANKS: readonly (readonly [where: string, open: () => Promise<Bank>])[] = [
  ["in a ledger", () => openLedger()],
  ["on a chain", openChain],
];
