/**
 * The error of chains.
 *
 * @module
 */
import { FareboxError, legible } from "@farebox/core";
import { BaseError, ExecutionRevertedError, HttpRequestError, RpcRequestError } from "viem";

/**
 * A chain could not be asked, or refused what it was sent. The message says what the node said in short; neither it nor
 * the error holds a key, a URL or a signature, which is why there is no `cause`: RPC URLs have keys in their path.
 */
export class ChainError extends FareboxError {
  override readonly name = "ChainError";
  override readonly code = "ERR_FAREBOX_CHAIN";
}

/** Makes a chain's error of whatever a call to a node failed with. */
export function toChainError(error: unknown): ChainError {
  return error instanceof ChainError ? error : new ChainError(problemOf(error));
}

/** What is wrong, in one short line. Texts of nodes and contracts are a stranger's, and are made {@link legible}. */
export function problemOf(error: unknown): string {
  if (error instanceof ChainError) return error.message;
  if (!(error instanceof BaseError)) return error instanceof Error ? error.name : "not an error";
  const reverted = error.walk((cause) => cause instanceof ExecutionRevertedError);
  if (reverted instanceof ExecutionRevertedError) return legible(reverted.shortMessage);
  const said = error.walk((cause) => cause instanceof RpcRequestError);
  if (said instanceof RpcRequestError) return legible(`the node said: ${said.details}`);
  const failed = error.walk((cause) => cause instanceof HttpRequestError);
  if (failed instanceof HttpRequestError && failed.status !== undefined)
    return `the node answered HTTP ${failed.status}`;
  return legible(error.shortMessage);
}
