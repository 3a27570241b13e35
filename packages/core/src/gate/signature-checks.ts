/**
 * Payers' signatures, checked in this process where the seller has asked for it: a forged one costs no call.
 *
 * @module
 */
import type { Issues } from "../issues.js";
import type { Reason } from "../protocol/reasons.js";
import type { Offer } from "../scheme/offer.js";
import type { Scheme, SignatureCheck } from "../scheme/scheme.js";

/** The checks of all schemes in use. */
export interface SignatureChecks {
  /** Prepares the check of a scheme that something is sold by; what is missing for it is noted. */
  prepare(scheme: Scheme, issues: Issues): void;
  /** Checks the signature of a payment that has been read; `undefined`: nothing is wrong with it as far as can be told here. */
  check(offer: Offer, payload: unknown): Promise<Reason | undefined>;
}

const PATH = "options.verifySignatures";

/** Creates the checks; without `isAsked` nothing is prepared and nothing is checked. */
export function createSignatureChecks(isAsked: boolean): SignatureChecks {
  const checks = new Map<Scheme, SignatureCheck>();
  return {
    prepare(scheme, issues) {
      if (!isAsked) return;
      const prepared = checks.get(scheme) ?? scheme.prepareSignatureCheck?.();
      if (prepared === undefined) return;
      checks.set(scheme, prepared);
      const isNoted = issues.found.some(({ path }) => path === PATH);
      if (!prepared.ok && !isNoted) issues.addText(PATH, prepared.missing, "none that can be loaded");
    },
    async check({ scheme, requirements }, payload) {
      const prepared = checks.get(scheme);
      return prepared?.ok === true ? prepared.check(payload, requirements) : undefined;
    },
  };
}
