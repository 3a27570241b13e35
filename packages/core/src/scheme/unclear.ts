/**
 * What a scheme says when it asked a chain about money and cannot tell for certain.
 *
 * @module
 */
import { RpcError } from "../errors.js";

/** Part of `ChainFinding` and of `PayeeCheck`. */
export interface Unclear {
  readonly kind: "unclear";
  /** For the log: short, without a node's words or URL. */
  readonly problem: string;
}

/** Makes an {@link Unclear}. */
export function unclear(problem: string): Unclear {
  return { kind: "unclear", problem };
}

/** Asks a chain, for `findPayment` or `checkPayee` of a scheme: what rejects or throws is unclear. Total. */
export async function orUnclear<T>(ask: () => Promise<T>): Promise<T | Unclear> {
  try {
    return await ask();
  } catch (error) {
    // Any other error may quote the node, or its URL.
    return unclear(error instanceof RpcError ? error.message : "the node could not be asked");
  }
}
