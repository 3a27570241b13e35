/**
 * Payers with a plain ERC-20 token, and the approvals that they sign as transactions.
 *
 * @module
 */
import type { FacilitatorRequest, FacilitatorScheme } from "@farebox/core";
import type { SponsoringOptions } from "@farebox/evm/facilitator";
import { createPayer } from "@farebox/testing";
import { encodeFunctionData, type Hex, maxUint256, parseAbi } from "viem";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { expect } from "vitest";
import {
  createPermitOffer,
  type Kind,
  openScheme,
  PERMIT2,
  permitOf,
  type Refused,
  signPermitFor,
} from "./permit2-stage.js";
import { AMOUNT, newAddress, type Stage } from "./stage.js";

export const ERC20 = parseAbi([
  "function approve(address, uint256) returns (bool)",
  "function allowance(address, address) view returns (uint256)",
  "function balanceOf(address) view returns (uint256)",
  "function transfer(address, uint256) returns (bool)",
]);

export const GENEROUS: SponsoringOptions = { maxGrantWei: 10n ** 16n, maxGrantWeiPerHour: 10n ** 18n };

/** A stage with a plain token, and a sponsoring signer. */
export interface ApprovalStage {
  readonly stage: Stage;
  readonly token: Hex;
  readonly privateKey: Hex;
  /** The owner of all of the token, who needs no key. */
  readonly holder: Hex;
}

export async function openApprovalStage(stage: Stage): Promise<ApprovalStage> {
  const holder = newAddress();
  await stage.rpc("anvil_impersonateAccount", holder);
  await stage.chain.fund(holder, { eth: 10n ** 18n });
  return { stage, privateKey: await stage.signer(), holder, token: await stage.chain.deployToken(holder) };
}

/** The scheme in a new process. */
export function openSponsor(
  { stage, privateKey }: ApprovalStage,
  kind: Kind,
  sponsoring: SponsoringOptions = GENEROUS,
): FacilitatorScheme {
  return openScheme(stage, kind, { privateKey, sponsoring });
}

/** A payment of a payer with the token, but without coin of the network and without an allowance. */
export async function openPayment(at: ApprovalStage, kind: Kind) {
  const key = generatePrivateKey();
  const account = privateKeyToAccount(key);
  await give(at, account.address);
  return { account, key, payment: await payBy(at, kind, key) };
}

/** A payment to a new seller. */
export function payBy({ token, privateKey }: ApprovalStage, kind: Kind, key: Hex): Promise<FacilitatorRequest> {
  const { name: _, version: __, ...extra } = createPermitOffer(kind, privateKey).extra;
  const offer = createPermitOffer(kind, privateKey, { asset: token, extra });
  return signPermitFor(createPayer({ privateKey: key }), offer);
}

async function give({ stage, token, holder }: ApprovalStage, to: Hex): Promise<void> {
  const data = encodeFunctionData({ abi: ERC20, functionName: "transfer", args: [to, 2n * AMOUNT] });
  await stage.rpc("eth_sendTransactionSync", { from: holder, to: token, data, gas: "0x186a0" });
}

export interface Approval {
  readonly chainId: number;
  readonly to: Hex;
  readonly data: Hex;
  readonly nonce: number;
  readonly gas: bigint;
  readonly value: bigint;
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

export function approveData(spender: Hex = PERMIT2, amount: bigint = maxUint256): Hex {
  return encodeFunctionData({ abi: ERC20, functionName: "approve", args: [spender, amount] });
}

/** A valid approval, with the given changes. */
export async function fillApproval(at: ApprovalStage, changes: Partial<Approval> = {}): Promise<Approval> {
  const { maxFeePerGas, maxPriorityFeePerGas } = await at.stage.client.estimateFeesPerGas();
  return {
    ...{ chainId: 84532, to: at.token, data: approveData(), nonce: 0, gas: 70_000n, value: 0n },
    ...{ maxFeePerGas, maxPriorityFeePerGas },
    ...changes,
  };
}

/** The client's extension about its approval. */
export function describeApproval(at: ApprovalStage, from: Hex, signedTransaction: Hex) {
  const amount = String(maxUint256);
  return { from, asset: at.token, spender: PERMIT2, amount, signedTransaction, version: "1" };
}

export async function signApproval(at: ApprovalStage, account: PrivateKeyAccount, changes: Partial<Approval> = {}) {
  const approval = await fillApproval(at, changes);
  return describeApproval(at, account.address, await account.signTransaction({ type: "eip1559", ...approval }));
}

export function sponsored(request: FacilitatorRequest, info: unknown): FacilitatorRequest {
  const extensions = { erc20ApprovalGasSponsoring: { info } };
  return { ...request, paymentPayload: { ...request.paymentPayload, extensions } };
}

export function balanceOf({ stage, token }: ApprovalStage, owner: Hex): Promise<bigint> {
  return stage.client.readContract({ address: token, abi: ERC20, functionName: "balanceOf", args: [owner] });
}

export function allowanceOf({ stage, token }: ApprovalStage, owner: Hex): Promise<bigint> {
  return stage.client.readContract({ address: token, abi: ERC20, functionName: "allowance", args: [owner, PERMIT2] });
}

/** The signer's coin and count. Both stay the same unless it sends a transaction. */
export async function purseOf({ stage, privateKey }: ApprovalStage): Promise<readonly [bigint, number]> {
  const { address } = privateKeyToAccount(privateKey);
  const { client } = stage;
  return [await client.getBalance({ address }), await client.getTransactionCount({ address })];
}

/**
 * Expects verify and settle to agree on each request of one payer, no money to move, no allowance to be made, and the signer to send
 * nothing.
 */
export async function expectNothingIsSpent(
  at: ApprovalStage,
  scheme: FacilitatorScheme,
  ...all: readonly [Refused, ...Refused[]]
): Promise<void> {
  const { from, witness } = permitOf(all[0].request).permit2Authorization;
  const state = async () => [
    await purseOf(at),
    await balanceOf(at, from),
    await balanceOf(at, witness.to),
    await at.stage.client.getBalance({ address: from }),
    await at.stage.client.getTransactionCount({ address: from }),
    await allowanceOf(at, from),
  ];
  const before = await state();
  for (const { request, reason, what } of all) {
    expect(permitOf(request).permit2Authorization).toMatchObject({ from, witness });
    expect(await scheme.verify(request), what).toMatchObject({ isValid: false, invalidReason: reason });
    expect(await scheme.settle(request), what).toMatchObject({ success: false, errorReason: reason, transaction: "" });
  }
  expect(await state()).toEqual(before);
}
