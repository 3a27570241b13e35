/**
 * The `upto` scheme on `eip155:*`, seller's side. The payer signs for a maximum, by Permit2. The facilitator that the payer
 * named takes the amount that the seller says, once.
 *
 * @see x402 v2, scheme `upto` on EVM
 * @module
 */
import type { Scheme } from "@farebox/core";
import { isAddressShaped, sameAddress, toChecksum } from "../address.js";
import { compileEvmTerms } from "../compile-terms.js";
import { readTokenAllowance, readTokenBalance, readTransactionDepth } from "../node/node-questions.js";
import { findPermitPayment } from "../permit2/find-payment.js";
import { gasSponsoringFor } from "../permit2/gas-sponsoring.js";
import { PERMIT2, readPermit, readPermitPayment } from "../permit2/permit2.js";
import { checkSigned, readSignedPermit } from "../signatures/check-signature.js";

/** Creates the scheme. It needs no key and no chain library. `findPayment`, `readConfirmations` and `readBalance` ask the node that they are given. */
export function uptoEvm(): Scheme {
  return Object.freeze({
    scheme: "upto",
    networks: "eip155:*",
    allowsLess: true,
    compileTerms: (terms) => compileEvmTerms(terms, ["permit2"]),
    completeExtra,
    extensionsFor: gasSponsoringFor,
    sameAddress,
    readPayment: (payload, requirements, nowSeconds) =>
      readPermitPayment("upto", payload, { requirements, nowSeconds }),
    checkSignature: (payload, requirements) => checkSigned(readSignedPermit("upto", payload, requirements)),
    findPayment: (query) => findPermitPayment("upto", query),
    readConfirmations: readTransactionDepth,
    readBalance: (query) => readTokenBalance(query, readPermit(query.payload, "upto")?.from),
    readAllowance: (query) =>
      readTokenAllowance(query, { owner: readPermit(query.payload, "upto")?.from, spender: PERMIT2 }),
  } as const satisfies Scheme);
}

/** Payers sign for one facilitator, so an offer must name it. */
function completeExtra({ facilitatorAddress }: Readonly<Record<string, unknown>>) {
  if (!isAddressShaped(facilitatorAddress) || /^0x0{40}$/.test(facilitatorAddress)) return undefined;
  return { facilitatorAddress: toChecksum(facilitatorAddress) };
}
