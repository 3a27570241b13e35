/**
 * Allowances for Permit2 that a payer has signed, read from a payment's extensions: by EIP-2612, or as a transaction.
 *
 * A reader yields no allowance if one of another form is given, or one for another purpose. Then, if the payment needs an
 * allowance, it is refused for lack of one.
 *
 * @see x402 v2, extension `eip2612GasSponsoring`; extension `erc20ApprovalGasSponsoring`, "Verification Logic" 1 and 2;
 *   EIP-155, EIP-1559, EIP-2930
 * @module
 */
import type { Fields } from "@farebox/core/scheme";
import {
  encodeFunctionData,
  type Hex,
  keccak256,
  parseAbi,
  parseTransaction,
  recoverTransactionAddress,
  serializeTransaction,
  type TransactionSerialized,
} from "viem";
import { readUint256 } from "../payload-fields.js";
import { PERMIT2, type Permit } from "../permit2/permit2.js";
import type { ApprovalTransaction, SignedApproval } from "./chain.js";
import { readAddress, readBytes, readFields } from "./wire.js";

/** Reads the allowance of `eip2612GasSponsoring`. Total. */
export function readApproval({ eip2612GasSponsoring }: Fields, permit: Permit): SignedApproval | undefined {
  const info = readInfo(eip2612GasSponsoring, permit);
  const value = readUint256(info?.["amount"]);
  const deadline = readUint256(info?.["deadline"]);
  const signature = readBytes(info?.["signature"], 65);
  if (value !== permit.amount || deadline === undefined || signature?.length !== 132) return undefined;
  return { value, deadline, signature };
}

/** An approval takes some 180 bytes. */
const MAX_BYTES = 512;

const ABI = parseAbi(["function approve(address spender, uint256 amount)"]);

/** Reads the allowance of `erc20ApprovalGasSponsoring`. Its signer is not verified yet. Total. */
export function readApprovalTransaction(
  { erc20ApprovalGasSponsoring }: Fields,
  permit: Permit,
  chainId: number,
): ApprovalTransaction | undefined {
  const info = readInfo(erc20ApprovalGasSponsoring, permit);
  const serialized = readBytes(info?.["signedTransaction"], MAX_BYTES);
  const amount = readUint256(info?.["amount"]);
  if (serialized === undefined || amount === undefined || amount < permit.amount) return undefined;
  if (info?.["version"] !== "1") return undefined;
  const data = encodeFunctionData({ abi: ABI, args: [PERMIT2, amount] });
  const limits = readLimits(serialized, { chainId, to: permit.token, data });
  if (limits === undefined) return undefined;
  return { from: permit.from, token: permit.token, serialized, hash: keccak256(serialized), data, ...limits };
}

/** Whether the payer signed the transaction. */
export async function isSignedByPayer({ from, serialized }: ApprovalTransaction): Promise<boolean> {
  try {
    // A transaction was parsed from these bytes before.
    const signer = await recoverTransactionAddress({ serializedTransaction: serialized as TransactionSerialized });
    return signer.toLowerCase() === from;
  } catch {
    return false;
  }
}

/** Reads an extension's `info`, if it is about this payer, this token and Permit2. */
function readInfo(extension: unknown, { from, token }: Permit): Fields | undefined {
  const info = readFields(readFields(extension)?.["info"]) ?? {};
  const isForThis =
    readAddress(info["from"]) === from &&
    readAddress(info["asset"]) === token &&
    readAddress(info["spender"]) === readAddress(PERMIT2);
  return isForThis ? info : undefined;
}

/** An approval takes some 50,000. A token that takes more does something else, and the sponsor would pay for that. */
const MAX_GAS = 300_000n;

/** Half the order of secp256k1. Nodes refuse a signature whose `s` is above it (EIP-2). */
const HIGHEST_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** No real fee is higher. The bound keeps its product with the gas small. */
const MAX_FEE = 2n ** 96n;

type Fees =
  | { readonly type: "eip1559"; readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }
  | { readonly type: "eip2930" | "legacy"; readonly gasPrice: bigint; readonly maxFeePerGas?: undefined };

/**
 * Reads the fields that the payer chooses. All others are checked by serializing the transaction again: if any byte differs,
 * the transaction does something else, or is encoded in a way that only some nodes accept.
 */
function readLimits(
  serialized: Hex,
  approval: { readonly chainId: number; readonly to: Hex; readonly data: Hex },
): Pick<ApprovalTransaction, "nonce" | "gas" | "maxFeePerGas"> | undefined {
  try {
    const parsed = parseTransaction(serialized);
    const { type, nonce = 0, gas = 0n, gasPrice = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = parsed;
    const { r = "0x", s, v = 0n, yParity = 0 } = parsed;
    if (s === undefined || BigInt(s) > HIGHEST_S || gas > MAX_GAS) return undefined;
    const fees: Fees =
      type === "eip1559"
        ? { type, maxFeePerGas, maxPriorityFeePerGas }
        : { type: type === "eip2930" ? type : "legacy", gasPrice };
    const most = fees.maxFeePerGas ?? fees.gasPrice;
    if (most > MAX_FEE || (fees.type === "eip1559" && fees.maxPriorityFeePerGas > most)) return undefined;
    // A legacy transaction has its chain's id in `v`.
    const signature = fees.type === "legacy" ? { r, s, v } : { r, s, yParity };
    const rewritten = serializeTransaction({ ...approval, nonce, gas, ...fees }, signature);
    return rewritten === serialized.toLowerCase() ? { nonce, gas, maxFeePerGas: most } : undefined;
  } catch {
    return undefined;
  }
}
