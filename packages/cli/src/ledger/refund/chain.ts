/**
 * What a refund asks of a chain.
 *
 * @module
 */
import type { RpcNode } from "@farebox/core";

/** The transfer that gives money back. */
export interface RefundOrder {
  readonly network: string;
  readonly asset: string;
  readonly to: string;
  readonly amount: bigint;
}

/** What became of a signed refund. */
export type RefundFate = "done" | "failed" | "expired" | "unknown";

/** A signed transaction, and its id. */
export interface Signed {
  readonly raw: string;
  readonly transaction: string;
}

/** Signs, sends, and looks what became of it. */
export interface RefundChain {
  /** The address that pays. */
  readonly from: string;
  /** Signs and does not send. @throws CliError if the account cannot pay */
  sign(order: RefundOrder): Promise<Signed>;
}

/** Sends a signed refund, again if it was sent before, and waits for its outcome. */
export type SendRefund = (rpc: RpcNode, signed: Signed, signal: AbortSignal) => Promise<RefundFate>;

/** How long an outcome is waited for. */
export const WAIT_MS = 120_000;
