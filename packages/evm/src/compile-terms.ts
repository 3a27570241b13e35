/**
 * Converts the terms that a seller writes to the asset and amount of an offer, for both schemes on `eip155:*`.
 *
 * @module
 */
import type { AssetPrice, CompiledTerms, OfferAsset, OfferTerms, TermsIssue } from "@farebox/core";
import { type KnownAsset, type NamedAsset, type Pricing, priceTerms } from "@farebox/core/scheme";
import { isAddress, sameAddress } from "./address.js";
import { assetsOn, type EvmAsset, findAsset } from "./assets.js";

/** How a payer's signature moves a token: the values of `extra.assetTransferMethod`. */
export type AssetTransferMethod = "eip3009" | "permit2";

/** Chain ids have no leading zeros: with them, one chain would have many names. */
const CHAIN = /^eip155:[1-9]\d{0,15}$/;

/**
 * Implements `compileTerms`. The seller may choose the transfer method in `extra.assetTransferMethod`.
 *
 * @param supported - The transfer methods of the scheme, its default first.
 */
export function compileEvmTerms(terms: OfferTerms, supported: readonly AssetTransferMethod[]): CompiledTerms {
  const asked = terms.extra?.["assetTransferMethod"];
  const priced = priceTerms(terms, pricingBy(preferring(asked, supported)));
  const issues: TermsIssue[] = priced.ok ? [] : [...priced.issues];
  if (asked !== undefined && priced.ok && asked !== methodOf(priced.asset))
    issues.push({ term: "extra.assetTransferMethod", expected: `"${methodOf(priced.asset)}", or nothing` });
  if (!CHAIN.test(terms.network))
    issues.push({ term: "network", expected: "eip155 and a chain id, as in eip155:84532" });
  const payToIssue = checkPayTo(terms.payTo, priced.ok ? priced.asset.id : undefined);
  if (payToIssue !== undefined) issues.push({ term: "payTo", expected: payToIssue });
  if (!priced.ok || issues.length > 0) return { ok: false, issues };
  return { ok: true, asset: priced.asset, amount: priced.amount, payTo: terms.payTo };
}

/** The methods of a scheme, the one that the seller asks for first. */
function preferring(asked: unknown, supported: readonly AssetTransferMethod[]): readonly AssetTransferMethod[] {
  if (asked === undefined) return supported;
  return [...supported].sort((a, b) => Number(b === asked) - Number(a === asked));
}

function methodOf({ extra }: OfferAsset): AssetTransferMethod {
  return extra["assetTransferMethod"] === "permit2" ? "permit2" : "eip3009";
}

function pricingBy(methods: readonly AssetTransferMethod[]): Pricing {
  return {
    assetsOn: (network) => assetsOn(network).flatMap((asset) => toKnownAsset(asset, methods)),
    assetForm: "{ asset, amount, extra: { name, version } }",
    nameAsset: (price, network) => nameAsset(price, network, methods),
    ownExtra: ["name", "version", "assetTransferMethod", "facilitatorAddress"],
  };
}

function toKnownAsset(asset: EvmAsset, methods: readonly AssetTransferMethod[]): readonly KnownAsset[] {
  const [method] = methodsOf(asset, methods);
  return method === undefined ? [] : [toOfferAsset(asset, method)];
}

function nameAsset(price: AssetPrice, network: string, methods: readonly AssetTransferMethod[]): NamedAsset {
  if (!isAddress(price.asset))
    return wrong("price.asset", "a token address: 0x and 40 hex digits, checksum right if mixed case");
  const known = findAsset(network, price.asset);
  const available = known === undefined ? methods : methodsOf(known, methods);
  const asked = price.extra?.["assetTransferMethod"] ?? available[0];
  const method = available.find((possible) => possible === asked);
  if (method === undefined) {
    return wrong("price.extra", `assetTransferMethod ${available.join(" or ")}, or left out`);
  }
  const asset = known === undefined ? unknownAsset(price, method) : toOfferAsset(known, method);
  if (asset === undefined) {
    return wrong(
      "price.extra",
      'the token\'s EIP-712 domain, { name: "…", version: "…" }, because the token is not a known one',
    );
  }
  return { ok: true, asset };
}

function wrong(term: TermsIssue["term"], expected: string): NamedAsset {
  return { ok: false, term, expected };
}

/** The methods that can move a token. Permit2 moves every token. */
function methodsOf({ transfer }: EvmAsset, methods: readonly AssetTransferMethod[]): readonly AssetTransferMethod[] {
  return transfer === "eip3009" ? methods : methods.filter((method) => method === "permit2");
}

/** A token's EIP-712 domain. In a Permit2 offer it says that the token has EIP-2612: payers can sign an allowance. */
interface Domain {
  readonly name: string;
  readonly version: string;
}

function toOfferAsset(asset: EvmAsset, method: AssetTransferMethod): KnownAsset {
  const { address, symbol, decimals, name, version, transfer } = asset;
  const domain = transfer === "permit2" ? undefined : { name, version };
  return { id: address, symbol, decimals, extra: toExtra(domain, method) };
}

/** Payers sign an EIP-3009 transfer in the token's domain, so it must be known. Permit2 has a domain of its own. */
function unknownAsset({ asset, extra }: AssetPrice, method: AssetTransferMethod): OfferAsset | undefined {
  const { name, version } = extra ?? {};
  const domain = isText(name) && isText(version) ? { name, version } : undefined;
  const isLackingOne = domain === undefined && (method === "eip3009" || name !== undefined || version !== undefined);
  if (isLackingOne) return undefined;
  return { id: asset, symbol: domain?.name ?? asset, decimals: undefined, extra: toExtra(domain, method) };
}

function toExtra(domain: Domain | undefined, method: AssetTransferMethod): OfferAsset["extra"] {
  return { ...domain, ...(method === "permit2" ? { assetTransferMethod: method } : {}) };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function checkPayTo(payTo: string, asset: string | undefined): string | undefined {
  if (!isAddress(payTo)) return "an EVM address: 0x and 40 hex digits, checksum right if mixed case";
  if (/^0x0{40}$/i.test(payTo)) return "an address of your own, not the zero address";
  if (asset !== undefined && sameAddress(payTo, asset)) return "an address of your own, not the token's own contract";
  return undefined;
}
