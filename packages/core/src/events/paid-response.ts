/**
 * The headers that the hook `onPaid` adds to a response, between its settlement and its delivery.
 *
 * @module
 */
import { validateHeaderName, validateHeaderValue } from "node:http";

/** Headers of a response, in order. */
type Headers = readonly (readonly [name: string, value: string])[];

/** The response to a payment that has settled. It is held until `onPaid` is done. */
export interface PaidResponse {
  /**
   * Adds a header, in place of one of the handler's with the same name. After the hook's time is over it does nothing.
   *
   * @example response.setHeader("X-Invoice", "in_1042")
   * @throws TypeError if the name or value is not one of HTTP, or the name is reserved: headers of the connection, of the body and of
   * caches, `Set-Cookie`, and those of the protocol.
   */
  setHeader(name: string, value: string): void;
}

/** Farebox and Node write these, or the handler says with them what its body is. */
const RESERVED: ReadonlySet<string> = new Set([
  ...["connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "date"],
  ...["content-length", "content-type", "content-encoding", "content-range", "location", "set-cookie"],
  ...["cache-control", "expires", "etag", "last-modified", "vary", "access-control-expose-headers"],
  ...["settlement-overrides", "extension-responses"],
]);

/** Collects the headers of one response. */
export class AddedHeaders implements PaidResponse {
  readonly #headers = new Map<string, readonly [name: string, value: string]>();
  #isClosed = false;

  setHeader(name: string, value: string): void {
    validateHeaderName(name);
    // JavaScript calls this without types.
    if (typeof value !== "string") throw new TypeError(`${name}: expected a string`);
    validateHeaderValue(name, value);
    const key = name.toLowerCase();
    if (RESERVED.has(key) || key.startsWith("payment-") || key.startsWith("x-payment"))
      throw new TypeError(`${name}: onPaid cannot set this header`);
    if (!this.#isClosed) this.#headers.set(key, [name, value]);
  }

  /** Takes no more headers, and returns those that were added. */
  close(): Headers {
    this.#isClosed = true;
    return [...this.#headers.values()];
  }
}
