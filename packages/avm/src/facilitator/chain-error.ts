/**
 * The error of chains.
 *
 * @module
 */
import { FareboxError } from "@farebox/core";

/**
 * A chain is not the one it was said to be, or a node gave no answer to a question. Holds no key, no token, no URL and no
 * signature.
 */
export class ChainError extends FareboxError {
  override readonly name = "ChainError";
  override readonly code = "ERR_FAREBOX_CHAIN";
}
