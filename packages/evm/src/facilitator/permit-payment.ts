/**
 * A payment by Permit2, read from a request as far as that goes without asking the chain or a clock.
 *
 * @see x402 v2, scheme `exact` on EVM, §2; scheme `upto` on EVM, §1
 * @module
 */
import { accept, type Fields, type Reading, type Refusal, refuse } from "@farebox/core/scheme";
import { PERMIT2, PROXIES } from "../permit2/proxies.js";
import { type Permit, readPermit } from "../permit2/read-permit.js";
import { readApprovalTransaction } from "./approval-transaction.js";
import type { Address, SignedApproval, SignedPermit } from "./chain.js";
import type { Envelope } from "./envelope.js";
import { checkAccepted, type PaymentKind, type Terms } from "./terms.js";
import { readAddress, readBytes, readFields, readUint256 } from "./wire-fields.js";

/** Reads a payment that agrees with its terms in all but the amount. The signature is not checked yet. */
export function readPermitPayment(
  { accepted, payload, extensions }: Envelope,
  terms: Terms,
  kind: PaymentKind,
): Reading<SignedPermit> {
  const found = readPermit(payload, kind.scheme);
  if (found === undefined) return refuse("invalid_payload", "permit2Authorization or signature is not of its form");
  const permit = inLowerCase(found);
  const disagreement =
    checkAccepted(accepted, { ...terms, amount: permit.amount }, kind) ?? compare(permit, terms, kind);
  if (disagreement !== undefined) return disagreement;
  const approval = readApproval(readFields(extensions["eip2612GasSponsoring"])?.["info"], permit);
  const sponsoring = readFields(extensions["erc20ApprovalGasSponsoring"])?.["info"];
  const approvalTransaction = readApprovalTransaction(sponsoring, permit, kind.chainId);
  return accept({ chainId: kind.chainId, kind: kind.scheme, permit, approval, approvalTransaction });
}

/** Libraries that insist on the checksum in the capitals would throw. */
function inLowerCase(permit: Permit): Permit {
  const { from, token, spender, to, facilitator } = permit;
  return {
    ...permit,
    from: lower(from),
    token: lower(token),
    spender: lower(spender),
    to: lower(to),
    facilitator: facilitator === undefined ? undefined : lower(facilitator),
  };
}

function compare(permit: Permit, { asset, payTo }: Terms, { scheme }: PaymentKind): Refusal | undefined {
  if (permit.spender !== lower(PROXIES[scheme])) {
    return refuse("invalid_payload", `the spender is not the proxy of ${scheme}`);
  }
  if (permit.token !== asset) return refuse("invalid_payload", "the payment is in another token than asset");
  if (permit.to !== payTo) {
    return refuse("invalid_exact_evm_payload_recipient_mismatch", "the payment is for somebody else than payTo");
  }
  return undefined;
}

/**
 * Reads an allowance that the payer has signed for Permit2. One of another form, or for something else, is none: where it
 * is needed the payment is refused for the lack of it.
 *
 * @see x402 v2, extension `eip2612GasSponsoring`
 */
function readApproval(info: unknown, { from, token, amount }: Permit): SignedApproval | undefined {
  const fields: Fields = readFields(info) ?? {};
  const deadline = readUint256(fields["deadline"]);
  const signature = readBytes(fields["signature"], 65);
  if (deadline === undefined || signature?.length !== 132) return undefined;
  if (readAddress(fields["from"]) !== from || readAddress(fields["asset"]) !== token) return undefined;
  const isForThis = readAddress(fields["spender"]) === lower(PERMIT2) && readUint256(fields["amount"]) === amount;
  return isForThis ? { value: amount, deadline, signature } : undefined;
}

function lower(address: Address): Address {
  return `0x${address.slice(2).toLowerCase()}`;
}
