/**
 * Which module of Farebox takes the place of which module of the reference.
 *
 * @module
 */
import { NAMES } from "./names.generated.js";

/** 1: only the middleware comes from Farebox. 2: everything that Farebox has. */
export type Depth = 1 | 2;

/** The replacement of one module. */
export interface Replacement {
  readonly module: string;
  /** The depth from which on it is replaced. */
  readonly from: Depth;
  /** The names that the replacement exports. A file that imports another name keeps its import. */
  readonly names: ReadonlySet<string>;
}

const COMPAT = "@farebox/compat";

/** By the reference's module, the sub-path of its replacement. */
const SUBPATHS: Readonly<Record<string, string>> = {
  "@x402/express": "",
  "x402-express": "/v1",
  "@x402/core": "/core",
  "@x402/core/server": "/core/server",
  "@x402/core/http": "/core/http",
  "@x402/core/types": "/core/types",
  "@x402/core/utils": "/core/utils",
  "@x402/evm/exact/server": "/evm/exact/server",
  "@x402/evm/upto/server": "/evm/upto/server",
  "@x402/svm/exact/server": "/svm/exact/server",
  "@x402/svm/upto/server": "/svm/upto/server",
  "@x402/evm/batch-settlement/server": "/evm/batch-settlement/server",
  "@x402/avm/exact/server": "/avm/exact/server",
  "@x402/extensions": "/extensions",
  "@x402/extensions/bazaar": "/extensions/bazaar",
  "@x402/extensions/builder-code": "/extensions/builder-code",
  "@x402/extensions/offer-receipt": "/extensions/offer-receipt",
  "@x402/extensions/payment-identifier": "/extensions/payment-identifier",
  "@x402/extensions/sign-in-with-x": "/extensions/sign-in-with-x",
  "@x402/paywall": "/paywall",
  "@x402/paywall/avm": "/paywall/avm",
  "@x402/paywall/evm": "/paywall/evm",
  "@x402/paywall/svm": "/paywall/svm",
};

/** The replacement of a module, at any depth. */
export function replacementOf(module: string): Replacement | undefined {
  const subpath = Object.hasOwn(SUBPATHS, module) ? SUBPATHS[module] : undefined;
  if (subpath === undefined) return undefined;
  const names = new Set((NAMES[COMPAT + subpath] ?? "").split(" "));
  return { module: COMPAT + subpath, from: /^(@x402\/express|x402-express)$/.test(module) ? 1 : 2, names };
}

/** Whether a module is one of the reference's, or one of its first version. */
export function isReference(module: string): boolean {
  return /^(@x402\/[^/]|@coinbase\/x402(\/|$)|x402-express(\/|$)|x402(\/|$))/.test(module);
}

/** The modules that have a replacement. */
export function replacedModules(): readonly string[] {
  return Object.keys(SUBPATHS);
}
