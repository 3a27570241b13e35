import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalNetwork, isNetwork, matchesNetwork, sameNetwork } from "./caip2.js";

describe("isNetwork", () => {
  test.each<[text: string, why: string]>([
    ["eip155:1", "the shortest"],
    ["eip155:84532", "Base Sepolia"],
    ["solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "Solana"],
    ["algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k", "Algorand as CAIP-2 has it"],
    ["algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=", "Algorand as it was written before"],
    ["sepa:eu", "not a blockchain"],
    ["ach:us_west-1", "separators inside the reference"],
  ])("takes %s: %s", (text) => {
    expect(isNetwork(text)).toBe(true);
  });

  test.each<[text: unknown, why: string]>([
    ["", "empty"],
    ["base", "a name of version 1"],
    ["eip155", "no reference"],
    ["eip155:", "an empty reference"],
    [":1", "an empty namespace"],
    ["eip155:*", "a pattern"],
    ["*:*", "a pattern"],
    ["EIP155:1", "upper case"],
    ["ei:1", "a namespace of two characters"],
    ["eip155eip:1", "a namespace of nine characters"],
    ["eip155:1:2", "two references"],
    ["eip155:1 ", "a space"],
    ["eip155:1\n", "a line break"],
    ["eip155: 1", "a space"],
    [`solana:${"1".repeat(65)}`, "a reference that is too long"],
    [84532, "a number"],
    [["eip155:1"], "a list"],
    [null, "nothing"],
  ])("refuses %j: %s", (text) => {
    expect(isNetwork(text)).toBe(false);
  });
});

describe("a network of Algorand", () => {
  const SHORT = "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe";
  const WHOLE = "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=";
  const MAINNET = "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k";

  test("Algorand's network is the same in both spellings", () => {
    expect([sameNetwork(SHORT, WHOLE), sameNetwork(WHOLE, SHORT), sameNetwork(WHOLE, WHOLE)]).toEqual([
      true,
      true,
      true,
    ]);
    expect([matchesNetwork(SHORT, WHOLE), matchesNetwork("algorand:*", WHOLE)]).toEqual([true, true]);
    expect([canonicalNetwork(WHOLE), canonicalNetwork(SHORT)]).toEqual([SHORT, SHORT]);
  });

  test.each<[other: string, why: string]>([
    [MAINNET, "another network"],
    [`${MAINNET}tiC1qzkkit8=`, "another network's other spelling"],
    [SHORT.toLowerCase(), "case counts"],
    [SHORT.slice(0, -1), "a part of it"],
    [`${SHORT}x`, "something longer"],
    [`${SHORT}xi9/cOUJOiI`, "not a whole hash"],
    [`${SHORT}xi9/cOUJOiI==`, "more than a whole hash"],
    [WHOLE.replace("algorand", "solana"), "another namespace"],
  ])("is not %s: %s", (other) => {
    expect([sameNetwork(SHORT, other), sameNetwork(other, SHORT), matchesNetwork(other, SHORT)]).not.toContain(true);
  });

  test("two whole hashes with the same first 32 characters are different networks", () => {
    expect(sameNetwork(WHOLE, `${SHORT}AAAAAAAAAAA=`)).toBe(false);
  });
});

test("in other namespaces a network differs from its prefix", () => {
  const network = fc.stringMatching(/^(eip155|solana|algorandx):[A-Za-z0-9+/]{43}=$/);
  fc.assert(
    fc.property(network, fc.integer({ min: 1, max: 43 }), (whole, left) => {
      const part = whole.slice(0, -left);
      expect([sameNetwork(whole, part), sameNetwork(part, whole), sameNetwork(whole, whole)]).toEqual([
        false,
        false,
        true,
      ]);
    }),
  );
});

describe("matchesNetwork", () => {
  test.each<[pattern: string, network: string, matches: boolean, why: string]>([
    ["eip155:1", "eip155:1", true, "itself"],
    ["eip155:1", "eip155:10", false, "a longer reference"],
    ["eip155:*", "eip155:84532", true, "any of the namespace"],
    ["eip155:*", "solana:84532", false, "another namespace"],
    ["eip155:*", "eip155x:1", false, "a longer namespace"],
    ["ab:*", "abc", false, "a name without a namespace"],
    ["*", "eip155:1", false, "not a pattern"],
    ["*:*", "eip155:1", false, "not a pattern"],
    [":*", "eip155:1", false, "not a pattern"],
    ["eip155:1*", "eip155:10", false, "part of a reference is not a pattern"],
    ["", "eip155:1", false, "nothing"],
  ])("%j and %j: %s, %s", (pattern, network, matches) => {
    expect(matchesNetwork(pattern, network)).toBe(matches);
  });

  test("a pattern matches the networks of its namespace only", () => {
    const namespace = fc.stringMatching(/^[-a-z0-9]{3,8}$/);
    fc.assert(
      fc.property(namespace, namespace, fc.stringMatching(/^[a-zA-Z0-9]{1,32}$/), (a, b, reference) => {
        expect(matchesNetwork(`${a}:*`, `${b}:${reference}`)).toBe(a === b);
      }),
    );
  });
});
