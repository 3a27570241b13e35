/**
 * What the chain says about an approval that a payer has signed as a transaction, and whether it can be mined by that.
 *
 * @see x402 v2, extension `erc20ApprovalGasSponsoring`, "Verification Logic" 2 and 3
 * @module
 */
import {
  encodeFunctionData,
  parseAbi,
  recoverTransactionAddress,
  TransactionNotFoundError,
  TransactionReceiptNotFoundError,
  type TransactionSerialized,
} from "viem";
import type { ApprovalTransaction } from "./chain.js";
import { isRevert } from "./revert.js";
import type { RpcClient } from "./rpc-options.js";

/** How it stands. */
export interface ApprovalState {
  /** Whether it is on chain, however it ended there. */
  readonly isMined: boolean;
  /** Whether the network has it, on chain or waiting. */
  readonly isKnown: boolean;
  /** Whether the payer is no plain account with a key. */
  readonly hasCode: boolean;
  /** How many transactions of the payer's are on chain, and with those that wait. */
  readonly counts: { readonly mined: number; readonly waiting: number };
  /** Wei for a unit of gas, in the latest block; `undefined` where there is no such fee. */
  readonly baseFee: bigint | undefined;
  /** What the node suggests, in wei for a unit of gas. */
  readonly usualFee: bigint;
  /** What the payer has too little of, in wei. */
  readonly lackingWei: bigint;
  /** What it costs to give the payer something, about. */
  readonly grantFeesWei: bigint;
}

/** Payers who have enough sign for what fee they like; what others are given is a fee of the day's. */
const MOST_TIMES_USUAL = 4n;

/** What a transfer of the network's coin takes. */
const GRANT_GAS = 21_000n;

/** On rollups of the OP Stack this contract says what the data costs that goes to the chain below. */
const GAS_PRICE_ORACLE = "0x420000000000000000000000000000000000000F";
const ORACLE_ABI = parseAbi(["function getL1Fee(bytes transaction) view returns (uint256)"]);

/** Whether the payer has signed it. */
export async function isSignedByPayer({ from, serialized }: ApprovalTransaction): Promise<boolean> {
  try {
    // It was parsed, and written anew to the same bytes.
    const signer = await recoverTransactionAddress({ serializedTransaction: serialized as TransactionSerialized });
    return signer.toLowerCase() === from;
  } catch {
    return false;
  }
}

/** Asks how an approval stands. */
export async function askState(client: RpcClient, approval: ApprovalTransaction): Promise<ApprovalState> {
  const { from: address, hash, gas, maxFeePerGas } = approval;
  const [balance, code, mined, waiting, block, usualFee, dataFee, isMined] = await Promise.all([
    client.getBalance({ address }),
    client.getCode({ address }),
    client.getTransactionCount({ address, blockTag: "latest" }),
    client.getTransactionCount({ address, blockTag: "pending" }),
    client.getBlock({ blockTag: "latest" }),
    client.getGasPrice(),
    askDataFee(client, approval),
    isFound(client.getTransactionReceipt({ hash })),
  ]);
  const isKnown = isMined || (waiting > mined && (await isFound(client.getTransaction({ hash }))));
  const needed = gas * maxFeePerGas + dataFee;
  return {
    isMined,
    isKnown,
    hasCode: code !== undefined && code !== "0x",
    counts: { mined, waiting },
    baseFee: block.baseFeePerGas ?? undefined,
    usualFee,
    lackingWei: isKnown || balance >= needed ? 0n : needed - balance,
    grantFeesWei: GRANT_GAS * usualFee + dataFee,
  };
}

/** Why it would not be mined, or should not be paid for; for a log. */
export function findStateFault(
  { nonce, maxFeePerGas }: ApprovalTransaction,
  { isKnown, hasCode, counts, baseFee, usualFee, lackingWei }: ApprovalState,
): string | undefined {
  // Somebody else could take away what it is given, time and again, without using up the count.
  if (hasCode) return "the payer's account has code";
  if (counts.mined !== nonce) return `its nonce is ${nonce}, and the payer's next is ${counts.mined}`;
  if (counts.waiting > nonce && !isKnown) return "another transaction of the payer's waits with its nonce";
  // The base fee rises by at most an eighth from one block to the next.
  const least = baseFee === undefined ? usualFee : baseFee + baseFee / 8n;
  if (maxFeePerGas < least) return `it pays at most ${maxFeePerGas} wei for a unit of gas, and the fee is ${least}`;
  const most = MOST_TIMES_USUAL * usualFee;
  if (lackingWei > 0n && maxFeePerGas > most) return `it pays ${maxFeePerGas} wei for a unit of gas, more than ${most}`;
  return undefined;
}

/** A quarter more than it costs now, for that changes too. */
async function askDataFee(client: RpcClient, { serialized }: ApprovalTransaction): Promise<bigint> {
  try {
    const data = encodeFunctionData({ abi: ORACLE_ABI, args: [serialized] });
    const { data: answer } = await client.call({ to: GAS_PRICE_ORACLE, data });
    // Without a contract there is no answer.
    const fee = answer?.length === 66 ? BigInt(answer) : 0n;
    return fee + fee / 4n;
  } catch (error) {
    if (isRevert(error)) return 0n;
    throw error;
  }
}

async function isFound(question: Promise<unknown>): Promise<boolean> {
  try {
    await question;
    return true;
  } catch (error) {
    const isMissing = error instanceof TransactionNotFoundError || error instanceof TransactionReceiptNotFoundError;
    if (isMissing) return false;
    throw error;
  }
}
