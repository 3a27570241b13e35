/**
 * An exact payment, read from a request as far as that goes without asking the chain or a clock.
 *
 * @see x402 v2 §6.1.2, §7.1
 * @module
 */
import type { Address, Hex, SignedAuthorization, TransferAuthorization } from "./chain.js";
import { accept, type Reading, type Refusal, refuse } from "./refusal.js";
import { checkAccepted, readTerms, type Terms } from "./terms.js";
import { type Fields, readAddress, readBytes, readBytes32, readFields, readUint256 } from "./wire-fields.js";

/** A payment whose parts agree with each other. The signature is not checked yet. */
export interface ExactPayment {
  /** The authorization's `from`, as the client wrote it. */
  readonly payer: string;
  readonly signed: SignedAuthorization;
}

/** A request as it is read: as far as it got, the payer is known. */
export interface PaymentReading {
  readonly payer: string | undefined;
  readonly payment: Reading<ExactPayment>;
}

/** The chain that payments are for. */
export interface PaymentNetwork {
  readonly network: string;
  readonly chainId: number;
}

/** Signatures of contract wallets with several owners or passkeys have up to some 2 kB. */
const MAX_SIGNATURE_BYTES = 4096;

/** Reads the body of `verify` or `settle`. Total: any JSON yields a reading. */
export function readExactPayment(request: unknown, { network, chainId }: PaymentNetwork): PaymentReading {
  const envelope = readEnvelope(request);
  if (!envelope.ok) return { payer: undefined, payment: envelope };
  const { accepted, payload, requirements } = envelope.value;

  const payer = readPayer(payload);
  const terms = readTerms(requirements, network);
  if (!terms.ok) return { payer, payment: terms };
  const disagreement = checkAccepted(accepted, terms.value, network);
  if (disagreement !== undefined) return { payer, payment: disagreement };
  return { payer, payment: readSigned(payload, terms.value, chainId) };
}

interface Envelope {
  readonly accepted: Fields;
  readonly payload: Fields;
  readonly requirements: Fields;
}

function readEnvelope(request: unknown): Reading<Envelope> {
  const body = readFields(request);
  if (body === undefined) return refuse("invalid_payload", "the request is not an object");
  if (body["x402Version"] !== 2) return refuse("invalid_x402_version", "x402Version of the request is not 2");
  const payment = readFields(body["paymentPayload"]);
  if (payment === undefined) return refuse("invalid_payload", "paymentPayload is not an object");
  if (payment["x402Version"] !== 2) return refuse("invalid_x402_version", "x402Version of the payment is not 2");
  const requirements = readFields(body["paymentRequirements"]);
  if (requirements === undefined) return refuse("invalid_payment_requirements", "paymentRequirements is not an object");
  const accepted = readFields(payment["accepted"]);
  if (accepted === undefined) return refuse("invalid_payload", "accepted is not an object");
  const payload = readFields(payment["payload"]);
  if (payload === undefined) return refuse("invalid_payload", "payload is not an object");
  return accept({ accepted, payload, requirements });
}

function readPayer(payload: Fields): string | undefined {
  const from = readFields(payload["authorization"])?.["from"];
  return typeof from === "string" && readAddress(from) !== undefined ? from : undefined;
}

function readSigned(payload: Fields, terms: Terms, chainId: number): Reading<ExactPayment> {
  const authorization = readAuthorization(payload["authorization"]);
  if (!authorization.ok) return authorization;
  const mismatch = compare(authorization.value, terms);
  if (mismatch !== undefined) return mismatch;
  const signature = readBytes(payload["signature"], MAX_SIGNATURE_BYTES);
  if (signature === undefined) {
    return refuse("invalid_exact_evm_payload_signature", `signature is not 1 to ${MAX_SIGNATURE_BYTES} bytes in hex`);
  }
  const { asset, name, version } = terms;
  const signed = { asset, domain: { name, version, chainId }, authorization: authorization.value, signature };
  return accept({ payer: readPayer(payload) ?? authorization.value.from, signed });
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
