import { DEFAULT_ASSETS } from "@x402/evm";
import { describe, expect, test } from "vitest";
import { isAddress } from "./address.js";
import { ASSETS, assetsOn, findAsset } from "./assets.js";

describe("the asset table", () => {
  test.each(ASSETS)("$symbol on $networkName is complete and checksummed", (asset) => {
    expect(asset.network).toMatch(/^eip155:[1-9]\d*$/);
    expect(isAddress(asset.address)).toBe(true);
    // An address in one case would pass without a checksum.
    expect(asset.address.slice(2)).toMatch(/[A-F]/);
    expect(asset.address.slice(2)).toMatch(/[a-f]/);
    expect([asset.name, asset.version, asset.symbol, asset.networkName]).not.toContain("");
    expect([6, 18]).toContain(asset.decimals);
    expect(Object.isFrozen(asset)).toBe(true);
  });

  test("each asset is in the table once", () => {
    const keys = ASSETS.map(({ network, address }) => `${network} ${address.toLowerCase()}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("each ticker is in the table once per network, regardless of case", () => {
    const tickers = ASSETS.map(({ network, symbol }) => `${network} ${symbol.toUpperCase()}`);
    expect(new Set(tickers).size).toBe(tickers.length);
  });

  test("the table equals that of @x402/evm, in its order, except for the case of addresses", () => {
    const theirs = Object.entries(DEFAULT_ASSETS).flatMap(([network, assets]) =>
      assets.map(({ asset, assetTransferMethod, supportsEip2612, name, version, decimals, symbol }) => {
        const permit2 = supportsEip2612 === true ? "permit2+eip2612" : "permit2";
        const transfer = assetTransferMethod === undefined ? "eip3009" : permit2;
        return { network, address: asset.toLowerCase(), name, version, decimals, symbol, transfer };
      }),
    );
    const ours = ASSETS.map(({ networkName, address, ...rest }) => ({ ...rest, address: address.toLowerCase() }));
    expect(inOrderOfNetworks(ours)).toEqual(inOrderOfNetworks(theirs));
  });

  test("names are those of the EIP-712 domains, which can differ from the usual ones", () => {
    expect(assetsOn("eip155:8453")[0]?.name).toBe("USD Coin");
    expect(assetsOn("eip155:84532")[0]?.name).toBe("USDC");
    // A tugrik sign, U+20AE.
    expect(assetsOn("eip155:14")[0]?.name).toBe("USD\u20ae0");
  });
});

describe("finding an asset", () => {
  test.each(ASSETS)("findAsset finds $symbol on $networkName by its address in any case", (asset) => {
    const { network, address } = asset;
    for (const written of [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`]) {
      expect(findAsset(network, written)).toBe(asset);
    }
  });

  test("findAsset finds an asset only on its own network", () => {
    expect(findAsset("eip155:1", ASSETS[0]!.address)).toBeUndefined();
    expect(findAsset("eip155:8453", "0x")).toBeUndefined();
  });

  test("assetsOn lists the default of a network first", () => {
    expect(assetsOn("eip155:42220")[0]?.symbol).toBe("USDC");
    for (const { network } of ASSETS) {
      expect(assetsOn(network)[0]).toBe(ASSETS.find((asset) => asset.network === network));
    }
    expect(assetsOn("eip155:31337")).toEqual([]);
    expect(assetsOn("")).toEqual([]);
  });
});

/** Sorting is stable, so the order within a network stays. */
function inOrderOfNetworks<T extends { readonly network: string }>(assets: readonly T[]): readonly T[] {
  return [...assets].sort((a, b) => a.network.localeCompare(b.network));
}
