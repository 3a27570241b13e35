/**
 * Lists what payments declare. A payment never waits long for a catalog, and never fails because of one.
 *
 * @see x402 v2 extension `bazaar`, "EXTENSION-RESPONSES"
 * @module
 */
import { type Catalog, type ReadRegistration, type Registration, readRegistration } from "@farebox/bazaar/facilitator";
import type { FacilitatorRequest, Logger, SettlementResponse, VerifyResponse } from "@farebox/core";

/** What became of a declaration. `processing`: it is in order, and is listed once its payment is settled, or soon. */
export type ListingOutcome =
  | { readonly status: "success" | "processing" }
  | { readonly status: "rejected"; readonly rejectedReason: string };

/** What extensions have to say of a payment, by their identifiers: the value of `EXTENSION-RESPONSES`. */
export interface ExtensionResponses {
  readonly bazaar?: ListingOutcome;
}

/** An answer with what extensions have to say; behind HTTP that is a header beside it. */
export type Extended<Answer> = Answer & { readonly extensionResponses?: ExtensionResponses };

/** Adds to the answers of a facilitator what became of the declaration. Never rejects. */
export interface Registrar {
  verified(request: FacilitatorRequest, answer: VerifyResponse): Extended<VerifyResponse>;
  settled(request: FacilitatorRequest, answer: SettlementResponse): Promise<Extended<SettlementResponse>>;
}

/** How long a settled payment waits for its listing. An embedded store takes a millisecond. */
const PATIENCE_MS = 250;
/** Listings that are under way; what comes on top is left to the next payment. */
const MAX_PENDING = 256;

/** Without a catalog, answers stay as they are. */
export function createRegistrar(catalog: Catalog | undefined, logger: Logger | undefined): Registrar {
  if (catalog === undefined) return { verified: (_, answer) => answer, settled: async (_, answer) => answer };
  const { rules } = catalog;
  const list = createLister(catalog, logger);
  return {
    verified(request, answer) {
      if (!answer.isValid) return answer;
      const read = readRegistration(request, rules);
      return extend(answer, read.kind === "registration" ? { status: "processing" } : refusalOf(read));
    },
    async settled(request, answer) {
      if (!answer.success) return answer;
      const read = readRegistration(request, rules);
      return extend(answer, read.kind === "registration" ? await list(read.registration) : refusalOf(read));
    },
  };
}

function extend<Answer extends object>(answer: Answer, bazaar: ListingOutcome | undefined): Extended<Answer> {
  return bazaar === undefined ? answer : { ...answer, extensionResponses: { bazaar } };
}

function refusalOf(read: Exclude<ReadRegistration, { kind: "registration" }>): ListingOutcome | undefined {
  return read.kind === "none" ? undefined : { status: "rejected", rejectedReason: read.reason };
}

/** Registers, and says `processing` when that takes too long; it goes on all the same. */
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
    return { status: "success" };
  } catch (error) {
    report(logger, error);
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

/** Names the kind of failure only: a database's message may have its address and its password. */
function report(logger: Logger | undefined, error: unknown): void {
  try {
    logger?.error("catalog_failed", { error: error instanceof Error ? error.name : "not an error" });
  } catch {
    // There is nobody left to tell.
  }
}
