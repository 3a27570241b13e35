/**
 * Reads a payment from its group of transactions and compares it with the terms, without asking a node. Seller and
 * facilitator use the same reader, so our facilitator settles every payment that a seller accepts.
 *
 * @see x402 v2, scheme `exact` on Algorand, "Verification"
 * @module
 */
import type { PaymentReading, PaymentRequirements } from "@farebox/core";
import { accept, fieldsOf, isSignedBy, type Reading, type Refusal, refuse } from "@farebox/core/scheme";
import { encodeAddress } from "../address.js";
import { isNetworkOf, shortNetwork } from "../networks.js";
import {
  isGroup,
  MAX_GROUP_SIZE,
  readTransaction,
  SIGNED_PREFIX,
  type Transaction,
  writeTransaction,
} from "../transaction/read-transaction.js";
import { readTerms, type Terms } from "./terms.js";

/** A payment that agrees with the terms. Whether it can be carried out, only the chain knows. */
export interface AvmPayment {
  /** The sender of the transfer. */
  readonly payer: string;
  readonly group: readonly Transaction[];
  /** The transaction of the group that pays. */
  readonly transfer: Transaction;
  /** The fee payer's fee for the group, in microAlgos; 0 if the payer pays. */
  readonly sponsoredFee: bigint;
}

/** The protocol accepts no transaction that is valid for longer. */
export const MAX_ROUNDS = 1000n;

/** One Algo, a thousand times the usual fee. Each facilitator sets a lower limit of its own. */
export const MAX_SPONSORED_FEE = 1_000_000n;

/** Reads the payment in a payload. Total. */
export function readAvmPayment(payload: unknown, terms: Terms): Reading<AvmPayment> {
  const group = readGroup(payload);
  if (!group.ok) return group;
  const { transactions, transfer } = group.value;
  const refusal =
    checkTransfer(transfer, terms) ??
    checkWindows(transactions, terms) ??
    (isGroup(transactions) ? undefined : refuse("invalid_exact_avm_invalid_group_id", "they are not one group")) ??
    checkSigned(transfer, "invalid_exact_avm_payment_not_signed") ??
    checkCompanions(transactions, { transfer, terms });
  if (refusal !== undefined) return refusal;
  const sponsor = transactions.find((transaction) => isOfSponsor(transaction, terms));
  const payer = encodeAddress(transfer.sender);
  return accept({ payer, group: transactions, transfer, sponsoredFee: sponsor?.fee ?? 0n });
}

/**
 * A round usually takes 2.7 to 4.5 seconds, and never less than 2.5: a node waits that long for proposals.
 *
 * @see go-algorand, `dynamicFilterTimeoutLowerBound`
 */
export const SECONDS_PER_ROUND = { least: 2.5, most: 5 } as const;

/**
 * The seller does not know the present round, so a payment counts as valid from now on for all the rounds that it names. It is
 * remembered for longer than it can be carried out. Otherwise it could be used twice.
 */
const SHORTEST_MEMORY_SECONDS = 180;

/**
 * How old a payment may be when it arrives: its client has asked a node, signed and sent it, and the first round was not the
 * newest any more. Only seconds, because some payments have no more: the reference's client signs for 10 rounds.
 */
const AGE_SECONDS = 5;

/** Implements `readPayment` of the `exact` scheme. Total. */
export function readTransferPayment(
  payload: unknown,
  requirements: PaymentRequirements,
  nowSeconds: number,
): PaymentReading {
  const terms = readTerms(requirements);
  const payment = terms.ok ? readAvmPayment(payload, terms.value) : terms;
  if (!terms.ok || !payment.ok) return { kind: "refused", reason: payment.ok ? "invalid_payload" : payment.reason };
  const { payer, transfer, group } = payment.value;
  const { firstValid, lastValid } = windowOf(group);
  const settleSeconds = Math.max(Number(lastValid - firstValid) * SECONDS_PER_ROUND.least - AGE_SECONDS, 0);
  return {
    kind: "readable",
    payload: { paymentGroup: group.map(writeTransaction), paymentIndex: group.indexOf(transfer) },
    // The chain executes a transaction once, with any signatures, and the transaction names its group.
    identity: `${shortNetwork(terms.value.network)}|${transfer.id}`,
    payer,
    expiresAtSeconds: Math.ceil(nowSeconds + memorySeconds(transfer)),
    // A client takes the first round from its node: the last round there.
    settleBySeconds: Math.floor(nowSeconds + settleSeconds),
    expiredReason: "invalid_transaction_state",
  };
}

/** At most 5005 seconds: no transaction is valid for more than 1001 rounds. */
function memorySeconds({ firstValid, lastValid }: { readonly firstValid: bigint; readonly lastValid: bigint }): number {
  return Math.max(Number(lastValid - firstValid + 1n) * SECONDS_PER_ROUND.most, SHORTEST_MEMORY_SECONDS);
}

/** The rounds in which all transactions of a group are valid. There may be none: then the last one is before the first. */
export function windowOf(group: readonly Transaction[]): Pick<Transaction, "firstValid" | "lastValid"> {
  let [firstValid, lastValid] = [0n, 2n ** 64n - 1n];
  for (const next of group) {
    if (next.firstValid > firstValid) firstValid = next.firstValid;
    if (next.lastValid < lastValid) lastValid = next.lastValid;
  }
  return { firstValid, lastValid };
}

/** Whether a transaction is the fee payer's. */
function isOfSponsor({ sender }: Transaction, { feePayer }: Pick<Terms, "feePayer">): boolean {
  return feePayer !== undefined && sender.equals(feePayer);
}

