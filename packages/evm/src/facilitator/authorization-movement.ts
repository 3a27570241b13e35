/**
 * A payment by EIP-3009 as a movement of money.
 *
 * @see EIP-3009, `transferWithAuthorization`
 * @module
 */
import type { Refusal } from "@farebox/core/scheme";
import type { EvmChain, Hash, SignedAuthorization } from "./chain.js";
import type { Moved, Movement } from "./movement.js";
import { verifyOnChain } from "./verify-on-chain.js";

/** Makes a movement of a signed authorization. */
export function createAuthorizationMovement(payer: string, signed: SignedAuthorization, chain: EvmChain): Movement {
  const { asset, authorization, signature } = signed;
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  return {
    payer,
    amount: value,
    identity: [asset, from, nonce].join("|").toLowerCase(),
    fingerprint: [to, value, validAfter, validBefore, signature].join("|").toLowerCase(),
    verify: (nowSeconds: number): Promise<Refusal | undefined> => verifyOnChain(signed, chain, nowSeconds),
    submit: (): Promise<Hash> => chain.submit(signed),
    findEarlier: async (): Promise<Moved | undefined> => {
      if (!(await chain.isAuthorizationUsed(asset, from, nonce))) return undefined;
      const transaction = await chain.findTransfer(signed);
      return transaction === undefined ? undefined : { transaction, amount: value };
    },
  };
}
