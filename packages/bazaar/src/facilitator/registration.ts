/**
 * What a payment says of the service that it pays for, checked, and ready for a catalog.
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";
import type { EntryType } from "../catalog/entry.js";
import type { DiscoveryInfo, JsonSchema } from "../declaration.js";

/** One way to pay, as the payment had it. */
export interface RegisteredOffer {
  readonly scheme: string;
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  /** Atomic units; for `upto` the most that is taken. */
  readonly amount: string;
  readonly maxTimeoutSeconds: number;
  readonly extra: JsonObject;
}

/** A service, as one payment for it declares it. */
export interface Registration {
  readonly type: EntryType;
  /** First half of the key: see `CatalogEntry.resource`. */
  readonly resource: string;
  /** Second half of the key; `""` for HTTP. */
  readonly toolName: string;
  readonly info: DiscoveryInfo;
  readonly schema: JsonSchema;
  readonly routeTemplate?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly serviceName?: string;
  readonly tags?: readonly string[];
  readonly iconUrl?: string;
  readonly offer: RegisteredOffer;
}

/** What a payment has for a catalog. A reason is a sentence for the seller. */
export type ReadRegistration =
  | { readonly kind: "none" }
  | { readonly kind: "rejected"; readonly reason: string }
  | { readonly kind: "registration"; readonly registration: Registration };

/** How a registration is read. */
export interface RegistrationRules {
  /** Whether `http:` and hosts that the public cannot reach are listed too. Default false. */
  readonly allowLocal?: boolean;
}
