import { ASSETS as AVM } from "@farebox/avm";
import { NAMED_NETWORKS, networkName, STABLECOINS, stablecoinOf } from "@farebox/bazaar/facilitator";
import { ASSETS as EVM } from "@farebox/evm";
import { ASSETS as SVM } from "@farebox/svm";
import { expect, test } from "vitest";

test("the catalog knows the same stablecoins as the packages of the networks", () => {
  const sold = [
    ...EVM.map(({ address, ...coin }) => ({ ...coin, asset: address })),
    ...SVM.map(({ mint, ...coin }) => ({ ...coin, asset: mint })),
    ...AVM,
  ].map(({ network, networkName, asset, symbol, decimals }) => ({ network, networkName, asset, symbol, decimals }));
  expect(STABLECOINS).toEqual(sold);
  expect(STABLECOINS.every(({ decimals }) => decimals >= 0 && decimals <= 18)).toBe(true);
  expect(NAMED_NETWORKS.map((network) => networkName(network))).not.toContain(undefined);
});

test("a stablecoin is known in either case of its address and either spelling of its network", () => {
  const [coin] = STABLECOINS;
  const { network = "", asset = "" } = coin ?? {};
  expect(stablecoinOf({ network, asset: asset.toUpperCase().replace("0X", "0x") })).toBe(coin);
  expect(stablecoinOf({ network: "eip155:5", asset })).toBeUndefined();
  const whole = "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=";
  expect(stablecoinOf({ network: whole, asset: "31566704" })?.symbol).toBe("USDC");
  expect(networkName(whole)).toBe("Algorand");
});
