import { Address, encodeAddress as encodeWithSdk } from "algosdk";
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeAddress, encodeAddress, isAddress } from "./address.js";
import { account } from "./payments.fixture.js";

const GOOD = account(3).addr.toString();

test("an address is 32 bytes and their checksum, as algosdk has it", () => {
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
  ["nobody's", Address.zeroAddress().toString()],
  ["another checksum", `${GOOD.slice(0, -2)}AA`],
  ["one letter of the key", `${GOOD[0] === "A" ? "B" : "A"}${GOOD.slice(1)}`],
  ["lower case", GOOD.toLowerCase()],
  ["one letter short", GOOD.slice(1)],
  ["one letter long", `${GOOD}A`],
  ["a space behind", `${GOOD} `],
  ["padding", `${GOOD.slice(0, -1)}=`],
  ["an Ethereum address", "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"],
  ["nothing", undefined],
  ["bytes", Buffer.alloc(32, 1)],
])("is no address: %s", (_, value) => {
  expect(isAddress(value)).toBe(false);
});

test("what is left of the last letter has to be zero", () => {
  const last = GOOD.slice(-1);
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"].filter((letter) => letter !== last);
  expect(letters.filter((letter) => isAddress(GOOD.slice(0, -1) + letter))).toEqual([]);
});

test("any text of an address's length is one address or none, and is written so", () => {
  const letters = fc.constantFrom(..."ABCDEFGHIJKLMNOPQRSTUVWXYZ234567=a0 ");
  fc.assert(
    fc.property(fc.string({ unit: letters, minLength: 57, maxLength: 59 }), (text) => {
      const bytes = decodeAddress(text);
      if (bytes !== undefined) expect(encodeAddress(bytes)).toBe(text);
    }),
  );
});
