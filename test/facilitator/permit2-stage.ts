/**
 * Payments by Permit2 on a stage: offers, payers with an allowance, and their signatures.
 *
 * @module
 */
import type { FacilitatorRequest, FacilitatorScheme, PaymentRequirements } from "@farebox/core";
import { createRpcChain, createUptoEvmScheme, type RpcChainOptions } from "@farebox/evm/facilitator";
import type { Payer, SignOptions } from "@farebox/testing";
import { encodeFunctionData, type Hex, parseAbi } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { expect } from "vitest";
import { AMOUNT, createOffer, NETWORK, PATIENT, type Stage } from "./stage.js";

export const PERMIT2: Hex = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
export const PERMIT2_ABI = parseAbi(["function invalidateUnorderedNonces(uint256 word, uint256 mask)"]);

/** A scheme that moves money by Permit2. */
export type Kind = "exact" | "upto";

export interface PermitPayload {
  readonly signature: Hex;
  readonly permit2Authorization: {
    readonly from: Hex;
    readonly permitted: { readonly token: Hex; readonly amount: string };
    readonly spender: Hex;
    readonly nonce: string;
    readonly deadline: string;
    readonly witness: { readonly to: Hex; readonly facilitator?: Hex; readonly validAfter: string };
  };
}

export function permitOf(request: FacilitatorRequest): PermitPayload {
  return request.paymentPayload.payload as unknown as PermitPayload;
}

/** The offer of a new seller, with a facilitator. */
export function createPermitOffer(kind: Kind, privateKey: Hex, changes: Partial<PaymentRequirements> = {}) {
  const facilitator = kind === "upto" ? { facilitatorAddress: privateKeyToAccount(privateKey).address } : {};
  const extra = { assetTransferMethod: "permit2", name: "USDC", version: "2", ...facilitator };
  return createOffer({ scheme: kind, extra, ...changes });
}

/** A scheme in a new process. */
export function openScheme(
  stage: Stage,
  kind: Kind,
  options: Partial<RpcChainOptions> & { readonly privateKey: Hex },
  now: () => number = Date.now,
): FacilitatorScheme {
  if (kind === "exact") return stage.scheme(options, now);
  const { rpcUrl } = stage.chain;
  return createUptoEvmScheme({ chain: createRpcChain({ network: NETWORK, rpcUrl, ...PATIENT, ...options }), now });
}

/** A seller's request to a facilitator. */
export async function signPermitFor(
  payer: Payer,
  offer: PaymentRequirements,
  options: SignOptions = {},
): Promise<FacilitatorRequest> {
  const { payload } = await (offer.scheme === "upto"
    ? payer.signUpto(offer, options)
    : payer.signExact(offer, options));
  return { x402Version: 2, paymentPayload: { x402Version: 2, accepted: offer, payload }, paymentRequirements: offer };
}

/** The same payment, with the amount to take. */
export function taking(request: FacilitatorRequest, amount: bigint | string): FacilitatorRequest {
  return { ...request, paymentRequirements: { ...request.paymentRequirements, amount: String(amount) } };
}

/** A new payer with a balance in atomic units and an allowance for Permit2. */
export async function createAllower(stage: Stage, usdc: bigint = AMOUNT): Promise<Payer> {
  const payer = await stage.payer(usdc);
  await stage.chain.approvePermit2(payer.address);
  return payer;
}

/** The balances of the payer and the recipient. */
export async function balancesOf(stage: Stage, request: FacilitatorRequest): Promise<readonly [bigint, bigint]> {
  const { from, witness } = permitOf(request).permit2Authorization;
  return [await stage.chain.balanceOf(from), await stage.chain.balanceOf(witness.to)];
}

/** A payment by a new payer with a balance in atomic units and an allowance for Permit2. */
export async function payWith(
  stage: Stage,
  { kind, privateKey, usdc }: { readonly kind: Kind; readonly privateKey: Hex; readonly usdc?: bigint | undefined },
): Promise<FacilitatorRequest> {
  return signPermitFor(await createAllower(stage, usdc), createPermitOffer(kind, privateKey));
}

/** A request that must be refused. */
export interface Refused {
  readonly request: FacilitatorRequest;
  readonly reason: string;
  readonly what?: string;
}

/** Expects verify and settle to agree on each request of one payer to one recipient, and no money to move. */
export async function expectNothingMoves(
  stage: Stage,
  scheme: FacilitatorScheme,
  ...all: readonly [Refused, ...Refused[]]
): Promise<void> {
  const { from, witness } = permitOf(all[0].request).permit2Authorization;
  const before = await balancesOf(stage, all[0].request);
  for (const { request, reason, what } of all) {
    expect(permitOf(request).permit2Authorization).toMatchObject({ from, witness: { to: witness.to } });
    expect(await scheme.verify(request), what).toMatchObject({ isValid: false, invalidReason: reason });
    expect(await scheme.settle(request), what).toMatchObject({ success: false, errorReason: reason, transaction: "" });
  }
  expect(await balancesOf(stage, all[0].request)).toEqual(before);
}

/** Takes a nonce back, as its payer may. */
export async function invalidate(stage: Stage, request: FacilitatorRequest): Promise<void> {
  const { from, nonce } = permitOf(request).permit2Authorization;
  const args = [BigInt(nonce) >> 8n, 1n << (BigInt(nonce) & 0xffn)] as const;
  const data = encodeFunctionData({ abi: PERMIT2_ABI, functionName: "invalidateUnorderedNonces", args });
  await stage.rpc("anvil_impersonateAccount", from);
  await stage.rpc("anvil_setBalance", from, "0xde0b6b3a7640000");
  await stage.rpc("eth_sendTransactionSync", { from, to: PERMIT2, data, gas: "0x493e0" });
}
