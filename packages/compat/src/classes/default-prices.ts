/**
 * Prices in the usual stablecoin of a network, or in a token that they name, as the engine's own schemes read them.
 *
 * @module
 */
import { type CompiledTerms, type Facilitator, PriceError, type Scheme } from "@farebox/core";
import { createPayments } from "@farebox/express";
import type { AssetAmount, Network, Price, SchemeNetworkServer } from "../types.js";
import { toNativePrice } from "./money.js";

/** A scheme by its name. */
type NamedScheme = Pick<SchemeNetworkServer, "scheme">;

/** The engine's own scheme of that name on a network: it can read the payments of a subclass. */
export function builtInFor({ scheme }: NamedScheme, network: string): Scheme | undefined {
  const namespace = network.slice(0, network.indexOf(":"));
  return builtInSchemes().find((one) => one.scheme === scheme && one.networks === `${namespace}:*`);
}

/** The decimals of the stablecoin that a price text names; `undefined`: the engine knows none. */
export function decimalsOf(scheme: NamedScheme, network: Network, symbol: string | undefined): number | undefined {
  const terms = compile(scheme, network, symbol === undefined ? "$1" : `1 ${symbol}`);
  return terms?.ok === true ? terms.asset.decimals : undefined;
}

/**
 * Reads a price as the default of a scheme does.
 *
 * @throws PriceError when the engine knows no token for it, or the token has fewer decimals
 */
export function priceByDefault(scheme: NamedScheme, network: Network, price: Price): AssetAmount {
  const terms = compile(scheme, network, toNativePrice(price));
  if (terms?.ok === true) {
    const { asset, amount } = terms;
    return { asset: asset.id, amount: amount.toString(), extra: { ...asset.extra } };
  }
  const [{ expected } = { expected: `a network that Farebox has ${scheme.scheme} for, not ${network}` }] =
    terms?.issues ?? [];
  throw new PriceError(price, expected);
}

/** Addresses that are valid, for terms of which only the price matters. */
const ANY_PAYEE: Readonly<Record<string, string>> = {
  eip155: "0x0000000000000000000000000000000000000001",
  solana: "11111111111111111111111111111112",
  algorand: "A4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DVZ36IB4",
};

function compile(
  scheme: NamedScheme,
  network: Network,
  price: ReturnType<typeof toNativePrice>,
): CompiledTerms | undefined {
  const payTo = ANY_PAYEE[network.slice(0, network.indexOf(":"))] ?? "";
  return builtInFor(scheme, network)?.compileTerms({ network, price, payTo });
}

let builtIn: readonly Scheme[] | undefined;

function builtInSchemes(): readonly Scheme[] {
  builtIn ??= createPayments({ facilitator: NOBODY }).engine.schemes;
  return builtIn;
}

/** Never asked: no route uses it. */
const NOBODY: Facilitator = {
  verify: () => Promise.reject(new TypeError("not a facilitator")),
  settle: () => Promise.reject(new TypeError("not a facilitator")),
  supported: () => Promise.reject(new TypeError("not a facilitator")),
};
