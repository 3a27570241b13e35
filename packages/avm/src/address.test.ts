import { Address, encodeAddress as encodeWithSdk } from "algosdk";
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeAddress, encodeAddress, isAddress } from "./address.js";
import { account } from "./payments.fixture.js";

const GOOD = account(3).addr.toString();

test("addresses are encoded and decoded like by algosdk", () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (key) => {
      fc.pre(key.some((byte) => byte !== 0));
      const text = encodeWithSdk(key);
      expect(encodeAddress(key)).toBe(text);
      expect(decodeAddress(text)).toEqual(Buffer.from(key));
    }),
  );
});

test.each<[what: string, value: unknown]>([
  ["the zero address", Address.zeroAddress().toString()],
  ["another checksum", `${GOOD.slice(0, -2)}AA`],
  ["one letter of the key", `${GOOD[0] === "A" ? "B" : "A"}${GOOD.slice(1)}`],
  ["lower case", GOOD.toLowerCase()],
  ["one letter short", GOOD.slice(1)],
  ["one letter long", `${GOOD}A`],
  ["a trailing space", `${GOOD} `],
  ["padding", `${GOOD.slice(0, -1)}=`],
  ["an Ethereum address", "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"],
  ["nothing", undefined],
  ["bytes", Buffer.alloc(32, 1)],
])("a value is not an address: %s", (_, value) => {
  expect(isAddress(value)).toBe(false);
});

test("an address with unused bits set in its last letter is refused", () => {
  const last = GOOD.slice(-1);
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"].filter((letter) => letter !== last);
  expect(letters.filter((letter) => isAddress(GOOD.slice(0, -1) + letter))).toEqual([]);
});

test("decodeAddress never throws, and each address has one text", () => {
  const letters = fc.constantFrom(..."ABCDEFGHIJKLMNOPQRSTUVWXYZ234567=a0 ");
  fc.assert(
    fc.property(fc.string({ unit: letters, minLength: 57, maxLength: 59 }), (text) => {
      const bytes = decodeAddress(text);
      if (bytes !== undefined) expect(encodeAddress(bytes)).toBe(text);
    }),
  );
});
