/**
 * The error of the conformance checks for payment stores.
 *
 * @module
 */
import { FareboxError } from "@farebox/core";

/** A payment store does not do what `PaymentStore` asks of it. `cause` is what the store itself threw, if it did. */
export class StoreError extends FareboxError {
  override readonly name = "StoreError";
  override readonly code = "ERR_FAREBOX_STORE";
}
