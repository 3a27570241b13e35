/**
 * Reads a payment from its transaction and compares it with the terms, without asking a node. Seller and facilitator use the
 * same reader, so our facilitator settles every payment that a seller accepts.
 *
 * @see x402 v2, scheme `exact` on SVM, "Facilitator Verification Rules"
 * @module
 */
import { createHash } from "node:crypto";
import type { PaymentReading, PaymentRequirements, Reason } from "@farebox/core";
import {
  accept,
  fieldsOf,
  isSignedBy,
  type Reading,
  type Refusal,
  refuse,
  SIGNATURE_BYTES,
} from "@farebox/core/scheme";
import {
  associatedTokenAccount,
  COMPUTE_BUDGET,
  encodeBase58,
  LIGHTHOUSE,
  MEMO,
  type Program,
  TOKEN,
  TOKEN_2022,
} from "../address.js";
import { type Instruction, readTransaction, type Transaction } from "../transaction/read-transaction.js";
import { readTerms, type Terms } from "./terms.js";

/** A `TransferChecked`. */
export interface Transfer {
  readonly program: Program;
  readonly source: Buffer;
  readonly mint: Buffer;
  readonly destination: Buffer;
  /** The account that may move the tokens in `source`. */
  readonly authority: Buffer;
  readonly amount: bigint;
  readonly decimals: number;
}

/** A payment that agrees with the terms. Whether it can be carried out, only the chain knows. */
export interface SvmPayment {
  /** SHA-256 of the message, in hex. */
  readonly digest: string;
  /** The transfer's authority. */
  readonly payer: string;
  readonly transaction: Transaction;
  readonly transfer: Transfer;
  /** The most that the transaction costs above the price of its signatures, in lamports. */
  readonly priorityFeeLamports: bigint;
}

/** Reads the payment in a payload. Total. */
export function readSvmPayment(payload: unknown, terms: Terms): Reading<SvmPayment> {
  const text = fieldsOf(payload)["transaction"];
  if (typeof text !== "string") return refuse("invalid_payload", "payload.transaction is not a text");
  const transaction = readTransaction(text);
  if (transaction === undefined) {
    const message = "payload.transaction is not a transaction that names all its accounts";
    return refuse("invalid_exact_svm_payload_transaction_could_not_be_decoded", message);
  }
  const layout = readLayout(transaction.instructions);
  if (!layout.ok) return layout;
  const { transfer, priorityFeeLamports, memos } = layout.value;
  const refusal =
    checkFeePayer(transaction, terms) ??
    checkTransfer(transfer, terms) ??
    checkMemo(memos, terms) ??
    checkSigners(transaction, transfer);
  if (refusal !== undefined) return refusal;
  const digest = createHash("sha256").update(transaction.message).digest("hex");
  return accept({ digest, payer: encodeBase58(transfer.authority), transaction, transfer, priorityFeeLamports });
}

/**
 * A transaction is valid for 150 blocks of some 0.4 seconds after its block, but does not contain the time of that block. A
 * payment is remembered for longer than it can be carried out. Otherwise it could be used twice.
 */
const SHORTEST_MEMORY_SECONDS = 180;
const LONGEST_MEMORY_SECONDS = 60 * 60;

/**
 * For how long a payment can surely settle that arrives now, if nobody asks a node. Its 150 blocks take 60 seconds at least. The
 * blockhash was up to 32 blocks old when the client got it: many clients ask for a final one, as nodes do by default (the
 * reference's TypeScript client asks for a confirmed one). That leaves 47 seconds, and 7 for the client to sign and send it.
 */
const SETTLE_SECONDS = 40;

/** Implements `readPayment` of the `exact` scheme. Total. */
export function readTransferPayment(
  payload: unknown,
  requirements: PaymentRequirements,
  nowSeconds: number,
): PaymentReading {
  const terms = readTerms(requirements);
  const payment = terms.ok ? readSvmPayment(payload, terms.value) : terms;
  if (!payment.ok) return { kind: "refused", reason: payment.reason };
  const { digest, payer, transaction } = payment.value;
  return {
    kind: "readable",
    payload: { transaction: writeUnpaid(transaction) },
    // The chain executes a message once, with any signatures and in any encoding.
    identity: `${requirements.network}|${digest}`,
    payer,
    expiresAtSeconds: Math.ceil(nowSeconds + memorySeconds(requirements.maxTimeoutSeconds)),
    settleBySeconds: Math.floor(nowSeconds) + SETTLE_SECONDS,
    expiredReason: "invalid_transaction_state",
  };
}

