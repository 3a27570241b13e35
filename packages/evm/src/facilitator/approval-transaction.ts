/**
 * An allowance for Permit2 as a transaction that the payer has signed, read from what a client sends.
 *
 * @see x402 v2, extension `erc20ApprovalGasSponsoring`, "Verification Logic" 1 and 2; EIP-155, EIP-1559, EIP-2930
 * @module
 */
import type { Fields } from "@farebox/core/scheme";
import { encodeFunctionData, keccak256, parseAbi, parseTransaction, serializeTransaction } from "viem";
import { PERMIT2 } from "../permit2/proxies.js";
import type { Permit } from "../permit2/read-permit.js";
import type { ApprovalTransaction, Hex } from "./chain.js";
import { readAddress, readBytes, readFields, readUint256 } from "./wire-fields.js";

const ABI = parseAbi(["function approve(address spender, uint256 amount)"]);

/** An approval takes some 180 bytes. */
const MAX_BYTES = 512;

/** An approval takes some 50,000; more is a token that does something else, at the cost of whoever pays for the gas. */
const MAX_GAS = 300_000n;

/** Half the order of secp256k1: nodes take no signature whose `s` is above it (EIP-2). */
const HIGHEST_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** Fees beyond this are none, and their product with the gas stays a number of sensible size. */
const MAX_FEE = 2n ** 96n;

/**
 * Reads an approval. One of another form, or for something else than this payment, is none: where it is needed the payment
 * is refused for the lack of it. Who has signed it is not checked yet. Total.
 */
export function readApprovalTransaction(
  info: unknown,
  { from, token, amount: needed }: Permit,
  chainId: number,
): ApprovalTransaction | undefined {
  const fields: Fields = readFields(info) ?? {};
  const serialized = readBytes(fields["signedTransaction"], MAX_BYTES);
  const amount = readUint256(fields["amount"]);
  if (serialized === undefined || amount === undefined || amount < needed || fields["version"] !== "1")
    return undefined;
  if (readAddress(fields["from"]) !== from || readAddress(fields["asset"]) !== token) return undefined;
  if (readAddress(fields["spender"]) !== readAddress(PERMIT2)) return undefined;
  const data = encodeFunctionData({ abi: ABI, args: [PERMIT2, amount] });
  const limits = readLimits(serialized, { chainId, to: token, data });
  return limits === undefined ? undefined : { from, token, serialized, hash: keccak256(serialized), data, ...limits };
}

/** What the transaction has to do. */
interface Approval {
  readonly chainId: number;
  readonly to: Hex;
  readonly data: Hex;
}

type Limits = Pick<ApprovalTransaction, "nonce" | "gas" | "maxFeePerGas">;

/**
 * Reads what is left open, and checks the rest by writing the transaction anew: what is not byte for byte the same does
 * something else, or is written in a way that only some nodes take.
 */
function readLimits(serialized: Hex, approval: Approval): Limits | undefined {
  try {
    const { nonce = 0, gas = 0n, s, ...rest } = parseTransaction(serialized);
    const fees = readFees(rest);
    if (s === undefined || BigInt(s) > HIGHEST_S || gas > MAX_GAS || !isInRange(fees)) return undefined;
    const rewritten = serializeTransaction({ ...approval, nonce, gas, ...fees }, readSignature({ ...rest, s }));
    const isSame = rewritten === serialized.toLowerCase();
    return isSame ? { nonce, gas, maxFeePerGas: fees.maxFeePerGas ?? fees.gasPrice } : undefined;
  } catch {
    return undefined;
  }
}

type Parsed = ReturnType<typeof parseTransaction>;

type Fees =
  | { readonly type: "eip1559"; readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }
  | { readonly type: "eip2930" | "legacy"; readonly gasPrice: bigint; readonly maxFeePerGas?: undefined };

function readFees({ type, gasPrice = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n }: Partial<Parsed>): Fees {
  if (type === "eip1559") return { type, maxFeePerGas, maxPriorityFeePerGas };
  return { type: type === "eip2930" ? type : "legacy", gasPrice };
}

function isInRange(fees: Fees): boolean {
  if (fees.type !== "eip1559") return fees.gasPrice <= MAX_FEE;
  return fees.maxFeePerGas <= MAX_FEE && fees.maxPriorityFeePerGas <= fees.maxFeePerGas;
}

/** A transaction of the oldest type has its chain's id in `v`. */
function readSignature({ type, r = "0x", s = "0x", v = 0n, yParity = 0 }: Partial<Parsed>) {
  return type === "legacy" ? { r, s, v } : { r, s, yParity };
}
