/**
 * The ledger as the chain of the exact scheme. It checks a transfer by the rules of the token contract.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import type { EvmChain, SignedAuthorization } from "@farebox/evm/facilitator";
import { recoverTypedDataAddress } from "viem/utils";
import { AUTHORIZATION_TYPES } from "../payer/sign.js";
import type { Token } from "./ledger.js";

/** Half the order of secp256k1. Tokens refuse the second valid signature of a key, which lies above it. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** Creates the chain of a ledger. An executed transaction is final at once. */
export function createLedgerChain(network: `eip155:${number}`, token: Token): EvmChain {
  const { ledger } = token;
  const isToken = (asset: string): boolean => asset.toLowerCase() === ledger.asset.address.toLowerCase();
  const checked = new WeakMap<SignedAuthorization, Promise<boolean>>();
  /** One call of a facilitator checks the same document up to three times, and each check takes milliseconds. */
  const verifySignature = (signed: SignedAuthorization): Promise<boolean> => {
    const isValid = checked.get(signed) ?? isSignedByPayer(signed);
    checked.set(signed, isValid);
    return isValid;
  };
  const tokenAccepts = async (signed: SignedAuthorization): Promise<boolean> =>
    isCanonical(signed.signature) && (await verifySignature(signed));
  return {
    network,
    signers: [`0x${randomBytes(20).toString("hex")}`],
    verifySignature,
    balanceOf: async (asset, owner) => (isToken(asset) ? ledger.balanceOf(owner) : 0n),
    isAuthorizationUsed: async (asset, authorizer, nonce) => isToken(asset) && token.isUsed(authorizer, nonce),
    simulate: async (signed) => {
      const problem = (await tokenAccepts(signed)) ? token.problemOf(signed) : "invalid signature";
      return problem === undefined ? { ok: true } : { ok: false, problem };
    },
    submit: async (signed) => token.send(signed, await tokenAccepts(signed)),
    outcomeOf: async (transaction) => token.outcomeOf(transaction),
    findTransfer: async ({ asset, authorization }) => {
      const { from, to, value, nonce } = authorization;
      const wanted = [from, to, value, nonce].join().toLowerCase();
      const found = ledger.transfers.find((made) => [made.from, made.to, made.amount, made.nonce].join() === wanted);
      return isToken(asset) ? found?.transaction : undefined;
    },
    health: async () => ({ ok: true }),
  };
}

async function isSignedByPayer({ asset, domain, authorization, signature }: SignedAuthorization): Promise<boolean> {
  try {
    const signer = await recoverTypedDataAddress({
      domain: { ...domain, verifyingContract: asset },
      types: AUTHORIZATION_TYPES,
      primaryType: "TransferWithAuthorization",
      message: authorization,
      signature,
    });
    return signer.toLowerCase() === authorization.from.toLowerCase();
  } catch {
    // The signature is not a point of the curve.
    return false;
  }
}

/** The form that the token requires: 65 bytes, the lower of the two possible `s`, and `v` 27 or 28. */
function isCanonical(signature: string): boolean {
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) return false;
  const v = Number.parseInt(signature.slice(130), 16);
  return (v === 27 || v === 28) && BigInt(`0x${signature.slice(66, 130)}`) <= HALF_ORDER;
}