/** Writes a transaction as its fee payer gets it: that one signs last, so its signature is a client's invention. */
function writeUnpaid({ signatures: [, ...others], message }: Transaction): string {
  const count = Buffer.of(others.length + 1);
  return Buffer.concat([count, Buffer.alloc(SIGNATURE_BYTES), ...others, message]).toString("base64");
}

function memorySeconds(maxTimeoutSeconds: number): number {
  return Math.min(Math.max(maxTimeoutSeconds, SHORTEST_MEMORY_SECONDS), LONGEST_MEMORY_SECONDS);
}

/** The parts of a payment, by its instructions. */
interface Layout {
  readonly transfer: Transfer;
  /** The most that the transaction costs above the price of its signatures, in lamports. */
  readonly priorityFeeLamports: bigint;
  readonly memos: readonly Buffer[];
}

const MOST_INSTRUCTIONS = 6;

/** In millionths of a lamport per compute unit: 5 lamports. */
const MAX_UNIT_PRICE = 5_000_000n;
const MILLION = 1_000_000n;

/**
 * Reads the instructions: their number, order and content. Does not compare them with the terms. Total.
 *
 * @see x402 v2, scheme `exact` on SVM, "Facilitator Verification Rules", 1 and 3
 */
function readLayout(instructions: readonly Instruction[]): Reading<Layout> {
  const [limit, price, transfer, ...optional] = instructions;
  const isComplete = limit !== undefined && price !== undefined && transfer !== undefined;
  if (!isComplete || instructions.length > MOST_INSTRUCTIONS) {
    const message = `the transaction does not have 3 to ${MOST_INSTRUCTIONS} instructions`;
    return refuse("invalid_exact_svm_payload_transaction_instructions_length", message);
  }
  const budget = readBudget(limit, price);
  if (!budget.ok) return budget;
  const moved = readTransfer(transfer);
  if (moved === undefined) {
    return refuse(
      "invalid_exact_svm_payload_no_transfer_instruction",
      "the third instruction is not a TransferChecked",
    );
  }
  const memos = readOptional(optional);
  if (!memos.ok) return memos;
  return accept({ transfer: moved, priorityFeeLamports: budget.value, memos: memos.value });
}

const PRICE_REASON = "invalid_exact_svm_payload_transaction_instructions_compute_price_instruction";

function readBudget(limit: Instruction, price: Instruction): Reading<bigint> {
  if (!isBudget(limit, 2, 5)) {
    const message = "the first instruction does not set the compute unit limit";
    return refuse("invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction", message);
  }
  if (!isBudget(price, 3, 9)) {
    return refuse(PRICE_REASON, "the second instruction does not set the compute unit price");
  }
  const unitPrice = price.data.readBigUInt64LE(1);
  if (unitPrice > MAX_UNIT_PRICE) {
    return refuse(`${PRICE_REASON}_too_high`, "a compute unit costs more than 5 lamports");
  }
  const units = BigInt(limit.data.readUInt32LE(1));
  return accept((unitPrice * units + MILLION - 1n) / MILLION);
}

function isBudget({ program, accounts, data }: Instruction, kind: number, size: number): boolean {
  return program.equals(COMPUTE_BUDGET.bytes) && accounts.length === 0 && data[0] === kind && data.length === size;
}

const TRANSFER_CHECKED = 12;

/** Exactly four accounts: more mean a multisig owner, or a token that calls other programs. */
function readTransfer({ program, accounts, data }: Instruction): Transfer | undefined {
  const tokens = [TOKEN, TOKEN_2022].find(({ bytes }) => program.equals(bytes));
  const [source, mint, destination, authority, ...more] = accounts;
  const isTransfer = data.length === 10 && data[0] === TRANSFER_CHECKED && more.length === 0;
  if (tokens === undefined || !isTransfer) return undefined;
  if (source === undefined || mint === undefined || destination === undefined || authority === undefined) {
    return undefined;
  }
  const [amount, decimals] = [data.readBigUInt64LE(1), data.readUInt8(9)];
  return { program: tokens, source, mint, destination, authority, amount, decimals };
}

