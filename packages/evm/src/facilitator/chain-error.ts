/**
 * The error of chains.
 *
 * @module
 */
import { FareboxError } from "@farebox/core";
import { BaseError } from "viem";

/**
 * A chain could not be asked, or refused what it was sent. The message says what the node said in short; it holds no key
 * and no URL.
 */
export class ChainError extends FareboxError {
  override readonly name = "ChainError";
  override readonly code = "ERR_FAREBOX_CHAIN";
}

/** Makes a chain's error of whatever a call to a node failed with. */
export function toChainError(error: unknown): ChainError {
  return error instanceof ChainError ? error : new ChainError(shortMessageOf(error), { cause: error });
}

/** What is wrong, in short. viem's short messages name neither the URL nor the request; its long ones do. */
export function shortMessageOf(error: unknown): string {
  if (error instanceof ChainError) return error.message;
  if (error instanceof BaseError) return error.shortMessage;
  return error instanceof Error ? error.name : "not an error";
}
