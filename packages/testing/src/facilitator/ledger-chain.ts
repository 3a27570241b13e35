/**
 * The ledger as the chain of the schemes. It checks a transfer by the rules of the token contract, and of Permit2.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import type { EvmChain, SignedAuthorization, SignedPermit } from "@farebox/evm/facilitator";
import { recoverTypedDataAddress } from "viem/utils";
import { AUTHORIZATION_TYPES, permitTypedData } from "../payer/sign.js";
import type { Token } from "./ledger.js";

/** Half the order of secp256k1. Tokens refuse the second valid signature of a key, which lies above it. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** Creates the chain of a ledger. An executed transaction is final at once. */
export function createLedgerChain(network: `eip155:${number}`, token: Token): EvmChain {
  const { ledger } = token;
  const isToken = (asset: string): boolean => asset.toLowerCase() === ledger.asset.address.toLowerCase();
  const verifySignature = remember(isSignedByPayer);
  // The scheme gives each step a payment of its own, with the same permit.
  const verifyPermit = remember((permit: SignedPermit["permit"]) =>
    isPermitSigned({ chainId: Number(network.slice(7)), permit }),
  );
  const permit2Accepts = async ({ permit }: SignedPermit): Promise<boolean> =>
    hasUsualForm(permit.signature) && (await verifyPermit(permit));
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
    permit2: {
      verifySignature: ({ permit }) => verifyPermit(permit),
      balanceOf: async (asset, owner) => (isToken(asset) ? ledger.balanceOf(owner) : 0n),
      allowanceOf: async () => 2n ** 256n - 1n,
      isNonceUsed: async (owner, nonce) => token.permits.isUsed(owner, nonce),
      simulate: async (signed, amount) => {
        const problem = (await permit2Accepts(signed)) ? token.permits.problemOf(signed, amount) : "invalid signature";
        return problem === undefined ? { ok: true } : { ok: false, problem };
      },
      submit: async (signed, amount) => token.permits.send(signed, amount, await permit2Accepts(signed)),
      findTransfer: async (signed) => (isToken(signed.permit.token) ? token.permits.find(signed) : undefined),
    },
    health: async () => ({ ok: true }),
  };
}

/** How many checks are remembered. */
const REMEMBERED = 256;

/** A payment is checked up to six times, by `verify` and `settle`, in objects of their own. Each check takes milliseconds. */
function remember<T extends object>(check: (signed: T) => Promise<boolean>): (signed: T) => Promise<boolean> {
  const checked = new Map<string, Promise<boolean>>();
  return (signed) => {
    const key = JSON.stringify(signed, (_name, value) => (typeof value === "bigint" ? `${value}n` : value));
    const isValid = checked.get(key) ?? check(signed);
    checked.set(key, isValid);
    const [oldest] = checked.keys();
    if (oldest !== undefined && checked.size > REMEMBERED) checked.delete(oldest);
    return isValid;
  };
}

async function isPermitSigned({ chainId, permit }: Pick<SignedPermit, "chainId" | "permit">): Promise<boolean> {
  try {
    const { signature, from } = permit;
    const signer = await recoverTypedDataAddress({ ...permitTypedData({ ...permit, chainId }), signature });
    return signer.toLowerCase() === from.toLowerCase();
  } catch {
    // The signature is not a point of the curve.
    return false;
  }
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
  return hasUsualForm(signature) && BigInt(`0x${signature.slice(66, 130)}`) <= HALF_ORDER;
}

/** 65 bytes, and `v` 27 or 28. Permit2 requires no more. */
function hasUsualForm(signature: string): boolean {
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) return false;
  const v = Number.parseInt(signature.slice(130), 16);
  return v === 27 || v === 28;
}
