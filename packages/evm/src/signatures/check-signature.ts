/**
 * Checks, without asking a node, whether a payer's key made a payment's signature.
 *
 * A contract wallet signs in its own way (ERC-1271, ERC-6492), and only its contract can tell. Most of its signatures do not
 * have the 65 bytes of a key's; some have, such as those of a Safe with one owner. That a payer has code proves nothing: a
 * forger can name any contract as the payer. So no node is asked.
 *
 * @see EIP-712; EIP-3009; x402 v2, schemes `exact` and `upto` on EVM
 * @module
 */
import type { PaymentRequirements, SignatureFinding } from "@farebox/core";
import { fieldsOf } from "@farebox/core/scheme";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { readAuthorization } from "../exact/eip3009.js";
import { type ProxyKind, readPermit } from "../permit2/permit2.js";
import { hashTypedData } from "./hash-typed-data.js";
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

/** Before the chain's id in the name of a network. */
const CHAIN = "eip155:";

const SIGNED: SignatureFinding = Object.freeze({ kind: "signed" });
const UNCLEAR: SignatureFinding = Object.freeze({ kind: "unclear" });
const OTHER_KEY: SignatureFinding = Object.freeze({ kind: "other_key", reason: "invalid_exact_evm_payload_signature" });

/** Implements `checkSignature`. One check takes 1 to 3 ms of the processor, nearly all of it to recover the key. */
export function checkSigned(signed: Signed | undefined): SignatureFinding {
  if (signed === undefined) return OTHER_KEY;
  const { message, signer, signature } = signed;
  if (signature.length !== KEY_SIGNATURE_LENGTH) return UNCLEAR;
  return recoverAddress(hashTypedData(message), signature) === signer.toLowerCase() ? SIGNED : OTHER_KEY;
}

/** Whether the key of an address signed a text as wallets do (EIP-191). Never throws. */
export function isMessageSignedBy(message: string, address: Hex, signature: Hex): boolean {
  const bytes = Buffer.from(message, "utf8");
  const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${bytes.length}`, "latin1");
  if (signature.length !== KEY_SIGNATURE_LENGTH) return false;
  return recoverAddress(keccak_256(Buffer.concat([prefix, bytes])), signature) === address.toLowerCase();
}

/** The address of the key that made a signature, in lower case; `undefined`: no key made it. */
function recoverAddress(digest: Uint8Array, signature: Hex): Hex | undefined {
  const bytes = Buffer.from(signature.slice(2), "hex");
  // 27 and 28 in Ethereum's own form, 0 and 1 in others.
  const recovery = RECOVERY_BITS.get(bytes[64]);
  if (recovery === undefined) return undefined;
  try {
    const compact = secp256k1.Signature.fromBytes(bytes.subarray(0, 64), "compact");
    const key = compact.addRecoveryBit(recovery).recoverPublicKey(digest).toBytes(false);
    const hash = keccak_256(key.subarray(1));
    return `0x${Buffer.from(hash.subarray(12)).toString("hex")}`;
  } catch {
    // Not a point on the curve.
    return undefined;
  }
}

const RECOVERY_BITS: ReadonlyMap<number | undefined, 0 | 1> = new Map([
  [0, 0],
  [1, 1],
  [27, 0],
  [28, 1],
] as const);

/** Reads the message of a transfer by EIP-3009. */
export function readSignedTransfer(payload: unknown, requirements: PaymentRequirements): Signed | undefined {
  const read = readAuthorization(payload);
  const { name, version } = fieldsOf(requirements.extra);
  if (read === undefined || typeof name !== "string" || typeof version !== "string") return undefined;
  const { from, to, value, validAfter, validBefore, nonce, signature } = read;
  const domain = { name, version, chainId: Number(requirements.network.slice(CHAIN.length)) };
  const authorization = {
    from,
    to,
    value: BigInt(value),
    validAfter: BigInt(validAfter),
    validBefore: BigInt(validBefore),
    nonce,
  };
  return {
    message: transferTypedData({ asset: requirements.asset as Hex, domain, authorization }),
    signer: from,
    signature,
  };
}

/** Reads the message of a payment by Permit2. */
export function readSignedPermit(
  kind: ProxyKind,
  payload: unknown,
  { network }: PaymentRequirements,
): Signed | undefined {
  const permit = readPermit(payload, kind);
  if (permit === undefined) return undefined;
  const message = permitTypedData(Number(network.slice(CHAIN.length)), permit);
  return { message, signer: permit.from, signature: permit.signature };
}
