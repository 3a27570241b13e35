/**
 * The local network for tests that use keys instead of text, with a fee payer who has 10 SOL.
 *
 * @module
 */
import { type LocalToken, type LocalSvm as Network, startLocalSvm as start } from "@farebox/testing";
import { type PublicKey, TOKEN, TOKEN_2022, USDC } from "../../packages/svm/src/payments.fixture.js";

/** A local network. */
export type LocalSvm = Awaited<ReturnType<typeof startLocalSvm>>;

/** Starts a local network. */
export async function startLocalSvm(feePayer: PublicKey) {
  const network: Network = await start();
  network.airdrop(feePayer.toBase58(), 10_000_000_000n);
  return {
    network,
    rpcUrl: network.rpcUrl,
    asked: network.asked,
    /** Sets a wallet's balance. */
    fund: (owner: PublicKey, amount: bigint, mint = USDC, program = TOKEN) =>
      network.setBalance(owner.toBase58(), amount, toToken(mint, program)),
    createMint: (mint: PublicKey, program = TOKEN, extensions?: Uint8Array) =>
      network.createToken(toToken(mint, program), extensions),
    balanceOf: (owner: PublicKey, mint = USDC, program = TOKEN) =>
      network.balanceOf(owner.toBase58(), toToken(mint, program)),
    lamportsOf: (owner: PublicKey) => network.lamportsOf(owner.toBase58()),
    blockhash: () => network.latestBlockhash(),
    expire: () => network.expireBlockhash(),
    land: () => network.land(),
    close: () => network.close(),
  };
}

function toToken(mint: PublicKey, program: PublicKey): LocalToken {
  return { mint: mint.toBase58(), program: program.equals(TOKEN_2022) ? "token-2022" : "token" };
}
