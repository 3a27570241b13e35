/**
 * Tools for authors of schemes. Every export is public API. The interface `Scheme` is in `@farebox/core`, and tools for the facilitator's
 * side of a scheme are in `@farebox/core/facilitator`.
 *
 * @module
 */
export { legible } from "../events/logger.js";
export {
  formatAmount,
  type ParsedAmount,
  type ParsedPrice,
  type PricingAsset,
  parseAtomic,
  parsePrice,
} from "../price/price.js";
export { isSignedBy, SIGNATURE_BYTES } from "./ed25519.js";
export {
  compileTerms,
  type KnownAsset,
  type NamedAsset,
  type PricedTerms,
  type Pricing,
  type PricingById,
  priceTerms,
  pricingById,
} from "./price-terms.js";
export {
  type AskedNode,
  accept,
  askAtMost,
  type Fields,
  fieldsOf,
  orUnclear,
  type Reading,
  type Refusal,
  readUint64,
  refuse,
  type Unclear,
  unclear,
} from "./reading.js";
