/**
 * PaymentRequired: the challenge, sent with status 402.
 *
 * @see x402 v2 §5.1
 * @module
 */
import type { Extensions } from "./extensions.js";
import type { PaymentRequirements } from "./payment-requirements.js";
import type { ResourceInfo } from "./resource-info.js";

/**
 * An offer as clients see it: the seven fields of the protocol, and the fields by which older documents and catalogs
 * describe the same thing. The extra fields are left out when the header would grow too large for common proxies.
 */
export interface AdvertisedRequirements extends PaymentRequirements {
  /** Same as `amount`, under its older name. */
  readonly maxAmountRequired?: string;
  /** Same as the challenge's `resource.url`. */
  readonly resource?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly outputSchema?: {
    readonly input: Readonly<Record<string, unknown>>;
    readonly output: Readonly<Record<string, unknown>> | null;
  };
}

/** The challenge: why payment is needed, for what, and the ways to pay, best first. */
export interface PaymentRequired {
  readonly x402Version: 2;
  readonly error?: string;
  readonly resource: ResourceInfo;
  readonly accepts: readonly AdvertisedRequirements[];
  readonly extensions?: Extensions;
}
