/**
 * Listings: what facilitators said about listing each route in their catalog. It never affects a payment.
 *
 * @see `docs/guides/discovery.md`
 * @module
 */
import type { PaymentEvents } from "../events/events.js";
import { listingRejectedFinding } from "../events/findings.js";
import type { Logger } from "../events/logger.js";
import type { ExtensionOutcome, ExtensionResponses } from "../protocol/documents.js";
import { factsOf, type PendingPayment } from "../sale/outcome.js";

/** What a facilitator said last about listing a route. */
export interface Listing extends ExtensionOutcome {
  /** Unix milliseconds. */
  readonly atMs: number;
  /** The call that it came with. */
  readonly operation: "verify" | "settle";
}

/** What a facilitator said about extensions, and with which payment. */
interface ExtensionReport {
  readonly payment: PendingPayment;
  readonly operation: Listing["operation"];
  readonly responses: ExtensionResponses | undefined;
}

/** What listings need. */
export interface ListingsDeps {
  readonly events: PaymentEvents;
  readonly logger: Logger;
  readonly now: () => number;
}

/** The extension that lists routes. */
const BAZAAR = "bazaar";

/** No seller lists more routes than this. */
const MAX_LISTINGS = 10_000;

/** Remembers listings by route. */
export class Listings {
  readonly #latest = new Map<string, Listing>();
  readonly #deps: ListingsDeps;

  constructor(deps: ListingsDeps) {
    this.#deps = deps;
  }

  /** The latest listing of a route, by its key. Without a key: by `GET /path/:param`. */
  of(route: string): Listing | undefined {
    return this.#latest.get(route);
  }

  /** Notes and announces outcomes. Returns those of extensions that the route declares. Never throws. */
  note({ payment, operation, responses }: ExtensionReport): ExtensionResponses | undefined {
    if (responses === undefined) return undefined;
    const { events, now } = this.#deps;
    const declared = payment.facilitatorRequest.paymentPayload.extensions ?? {};
    const known = Object.entries(responses).filter(([key]) => Object.hasOwn(declared, key));
    for (const [extension, outcome] of known) {
      events.emit("extension_outcome", () => ({ ...factsOf(payment), extension, operation, ...outcome }));
      if (extension !== BAZAAR) continue;
      this.#keep(payment.listedAs ?? payment.routeKey, { ...outcome, operation, atMs: now() });
    }
    return known.length === 0 ? undefined : Object.fromEntries(known);
  }

  #keep(route: string, listing: Listing): void {
    const before = this.#latest.get(route);
    this.#latest.delete(route);
    this.#latest.set(route, Object.freeze(listing));
    const [oldest] = this.#latest.keys();
    if (this.#latest.size > MAX_LISTINGS && oldest !== undefined) this.#latest.delete(oldest);
    if (listing.status !== "rejected" || before?.status === "rejected") return;
    const { code, message, remedy } = listingRejectedFinding(route, listing.rejectedReason);
    this.#deps.logger.warn(code, { route, message, remedy });
  }
}
