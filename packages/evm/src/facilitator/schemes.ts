/**
 * The schemes `exact` and `upto` on one EVM network, facilitator's side. `exact` settles payments by EIP-3009 and by Permit2.
 * `upto` settles by Permit2: it verifies that a maximum can be taken, then takes the amount that the seller says, once. That
 * amount may be zero.
 *
 * @see x402 v2 §6.1; scheme `exact` on EVM; scheme `upto` on EVM, §1, Phases 3 and 4, and §2
 * @module
 */
import type { FacilitatorRequest, FacilitatorScheme } from "@farebox/core";
import { type DeskPayment, type DeskReading, SettlementDesk } from "@farebox/core/facilitator";
import { createIssues } from "@farebox/core/issues";
import { accept, type Reading, type Refusal, refuse } from "@farebox/core/scheme";
import { sameAddress, toChecksum } from "../address.js";
import { createAuthorizationPayment, readAuthorizationPayment } from "./authorization.js";
import { type EvmChain, outcomesOn } from "./chain.js";
import { PermitPayment, readPermitPayment } from "./permit.js";
import {
  type Envelope,
  type PaymentKind,
  readEnvelope,
  readPayer,
  readTerms,
  readTransferMethod,
  type Terms,
} from "./wire.js";

/** The options of `exact`. */
export interface ExactEvmSchemeOptions {
  readonly chain: EvmChain;
  /** Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

/** The options of `upto`. The chain must have `permit2`, and a signer that payers can name. */
export interface UptoEvmSchemeOptions extends ExactEvmSchemeOptions {}

/**
 * Creates `exact`. It remembers each settlement for as long as a payment can live.
 *
 * @throws ConfigError with every issue at once.
 */
export function createExactEvmScheme(options: ExactEvmSchemeOptions): FacilitatorScheme {
  const { chain, now } = parseOptions(options);
  const kind = kindOf("exact", chain);
  const desk = openDesk(chain, now);
  return Object.freeze({
    scheme: kind.scheme,
    network: chain.network,
    extra: Object.freeze({}),
    signers: chain.signers,
    extensions: extensionsOf(chain),
    verify: (request) => desk.verify(readExactPayment(request, kind, chain)),
    settle: (request) => desk.settle(readExactPayment(request, kind, chain)),
    health: () => chain.health(),
    ...meterOf(chain),
  } satisfies FacilitatorScheme);
}

/**
 * Creates `upto`. It remembers each settlement for as long as a payment can live. A settlement at zero leaves no trace on
 * chain, so after a restart only the seller knows of it.
 *
 * @throws ConfigError with every issue at once.
 */
export function createUptoEvmScheme(options: UptoEvmSchemeOptions): FacilitatorScheme {
  const { chain, now } = parseOptions(options, (given) => given.permit2 !== undefined && given.signers.length > 0);
  const kind = kindOf("upto", chain);
  const desk = openDesk(chain, now);
  const [signer] = chain.signers;
  return Object.freeze({
    scheme: kind.scheme,
    network: chain.network,
    // Clients that sign for the address insist on its checksum.
    extra: Object.freeze(signer === undefined ? {} : { facilitatorAddress: toChecksum(signer) }),
    signers: chain.signers,
    extensions: extensionsOf(chain),
    verify: (request) => desk.verify(readUptoPayment(request, kind, { chain, checkAmount: checkMaximum })),
    settle: (request) => desk.settle(readUptoPayment(request, kind, { chain, checkAmount: checkTaken })),
    health: () => chain.health(),
    ...meterOf(chain),
  } satisfies FacilitatorScheme);
}

/** Lets a facilitator limit what the chain's signer spends. */
function meterOf(chain: EvmChain): Pick<EvmChain, "meterGas"> {
  return chain.meterGas === undefined ? {} : { meterGas: (book) => chain.meterGas?.(book) };
}

function readExactPayment(request: FacilitatorRequest, kind: PaymentKind, chain: EvmChain): DeskReading {
  const envelope = readEnvelope(request);
  if (!envelope.ok) return { payer: undefined, payment: envelope };
  const { payload, requirements } = envelope.value;
  const byAuthorization = readPayer(payload["authorization"]);
  const byPermit2 = readPayer(payload["permit2Authorization"]);
  const terms = readTerms(requirements, kind);
  if (!terms.ok) return { payer: byAuthorization ?? byPermit2, payment: terms };
  const method = readTransferMethod(terms.value, "eip3009");
  if (!method.ok) return { payer: byAuthorization ?? byPermit2, payment: method };
  // A payload may have both authorizations. The terms decide which payer is charged.
  const payer = method.value === "permit2" ? byPermit2 : byAuthorization;
  if (terms.value.amount === 0n) return { payer, payment: refuse("invalid_payment_requirements", "amount is zero") };
  const read = method.value === "permit2" ? readExactByPermit2 : readExactByAuthorization;
  return { payer, payment: read(envelope.value, terms.value, { kind, chain, payer }) };
}

/** A scheme on a chain, and the payer as the client wrote it. */
interface Context {
  readonly kind: PaymentKind;
  readonly chain: EvmChain;
  readonly payer: string | undefined;
}

function readExactByAuthorization(
  envelope: Envelope,
  terms: Terms,
  { kind, chain, payer }: Context,
): Reading<DeskPayment> {
  const signed = readAuthorizationPayment(envelope, terms, kind);
  if (!signed.ok) return signed;
  return accept(createAuthorizationPayment(payer ?? signed.value.authorization.from, signed.value, chain));
}

function readExactByPermit2(envelope: Envelope, terms: Terms, { kind, chain, payer }: Context): Reading<DeskPayment> {
  if (chain.permit2 === undefined) {
    return refuse("invalid_payment_requirements", "this facilitator does not settle by Permit2");
  }
  const signed = readPermitPayment(envelope, terms, kind);
  if (!signed.ok) return signed;
  const { permit } = signed.value;
  if (permit.amount !== terms.amount) {
    return refuse("invalid_exact_evm_payload_authorization_value_mismatch", "the payment is of another amount");
  }
  const taken = { payer: payer ?? permit.from, amount: terms.amount, signed: signed.value };
  return accept(new PermitPayment(taken, chain.permit2, outcomesOn(chain)));
}

/** The amount of the terms is the maximum at verification, and the amount to take at settlement. */
type CheckAmount = (amount: bigint, most: bigint) => Refusal | undefined;

function readUptoPayment(
  request: FacilitatorRequest,
  kind: PaymentKind,
  { chain, checkAmount }: { readonly chain: EvmChain; readonly checkAmount: CheckAmount },
): DeskReading {
  const envelope = readEnvelope(request);
  if (!envelope.ok) return { payer: undefined, payment: envelope };
  const payer = readPayer(envelope.value.payload["permit2Authorization"]);
  const terms = readTerms(envelope.value.requirements, kind);
  if (!terms.ok) return { payer, payment: terms };
  const method = readTransferMethod(terms.value, "permit2");
  if (!method.ok || method.value !== "permit2" || chain.permit2 === undefined) {
    return { payer, payment: refuse("invalid_payment_requirements", "upto is settled by Permit2 only") };
  }
  const signed = readPermitPayment(envelope.value, terms.value, kind);
  if (!signed.ok) return { payer, payment: signed };
  const { permit } = signed.value;
  const { amount } = terms.value;
  const disagreement = checkAmount(amount, permit.amount) ?? checkFacilitator(permit.facilitator, chain);
  if (disagreement !== undefined) return { payer, payment: disagreement };
  const taken = { payer: payer ?? permit.from, amount, signed: signed.value };
  return { payer, payment: accept(new PermitPayment(taken, chain.permit2, outcomesOn(chain))) };
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

/** The proxy accepts a payment only from the facilitator in the signature. */
function checkFacilitator(facilitator: string | undefined, { signers }: EvmChain): Refusal | undefined {
  if (facilitator !== undefined && signers.some((signer) => sameAddress(signer, facilitator))) return undefined;
  return refuse("invalid_payload", "the payer has signed for another facilitator");
}

/** Authorizations live at most 25 hours. After that the chain still knows them. */
const REMEMBERED_MS = 25 * 60 * 60 * 1000;

function openDesk({ network }: EvmChain, now: () => number): SettlementDesk {
  return new SettlementDesk({
    network,
    now,
    rememberedMs: REMEMBERED_MS,
    looksBack: "when-refused",
    prose: {
      unsent: "the transaction was not sent",
      pending: "sent, and not yet on chain",
      dropped: "the transaction was crowded out, and can be sent again",
    },
  });
}

function kindOf(scheme: PaymentKind["scheme"], { network }: EvmChain): PaymentKind {
  return { scheme, network, chainId: Number(network.slice("eip155:".length)) };
}

/** The extensions that a chain supports. With them, payers need not send a transaction of their own. */
function extensionsOf({ permit2 }: EvmChain): readonly string[] {
  if (permit2 === undefined) return [];
  const sponsored = permit2.approvals === undefined ? [] : ["erc20ApprovalGasSponsoring"];
  return Object.freeze(["eip2612GasSponsoring", ...sponsored]);
}

function parseOptions(
  options: ExactEvmSchemeOptions,
  isFit: (chain: EvmChain) => boolean = () => true,
): Required<ExactEvmSchemeOptions> {
  const { chain, now = Date.now } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["chain", "now"]);
  if (typeof chain !== "object" || chain === null)
    issues.add("options.chain", "a chain, e.g. createRpcChain(…)", chain);
  else if (!isFit(chain)) issues.addText("options.chain", "a chain with permit2 and a signer", "one without");
  if (typeof now !== "function") issues.add("options.now", "a function that yields Unix milliseconds", now);
  issues.throwIfAny();
  return { chain, now };
}
