/**
 * Where an owner's tokens of a mint are held: the address that the associated token account program derives.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { isOnCurve } from "./curve.js";
import { ASSOCIATED_TOKEN, type Program } from "./programs.js";

/** A wallet, a mint and the mint's token program, the addresses as bytes. */
export interface TokenHolding {
  readonly owner: Buffer;
  readonly mint: Buffer;
  readonly program: Program;
}

const MARKER = Buffer.from("ProgramDerivedAddress", "ascii");

/** A facilitator is told the payees by strangers, so the memory of them is bounded. */
const MAX_REMEMBERED = 1000;

const remembered = new Map<string, Buffer>();

/** Derives the address. That takes some 100 µs, so it is remembered. */
export function associatedTokenAccount(holding: TokenHolding): Buffer {
  const { owner, mint, program } = holding;
  const key = Buffer.concat([owner, mint, program.bytes]).toString("latin1");
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const derived = derive(holding);
  const [oldest] = remembered.keys();
  if (remembered.size >= MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  remembered.set(key, derived);
  return derived;
}

/** The first address that is not on the curve, from the highest bump down. One in two is, so the end is never reached. */
function derive({ owner, mint, program }: TokenHolding): Buffer {
  for (let bump = 255; ; bump--) {
    const seeds = [owner, program.bytes, mint, Buffer.of(bump)];
    const hash = createHash("sha256");
    for (const part of [...seeds, ASSOCIATED_TOKEN.bytes, MARKER]) hash.update(part);
    const address = hash.digest();
    if (bump === 0 || !isOnCurve(address)) return address;
  }
}
