/**
 * The error of chains.
 *
 * @module
 */
import { FareboxError } from "@farebox/core";

/**
 * A chain is not the one it was said to be, or does not take a transaction. What is wrong with a single question to a node
 * is a `RpcError`. Neither holds a key, a URL or a signature.
 */
export class ChainError extends FareboxError {
  override readonly name = "ChainError";
  override readonly code = "ERR_FAREBOX_CHAIN";
}
