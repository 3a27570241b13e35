/**
 * Who sets up a local chain and mints on it. Not one of anvil's accounts, so that theirs start with nonce 0.
 *
 * @module
 */
import type { Address, Hex } from "viem";
import { numberToHex } from "viem/utils";
import { type Rpc, transact } from "./json-rpc.js";
import { LocalChainError } from "./local-chain-error.js";

/** No key exists; anvil lets it send regardless. */
export const OPERATOR = "0x00000000000000000000000000000000fa2eb001";

/** Enough for the largest contract allowed, and below the limit that EIP-7825 sets for a transaction. */
const GAS = numberToHex(12_000_000);

/** Lets the operator send transactions. */
export async function enableOperator(rpc: Rpc): Promise<void> {
  await rpc("anvil_impersonateAccount", OPERATOR);
  await rpc("anvil_setBalance", OPERATOR, numberToHex(10n ** 24n));
}

/** Calls a contract as the operator and waits until that is mined. */
export async function operate(rpc: Rpc, to: Address, data: Hex): Promise<void> {
  await transact(rpc, { from: OPERATOR, to, data, gas: GAS });
}

/** Creates a contract and yields its address. */
export async function deploy(rpc: Rpc, code: Hex): Promise<Address> {
  const { contractAddress } = await transact(rpc, { from: OPERATOR, data: code, gas: GAS });
  if (contractAddress === null) throw new LocalChainError("a contract was not deployed");
  return `0x${contractAddress.slice(2)}`;
}
