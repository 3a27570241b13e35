/**
 * Declarations of the two extensions by which a payer need not send a transaction to allow Permit2 an amount. The payer
 * signs for the allowance, and the facilitator carries it out.
 *
 * @see x402 v2, extensions `eip2612GasSponsoring` and `erc20ApprovalGasSponsoring`
 * @module
 */
import type { ExtensionDeclaration, Extensions, PaymentRequirements } from "@farebox/core";
import { fieldsOf } from "@farebox/core/scheme";

const ADDRESS = { type: "string", pattern: "^0x[a-fA-F0-9]{40}$" } as const;
const NUMBER = { type: "string", pattern: "^[0-9]+$" } as const;
const BYTES = { type: "string", pattern: "^0x[a-fA-F0-9]+$" } as const;
const VERSION = { type: "string", pattern: "^[0-9]+(\\.[0-9]+)*$" } as const;

const COMMON = { from: ADDRESS, asset: ADDRESS, spender: ADDRESS, amount: NUMBER } as const;

const BY_SIGNATURE: Extensions = Object.freeze({
  eip2612GasSponsoring: declare("The facilitator hands over an allowance signed by EIP-2612.", {
    ...COMMON,
    nonce: NUMBER,
    deadline: NUMBER,
    signature: BYTES,
    version: VERSION,
  }),
});

const BY_TRANSACTION: Extensions = Object.freeze({
  erc20ApprovalGasSponsoring: declare("The facilitator sends a signed approval, and pays for its gas.", {
    ...COMMON,
    signedTransaction: BYTES,
    version: VERSION,
  }),
});

/** Implements `extensionsFor` of Permit2 offers. Tokens whose EIP-712 domain is in the offer have EIP-2612; others do not. */
export function gasSponsoringFor({ extra }: PaymentRequirements): Extensions {
  const { name, version } = fieldsOf(extra);
  return typeof name === "string" && typeof version === "string" ? BY_SIGNATURE : BY_TRANSACTION;
}

function declare(description: string, properties: Readonly<Record<string, object>>): ExtensionDeclaration {
  const $schema = "https://json-schema.org/draft/2020-12/schema";
  const schema = Object.freeze({ $schema, type: "object", properties, required: Object.keys(properties) });
  return Object.freeze({ info: Object.freeze({ description, version: "1" }), schema });
}
