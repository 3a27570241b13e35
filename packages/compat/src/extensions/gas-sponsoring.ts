/**
 * Declarations of gas sponsoring, in the form of `@x402/extensions`. The engine declares it by itself where the facilitator supports it,
 * so a seller's declaration changes nothing.
 *
 * @see x402 v2, extensions `eip2612GasSponsoring` and `erc20ApprovalGasSponsoring`
 * @module
 */
import type { Extension, ExtensionDeclaration } from "@farebox/core";
import { gasSponsoringFor } from "@farebox/evm";

const BY_SIGNATURE = "eip2612GasSponsoring";
const BY_TRANSACTION = "erc20ApprovalGasSponsoring";

/** Facilitators register it. */
export const EIP2612_GAS_SPONSORING: { readonly key: string } = Object.freeze({ key: BY_SIGNATURE });
/** Facilitators register it. */
export const ERC20_APPROVAL_GAS_SPONSORING: { readonly key: string } = Object.freeze({ key: BY_TRANSACTION });

/** Declares that the payer may allow Permit2 an amount by a signature: `extensions: { ...declareEip2612GasSponsoringExtension() }`. */
export function declareEip2612GasSponsoringExtension(): Record<string, ExtensionDeclaration> {
  // A token with an EIP-712 domain has EIP-2612.
  return declarationsFor({ name: "USDC", version: "2" });
}

/** Declares that the payer may allow Permit2 an amount by a signed transaction that the facilitator sends. */
export function declareErc20ApprovalGasSponsoringExtension(): Record<string, ExtensionDeclaration> {
  return declarationsFor({});
}

/** The engine's own declarations. */
function declarationsFor(extra: Readonly<Record<string, unknown>>): Record<string, ExtensionDeclaration> {
  const offer = {
    scheme: "upto",
    network: "eip155:8453",
    amount: "0",
    asset: "",
    payTo: "",
    maxTimeoutSeconds: 60,
    extra,
  };
  return { ...gasSponsoringFor(offer) };
}

/** Takes the seller's declarations, and leaves it to the engine to declare what the facilitator supports. */
export function gasSponsoringExtensions(): readonly Extension[] {
  return [BY_SIGNATURE, BY_TRANSACTION].map((key) => ({ key, compile: () => ({ at: () => undefined, notices: [] }) }));
}
