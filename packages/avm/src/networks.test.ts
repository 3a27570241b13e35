import fc from "fast-check";
import { expect, test } from "vitest";
import { assetsOn } from "./assets.js";
import { isAvmNetwork, isNetworkOf, isSameNetwork, networkAliases } from "./networks.js";
import { GENESIS_HASH, MAINNET, NETWORK, WHOLE_NETWORK } from "./payments.fixture.js";

const OTHER = `algorand:${Buffer.alloc(32, 7).toString("base64")}` as const;

test("a network has two spellings, the shorter first", () => {
  expect(networkAliases(NETWORK)).toEqual([NETWORK, WHOLE_NETWORK]);
  expect(networkAliases(WHOLE_NETWORK)).toEqual([NETWORK, WHOLE_NETWORK]);
  expect(networkAliases(OTHER)).toEqual([OTHER.slice(0, 41), OTHER]);
});

test("an unknown network in its short spelling has only that spelling", () => {
  const short = `algorand:${"A".repeat(32)}` as const;
  expect(networkAliases(short)).toEqual([short]);
});

test.each<[a: unknown, b: unknown, same: boolean]>([
  [NETWORK, WHOLE_NETWORK, true],
  [WHOLE_NETWORK, NETWORK, true],
  [NETWORK, NETWORK, true],
  [NETWORK, MAINNET, false],
  [WHOLE_NETWORK, WHOLE_NETWORK.replace("OUJOiI=", "OUJOiA="), false],
  [NETWORK, NETWORK.slice(0, -1), false],
  [NETWORK, NETWORK.replace("algorand", "solana"), false],
  [undefined, undefined, false],
  ["algorand:testnet", "algorand:testnet", false],
])("isSameNetwork of %s and %s is %s", (a, b, same) => {
  expect(isSameNetwork(a, b)).toBe(same);
});

test("isNetworkOf compares either spelling with the hash of the first block", () => {
  for (const network of [NETWORK, WHOLE_NETWORK] as const) {
    expect(isNetworkOf(network, GENESIS_HASH)).toBe(true);
    expect(isNetworkOf(network, Buffer.alloc(32))).toBe(false);
    expect(assetsOn(network)).toMatchObject([{ asset: "10458941", symbol: "USDC" }]);
    expect(assetsOn(network)).toHaveLength(1);
  }
  expect(assetsOn(OTHER)).toEqual([]);
});

test("isAvmNetwork and isSameNetwork never throw", () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      expect(isAvmNetwork(value)).toBe(false);
      expect(isSameNetwork(value, NETWORK)).toBe(false);
    }),
  );
});
