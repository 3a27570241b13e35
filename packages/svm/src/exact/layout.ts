/**
 * The instructions of a payment: which there are, in which order, and what they say. Nothing here is compared with what
 * is asked for, but for the memo.
 *
 * @see x402 v2, scheme `exact` on SVM, "Facilitator Verification Rules", 1 and 3
 * @module
 */
import type { Reason } from "@farebox/core";
import { accept, type Reading, type Refusal, refuse } from "@farebox/core/scheme";
import { COMPUTE_BUDGET, LIGHTHOUSE, MEMO, type Program, TOKEN, TOKEN_2022 } from "../programs.js";
import type { Instruction } from "../transaction/read-transaction.js";

/** A `TransferChecked`. */
export interface Transfer {
  readonly program: Program;
  readonly source: Buffer;
  readonly mint: Buffer;
  readonly destination: Buffer;
  /** Whoever may move what `source` holds. */
  readonly authority: Buffer;
  readonly amount: bigint;
  readonly decimals: number;
}

/** What the instructions of a payment say. */
export interface Layout {
  readonly transfer: Transfer;
  /** The most that the transaction costs above the price of its signatures, in lamports. */
  readonly priorityFeeLamports: bigint;
  readonly memos: readonly Buffer[];
}

const MOST_INSTRUCTIONS = 6;

/** In millionths of a lamport for a compute unit: 5 lamports. */
const MAX_UNIT_PRICE = 5_000_000n;
const MILLION = 1_000_000n;

/** Reads the instructions. Total. */
export function readLayout(instructions: readonly Instruction[]): Reading<Layout> {
  const [limit, price, transfer, ...optional] = instructions;
  const isComplete = limit !== undefined && price !== undefined && transfer !== undefined;
  if (!isComplete || instructions.length > MOST_INSTRUCTIONS) {
    const message = `the transaction has not 3 to ${MOST_INSTRUCTIONS} instructions`;
    return refuse("invalid_exact_svm_payload_transaction_instructions_length", message);
  }
  const budget = readBudget(limit, price);
  if (!budget.ok) return budget;
  const moved = readTransfer(transfer);
  if (moved === undefined) {
    return refuse("invalid_exact_svm_payload_no_transfer_instruction", "the third instruction is no TransferChecked");
  }
  const memos = readOptional(optional);
  if (!memos.ok) return memos;
  return accept({ transfer: moved, priorityFeeLamports: budget.value, memos: memos.value });
}

const PRICE_REASON = "invalid_exact_svm_payload_transaction_instructions_compute_price_instruction";

function readBudget(limit: Instruction, price: Instruction): Reading<bigint> {
  if (!isBudget(limit, { kind: 2, size: 5 })) {
    const message = "the first instruction does not set the compute unit limit";
    return refuse("invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction", message);
  }
  if (!isBudget(price, { kind: 3, size: 9 })) {
    return refuse(PRICE_REASON, "the second instruction does not set the compute unit price");
  }
  const unitPrice = price.data.readBigUInt64LE(1);
  if (unitPrice > MAX_UNIT_PRICE) {
    return refuse(`${PRICE_REASON}_too_high`, "a compute unit costs more than 5 lamports");
  }
  const units = BigInt(limit.data.readUInt32LE(1));
  return accept((unitPrice * units + MILLION - 1n) / MILLION);
}

function isBudget(
  { program, accounts, data }: Instruction,
  { kind, size }: { readonly kind: number; readonly size: number },
): boolean {
  return program.equals(COMPUTE_BUDGET.bytes) && accounts.length === 0 && data[0] === kind && data.length === size;
}

const TRANSFER_CHECKED = 12;

/** No more than four accounts: more are for owners of several keys, and for tokens that call other programs. */
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

/** Yields the memos among them. */
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
  return refuse(reason, "the transaction does something else besides");
}
