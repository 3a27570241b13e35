/**
 * The only place where the seller's side loads viem, and only if the seller asks for signature checks. It uses `require`, so
 * that no bundler and no type checker follows, and so that start-up shows whether viem is missing.
 *
 * @module
 */
import { createRequire } from "node:module";
import type { TypedData } from "./typed-data.js";

/** The two functions of viem that check a signature. */
export interface Viem {
  hashTypedData(data: TypedData): `0x${string}`;
  recoverAddress(signed: { readonly hash: `0x${string}`; readonly signature: `0x${string}` }): Promise<string>;
}

const require = createRequire(import.meta.url);

/** Loads viem; `undefined` if it is not installed, or lacks these functions. */
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
