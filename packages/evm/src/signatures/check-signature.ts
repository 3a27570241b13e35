/**
 * Whether a payer's key has made a payment's signature, as far as that can be told without a node.
 *
 * A contract wallet signs as it likes (ERC-1271), and only its contract can tell. What has not the 65 bytes of a key's
 * signature is left to the facilitator; 65 bytes are taken for a key's.
 *
 * @see EIP-712; EIP-3009; x402 v2, schemes `exact` and `upto` on EVM
 * @module
 */
import type { PaymentRequirements, Reason, SignatureCheck } from "@farebox/core";
import { fieldsOf } from "@farebox/core/scheme";
import { readAuthorization } from "../exact/read-payment.js";
import type { ProxyKind } from "../permit2/proxies.js";
import { readPermit } from "../permit2/read-permit.js";
import { loadViem, type Viem } from "./load-viem.js";
import { permitTypedData, type TypedData, transferTypedData } from "./typed-data.js";

type Hex = `0x${string}`;

/** A message, and whose signature over it this is said to be. */
interface Signed {
  readonly message: TypedData;
  readonly signer: Hex;
  readonly signature: Hex;
}

/** What 65 bytes are in text. */
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
      if (signed.signature.length !== KEY_SIGNATURE_LENGTH) return undefined;
      return (await isSignedByKey(viem, signed)) ? undefined : FORGED;
    },
  };
}

async function isSignedByKey(viem: Viem, { message, signer, signature }: Signed): Promise<boolean> {
  try {
    const address = await viem.recoverAddress({ hash: viem.hashTypedData(message), signature });
    return address.toLowerCase() === signer.toLowerCase();
  } catch {
    // No point of the curve: nobody's.
    return false;
  }
}

/** Reads what is signed for a transfer by EIP-3009. */
export function readSignedTransfer(payload: unknown, requirements: PaymentRequirements): Signed | undefined {
  const read = readAuthorization(payload);
  const { name, version } = fieldsOf(requirements.extra);
  if (read === undefined || typeof name !== "string" || typeof version !== "string") return undefined;
  const { from, to, value, validAfter, validBefore, nonce, signature } = read;
  const authorization = {
    ...{ from: lower(from), to: lower(to), nonce },
    ...{ value: BigInt(value), validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) },
  };
  const domain = { name, version, chainId: chainIdOf(requirements) };
  return {
    message: transferTypedData({ asset: lower(requirements.asset), domain, authorization }),
    signer: from,
    signature,
  };
}

/** Reads what is signed for a payment by Permit2. */
export function readSignedPermit(kind: ProxyKind) {
  return (payload: unknown, requirements: PaymentRequirements): Signed | undefined => {
    const permit = readPermit(payload, kind);
    if (permit === undefined) return undefined;
    const { from, token, spender, to, facilitator, signature } = permit;
    const addresses = { token: lower(token), spender: lower(spender), to: lower(to) };
    const settler = facilitator === undefined ? undefined : lower(facilitator);
    const message = permitTypedData(chainIdOf(requirements), { ...permit, ...addresses, facilitator: settler });
    return { message, signer: from, signature };
  };
}

/** Libraries that insist on the checksum in the capitals would throw. */
function lower(address: string): Hex {
  return `0x${address.slice(2).toLowerCase()}`;
}

function chainIdOf({ network }: PaymentRequirements): number {
  return Number(network.slice("eip155:".length));
}
