/**
 * Listings: what facilitators have said of the seller's declarations, kept per route.
 *
 * Nothing a facilitator says here has a bearing on a payment.
 *
 * @see the brief §6, "Events"
 * @module
 */

import type { PaymentEvents } from "../events/events.js";
import { listingRejectedFinding } from "../events/findings.js";
import type { Logger } from "../events/logger.js";
import type { ExtensionOutcome, ExtensionResponses } from "../protocol/documents.js";
import { EXTENSION_RESPONSES, encodeExtensionResponses } from "../protocol/headers.js";
import { factsOf, type UnsettledPayment } from "./outcome.js";

/** What a facilitator said last of a route. */
export interface Listing extends ExtensionOutcome {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** What it was asked when it said so. */
  readonly operation: "verify" | "settle";
}

/** What was said, and of what. */
export interface Said {
  readonly payment: UnsettledPayment;
  readonly operation: Listing["operation"];
  readonly responses: ExtensionResponses | undefined;
}

/** Keeps what was said. */
export interface Listings {
  /** Notes outcomes, and tells of them; yields those that are about something we had declared. Never throws. */
  note(said: Said): ExtensionResponses | undefined;
  /** The latest word on a route, by its key; a route that the framework matches goes by `GET /path/:param`. */
  of(route: string): Listing | undefined;
}

/** The extension that lists. */
const LISTS = "bazaar";

/** A seller has no more routes than this to be listed. */
const MAX_LISTINGS = 10_000;

/** Creates an empty list. */
export function createListings(parts: {
  readonly events: PaymentEvents;
  readonly logger: Logger;
  readonly now: () => number;
}): Listings {
  const { events, logger, now } = parts;
  const latest = new Map<string, Listing>();

  function keep(route: string, listing: Listing): void {
    const before = latest.get(route);
    latest.delete(route);
    latest.set(route, Object.freeze(listing));
    const [oldest] = latest.keys();
    if (latest.size > MAX_LISTINGS && oldest !== undefined) latest.delete(oldest);
    if (listing.status !== "rejected" || before?.status === "rejected") return;
    const { code, message, remedy } = listingRejectedFinding(route, listing.rejectedReason);
    logger.warn(code, { route, message, remedy });
  }

  return {
    note({ payment, operation, responses }) {
      if (responses === undefined) return undefined;
      const declared = payment.facilitatorRequest.paymentPayload.extensions ?? {};
      const known = Object.entries(responses).filter(([key]) => Object.hasOwn(declared, key));
      for (const [extension, outcome] of known) {
        events.emit("extension_outcome", () => ({ ...factsOf(payment), extension, operation, ...outcome }));
        if (extension === LISTS) keep(payment.listedAs ?? payment.routeKey, { ...outcome, operation, atMs: now() });
      }
      return known.length === 0 ? undefined : Object.fromEntries(known);
    },
    of: (route) => latest.get(route),
  };
}

/** What a client is told of outcomes, if anything: never more than known fields. */
export function relayHeaders(
  responses: ExtensionResponses | undefined,
  { relayExtensionResponses }: { readonly relayExtensionResponses: boolean },
): readonly (readonly [string, string])[] {
  if (responses === undefined || !relayExtensionResponses) return [];
  return [[EXTENSION_RESPONSES, encodeExtensionResponses(responses)]];
}
