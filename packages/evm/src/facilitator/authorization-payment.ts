/**
 * A payment by EIP-3009, read from a request as far as that goes without asking the chain or a clock.
 *
 * @see x402 v2, scheme `exact` on EVM, §1
 * @module
 */
import { accept, type Fields, type Reading, type Refusal, refuse } from "@farebox/core/scheme";
import type { Address, Hex, SignedAuthorization, TransferAuthorization } from "./chain.js";
import type { Envelope } from "./envelope.js";
import { checkAccepted, type PaymentKind, readDomain, type Terms, type TokenDomain } from "./terms.js";
import { readAddress, readBytes, readBytes32, readFields, readUint256 } from "./wire-fields.js";

/** Signatures of contract wallets with several owners or passkeys have up to some 2 kB. */
const MAX_SIGNATURE_BYTES = 4096;

/** Reads a payment whose parts agree with each other. The signature is not checked yet. */
export function readAuthorizationPayment(
  { accepted, payload }: Envelope,
  terms: Terms,
  kind: PaymentKind,
): Reading<SignedAuthorization> {
  const domain = readDomain(terms);
  if (!domain.ok) return domain;
  const disagreement = checkAccepted(accepted, terms, kind);
  return disagreement ?? readSigned(payload, terms, { ...domain.value, chainId: kind.chainId });
}

function readSigned(
  payload: Fields,
  terms: Terms,
  domain: TokenDomain & { readonly chainId: number },
): Reading<SignedAuthorization> {
  const authorization = readAuthorization(payload["authorization"]);
  if (!authorization.ok) return authorization;
  const mismatch = compare(authorization.value, terms);
  if (mismatch !== undefined) return mismatch;
  const signature = readBytes(payload["signature"], MAX_SIGNATURE_BYTES);
  if (signature === undefined) {
    return refuse("invalid_exact_evm_payload_signature", `signature is not 1 to ${MAX_SIGNATURE_BYTES} bytes in hex`);
  }
  return accept({ asset: terms.asset, domain, authorization: authorization.value, signature });
}

function readAuthorization(value: unknown): Reading<TransferAuthorization> {
  const fields = readFields(value);
  if (fields === undefined) return refuse("invalid_payload", "authorization is not an object");
  const addresses = readAddresses(fields);
  if (addresses === undefined) return refuse("invalid_payload", "authorization.from or .to is not an address");
  const numbers = readNumbers(fields);
  if (numbers === undefined) {
    return refuse("invalid_payload", "authorization.value, .validAfter or .validBefore is not a decimal string");
  }
  const nonce: Hex | undefined = readBytes32(fields["nonce"]);
  if (nonce === undefined) return refuse("invalid_payload", "authorization.nonce is not 32 bytes");
  return accept({ ...addresses, ...numbers, nonce });
}

function readAddresses(fields: Fields): { readonly from: Address; readonly to: Address } | undefined {
  const from = readAddress(fields["from"]);
  const to = readAddress(fields["to"]);
  return from === undefined || to === undefined ? undefined : { from, to };
}

function readNumbers(fields: Fields): Pick<TransferAuthorization, "value" | "validAfter" | "validBefore"> | undefined {
  const value = readUint256(fields["value"]);
  const validAfter = readUint256(fields["validAfter"]);
  const validBefore = readUint256(fields["validBefore"]);
  if (value === undefined || validAfter === undefined || validBefore === undefined) return undefined;
  return { value, validAfter, validBefore };
}

function compare({ to, value }: TransferAuthorization, terms: Terms): Refusal | undefined {
  if (to !== terms.payTo) {
    return refuse("invalid_exact_evm_payload_recipient_mismatch", "the authorization pays somebody else than payTo");
  }
  if (value !== terms.amount) {
    return refuse("invalid_exact_evm_payload_authorization_value_mismatch", "the authorization is for another amount");
  }
  return undefined;
}
