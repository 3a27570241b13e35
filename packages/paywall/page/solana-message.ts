/**
 * The transaction of a payment on Solana, built without a library: a version 0 message without lookup tables.
 *
 * @see Solana documentation, "Transaction structure"; x402 v2, scheme `exact` on SVM
 * @module
 */

/** What a transfer is made of. Addresses are in base58. */
export interface Transfer {
  readonly payer: string;
  readonly feePayer: string;
  readonly payTo: string;
  readonly mint: string;
  /** The token program. */
  readonly program: string;
  readonly decimals: number;
  readonly amount: bigint;
  readonly memo: string;
  readonly blockhash: string;
}

const COMPUTE_BUDGET = "ComputeBudget111111111111111111111111111111";
const MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";
const ASSOCIATED_TOKEN = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";

/** Enough for a transfer of either token program, and a memo. */
const COMPUTE_UNITS = 60_000;

/** In millionths of a lamport. */
const COMPUTE_PRICE = 1n;

/** Builds the transaction, with room for the two signatures: the fee payer's, and the payer's. */
export async function buildTransaction(transfer: Transfer): Promise<Uint8Array> {
  const { payer, feePayer, payTo, mint, program, decimals, amount, memo, blockhash } = transfer;
  const [source, destination] = await Promise.all([payer, payTo].map((owner) => tokenAccount(owner, mint, program)));
  if (source === undefined || destination === undefined) throw new RangeError("no token account");
  // Signers first, then writable accounts, then the others.
  const accounts = [feePayer, payer, source, destination, mint, program, COMPUTE_BUDGET, MEMO].map((one) =>
    typeof one === "string" ? decodeBase58(one) : one,
  );
  const [computeBudget, memoProgram] = [6, 7];
  const instructions = [
    call(computeBudget, [], [2, ...little(BigInt(COMPUTE_UNITS), 4)]),
    call(computeBudget, [], [3, ...little(COMPUTE_PRICE, 8)]),
    call(5, [2, 4, 3, 1], [12, ...little(amount, 8), decimals]),
    call(memoProgram, [], [...new TextEncoder().encode(memo)]),
  ];
  const message = [
    // Version 0; two signers, of whom the payer is not written to; four others are not written to.
    ...[0x80, 2, 1, 4],
    ...[accounts.length, ...accounts.flatMap((account) => [...account])],
    ...decodeBase58(blockhash),
    ...[instructions.length, ...instructions.flat()],
    // No lookup tables.
    0,
  ];
  return Uint8Array.from([2, ...new Array<number>(128).fill(0), ...message]);
}

function call(program: number, accounts: readonly number[], data: readonly number[]): number[] {
  return [program, accounts.length, ...accounts, ...length(data.length), ...data];
}

/** Seven bits in a byte; the highest bit says that another byte follows. */
function length(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...length(value >> 7)];
}

function little(value: bigint, bytes: number): number[] {
  return Array.from({ length: bytes }, (_, at) => Number((value >> BigInt(8 * at)) & 0xffn));
}

/** The token account that a wallet has for a token: an address that is no key, derived from owner, program and mint. */
export async function tokenAccount(owner: string, mint: string, program: string): Promise<Uint8Array> {
  const seeds = [owner, program, mint].flatMap((address) => [...decodeBase58(address)]);
  const end = [...decodeBase58(ASSOCIATED_TOKEN), ...new TextEncoder().encode("ProgramDerivedAddress")];
  for (let bump = 255; bump >= 0; bump--) {
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", Uint8Array.from([...seeds, bump, ...end])));
    if (!isOnCurve(hash)) return hash;
  }
  throw new RangeError("no address");
}

const P = 2n ** 255n - 19n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** Whether 32 bytes are a point of Ed25519: x² = (y² − 1) / (dy² + 1) has a solution. */
export function isOnCurve(bytes: Uint8Array): boolean {
  const y = [...bytes].reduceRight((sum, byte, at) => (sum << 8n) | BigInt(at === 31 ? byte & 0x7f : byte), 0n) % P;
  const square = (y * y) % P;
  const above = (square - 1n + P) % P;
  const below = (D * square + 1n) % P;
  // A quotient is a square if the product is one.
  const product = (above * below) % P;
  return product === 0n || power(product, (P - 1n) / 2n) === 1n;
}

function power(base: bigint, exponent: bigint): bigint {
  let [result, factor] = [1n, base];
  for (let left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) result = (result * factor) % P;
    factor = (factor * factor) % P;
  }
  return result;
}

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** 32 bytes of an address or a hash. @throws RangeError if the text is none */
export function decodeBase58(text: string): Uint8Array {
  let value = 0n;
  for (const character of text) {
    const digit = ALPHABET.indexOf(character);
    if (digit < 0) throw new RangeError("not base58");
    value = value * 58n + BigInt(digit);
  }
  if (value >= 1n << 256n) throw new RangeError("longer than 32 bytes");
  return Uint8Array.from({ length: 32 }, (_, at) => Number((value >> BigInt(8 * (31 - at))) & 0xffn));
}
