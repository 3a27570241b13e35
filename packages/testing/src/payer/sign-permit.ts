/**
 * Signs a payment by Permit2.
 *
 * @see x402 v2, scheme `exact` on EVM, §2, Phase 2; scheme `upto` on EVM, §1, Phase 2
 * @module
 */
import type { PrivateKeyAccount } from "viem/accounts";
import type { PermitTerms } from "./permit-offer.js";

type Hex = `0x${string}`;

interface Member {
  readonly name: string;
  readonly type: string;
}

const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";

/** The witness differs by scheme, so its members are no types of TypeScript's. */
const TYPES: Readonly<Record<string, readonly Member[]>> = {
  PermitWitnessTransferFrom: [
    { name: "permitted", type: "TokenPermissions" },
    { name: "spender", type: "address" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
    { name: "witness", type: "Witness" },
  ],
  TokenPermissions: [
    { name: "token", type: "address" },
    { name: "amount", type: "uint256" },
  ],
};

const [TO, FACILITATOR, VALID_AFTER] = [
  { name: "to", type: "address" },
  { name: "facilitator", type: "address" },
  { name: "validAfter", type: "uint256" },
] as const;

/** What is signed for. */
export interface PermitToSign {
  readonly terms: PermitTerms;
  /** Whose money it is; the account signs. */
  readonly from: Hex;
  /** 32 bytes. */
  readonly nonce: Hex;
  /** Unix seconds. */
  readonly deadline: number;
}

/** Yields the payload of the payment. */
export async function signPermit(
  account: PrivateKeyAccount,
  { terms, from, nonce, deadline }: PermitToSign,
): Promise<Readonly<Record<string, unknown>>> {
  const { chainId, token, amount, spender, payTo: to, facilitator } = terms;
  const settler = facilitator === undefined ? {} : { facilitator };
  const Witness = facilitator === undefined ? [TO, VALID_AFTER] : [TO, FACILITATOR, VALID_AFTER];
  const types: Readonly<Record<string, readonly Member[]>> = { ...TYPES, Witness };
  const signature = await account.signTypedData({
    domain: { name: "Permit2", chainId, verifyingContract: PERMIT2 },
    types,
    primaryType: "PermitWitnessTransferFrom",
    message: {
      permitted: { token, amount },
      spender,
      nonce: BigInt(nonce),
      deadline: BigInt(deadline),
      witness: { to, ...settler, validAfter: 0n },
    },
  });
  const permit2Authorization = {
    from,
    permitted: { token, amount: amount.toString() },
    spender,
    nonce: BigInt(nonce).toString(),
    deadline: String(deadline),
    witness: { to, ...settler, validAfter: "0" },
  };
  return { signature, permit2Authorization };
}
