/**
 * The ledger as a chain: what the exact scheme needs of one. A transfer is tried by the rules of the token's contract.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import type { EvmChain, SignedAuthorization } from "@farebox/evm/facilitator";
import { recoverTypedDataAddress } from "viem/utils";
import { AUTHORIZATION_TYPES } from "../payer/authorization-types.js";
import type { Token } from "./ledger.js";

/** Half the order of secp256k1. Above it lies the other signature that the same key could have made; tokens refuse it. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** Presents a ledger as a chain. Transactions are as deep as can be as soon as they are carried out. */
export function createLedgerChain(network: `eip155:${number}`, token: Token): EvmChain {
  const { ledger } = token;
  const belongsHere = (asset: string): boolean => asset.toLowerCase() === ledger.asset.address.toLowerCase();
  const checked = new WeakMap<SignedAuthorization, Promise<boolean>>();
  /** One call of a facilitator asks up to three times about the same document, and each answer takes milliseconds. */
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
    balanceOf: async (asset, owner) => (belongsHere(asset) ? ledger.balanceOf(owner) : 0n),
    isAuthorizationUsed: async (asset, authorizer, nonce) => belongsHere(asset) && token.isUsed(authorizer, nonce),
    simulate: async (signed) => {
      const problem = (await tokenAccepts(signed)) ? token.problemOf(signed) : "invalid signature";
      return problem === undefined ? { ok: true } : { ok: false, problem };
    },
    submit: async (signed) => token.send(signed, await tokenAccepts(signed)),
    outcomeOf: async (transaction) => token.outcomeOf(transaction),
    findTransfer: async ({ asset, authorization }) => {
      const { from, to, value, nonce } = authorization;
      const sought = [from, to, value, nonce].join().toLowerCase();
      const found = ledger.transfers.find((made) => [made.from, made.to, made.amount, made.nonce].join() === sought);
      return belongsHere(asset) ? found?.transaction : undefined;
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
    // No point of the curve: nobody's signature.
    return false;
  }
}

/** What the token insists on besides the signer: 65 bytes, the lower of the two possible `s`, `v` 27 or 28. */
function isCanonical(signature: string): boolean {
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) return false;
  const v = Number.parseInt(signature.slice(130), 16);
  return (v === 27 || v === 28) && BigInt(`0x${signature.slice(66, 130)}`) <= HALF_ORDER;
}
