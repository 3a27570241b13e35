import { maxUint256, numberToHex, padHex, toEventSelector } from "viem";
import { expect, test } from "vitest";
import { addressWord, TRANSFER, uintWord } from "./abi-words.js";

const ADDRESS = "0x857b06519E91e3A54538791bDbb0E22373e36b66";

test("a transfer has the topic of ERC-20's event", () => {
  expect(TRANSFER).toBe(toEventSelector("event Transfer(address indexed from, address indexed to, uint256 value)"));
});

test("addresses and amounts are words of 32 bytes", () => {
  expect(addressWord(ADDRESS)).toBe(padHex(ADDRESS).toLowerCase());
  for (const amount of [0n, 1n, 10_000n, maxUint256]) expect(uintWord(amount)).toBe(numberToHex(amount, { size: 32 }));
});
