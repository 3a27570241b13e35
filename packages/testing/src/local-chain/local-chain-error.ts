/**
 * The error of the local chain.
 *
 * @module
 */
import { FareboxError } from "@farebox/core";

/** A local chain that did not start, or a failed call to it. `cause` is the underlying error, if any. */
export class LocalChainError extends FareboxError {
  override readonly name = "LocalChainError";
  override readonly code = "ERR_FAREBOX_LOCAL_CHAIN";
}
