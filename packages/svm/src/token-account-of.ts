/**
 * Where somebody's tokens are held, in text.
 *
 * @module
 */
import { ConfigError } from "@farebox/core";
import { decodeAddress } from "./address.js";
import type { TokenProgram } from "./assets.js";
import { associatedTokenAccount } from "./associated-token-account.js";
import { encodeBase58 } from "./base58.js";
import { TOKEN, TOKEN_2022 } from "./programs.js";

/**
 * The address of an owner's associated token account, which is where a `payTo` is paid. Whether it exists only the chain
 * knows.
 *
 * @param program - Of the mint. Default `token`.
 * @throws ConfigError when one of them is no address.
 */
export function tokenAccountOf(owner: string, mint: string, program: TokenProgram = "token"): string {
  const [ofOwner, ofMint] = [decodeAddress(owner), decodeAddress(mint)];
  if (ofOwner === undefined || ofMint === undefined) {
    const path = ofOwner === undefined ? "owner" : "mint";
    throw new ConfigError([{ path, expected: "a Solana address: 32 bytes in base58", received: "another text" }]);
  }
  const tokens = program === "token" ? TOKEN : TOKEN_2022;
  return encodeBase58(associatedTokenAccount({ owner: ofOwner, mint: ofMint, program: tokens }));
}
