/**
 * The packages that the local Solana network needs, which are looked for only when one is started.
 *
 * @module
 */
import { LocalChainError } from "../local-chain/local-chain-error.js";

/** Both of them. */
export interface Libraries {
  readonly litesvm: typeof import("litesvm");
  readonly kit: typeof import("@solana/kit");
}

/**
 * Loads them.
 *
 * @throws {@link LocalChainError} when one is not installed, or has nothing for this platform
 */
export async function loadLibraries(): Promise<Libraries> {
  try {
    const [litesvm, kit] = await Promise.all([import("litesvm"), import("@solana/kit")]);
    return { litesvm, kit };
  } catch (cause) {
    throw new LocalChainError("a local Solana network needs the packages litesvm and @solana/kit", { cause });
  }
}
