/**
 * Whether a signed authorization would be carried out now: time, signature, nonce, balance, and a trial run.
 *
 * @see x402 v2 §6.1.2
 * @module
 */
import { type Refusal, refuse } from "@farebox/core/scheme";
import { SETTLEMENT_MARGIN_SECONDS } from "../payload-fields.js";
import type { EvmChain, SignedAuthorization, TransferAuthorization } from "./chain.js";

/**
 * Checks an authorization, cheapest first; `undefined` when all is well. Never rejects: trouble with the chain is
 * `unexpected_verify_error`.
 *
 * @param nowSeconds - Unix seconds.
 */
export async function verifyOnChain(
  signed: SignedAuthorization,
  chain: EvmChain,
  nowSeconds: number,
): Promise<Refusal | undefined> {
  const early = checkWindow(signed.authorization, BigInt(nowSeconds));
  if (early !== undefined) return early;
  try {
    return (await checkSignature(signed, chain)) ?? (await checkState(signed, chain)) ?? (await tryOut(signed, chain));
  } catch (error) {
    return refuse("unexpected_verify_error", error instanceof Error ? error.message : "the chain could not be asked");
  }
}

function checkWindow({ validAfter, validBefore }: TransferAuthorization, now: bigint): Refusal | undefined {
  if (validAfter >= now) {
    return refuse("invalid_exact_evm_payload_authorization_valid_after", "the authorization is not valid yet");
  }
  if (validBefore < now + BigInt(SETTLEMENT_MARGIN_SECONDS)) {
    const message = `the authorization has less than ${SETTLEMENT_MARGIN_SECONDS} seconds left`;
    return refuse("invalid_exact_evm_payload_authorization_valid_before", message);
  }
  return undefined;
}

async function checkSignature(signed: SignedAuthorization, chain: EvmChain): Promise<Refusal | undefined> {
  if (await chain.verifySignature(signed)) return undefined;
  return refuse("invalid_exact_evm_payload_signature", "the payer has not signed this");
}

async function checkState(
  { asset, authorization }: SignedAuthorization,
  chain: EvmChain,
): Promise<Refusal | undefined> {
  const { from, nonce, value } = authorization;
  const [isUsed, balance] = await Promise.all([
    chain.isAuthorizationUsed(asset, from, nonce),
    chain.balanceOf(asset, from),
  ]);
  if (isUsed) return refuse("invalid_transaction_state", "the nonce is used up");
  if (balance < value) return refuse("insufficient_funds", "the payer has less than the amount");
  return undefined;
}

async function tryOut(signed: SignedAuthorization, chain: EvmChain): Promise<Refusal | undefined> {
  const trial = await chain.simulate(signed);
  return trial.ok ? undefined : refuse("invalid_transaction_state", `the transfer would fail: ${trial.problem}`);
}
