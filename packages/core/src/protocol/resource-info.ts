/**
 * ResourceInfo: what is for sale.
 *
 * @see x402 v2 §5.1.2
 * @module
 */

/** The resource that a challenge, and the payment that answers it, are about. */
export interface ResourceInfo {
  /** Absolute URL, e.g. `https://api.example.com/weather/paris`; an MCP tool has `mcp://tool/<name>`. */
  readonly url: string;
  /** At most 500 characters: facilitators refuse to verify a payment for a longer one. */
  readonly description?: string;
  /** Media type of the answer, e.g. `application/json`. */
  readonly mimeType?: string;
  /** For catalogs: 1 to 32 printable ASCII characters. */
  readonly serviceName?: string;
  /** For catalogs: at most 5, each like the name. */
  readonly tags?: readonly string[];
  /** For catalogs: an http or https URL of at most 2048 characters. */
  readonly iconUrl?: string;
}
