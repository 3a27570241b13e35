/**
 * Uniswap's Permit2, and the two proxies through which x402 payments by Permit2 go, all at their canonical addresses. Permit2
 * is the original; the proxies are written from their published interface.
 *
 * @see x402 v2, scheme `exact` on EVM, §2; scheme `upto` on EVM
 * @module
 */
import type { Address } from "viem";
import { concatHex, encodeFunctionData, numberToHex, parseAbi } from "viem/utils";
import { EXACT_PERMIT2_PROXY_CODE, PERMIT2_CODE, UPTO_PERMIT2_PROXY_CODE } from "./contracts.generated.js";
import { LocalChainError, operate, type Rpc, transact } from "./rpc.js";

const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
const EXACT_PROXY = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";
const UPTO_PROXY = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";

/** Deploys contracts at addresses that depend on their code. Anvil has it from the start. */
const CREATE2_DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C";

/** The salt of the canonical deployment. */
const PERMIT2_SALT = "0x0000000000000000000000000000000000000000d3af2663da51c10215000000";

const ABI = parseAbi(["function approve(address, uint256)"]);

/** Deploys Permit2 like on other chains, and puts the proxies at their addresses. */
export async function installPermit2(rpc: Rpc): Promise<void> {
  await operate(rpc, CREATE2_DEPLOYER, concatHex([PERMIT2_SALT, PERMIT2_CODE]));
  if ((await rpc("eth_getCode", PERMIT2, "latest")) === "0x") {
    throw new LocalChainError("Permit2 is not at its address: its code is different");
  }
  await rpc("anvil_setCode", EXACT_PROXY, EXACT_PERMIT2_PROXY_CODE);
  await rpc("anvil_setCode", UPTO_PROXY, UPTO_PERMIT2_PROXY_CODE);
}

/** Approves Permit2 for the owner's tokens, like a transaction of the owner. */
export async function approvePermit2(rpc: Rpc, token: Address, owner: Address, amount: bigint): Promise<void> {
  const before = await rpc("eth_getBalance", owner, "latest");
  await rpc("anvil_impersonateAccount", owner);
  await rpc("anvil_setBalance", owner, numberToHex(10n ** 18n));
  const data = encodeFunctionData({ abi: ABI, functionName: "approve", args: [PERMIT2, amount] });
  await transact(rpc, { from: owner, to: token, data, gas: numberToHex(200_000) });
  await rpc("anvil_stopImpersonatingAccount", owner);
  if (typeof before === "string") await rpc("anvil_setBalance", owner, before);
}
