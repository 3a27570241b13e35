/**
 * Uniswap's Permit2 at its canonical address, and the two proxies that x402 payments by Permit2 go through. Permit2 is the
 * real one; the proxies are written from their published interface, and put where the real ones are.
 *
 * @see x402 v2, scheme `exact` on EVM, §2; scheme `upto` on EVM
 * @module
 */
import type { Address } from "viem";
import { concatHex, encodeFunctionData, numberToHex, parseAbi } from "viem/utils";
import { type Rpc, transact } from "./json-rpc.js";
import { LocalChainError } from "./local-chain-error.js";
import { operate } from "./operator.js";
import { PERMIT2_CODE } from "./permit2.generated.js";
import { EXACT_PERMIT2_PROXY_CODE, UPTO_PERMIT2_PROXY_CODE } from "./permit2-proxies.generated.js";

const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
const EXACT_PROXY = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";
const UPTO_PROXY = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";

/** Creates contracts at addresses that follow from their code; anvil has it from the start. */
const CREATE2_DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C";

/** With this the address of Permit2 follows from its code. */
const PERMIT2_SALT = "0x0000000000000000000000000000000000000000d3af2663da51c10215000000";

const ABI = parseAbi(["function approve(address, uint256)"]);

/** Deploys Permit2 as it was deployed everywhere, and puts the proxies in their places. */
export async function installPermit2(rpc: Rpc): Promise<void> {
  await operate(rpc, CREATE2_DEPLOYER, concatHex([PERMIT2_SALT, PERMIT2_CODE]));
  if ((await rpc("eth_getCode", PERMIT2, "latest")) === "0x") {
    throw new LocalChainError("Permit2 is not at its address: its code is another one");
  }
  await rpc("anvil_setCode", EXACT_PROXY, EXACT_PERMIT2_PROXY_CODE);
  await rpc("anvil_setCode", UPTO_PROXY, UPTO_PERMIT2_PROXY_CODE);
}

/** Lets Permit2 move the owner's tokens, as a transaction of the owner's own would. */
export async function approvePermit2(
  rpc: Rpc,
  { token, owner, amount }: { readonly token: Address; readonly owner: Address; readonly amount: bigint },
): Promise<void> {
  const before = await rpc("eth_getBalance", owner, "latest");
  await rpc("anvil_impersonateAccount", owner);
  await rpc("anvil_setBalance", owner, numberToHex(10n ** 18n));
  const data = encodeFunctionData({ abi: ABI, functionName: "approve", args: [PERMIT2, amount] });
  await transact(rpc, { from: owner, to: token, data, gas: numberToHex(200_000) });
  await rpc("anvil_stopImpersonatingAccount", owner);
  if (typeof before === "string") await rpc("anvil_setBalance", owner, before);
}
