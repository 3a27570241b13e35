/**
 * The one place where the seller's side may load viem: when the seller asks for it, by `require`, so that neither a bundler
 * nor a type checker follows, and so that a lack of it is known at start-up.
 *
 * @module
 */
import { createRequire } from "node:module";
import type { TypedData } from "./typed-data.js";

/** The functions of viem that check a signature. */
export interface Viem {
  hashTypedData(data: TypedData): `0x${string}`;
  recoverAddress(signed: { readonly hash: `0x${string}`; readonly signature: `0x${string}` }): Promise<string>;
}

const require = createRequire(import.meta.url);

/** Loads viem; `undefined` where it is not installed, or is another one than it is taken for. */
export function loadViem(): Viem | undefined {
  try {
    const found: unknown = require("viem/utils");
    return isViem(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

function isViem(found: unknown): found is Viem {
  if (typeof found !== "object" || found === null) return false;
  return ["hashTypedData", "recoverAddress"].every((name) => typeof Reflect.get(found, name) === "function");
}
