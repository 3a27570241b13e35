/**
 * The `exact` scheme on `eip155:*`, seller's side. The payer signs a transfer of exactly the price, by EIP-3009 or by
 * Permit2. Any holder of the signature can carry the transfer out, once.
 *
 * @see x402 v2, scheme `exact` on EVM, §1 "AssetTransferMethod: EIP-3009" and §2 "AssetTransferMethod: Permit2"
 * @module
 */
import type { PaymentReading, PaymentRequirements, Reason, Scheme } from "@farebox/core";
import { canonicalAddress, sameAddress } from "../address.js";
import { compileEvmTerms } from "../compile-terms.js";
import { readTokenBalance, readTransactionDepth } from "../node/node-questions.js";
import { CLOCK_SECONDS, SETTLEMENT_MARGIN_SECONDS } from "../payload-fields.js";
import { findPermitPayment } from "../permit2/find-payment.js";
import { gasSponsoringFor } from "../permit2/gas-sponsoring.js";
import { readPermit, readPermitPayment } from "../permit2/permit2.js";
import { checkSigned, readSignedPermit, readSignedTransfer } from "../signatures/check-signature.js";
import { readAuthorization } from "./eip3009.js";
import { findAuthorizationPayment } from "./find-payment.js";

/** Creates the scheme. It needs no key and no chain library. `findPayment`, `readConfirmations` and `readBalance` ask the node that they are given. */
export function exactEvm(): Scheme {
  return Object.freeze({
    scheme: "exact",
    networks: "eip155:*",
    compileTerms: (terms) => compileEvmTerms(terms, ["eip3009", "permit2"]),
    extensionsFor: (requirements) => (isByPermit2(requirements) ? gasSponsoringFor(requirements) : {}),
    sameAddress,
    readPayment,
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
function isByPermit2(requirements: PaymentRequirements | undefined): boolean {
  return requirements?.extra?.["assetTransferMethod"] === "permit2";
}

/** Reads an authorization by EIP-3009 here, and a permit elsewhere. Total. */
function readPayment(payload: unknown, requirements: PaymentRequirements, nowSeconds: number): PaymentReading {
  if (isByPermit2(requirements)) return readPermitPayment("exact", payload, { requirements, nowSeconds });
  const authorization = readAuthorization(payload);
  if (authorization === undefined) return refused("invalid_payload");
  const { from, to, value, validAfter, validBefore, nonce, signature } = authorization;
  const { network, asset, payTo, amount, maxTimeoutSeconds } = requirements;

  if (to !== payTo && to.toLowerCase() !== payTo.toLowerCase())
    return refused("invalid_exact_evm_payload_recipient_mismatch");
  if (value !== amount) return refused("invalid_exact_evm_payload_authorization_value_mismatch");
  // A time too large for an exact number lies far beyond every bound.
  if (Number(validAfter) > nowSeconds) return refused("invalid_exact_evm_payload_authorization_valid_after");
  const expiresAtSeconds = Number(validBefore);
  const secondsLeft = expiresAtSeconds - nowSeconds;
  if (secondsLeft > maxTimeoutSeconds + CLOCK_SECONDS)
    return refused("invalid_exact_evm_payload_authorization_valid_before");
  const payer = canonicalAddress(from);
  return {
    kind: secondsLeft < SETTLEMENT_MARGIN_SECONDS ? "expired" : "readable",
    payload: {
      signature: signature.toLowerCase(),
      authorization: { from: payer, to: payTo, value, validAfter, validBefore, nonce: nonce.toLowerCase() },
    },
    identity: `${network}|${asset}|${from}|${nonce}`.toLowerCase(),
    payer,
    expiresAtSeconds,
    expiredReason: "invalid_exact_evm_payload_authorization_valid_before",
  };
}

function refused(reason: Reason): PaymentReading {
  return { kind: "refused", reason };
}
