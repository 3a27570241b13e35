/**
 * The `exact` scheme on `eip155:*`, seller's side. The payer signs a transfer of exactly the price, by EIP-3009 or by
 * Permit2. Any holder of the signature can carry the transfer out, once.
 *
 * @see x402 v2, scheme `exact` on EVM, §1 "AssetTransferMethod: EIP-3009" and §2 "AssetTransferMethod: Permit2"
 * @module
 */
import type { PaymentRequirements, Scheme } from "@farebox/core";
import { fieldsOf } from "@farebox/core/scheme";
import { sameAddress } from "../address.js";
import { compileEvmTerms } from "../compile-terms.js";
import { readTokenBalance, readTransactionDepth } from "../node/node-questions.js";
import { findPermitPayment } from "../permit2/find-payment.js";
import { gasSponsoringFor } from "../permit2/gas-sponsoring.js";
import { readPermit, readPermitPayment } from "../permit2/permit2.js";
import { checkSigned, readSignedPermit, readSignedTransfer } from "../signatures/check-signature.js";
import { readAuthorization, readAuthorizationPayment } from "./eip3009.js";
import { findAuthorizationPayment } from "./find-payment.js";

/** Creates the scheme. It needs no key and no chain library. `findPayment`, `readConfirmations` and `readBalance` ask the node that they are given. */
export function exactEvm(): Scheme {
  return Object.freeze({
    scheme: "exact",
    networks: "eip155:*",
    compileTerms: (terms) => compileEvmTerms(terms, ["eip3009", "permit2"]),
    extensionsFor: (requirements) => (isByPermit2(requirements) ? gasSponsoringFor(requirements) : {}),
    sameAddress,
    readPayment: (payload, requirements, nowSeconds) =>
      isByPermit2(requirements)
        ? readPermitPayment("exact", payload, { requirements, nowSeconds })
        : readAuthorizationPayment(payload, requirements, nowSeconds),
    checkSignature: (payload, requirements) =>
      checkSigned(
        isByPermit2(requirements)
          ? readSignedPermit("exact", payload, requirements)
          : readSignedTransfer(payload, requirements),
      ),
    findPayment: (query) =>
      isByPermit2(query.requirements) ? findPermitPayment("exact", query) : findAuthorizationPayment(query),
    readConfirmations: readTransactionDepth,
    readBalance: (query) =>
      readTokenBalance(
        query,
        (isByPermit2(query.requirements) ? readPermit(query.payload, "exact") : readAuthorization(query.payload))?.from,
      ),
  } as const satisfies Scheme);
}

/** Accepts any value: terms from an old record may have any form. */
function isByPermit2(requirements: PaymentRequirements): boolean {
  const { extra } = fieldsOf(requirements);
  return fieldsOf(extra)["assetTransferMethod"] === "permit2";
}
