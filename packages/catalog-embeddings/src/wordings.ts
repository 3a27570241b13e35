/**
 * How a text is worded for the encoder.
 *
 * @module
 */

/** The encoder's time grows with the square of the length. */
const MAX_TEXT = 600;

/**
 * Words an entry or a question. The encoder keeps statements and questions apart, so both begin with the same words, as an order does.
 * The words were chosen with the seen questions of `test/catalog/quality`. Several wordings of one text found no more services.
 */
export function worded(text: string): string {
  return `Tell me about ${text.slice(0, MAX_TEXT).trim() || "-"}`;
}
