import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  associatedTokenAccount,
  decodeBase58,
  encodeBase58,
  isAddress,
  isOnCurve,
  TOKEN as OUR_TOKEN,
  TOKEN_2022 as OUR_TOKEN_2022,
  tokenAccountOf,
} from "./address.js";
import { PublicKey, TOKEN, TOKEN_2022, tokenAccount } from "./payments.fixture.js";

const key = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe("base58", () => {
  test("base58 is decoded to the bytes that were encoded, also with leading zeros", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), fc.nat(8), (bytes, zeros) => {
        const all = Buffer.concat([Buffer.alloc(zeros), bytes]);
        expect(decodeBase58(encodeBase58(all), all.length)).toEqual(all);
      }),
    );
  });

  test("base58 of addresses equals that of @solana/web3.js", () => {
    fc.assert(fc.property(key, (bytes) => void expect(encodeBase58(bytes)).toBe(new PublicKey(bytes).toBase58())));
  });

  test.each<[text: unknown, why: string]>([
    ["", "empty"],
    ["1".repeat(31), "too short"],
    ["1".repeat(33), "a byte too long"],
    [`${"1".repeat(31)}0`, "a digit that base58 lacks"],
    [`${"1".repeat(31)}é`, "a letter that base58 lacks"],
    ["z".repeat(44), "above what 32 bytes can be"],
    ["z".repeat(100_000), "very long"],
    ["0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "an address of another family"],
    [Buffer.alloc(32), "bytes"],
    [undefined, "nothing"],
  ])("text %# is not an address: %s", (text) => {
    expect(isAddress(text)).toBe(false);
  });
});

test("isOnCurve agrees with @solana/web3.js", () => {
  fc.assert(
    fc.property(key, (bytes) => void expect(isOnCurve(bytes)).toBe(PublicKey.isOnCurve(bytes))),
    { numRuns: 200 },
  );
});

test("a token account has the address that @solana/web3.js derives", () => {
  fc.assert(
    fc.property(key, key, fc.boolean(), (owner, mint, isNew) => {
      const [program, ours] = isNew ? [TOKEN_2022, OUR_TOKEN_2022] : [TOKEN, OUR_TOKEN];
      const derived = associatedTokenAccount({ owner: Buffer.from(owner), mint: Buffer.from(mint), program: ours });
      expect(encodeBase58(derived)).toBe(tokenAccount(new PublicKey(owner), new PublicKey(mint), program).toBase58());
    }),
    { numRuns: 50 },
  );
});

test("tokenAccountOf yields the token account of either token program, in base58", () => {
  const [owner, mint] = [new PublicKey(7), new PublicKey(8)];
  const texts = [owner.toBase58(), mint.toBase58()] as const;
  expect(tokenAccountOf(...texts)).toBe(tokenAccount(owner, mint).toBase58());
  expect(tokenAccountOf(...texts, "token-2022")).toBe(tokenAccount(owner, mint, TOKEN_2022).toBase58());
  expect(() => tokenAccountOf("unknown", texts[1])).toThrow("owner: expected a Solana address");
  expect(() => tokenAccountOf(texts[0], "USDC")).toThrow("mint: expected a Solana address");
});
