/**
 * Calls that a contract refused, as opposed to calls that could not be made.
 *
 * @module
 */
import { BaseError, ExecutionRevertedError } from "viem";

/** Whether a call failed because the contract refused it. */
export function isRevert(error: unknown): boolean {
  return error instanceof BaseError && error.walk((cause) => cause instanceof ExecutionRevertedError) !== null;
}
