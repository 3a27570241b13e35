/**
 * Declarations of the extensions by which a payer need not send a transaction to allow Permit2 what it pays: it signs for
 * the allowance, and the facilitator sees to the rest.
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

function declare(description: string, properties: Readonly<Record<string, object>>): ExtensionDeclaration {
  const $schema = "https://json-schema.org/draft/2020-12/schema";
  const schema = Object.freeze({ $schema, type: "object", properties, required: Object.keys(properties) });
  return Object.freeze({ info: Object.freeze({ description, version: "1" }), schema });
}

/** Implements `extensionsFor` of offers by Permit2: a token whose domain is in the offer has EIP-2612, and others have not. */
export function gasSponsoringFor({ extra }: PaymentRequirements): Extensions {
  const { name, version } = fieldsOf(extra);
  return typeof name === "string" && typeof version === "string" ? BY_SIGNATURE : BY_TRANSACTION;
}