interface Group {
  readonly transactions: readonly Transaction[];
  readonly transfer: Transaction;
}

function readGroup(payload: unknown): Reading<Group> {
  const { paymentGroup, paymentIndex } = fieldsOf(payload);
  if (!Array.isArray(paymentGroup)) return refuse("invalid_payload", "payload.paymentGroup is not a list");
  if (paymentGroup.length === 0 || paymentGroup.length > MAX_GROUP_SIZE) {
    const message = `payload.paymentGroup does not have 1 to ${MAX_GROUP_SIZE} transactions`;
    return refuse("invalid_exact_avm_group_size_exceeded", message);
  }
  if (!Number.isInteger(paymentIndex) || Number(paymentIndex) < 0 || Number(paymentIndex) >= paymentGroup.length) {
    return refuse("invalid_exact_avm_payment_index", "payload.paymentIndex is not an index of the group");
  }
  const transactions = Array.from(paymentGroup, readTransaction).filter((transaction) => transaction !== undefined);
  const transfer = transactions[Number(paymentIndex)];
  if (transactions.length < paymentGroup.length || transfer === undefined) {
    const message = "payload.paymentGroup has a transaction that is not a payment or transfer in canonical form";
    return refuse("invalid_exact_avm_invalid_transaction", message);
  }
  return accept({ transactions, transfer });
}

function checkTransfer(transfer: Transaction, terms: Terms): Refusal | undefined {
  if (isOfSponsor(transfer, terms)) {
    return refuse("invalid_exact_avm_facilitator_transferring", "the fee payer would pay");
  }
  if (transfer.type !== "axfer") {
    return refuse("invalid_exact_avm_not_asset_transfer", "the paying transaction is not a transfer of an asset");
  }
  if (transfer.asset !== terms.asset) {
    return refuse("invalid_exact_avm_asset_mismatch", "another asset is transferred");
  }
  if (transfer.amount !== terms.amount) {
    return refuse("invalid_exact_avm_amount_mismatch", "another amount is transferred");
  }
  // A transfer from an account to itself moves nothing.
  if (transfer.receiver?.equals(terms.payTo) !== true || transfer.sender.equals(terms.payTo)) {
    return refuse("invalid_exact_avm_receiver_mismatch", "it does not go to payTo from another account");
  }
  return undefined;
}

function checkWindows(transactions: readonly Transaction[], { network }: Terms): Refusal | undefined {
  for (const { genesisHash, firstValid, lastValid } of transactions) {
    if (!isNetworkOf(network, genesisHash)) {
      return refuse("invalid_exact_avm_network_mismatch", "a transaction is of another network");
    }
    if (lastValid < firstValid || lastValid - firstValid > MAX_ROUNDS) {
      const message = `a transaction is valid in no round, or in more than ${MAX_ROUNDS}`;
      return refuse("invalid_exact_avm_invalid_transaction", message);
    }
  }
  return undefined;
}

function checkSigned(
  { sender, signing, bytes }: Transaction,
  unsigned: "invalid_exact_avm_payment_not_signed" | "invalid_exact_avm_unsigned_non_facilitator",
): Refusal | undefined {
  if (signing.kind === "none") return refuse(unsigned, "a transaction is not signed by its sender");
  const message = Buffer.concat([Buffer.from(SIGNED_PREFIX), bytes]);
  if (signing.kind === "single" && isSignedBy(sender, message, signing.signature)) return undefined;
  return refuse("invalid_exact_avm_invalid_signature", "a transaction is not signed with its sender's own key");
}

/** The other transactions may cost only their own senders. They must not take anything back, or pay a second time. */
function checkCompanions(
  transactions: readonly Transaction[],
  { transfer, terms }: { readonly transfer: Transaction; readonly terms: Terms },
): Refusal | undefined {
  const sponsors = transactions.filter((transaction) => isOfSponsor(transaction, terms));
  for (const transaction of sponsors) {
    const refusal = checkSponsor(transaction, sponsors.length);
    if (refusal !== undefined) return refusal;
  }
  for (const transaction of transactions) {
    if (sponsors.includes(transaction)) continue;
    const refusal =
      checkDangers(transaction) ?? (transaction === transfer ? undefined : checkBystander(transaction, terms));
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function checkDangers({ dangers }: Transaction): Refusal | undefined {
  if (dangers.length === 0) return undefined;
  const message = `a transaction closes or rekeys an account, or claws back: ${dangers.join(", ")}`;
  return refuse("invalid_exact_avm_invalid_transaction", message);
}

function checkBystander(transaction: Transaction, { payTo }: Terms): Refusal | undefined {
  if (transaction.receiver?.equals(payTo) === true) {
    return refuse("invalid_exact_avm_invalid_transaction", "payTo is paid twice");
  }
  return checkSigned(transaction, "invalid_exact_avm_unsigned_non_facilitator");
}

/** The fee payer signs its transaction last, so it must cost nothing but a fee. */
function checkSponsor({ type, amount, dangers, fee, signing }: Transaction, count: number): Refusal | undefined {
  if (type !== "pay" || amount !== 0n || dangers.length > 0) {
    return refuse("invalid_exact_avm_facilitator_transferring", "the fee payer would pay more than a fee");
  }
  if (count > 1 || signing.kind !== "none") {
    return refuse("invalid_exact_avm_invalid_fee_payer", "the fee payer does not have exactly one transaction to sign");
  }
  if (fee > MAX_SPONSORED_FEE) {
    return refuse("invalid_exact_avm_fee_too_high", `the fee is above ${MAX_SPONSORED_FEE} millionths of an Algo`);
  }
  return undefined;
}
