import { randomBytes } from "node:crypto";
import { hashTypedData as hashByViem } from "viem/utils";
import { expect, test } from "vitest";
import { hashTypedData } from "./hash-typed-data.js";
import { permitTypedData, type TypedData, transferTypedData } from "./typed-data.js";

const address = () => `0x${randomBytes(20).toString("hex")}` as const;
const word = () => `0x${randomBytes(32).toString("hex")}` as const;
const number = () => BigInt(word());
const hexOf = (data: TypedData) => `0x${Buffer.from(hashTypedData(data)).toString("hex")}`;

function transfer(name: string): TypedData {
  const [asset, from, to, nonce] = [address(), address(), address(), word()];
  const [value, validAfter, validBefore] = [number(), number(), number()];
  const authorization = { from, to, value, validAfter, validBefore, nonce };
  return transferTypedData({ asset, domain: { name, version: "2", chainId: 8453 }, authorization });
}

function permit(facilitator: `0x${string}` | undefined): TypedData {
  const [from, token, spender, to] = [address(), address(), address(), address()];
  const [amount, nonce, deadline, validAfter] = [number(), 0n, number(), number()];
  const signature = "0x00";
  const written = { from, token, amount, spender, nonce, deadline, to, validAfter, facilitator, signature } as const;
  return permitTypedData(84532, written);
}

test.each(["USD Coin", "", "Ünï©ôde 🪙"])(
  "a transfer of a token called %j has the digest that viem computes",
  (name) => {
    const data = transfer(name);
    expect(hexOf(data)).toBe(hashByViem(data));
  },
);

test("more tokens than are remembered, and one with a long name, have the digests that viem computes", () => {
  const names = Array.from({ length: 600 }, (_, at) => `Token ${at % 300}`);
  for (const name of [...names, "x".repeat(1_000)]) {
    const data = transfer(name);
    expect(hexOf(data), name).toBe(hashByViem(data));
  }
});

test("domains that differ in one field have different digests", () => {
  const data = transfer("USDC");
  const { chainId, name, verifyingContract } = data.domain;
  const others = [
    { ...data.domain, chainId: 1 },
    { ...data.domain, version: "1" },
    { ...data.domain, name: `${name}"` },
    { ...data.domain, verifyingContract: address() },
    { chainId, name, verifyingContract },
  ].map((domain) => ({ ...data, domain }));
  for (const other of [data, ...others, data]) expect(hexOf(other)).toBe(hashByViem(other));
});

test("an address in capitals is hashed like one in lower case", () => {
  const data = transfer("USDC");
  const capitals = (text: unknown) => `0x${String(text).slice(2).toUpperCase()}` as const;
  const { from, to, nonce } = data.message;
  const domain = { ...data.domain, verifyingContract: capitals(data.domain.verifyingContract) };
  const message = { ...data.message, from: capitals(from), to: capitals(to), nonce: capitals(nonce) };
  expect(hexOf({ ...data, domain, message })).toBe(hexOf(data));
});

test.each([undefined, address()])(
  "a permit for the facilitator %s has the digest that viem computes",
  (facilitator) => {
    const data = permit(facilitator);
    expect(hexOf(data)).toBe(hashByViem(data));
  },
);
