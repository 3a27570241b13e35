/**
 * The packages that the local Solana network needs. They are loaded only when one is started.
 *
 * @module
 */
import { LocalChainError } from "../local-chain/local-chain-error.js";

/** Both packages. */
export interface Libraries {
  readonly litesvm: typeof import("litesvm");
  readonly kit: typeof import("@solana/kit");
}

/**
 * Loads the packages.
 *
 * @throws {@link LocalChainError} when one is not installed, or does not support this platform
 */
export async function loadLibraries(): Promise<Libraries> {
  try {
    const [litesvm, kit] = await Promise.all([import("litesvm"), import("@solana/kit")]);
    return { litesvm, kit };
  } catch (cause) {
    throw new LocalChainError("a local Solana network needs the packages litesvm and @solana/kit", { cause });
  }
}
