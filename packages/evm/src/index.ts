/**
 * The seller's side of `exact` and `upto` on EVM. Everything exported here is public API. Verification and settlement are in
 * `@farebox/evm/facilitator`.
 *
 * @module
 */
export { toChecksum } from "./address.js";
export { ASSETS, type EvmAsset, type TransferMethod } from "./assets.js";
export { exactEvm } from "./exact/exact-evm.js";
export { gasSponsoringFor } from "./permit2/gas-sponsoring.js";
export { isMessageSignedBy } from "./signatures/check-signature.js";
export { uptoEvm } from "./upto/upto-evm.js";
