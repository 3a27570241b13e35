/**
 * A payment by EIP-3009: read from a request, verified on chain, and encoded as a call.
 *
 * @see x402 v2 §6.1.2; scheme `exact` on EVM, §1; EIP-3009, `transferWithAuthorization`
 * @module
 */
import type { DeskPayment } from "@farebox/core/facilitator";
import { accept, type Reading, type Refusal, refuse } from "@farebox/core/scheme";
import { encodeFunctionData, parseAbi, slice } from "viem";
import { readUint256, SETTLEMENT_MARGIN_SECONDS } from "../payload-fields.js";
import { type EvmChain, type Hex, outcomesOn, type SignedAuthorization, type TransferAuthorization } from "./chain.js";
import {
  checkAccepted,
  type Envelope,
  type PaymentKind,
  readAddress,
  readBytes,
  readBytes32,
  readDomain,
  readFields,
  type Terms,
} from "./wire.js";

/** Signatures of contract wallets with several owners or passkeys have up to some 2 kB. */
const MAX_SIGNATURE_BYTES = 4096;

/** Reads a payment whose parts agree with each other. Asks neither the chain nor a clock, and verifies no signature. */
export function readAuthorizationPayment(
  { accepted, payload }: Envelope,
  terms: Terms,
  kind: PaymentKind,
): Reading<SignedAuthorization> {
  const domain = readDomain(terms);
  if (!domain.ok) return domain;
  const disagreement = checkAccepted(accepted, terms, kind);
  if (disagreement !== undefined) return disagreement;
  const read = readAuthorization(payload["authorization"]);
  if (!read.ok) return read;
  const authorization = read.value;
  if (authorization.to !== terms.payTo) {
    return refuse("invalid_exact_evm_payload_recipient_mismatch", "the authorization pays another address than payTo");
  }
  if (authorization.value !== terms.amount) {
    return refuse("invalid_exact_evm_payload_authorization_value_mismatch", "the authorization is for another amount");
  }
  const signature = readBytes(payload["signature"], MAX_SIGNATURE_BYTES);
  if (signature === undefined) {
    return refuse("invalid_exact_evm_payload_signature", `signature is not 1 to ${MAX_SIGNATURE_BYTES} bytes in hex`);
  }
  return accept({ asset: terms.asset, domain: { ...domain.value, chainId: kind.chainId }, authorization, signature });
}

function readAuthorization(value: unknown): Reading<TransferAuthorization> {
  const fields = readFields(value);
  if (fields === undefined) return refuse("invalid_payload", "authorization is not an object");
  const [from, to] = [readAddress(fields["from"]), readAddress(fields["to"])];
  if (from === undefined || to === undefined) {
    return refuse("invalid_payload", "authorization.from or .to is not an address");
  }
  const amount = readUint256(fields["value"]);
  const [validAfter, validBefore] = [readUint256(fields["validAfter"]), readUint256(fields["validBefore"])];
  if (amount === undefined || validAfter === undefined || validBefore === undefined) {
    return refuse("invalid_payload", "authorization.value, .validAfter or .validBefore is not a decimal string");
  }
  const nonce = readBytes32(fields["nonce"]);
  if (nonce === undefined) return refuse("invalid_payload", "authorization.nonce is not 32 bytes");
  return accept({ from, to, value: amount, validAfter, validBefore, nonce });
}

/** Makes a payment for the settlement desk. */
export function createAuthorizationPayment(payer: string, signed: SignedAuthorization, chain: EvmChain): DeskPayment {
  const { asset, authorization, signature } = signed;
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  return {
    payer,
    amount: value,
    identity: [asset, from, nonce].join("|").toLowerCase(),
    fingerprint: [to, value, validAfter, validBefore, signature].join("|").toLowerCase(),
    verify: (nowSeconds) => verify(signed, chain, nowSeconds),
    submit: () => chain.submit(signed),
    outcomeOf: outcomesOn(chain),
    findEarlier: async () => {
      if (!(await chain.isAuthorizationUsed(asset, from, nonce))) return undefined;
      const transaction = await chain.findTransfer(signed);
      return transaction === undefined ? undefined : { transaction, amount: value };
    },
  };
}

/** Checks the time, the signature, the nonce and the balance, and tries the transfer. The cheapest check comes first. */
async function verify(signed: SignedAuthorization, chain: EvmChain, nowSeconds: number): Promise<Refusal | undefined> {
  const { asset, authorization } = signed;
  const { from, nonce, value, validAfter, validBefore } = authorization;
  const now = BigInt(nowSeconds);
  if (validAfter >= now) {
    return refuse("invalid_exact_evm_payload_authorization_valid_after", "the authorization is not valid yet");
  }
  if (validBefore < now + BigInt(SETTLEMENT_MARGIN_SECONDS)) {
    const message = `the authorization has less than ${SETTLEMENT_MARGIN_SECONDS} seconds left`;
    return refuse("invalid_exact_evm_payload_authorization_valid_before", message);
  }
  try {
    if (!(await chain.verifySignature(signed))) {
      return refuse("invalid_exact_evm_payload_signature", "the payer has not signed this");
    }
    const [isUsed, balance] = await Promise.all([
      chain.isAuthorizationUsed(asset, from, nonce),
      chain.balanceOf(asset, from),
    ]);
    if (isUsed) return refuse("invalid_transaction_state", "the nonce is used up");
    if (balance < value) return refuse("insufficient_funds", "the payer has less than the amount");
    const trial = await chain.simulate(signed);
    return trial.ok ? undefined : refuse("invalid_transaction_state", `the transfer would fail: ${trial.problem}`);
  } catch (error) {
    return refuse("unexpected_verify_error", error instanceof Error ? error.message : "the chain could not be asked");
  }
}

const ABI = parseAbi([
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)",
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)",
]);

/**
 * Encodes the call that carries the transfer out. A signature of 65 bytes is passed in three parts, which every token with
 * EIP-3009 understands. Any other length comes from a contract wallet, and is passed as it is.
 */
export function encodeTransfer({ authorization, signature }: SignedAuthorization): Hex {
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const common = [from, to, value, validAfter, validBefore, nonce] as const;
  const functionName = "transferWithAuthorization";
  if (signature.length !== 132) return encodeFunctionData({ abi: ABI, functionName, args: [...common, signature] });
  const [r, s] = [slice(signature, 0, 32), slice(signature, 32, 64)];
  const v = Number.parseInt(signature.slice(-2), 16);
  return encodeFunctionData({ abi: ABI, functionName, args: [...common, v, r, s] });
}
