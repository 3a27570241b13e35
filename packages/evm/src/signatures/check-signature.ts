/**
 * Checks, without asking a node, whether a payer's key made a payment's signature.
 *
 * A contract wallet signs in its own way (ERC-1271), and only its contract can tell. So a signature that does not have the
 * 65 bytes of a key's is left to the facilitator. One with 65 bytes is taken for a key's.
 *
 * @see EIP-712; EIP-3009; x402 v2, schemes `exact` and `upto` on EVM
 * @module
 */
import type { PaymentRequirements, Reason, SignatureCheck } from "@farebox/core";
import { fieldsOf } from "@farebox/core/scheme";
import { lowerCase } from "../address.js";
import { readAuthorization } from "../exact/eip3009.js";
import { type ProxyKind, permitInLowerCase, readPermit } from "../permit2/permit2.js";
import { loadViem } from "./load-viem.js";
import { permitTypedData, type TypedData, transferTypedData } from "./typed-data.js";

type Hex = `0x${string}`;

/** A message, a signature over it, and the claimed signer. */
interface Signed {
  readonly message: TypedData;
  readonly signer: Hex;
  readonly signature: Hex;
}

/** The length of 65 bytes in hex, with `0x`. */
const KEY_SIGNATURE_LENGTH = 132;

const FORGED: Reason = "invalid_exact_evm_payload_signature";

/** Implements `prepareSignatureCheck`. */
export function prepareSignatureCheck(
  read: (payload: unknown, requirements: PaymentRequirements) => Signed | undefined,
): SignatureCheck {
  const viem = loadViem();
  if (viem === undefined) {
    return { ok: false, missing: "the package viem, by which signatures on eip155:* are checked (npm install viem)" };
  }
  return {
    ok: true,
    async check(payload, requirements) {
      const signed = read(payload, requirements);
      if (signed === undefined) return FORGED;
      const { message, signer, signature } = signed;
      if (signature.length !== KEY_SIGNATURE_LENGTH) return undefined;
      try {
        const address = await viem.recoverAddress({ hash: viem.hashTypedData(message), signature });
        return address.toLowerCase() === signer.toLowerCase() ? undefined : FORGED;
      } catch {
        // Not a point on the curve, so no key made it.
        return FORGED;
      }
    },
  };
}

/** Reads the message of a transfer by EIP-3009. */
export function readSignedTransfer(payload: unknown, requirements: PaymentRequirements): Signed | undefined {
  const read = readAuthorization(payload);
  const { name, version } = fieldsOf(requirements.extra);
  if (read === undefined || typeof name !== "string" || typeof version !== "string") return undefined;
  const { from, to, value, validAfter, validBefore, nonce, signature } = read;
  const authorization = {
    from: lowerCase(from),
    to: lowerCase(to),
    value: BigInt(value),
    validAfter: BigInt(validAfter),
    validBefore: BigInt(validBefore),
    nonce,
  };
  const asset = lowerCase(requirements.asset);
  const domain = { name, version, chainId: chainIdOf(requirements) };
  return { message: transferTypedData({ asset, domain, authorization }), signer: from, signature };
}

/** Reads the message of a payment by Permit2. */
export function readSignedPermit(kind: ProxyKind) {
  return (payload: unknown, requirements: PaymentRequirements): Signed | undefined => {
    const permit = readPermit(payload, kind);
    if (permit === undefined) return undefined;
    const message = permitTypedData(chainIdOf(requirements), permitInLowerCase(permit));
    return { message, signer: permit.from, signature: permit.signature };
  };
}

function chainIdOf({ network }: PaymentRequirements): number {
  return Number(network.slice("eip155:".length));
}
