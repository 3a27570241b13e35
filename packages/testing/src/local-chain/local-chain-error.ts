/**
 * The error of the local chain.
 *
 * @module
 */
import { FareboxError } from "@farebox/core";

/** A local chain that could not start, or a call to it that failed. `cause` has the underlying error, if any. */
export class LocalChainError extends FareboxError {
  override readonly name = "LocalChainError";
  override readonly code = "ERR_FAREBOX_LOCAL_CHAIN";
}
