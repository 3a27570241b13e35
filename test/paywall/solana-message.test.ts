/** The page's own transaction is compared with `@solana/web3.js`, which reads it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { buildTransaction, decodeBase58, isOnCurve, tokenAccount } from "../../packages/paywall/page/solana-message.js";
import {
  ComputeBudgetProgram,
  keypair,
  MEMO,
  PublicKey,
  TOKEN,
  tokenAccount as tokenAccountByLibrary,
  USDC,
  VersionedTransaction,
} from "../../packages/svm/src/payments.fixture.js";

test("a library reads the transaction that the page builds", async () => {
  const [payer, feePayer, payTo] = [1, 2, 3].map((seed) => keypair(seed).publicKey) as [
    PublicKey,
    PublicKey,
    PublicKey,
  ];
  const blockhash = keypair(9).publicKey.toBase58();
  const memo = "a memo of more than a hundred and twenty-eight bytes: ".repeat(4);
  const bytes = await buildTransaction({
    ...{ payer: payer.toBase58(), feePayer: feePayer.toBase58(), payTo: payTo.toBase58(), mint: USDC.toBase58() },
    ...{ program: TOKEN.toBase58(), decimals: 6, amount: 2n ** 63n + 5n, memo, blockhash },
  });
  const { message, signatures } = VersionedTransaction.deserialize(bytes);
  const keys = message.staticAccountKeys.map((key) => key.toBase58());
  expect(signatures).toHaveLength(2);
  expect(message.recentBlockhash).toBe(blockhash);
  expect(keys.slice(0, 2)).toEqual([feePayer.toBase58(), payer.toBase58()]);
  const writable = keys.filter((_, at) => message.isAccountWritable(at));
  const accounts = [payer, payTo].map((owner) => tokenAccountByLibrary(owner).toBase58());
  expect(writable).toEqual([feePayer.toBase58(), ...accounts]);
  const programs = message.compiledInstructions.map(({ programIdIndex }) => keys[programIdIndex]);
  const budget = ComputeBudgetProgram.programId.toBase58();
  expect(programs).toEqual([budget, budget, TOKEN.toBase58(), MEMO.toBase58()]);
  expect(Buffer.from(message.compiledInstructions[3]?.data ?? []).toString()).toBe(memo);
  expect(Buffer.from(message.compiledInstructions[2]?.data ?? []).readBigUInt64LE(1)).toBe(2n ** 63n + 5n);
});

const KEY = fc.uint8Array({ minLength: 32, maxLength: 32 });

test("the curve and token accounts are those of a library", async () => {
  await fc.assert(
    fc.asyncProperty(KEY, KEY, async (some, other) => {
      expect(isOnCurve(some)).toBe(PublicKey.isOnCurve(some));
      const [owner, mint] = [new PublicKey(some), new PublicKey(other)];
      expect(decodeBase58(owner.toBase58())).toEqual(some);
      const account = await tokenAccount(owner.toBase58(), mint.toBase58(), TOKEN.toBase58());
      expect(new PublicKey(account).toBase58()).toBe(tokenAccountByLibrary(owner, mint).toBase58());
    }),
    { numRuns: 40 },
  );
});

test.each(["", "0", "O", "z".repeat(60)])("%j is no address", (text) => {
  if (text === "") expect(decodeBase58(text)).toEqual(new Uint8Array(32));
  else expect(() => decodeBase58(text)).toThrow(RangeError);
});
