import { randomBytes } from "node:crypto";
import { hashTypedData as hashByViem } from "viem/utils";
import { expect, test } from "vitest";
import { hashTypedData } from "./hash-typed-data.js";
import { permitTypedData, type TypedData, transferTypedData } from "./typed-data.js";

const address = () => `0x${randomBytes(20).toString("hex")}` as const;
const word = () => `0x${randomBytes(32).toString("hex")}` as const;
const number = () => BigInt(word());

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
    expect(`0x${Buffer.from(hashTypedData(data)).toString("hex")}`).toBe(hashByViem(data));
  },
);

test.each([undefined, address()])(
  "a permit for the facilitator %s has the digest that viem computes",
  (facilitator) => {
    const data = permit(facilitator);
    expect(`0x${Buffer.from(hashTypedData(data)).toString("hex")}`).toBe(hashByViem(data));
  },
);
