/**
 * Lists the services that payments declare. A payment never waits long for the catalog, and never fails because of it.
 *
 * @see x402 v2 extension `bazaar`, "EXTENSION-RESPONSES"
 * @module
 */
import { type Catalog, type ReadRegistration, type Registration, readRegistration } from "@farebox/bazaar/facilitator";
import type { FacilitatorRequest, Logger, SettlementResponse, VerifyResponse } from "@farebox/core";
import { logFailure } from "./log.js";

/**
 * How a declaration was listed. `processing`: the declaration is valid. It is listed once its payment is settled, as soon as
 * the catalog has stored it, or when the server of the URL has confirmed it.
 */
export type ListingOutcome =
  | { readonly status: "success" | "processing" }
  | { readonly status: "rejected"; readonly rejectedReason: string };

/** The value of `EXTENSION-RESPONSES`: one outcome per extension, by its identifier. */
export interface ExtensionResponses {
  readonly bazaar?: ListingOutcome;
}

/** A response with the outcomes of extensions. Over HTTP they travel in a header beside the response. */
export type Extended<T> = T & { readonly extensionResponses?: ExtensionResponses };

/** Adds the outcome of listing to the facilitator's responses. Never rejects. */
export interface Registrar {
  verified<T extends VerifyResponse>(request: FacilitatorRequest, response: T): Extended<T>;
  settled<T extends SettlementResponse>(request: FacilitatorRequest, response: T): Promise<Extended<T>>;
}

/** How long a settled payment waits for its listing. An embedded store takes a millisecond. */
const PATIENCE_MS = 250;
/** Listings in flight. Beyond this number a declaration is rejected, and the next payment lists it. */
const MAX_PENDING = 256;

/** Creates the registrar; without a catalog it leaves responses as they are. */
export function createRegistrar(catalog: Catalog | undefined, logger: Logger | undefined): Registrar {
  if (catalog === undefined) return { verified: (_, response) => response, settled: async (_, response) => response };
  const { rules } = catalog;
  const list = createLister(catalog, logger);
  return {
    verified(request, response) {
      if (!response.isValid) return response;
      const read = readRegistration(request, rules);
      return extend(response, read.kind === "registration" ? { status: "processing" } : refusalOf(read));
    },
    async settled(request, response) {
      if (!response.success) return response;
      const read = readRegistration(request, rules);
      return extend(response, read.kind === "registration" ? await list(read.registration) : refusalOf(read));
    },
  };
}

function extend<T extends object>(response: T, bazaar: ListingOutcome | undefined): Extended<T> {
  return bazaar === undefined ? response : { ...response, extensionResponses: { bazaar } };
}

function refusalOf(read: Exclude<ReadRegistration, { kind: "registration" }>): ListingOutcome | undefined {
  return read.kind === "none" ? undefined : { status: "rejected", rejectedReason: read.reason };
}

/** Registers a service. A slow registration continues in the background, and its outcome is `processing`. */
function createLister(
  catalog: Catalog,
  logger: Logger | undefined,
): (registration: Registration) => Promise<ListingOutcome> {
  let pending = 0;
  return async (registration) => {
    if (pending >= MAX_PENDING) return { status: "rejected", rejectedReason: "the catalog is busy; pay again later" };
    pending += 1;
    const listing = register(catalog, registration, logger).finally(() => {
      pending -= 1;
    });
    return withinPatience(listing);
  };
}

async function register(
  catalog: Catalog,
  registration: Registration,
  logger: Logger | undefined,
): Promise<ListingOutcome> {
  try {
    const outcome = await catalog.register(registration);
    if (outcome.kind === "rejected") return { status: "rejected", rejectedReason: outcome.reason };
    return { status: outcome.kind === "listed" ? "success" : "processing" };
  } catch (error) {
    logFailure(logger, "catalog_failed", error);
    return { status: "rejected", rejectedReason: "the catalog cannot be reached; the next payment is listed" };
  }
}

async function withinPatience(listing: Promise<ListingOutcome>): Promise<ListingOutcome> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<ListingOutcome>((resolve) => {
    timer = setTimeout(() => resolve({ status: "processing" }), PATIENCE_MS);
  });
  const outcome = await Promise.race([listing, late]);
  clearTimeout(timer);
  return outcome;
}
