/**
 * The `upto` scheme on one EVM network, facilitator's side: verifies that a maximum can be taken, and takes what the seller
 * says, once, also where that is nothing.
 *
 * @see x402 v2, scheme `upto` on EVM, §1, Phases 3 and 4, and §2
 * @module
 */
import type { FacilitatorScheme } from "@farebox/core";
import { accept, type Refusal, refuse } from "@farebox/core/scheme";
import { sameAddress, toChecksum } from "../address.js";
import type { EvmChain, SignedPermit } from "./chain.js";
import { readEnvelope, readPayer } from "./envelope.js";
import { createPermitMovement } from "./permit-movement.js";
import { readPermitPayment } from "./permit-payment.js";
import { chainIdOf, type EvmSchemeOptions, extensionsOf, parseSchemeOptions } from "./scheme-options.js";
import { type MovementReading, SettlementDesk } from "./settlement-desk.js";
import { type PaymentKind, readTerms, readTransferMethod } from "./terms.js";

/** What the scheme works with; the chain must have `permit2`, and a signer whom payers can name. */
export interface UptoEvmSchemeOptions extends EvmSchemeOptions {}

/**
 * Creates the scheme. It remembers what it has settled for as long as a payment can live, also what was settled at zero:
 * that leaves no trace on chain, so after a restart only the seller knows of it.
 *
 * @throws ConfigError with every issue at once.
 */
export function createUptoEvmScheme(options: UptoEvmSchemeOptions): FacilitatorScheme {
  const isFit = (given: EvmChain): boolean => given.permit2 !== undefined && given.signers.length > 0;
  const { chain, now } = parseSchemeOptions(options, isFit);
  const kind: PaymentKind = { scheme: "upto", network: chain.network, chainId: chainIdOf(chain) };
  const desk = new SettlementDesk(chain, now);
  const [signer] = chain.signers;
  return Object.freeze({
    scheme: kind.scheme,
    network: chain.network,
    // Clients that sign for it insist on the checksum.
    extra: Object.freeze(signer === undefined ? {} : { facilitatorAddress: toChecksum(signer) }),
    signers: chain.signers,
    extensions: extensionsOf(chain),
    verify: (request) => desk.verify(readUptoPayment(request, kind, { chain, checkAmount: checkMaximum })),
    settle: (request) => desk.settle(readUptoPayment(request, kind, { chain, checkAmount: checkTaken })),
    health: () => chain.health(),
  } satisfies FacilitatorScheme);
}

/** The terms' amount is the maximum when a payment is verified, and what is taken when it is settled. */
type CheckAmount = (amount: bigint, most: bigint) => Refusal | undefined;

function readUptoPayment(
  request: unknown,
  kind: PaymentKind,
  { chain, checkAmount }: { readonly chain: EvmChain; readonly checkAmount: CheckAmount },
): MovementReading {
  const envelope = readEnvelope(request);
  if (!envelope.ok) return { payer: undefined, movement: envelope };
  const payer = readPayer(envelope.value.payload["permit2Authorization"]);
  const terms = readTerms(envelope.value.requirements, kind);
  if (!terms.ok) return { payer, movement: terms };
  const method = readTransferMethod(terms.value, "permit2");
  if (!method.ok || method.value !== "permit2") return { payer, movement: NOT_BY_PERMIT2 };
  const signed = readPermitPayment(envelope.value, terms.value, kind);
  if (!signed.ok) return { payer, movement: signed };
  const { permit } = signed.value;
  const { amount } = terms.value;
  const disagreement = checkAmount(amount, permit.amount) ?? checkFacilitator(signed.value, chain);
  if (disagreement !== undefined) return { payer, movement: disagreement };
  if (chain.permit2 === undefined) return { payer, movement: NOT_BY_PERMIT2 };
  const movement = { payer: payer ?? permit.from, amount, signed: signed.value };
  return { payer, movement: accept(createPermitMovement(movement, chain.permit2)) };
}

function checkMaximum(amount: bigint, most: bigint): Refusal | undefined {
  if (amount === 0n) return refuse("invalid_payment_requirements", "the maximum is zero");
  if (amount === most) return undefined;
  return refuse("invalid_exact_evm_payload_authorization_value_mismatch", "the payment is of another maximum");
}

function checkTaken(amount: bigint, most: bigint): Refusal | undefined {
  if (amount <= most) return undefined;
  return refuse("invalid_upto_evm_payload_settlement_exceeds_amount", "more is to be taken than was authorized");
}

/** The proxy takes a payment only from whom the payer has signed for. */
function checkFacilitator({ permit: { facilitator } }: SignedPermit, { signers }: EvmChain): Refusal | undefined {
  if (facilitator !== undefined && signers.some((signer) => sameAddress(signer, facilitator))) return undefined;
  return refuse("invalid_payload", "the payer has signed for another facilitator");
}

const NOT_BY_PERMIT2 = refuse("invalid_payment_requirements", "upto is settled by Permit2 only");
