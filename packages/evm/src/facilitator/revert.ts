/**
 * Calls that a contract refused or failed at, as opposed to calls that could not be made.
 *
 * @module
 */
import { BaseError, ExecutionRevertedError, RpcRequestError } from "viem";

/** What nodes say of a contract that ended in another way than by a revert. There is no code for it. */
const FAILED = /revert|invalid ?(?:fe ?)?opcode|invalid jump|out ?of ?gas|stack (?:under|over)flow|evm error/i;

/** Whether a call failed in the contract that was called. That contract is a stranger's word. */
export function isRevert(error: unknown): boolean {
  if (!(error instanceof BaseError)) return false;
  if (error.walk((cause) => cause instanceof ExecutionRevertedError) !== null) return true;
  const said = error.walk((cause) => cause instanceof RpcRequestError);
  return said instanceof RpcRequestError && FAILED.test(said.details);
}
