/**
 * The message that a payer signs, as EIP-712 describes messages.
 *
 * @see EIP-3009, `transferWithAuthorization`
 * @module
 */

/** Types of the typed data; the primary type is `TransferWithAuthorization`. */
export const AUTHORIZATION_TYPES = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
} as const;
