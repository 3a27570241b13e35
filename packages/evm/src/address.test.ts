import fc from "fast-check";
import { getAddress } from "viem";
import { describe, expect, test } from "vitest";
import { isAddress, isAddressShaped, sameAddress } from "./address.js";

/** From EIP-55, "Test Cases". */
const EIP_55 = {
  upper: ["0x52908400098527886E0F7030069857D2E4169EE7", "0x8617E340B3D01FA5F11F306F4090FD50E238070D"],
  lower: ["0xde709f2102306220921060314715629080e2fb77", "0x27b1fdb04752bbc536007a920d24acb045561c26"],
  mixed: [
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
  ],
};

const hexDigit = fc.constantFrom(..."0123456789abcdef");
const address = fc.array(hexDigit, { minLength: 40, maxLength: 40 }).map((digits) => `0x${digits.join("")}` as const);

describe("isAddress", () => {
  test.each(Object.values(EIP_55).flat())("isAddress accepts %s, from EIP-55", (text) => {
    expect(isAddress(text)).toBe(true);
  });

  test.each(EIP_55.mixed)("isAddress refuses %s with the case of any one letter changed", (text) => {
    for (let at = 2; at < text.length; at++) {
      const letter = text.charAt(at);
      const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
      if (other === letter) continue;
      expect(isAddress(text.slice(0, at) + other + text.slice(at + 1)), String(at)).toBe(false);
    }
  });

  test.each(EIP_55.mixed)("isAddress accepts %s all in one case, which has no checksum", (text) => {
    expect(isAddress(text.toLowerCase())).toBe(true);
    expect(isAddress(`0x${text.slice(2).toUpperCase()}`)).toBe(true);
  });

  test.each<[text: unknown, why: string]>([
    ["", "empty"],
    ["0x", "no digits"],
    ["5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "no 0x"],
    ["0X5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "0X"],
    ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe", "a digit too few"],
    ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed0", "a digit too many"],
    ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeg", "a letter that is not a hex digit"],
    ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\n", "a line break"],
    [" 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "a space"],
    ["vitalik.eth", "a name"],
    [["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"], "a list"],
    [0x5aae, "a number"],
    [null, "nothing"],
  ])("isAddress refuses %j: %s", (text) => {
    expect(isAddress(text)).toBe(false);
    expect(isAddressShaped(text)).toBe(false);
  });

  test("isAddress agrees with viem about the checksum of any address", () => {
    fc.assert(
      fc.property(address, fc.nat(39), (lower, at) => {
        const checksummed = getAddress(lower);
        expect(isAddress(checksummed)).toBe(true);
        const letter = checksummed.charAt(at + 2);
        const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
        const changed = checksummed.slice(0, at + 2) + other + checksummed.slice(at + 3);
        const oneCase =
          changed.slice(2) === changed.slice(2).toLowerCase() || changed.slice(2) === changed.slice(2).toUpperCase();
        expect(isAddress(changed)).toBe(other === letter || oneCase);
      }),
    );
  });

  test("isAddress never throws", () => {
    fc.assert(fc.property(fc.anything(), (value) => void expect(isAddress(value)).toBe(isAddress(value))));
  });
});

test("isAddressShaped accepts any case, because a client's checksum does not matter", () => {
  expect(isAddressShaped("0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")).toBe(true);
});

test("sameAddress is true for the same address in any case, and false for others", () => {
  fc.assert(
    fc.property(address, address, (a, b) => {
      expect(sameAddress(getAddress(a), a)).toBe(true);
      expect(sameAddress(a, b)).toBe(a === b);
    }),
  );
});
