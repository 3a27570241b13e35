/**
 * Solana addresses: 32 bytes, written in base58 without a checksum, each in one way only. Also the programs that a payment
 * calls, and the token accounts that a program derives.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { ConfigError, StateError } from "@farebox/core";
import { base58 } from "@scure/base";

/** The length of an address, and of a blockhash. */
export const ADDRESS_BYTES = 32;

/** The program that a mint belongs to. A payee has a different token account under each. */
export type TokenProgram = "token" | "token-2022";

/** Writes bytes in base58. */
export function encodeBase58(bytes: Uint8Array): string {
  return base58.encode(bytes);
}

/** Decodes base58 to exactly `size` bytes, else `undefined`. Longer text is not decoded, because that takes square time. */
export function decodeBase58(text: unknown, size: number): Buffer | undefined {
  if (typeof text !== "string" || text.length < size || text.length > Math.ceil(size * 1.4)) return undefined;
  try {
    const bytes = Buffer.from(base58.decode(text));
    return bytes.length === size ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** The bytes of an address; `undefined` when a value is not one. */
export function decodeAddress(value: unknown): Buffer | undefined {
  return decodeBase58(value, ADDRESS_BYTES);
}

/** Whether a value is an address of an account, a mint or a program; they all look the same. */
export function isAddress(value: unknown): value is string {
  return decodeAddress(value) !== undefined;
}

/** Whether two addresses are the same one. */
export function sameAddress(a: string, b: string): boolean {
  return a === b;
}

/** A program's address, as text and as bytes. It is the same on every Solana network. */
export interface Program {
  readonly address: string;
  readonly bytes: Buffer;
}

const SYSTEM: Program = program("11111111111111111111111111111111");
export const COMPUTE_BUDGET: Program = program("ComputeBudget111111111111111111111111111111");
export const TOKEN: Program = program("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
export const TOKEN_2022: Program = program("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
const ASSOCIATED_TOKEN: Program = program("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");
export const MEMO: Program = program("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
/** Some wallets add its assertions. They protect the payer and move nothing. */
export const LIGHTHOUSE: Program = program("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95");

const PROGRAMS = [SYSTEM, COMPUTE_BUDGET, TOKEN, TOKEN_2022, ASSOCIATED_TOKEN, MEMO, LIGHTHOUSE];

/** Decodes at first use, because most sellers import this and are not paid on Solana. */
function program(address: string): Program {
  let bytes: Buffer | undefined;
  return Object.freeze({
    address,
    get bytes() {
      bytes ??= decodeAddress(address);
      if (bytes === undefined) throw new StateError(`${address} is not an address`);
      return bytes;
    },
  });
}

/** Whether an address is that of a known program, for which no key exists. */
export function isProgram(address: string): boolean {
  return PROGRAMS.some((program) => program.address === address);
}

/** The program of a kind of token. */
export function tokenProgram(kind: TokenProgram): Program {
  return kind === "token" ? TOKEN : TOKEN_2022;
}

/**
 * The address of an owner's associated token account, to which a `payTo` is paid. Only the chain knows whether the account
 * exists.
 *
 * @param program - The mint's program. Default `token`.
 * @throws ConfigError when owner or mint is not an address.
 */
export function tokenAccountOf(owner: string, mint: string, program: TokenProgram = "token"): string {
  const [ownerBytes, mintBytes] = [decodeAddress(owner), decodeAddress(mint)];
  if (ownerBytes === undefined || mintBytes === undefined) {
    const path = ownerBytes === undefined ? "owner" : "mint";
    throw new ConfigError([{ path, expected: "a Solana address: 32 bytes in base58", received: "another text" }]);
  }
  return encodeBase58(associatedTokenAccount({ owner: ownerBytes, mint: mintBytes, program: tokenProgram(program) }));
}

/** A wallet, a mint and the mint's token program, the addresses as bytes. */
export interface TokenHolding {
  readonly owner: Buffer;
  readonly mint: Buffer;
  readonly program: Program;
}

/** Clients choose the payees that a facilitator sees, so the cache is bounded. */
const MAX_REMEMBERED = 1000;

const remembered = new Map<string, Buffer>();

/** Derives the token account of a holding. Derivation takes some 100 µs, so results are cached. */
export function associatedTokenAccount(holding: TokenHolding): Buffer {
  const { owner, mint, program } = holding;
  const key = Buffer.concat([owner, mint, program.bytes]).toString("latin1");
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const derived = deriveTokenAccount(holding);
  const [oldest] = remembered.keys();
  if (remembered.size >= MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  remembered.set(key, derived);
  return derived;
}

const MARKER = Buffer.from("ProgramDerivedAddress", "ascii");

/** Yields the first address that is not on the curve, from the highest bump down. Half of all are, so few are tried. */
function deriveTokenAccount({ owner, mint, program }: TokenHolding): Buffer {
  for (let bump = 255; ; bump--) {
    const hash = createHash("sha256");
    const seeds = [owner, program.bytes, mint, Buffer.of(bump)];
    for (const part of [...seeds, ASSOCIATED_TOKEN.bytes, MARKER]) hash.update(part);
    const address = hash.digest();
    if (bump === 0 || !isOnCurve(address)) return address;
  }
}

/** The prime of the curve of ed25519. */
const P = 2n ** 255n - 19n;

/** The curve's d, -121665/121666, modulo {@link P}. */
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/**
 * Whether 32 bytes are a compressed point of the curve, so that a key for them can exist. Their highest bit, the sign of x,
 * does not matter.
 *
 * Plain `bigint` arithmetic: nothing here is secret, so timing may depend on the values. A library would add 34 kB.
 *
 * @see RFC 8032, §5.1 and §5.1.3
 */
export function isOnCurve(bytes: Uint8Array): boolean {
  const y = BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`) % 2n ** 255n;
  const yy = (y * y) % P;
  // x² = u/v has a solution exactly if u·v is a square; v is never zero.
  const u = yy - 1n + P;
  const v = (D * yy + 1n) % P;
  // Euler's criterion. Zero is a square.
  const power = raise((u * v) % P, (P - 1n) / 2n);
  return power === 0n || power === 1n;
}

function raise(base: bigint, exponent: bigint): bigint {
  let [result, square] = [1n, base];
  for (let bits = exponent; bits > 0n; bits >>= 1n) {
    if ((bits & 1n) === 1n) result = (result * square) % P;
    square = (square * square) % P;
  }
  return result;
}