const UNKNOWN: readonly Reason[] = [
  "invalid_exact_svm_payload_unknown_fourth_instruction",
  "invalid_exact_svm_payload_unknown_fifth_instruction",
  "invalid_exact_svm_payload_unknown_sixth_instruction",
];

/** Reads the optional instructions, and yields the memos among them. */
function readOptional(instructions: readonly Instruction[]): Reading<readonly Buffer[]> {
  const memos: Buffer[] = [];
  for (const [at, { program, data }] of instructions.entries()) {
    if (program.equals(MEMO.bytes)) memos.push(data);
    else if (!program.equals(LIGHTHOUSE.bytes) || at === 2) return unknownInstruction(at);
  }
  return accept(memos);
}

function unknownInstruction(at: number): Refusal {
  const reason = UNKNOWN[at] ?? "invalid_exact_svm_payload_transaction_instructions_length";
  return refuse(reason, "the transaction has an instruction that is not allowed");
}

/** The fee payer signs the whole transaction. If an instruction named it, the payment could cost it more than the fee. */
function checkFeePayer({ signers, instructions }: Transaction, { feePayer }: Terms): Refusal | undefined {
  if (signers[0]?.equals(feePayer) !== true) {
    return refuse("invalid_exact_svm_fee_payer_mismatch", "extra.feePayer does not pay the fee");
  }
  if (instructions.some(({ accounts }) => accounts.some((account) => account.equals(feePayer)))) {
    const reason = "invalid_exact_svm_payload_transaction_fee_payer_transferring_funds";
    return refuse(reason, "an instruction names the fee payer");
  }
  return undefined;
}

function checkTransfer(transfer: Transfer, { mint, payTo, amount, known }: Terms): Refusal | undefined {
  const { program } = transfer;
  if (!transfer.mint.equals(mint)) {
    return refuse("invalid_exact_svm_payload_mint_mismatch", "another token is transferred");
  }
  if (known !== undefined && known.program !== program) {
    return refuse("invalid_exact_svm_payload_mint_mismatch", "the token belongs to the other token program");
  }
  const destination = associatedTokenAccount({ owner: payTo, mint, program });
  // A transfer from an account to itself moves nothing.
  if (!transfer.destination.equals(destination) || transfer.source.equals(destination)) {
    return refuse("invalid_exact_svm_payload_recipient_mismatch", "it does not go to payTo's associated token account");
  }
  if (transfer.amount !== amount) {
    return refuse("invalid_exact_svm_payload_amount_mismatch", "another amount is transferred");
  }
  if (known !== undefined && known.decimals !== transfer.decimals) {
    return refuse("invalid_exact_svm_payload_amount_mismatch", "the token has other decimals");
  }
  return undefined;
}

function checkMemo(memos: Layout["memos"], { memo }: Terms): Refusal | undefined {
  if (memo === undefined) return undefined;
  if (memos.length !== 1) return refuse("invalid_exact_svm_payload_memo_count", "there is not exactly one memo");
  if (memos[0]?.equals(memo) === true) return undefined;
  return refuse("invalid_exact_svm_payload_memo_mismatch", "the memo is not extra.memo");
}

/** The fee payer signs last, so only the payer's signature is present. The fee payer pays for each additional one. */
function checkSigners({ signers, signatures, message }: Transaction, { authority }: Transfer): Refusal | undefined {
  if (signers.length > 2) {
    const text = "accounts other than the fee payer and the payer have to sign";
    return refuse("invalid_exact_svm_payload_excessive_signers", text);
  }
  const [signer, signature] = [signers[1], signatures[1]];
  const isSigned = signer?.equals(authority) === true && signature !== undefined;
  if (isSigned && isSignedBy(authority, message, signature)) return undefined;
  return refuse("invalid_exact_svm_payload_signature_invalid", "the payer has not signed this");
}
