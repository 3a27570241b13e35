/**
 * The error of payers.
 *
 * @module
 */
import { FareboxError } from "@farebox/core";

/**
 * A payer was used in a way that cannot work, or there was nobody to pay: no connection, or one that broke off. A
 * payment that is refused is not an error.
 */
export class PayerError extends FareboxError {
  override readonly name = "PayerError";
  override readonly code = "ERR_FAREBOX_PAYER";
}
