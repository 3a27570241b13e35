/**
 * The `exact` scheme on one EVM network, facilitator's side: verifies and settles payments by EIP-3009 and by Permit2.
 *
 * @see x402 v2 §6.1; scheme `exact` on EVM
 * @module
 */
import type { FacilitatorScheme } from "@farebox/core";
import { accept, type Reading, refuse } from "@farebox/core/scheme";
import { createAuthorizationMovement } from "./authorization-movement.js";
import { readAuthorizationPayment } from "./authorization-payment.js";
import type { EvmChain } from "./chain.js";
import { type Envelope, readEnvelope, readPayer } from "./envelope.js";
import type { Movement } from "./movement.js";
import { createPermitMovement } from "./permit-movement.js";
import { readPermitPayment } from "./permit-payment.js";
import { chainIdOf, type EvmSchemeOptions, extensionsOf, parseSchemeOptions } from "./scheme-options.js";
import { type MovementReading, SettlementDesk } from "./settlement-desk.js";
import { type PaymentKind, readTerms, readTransferMethod, type Terms } from "./terms.js";

/** What the scheme works with. */
export interface ExactEvmSchemeOptions extends EvmSchemeOptions {}

/**
 * Creates the scheme. It remembers what it has settled for as long as a payment can live.
 *
 * @throws ConfigError with every issue at once.
 */
export function createExactEvmScheme(options: ExactEvmSchemeOptions): FacilitatorScheme {
  const { chain, now } = parseSchemeOptions(options);
  const kind: PaymentKind = { scheme: "exact", network: chain.network, chainId: chainIdOf(chain) };
  const desk = new SettlementDesk(chain, now);
  return Object.freeze({
    scheme: kind.scheme,
    network: chain.network,
    extra: Object.freeze({}),
    signers: chain.signers,
    extensions: extensionsOf(chain),
    verify: (request) => desk.verify(readExactPayment(request, kind, chain)),
    settle: (request) => desk.settle(readExactPayment(request, kind, chain)),
    health: () => chain.health(),
  } satisfies FacilitatorScheme);
}

function readExactPayment(request: unknown, kind: PaymentKind, chain: EvmChain): MovementReading {
  const envelope = readEnvelope(request);
  if (!envelope.ok) return { payer: undefined, movement: envelope };
  const { payload } = envelope.value;
  const [byAuthorization, byPermit2] = [
    readPayer(payload["authorization"]),
    readPayer(payload["permit2Authorization"]),
  ];
  const terms = readTerms(envelope.value.requirements, kind);
  if (!terms.ok) return { payer: byAuthorization ?? byPermit2, movement: terms };
  const method = readTransferMethod(terms.value, "eip3009");
  if (!method.ok) return { payer: byAuthorization ?? byPermit2, movement: method };
  // A payload may have both. Whose money it is depends on what the terms ask for.
  const [payer, read] =
    method.value === "permit2"
      ? ([byPermit2, readByPermit2] as const)
      : ([byAuthorization, readByAuthorization] as const);
  if (terms.value.amount === 0n) return { payer, movement: refuse("invalid_payment_requirements", "amount is zero") };
  return { payer, movement: read(envelope.value, terms.value, { kind, chain }) };
}

/** What a payment is for, and where it is carried out. */
interface Place {
  readonly kind: PaymentKind;
  readonly chain: EvmChain;
}

function readByAuthorization(envelope: Envelope, terms: Terms, { kind, chain }: Place): Reading<Movement> {
  const signed = readAuthorizationPayment(envelope, terms, kind);
  if (!signed.ok) return signed;
  const payer = readPayer(envelope.payload["authorization"]) ?? signed.value.authorization.from;
  return accept(createAuthorizationMovement(payer, signed.value, chain));
}

function readByPermit2(envelope: Envelope, terms: Terms, { kind, chain }: Place): Reading<Movement> {
  if (chain.permit2 === undefined) {
    return refuse("invalid_payment_requirements", "this facilitator does not settle by Permit2");
  }
  const signed = readPermitPayment(envelope, terms, kind);
  if (!signed.ok) return signed;
  if (signed.value.permit.amount !== terms.amount) {
    return refuse("invalid_exact_evm_payload_authorization_value_mismatch", "the payment is of another amount");
  }
  const payer = readPayer(envelope.payload["permit2Authorization"]) ?? signed.value.permit.from;
  return accept(createPermitMovement({ payer, amount: terms.amount, signed: signed.value }, chain.permit2));
}
