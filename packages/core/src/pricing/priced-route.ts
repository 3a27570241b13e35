/**
 * A priced route, ready for requests: its offers, its challenge, and what the seller set for it.
 *
 * @module
 */
import type { ExtensionHooks } from "../events/combined-hooks.js";
import { type Finding, type Findings, paymentHeaderReadFinding } from "../events/findings.js";
import type { Hooks } from "../events/hooks.js";
import type { Logger } from "../events/logger.js";
import type { DeclarationNotice } from "../extension.js";
import type {
  Chargeable,
  IdentifierMode,
  InputValidator,
  SettlementFailedBody,
  StartTimer,
  UnavailableBody,
  Unmetered,
  UnpaidBody,
} from "../options.js";
import type { ExtensionDeclaration } from "../protocol/documents.js";
import type { JsonObject } from "../protocol/json.js";
import type { Offer } from "../scheme/offer.js";
import { type AvailableOffers, createAvailableOffers, type Supporters } from "./available-offers.js";
import {
  type ChallengeOccasion,
  type ChallengePart,
  type ChallengeSubject,
  HEADER_BUDGET,
  HEADER_LIMIT,
} from "./challenge.js";
import { createDeclareAt, type Declarations, outlineOf } from "./declarations.js";
import { type NameSale, type PricingOccasion, priceRequest, type Quotes, type Unpriced } from "./dynamic-price.js";
import { type CompiledOption, type DynamicTerms, isWaitingForSupport } from "./payment-option.js";
import type { PaywallSettings } from "./paywall.js";
import { createRouteExtensions } from "./route-extensions.js";

/** The key of a route that the framework matches by itself. */
export const CHARGE = "payments.charge";

/** A priced thing without an HTTP route: its name, its URL, and what clients are told about calling it. */
export interface ChargedAs {
  /** For events, reports and issues: `tool get_weather`. */
  readonly key: string;
  /** Absolute URL of the resource: `mcp://tool/get_weather`. */
  readonly url: string;
  /** Where the server is, if it is known and `url` does not say: `https://api.example.com/mcp`. */
  readonly serverUrl?: string | undefined;
  /** Goes into the offers as `outputSchema.input`: JSON values. */
  readonly input: JsonObject;
  /** What looks wrong about it if catalogs list it. Default: nothing. */
  readonly notices?: readonly DeclarationNotice[];
}

/** What the seller set for a route, checked. */
export interface RouteTerms {
  readonly key: string;
  /** Where the resource is. Default: the URL of the request. */
  readonly url: string | undefined;
  /** Whether it is reached by HTTP. Otherwise it is called by name, as an MCP tool is. */
  readonly isHttp: boolean;
  /** Whether nobody can pay for it: only requests that a hook grants reach the handler. */
  readonly isGrantOnly: boolean;
  /** Where the server is, if `url` does not say. */
  readonly serverUrl: string | undefined;
  readonly description: string;
  readonly mimeType: string;
  readonly service: ChallengeSubject["service"];
  readonly declarations: Declarations;
  /** `undefined`: the default decides. */
  readonly chargeable: Chargeable | undefined;
  readonly paymentIdentifier: IdentifierMode;
  /** `undefined`: the default decides. */
  readonly unmetered: Unmetered | undefined;
  /** `undefined`: requests are not checked. */
  readonly validate: true | InputValidator | undefined;
  /** Whether the handler finds the payment's header as the client sent it. */
  readonly keepPaymentHeader: boolean;
  /** Whether the handler finds the tags of responses that the client says it has. */
  readonly revalidation: boolean;
  /** What the seller says in place of Farebox. */
  readonly bodies: RouteBodies;
}

/** What a request that has paid has to be for its handler. */
export interface PaidRequestPolicy extends PaymentHeaderPolicy {
  /** Whether another request may have another price here, by a function of the seller's. */
  readonly isByRequest: boolean;
  /** Equal for routes with the same offers. A price by request is like no other. */
  readonly priceId: string;
}

/** The headers of a paid request that its handler finds. */
export interface PaymentHeaderPolicy {
  readonly keepPaymentHeader: boolean;
  /** Whether `If-None-Match` stays, unless it is `*`. */
  readonly revalidation: boolean;
  /** A handler has read the header, although it was removed. */
  readonly onRemovedHeaderRead: () => void;
}

/** The seller's bodies and page. Absent: the default. */
export interface RouteBodies {
  readonly unpaidBody?: UnpaidBody;
  readonly settlementFailedBody?: SettlementFailedBody;
  readonly unavailableBody?: UnavailableBody;
  readonly paywall: PaywallSettings;
}

/** What was found out about a route at start-up. */
export interface RouteInspection {
  /** Whether its declarations list it in public catalogs. */
  readonly isPublic: boolean;
  /** A request as most are; `undefined`: nothing is known of the offers. */
  readonly sample: ChallengeOccasion | undefined;
  /** What the header of its challenge leaves out, as far as that is known before facilitators and requests have their say. */
  readonly leftOut: readonly ChallengePart[];
  /** What looks wrong about the route itself. */
  readonly notices: readonly Finding[];
}

/** A priced route. */
export interface PricedRoute extends RouteTerms, RouteInspection, ChallengeSubject, AvailableOffers, PaidRequestPolicy {
  /** Every offer that is the same for all requests, available or not. */
  readonly offers: readonly Offer[];
  /** Payment options that are priced for each request. */
  readonly dynamic: readonly DynamicTerms[];
  /** The seller's, and those of its extensions. */
  readonly hooks: Hooks;
  /** Whether there is nothing to pay. If the request decides, only a route priced for one request is free. */
  readonly isFree: boolean;
  /** Of a route priced for one request: an offer that has expired, if it was ours. It serves to find a payment's record. */
  readonly lapsed?: Offer | undefined;
  /** Prices the route for one request; absent: the price is the same for all. Rejects if a function of the seller's throws. */
  readonly priceFor?: (occasion: PricingOccasion) => Promise<PricedRoute | Unpriced>;
}

/** What pricing needs. */
export interface PricingDeps {
  readonly facilitators: Supporters;
  readonly findings: Pick<Findings, "add" | "tell">;
  readonly quotes: Quotes;
  readonly nameSale: NameSale;
  /** The hooks of a route: the seller's, and those of its extensions. */
  readonly hooksFor: (route: string, ofExtensions: readonly ExtensionHooks[]) => Hooks;
  readonly logger: Logger;
  readonly timer: StartTimer;
}

function whole(declaration: ExtensionDeclaration): ExtensionDeclaration {
  return declaration;
}

/** The part of a route that its challenge is made of. */
export function toChallengeSubject(
  { key, url, isHttp, description, mimeType, service, declarations, bodies }: RouteTerms,
  offers: readonly Offer[],
  { as, publicUrl }: { readonly as: ChargedAs | undefined; readonly publicUrl: string | undefined },
): ChallengeSubject & { readonly key: string } {
  return {
    ...{ key, description, mimeType, service, offers },
    declareAt: createDeclareAt(declarations, publicUrl, isHttp ? url : undefined),
    forCatalogs: new Map(
      [...declarations.compiled].flatMap(([key, { isPublic, withoutExamples = whole }]) =>
        isPublic === true ? [[key, withoutExamples] as const] : [],
      ),
    ),
    // A tool's challenge is no header. A body of the seller's has nothing that the header could leave to it.
    headerBudget: !isHttp ? Number.POSITIVE_INFINITY : bodies.unpaidBody === undefined ? HEADER_BUDGET : HEADER_LIMIT,
    outline: (extensions, url) => outlineOf(extensions, declarations, url) ?? (as && { input: as.input, output: null }),
  };
}

/** Makes a route ready for requests. */
export function createPricedRoute(
  terms: RouteTerms & RouteInspection,
  {
    subject,
    options,
  }: { readonly subject: ChallengeSubject & { readonly key: string }; readonly options: readonly CompiledOption[] },
  { facilitators, findings, quotes, nameSale, hooksFor, logger, timer }: PricingDeps,
): PricedRoute {
  const asked = createRouteExtensions(terms.key, terms.declarations.compiled, { logger, timer });
  const offered = {
    ...subject,
    asked,
    isGrantOnly: terms.isGrantOnly,
    onLeftOut: createShorteningLog(terms.key, logger),
  };
  const dynamic = options.flatMap((option) => (option.kind === "dynamic" ? [option.terms] : []));
  const fixed: PricedRoute = Object.freeze({
    ...terms,
    ...subject,
    asked,
    hooks: hooksFor(terms.key, terms.declarations.hooks),
    ...createAvailableOffers(offered, facilitators, findings.tell),
    dynamic,
    priceId: priceIdOf(subject, dynamic, terms.isGrantOnly),
    isByRequest: dynamic.length > 0,
    isFree: options.some(({ kind }) => kind === "free"),
    onRemovedHeaderRead: () => findings.add(paymentHeaderReadFinding(terms.key)),
  });
  if (dynamic.length === 0) return fixed;
  const sale = nameSale(terms.key, dynamic, { isTool: !terms.isHttp });
  return Object.freeze({
    ...fixed,
    isPending: () =>
      fixed.isPending?.() === true || dynamic.some((terms) => isWaitingForSupport(terms, { facilitators })),
    async priceFor(occasion: PricingOccasion) {
      const named = { ...occasion, binding: [sale, ...occasion.binding] };
      const priced = await priceRequest(options, named, { quotes, facilitators, timer });
      if ("unpriced" in priced) return priced;
      const { offers, lapsed } = priced;
      if (offers === "free") return { ...fixed, isFree: true };
      // Findings about the price of one request are not told: there would be no end of them.
      return { ...fixed, offers, lapsed, ...createAvailableOffers({ ...offered, offers }, facilitators) };
    },
  });
}

function priceIdOf(
  { key, offers }: Pick<PricedRoute, "key" | "offers">,
  dynamic: readonly DynamicTerms[],
  isGrantOnly: boolean,
): string {
  // What grants a request may depend on the key.
  const isOwn = isGrantOnly || dynamic.length > 0;
  return JSON.stringify([offers.map(({ requirements }) => requirements), isOwn ? key : ""]);
}

/** Logs each way in which a challenge was shortened, once. */
function createShorteningLog(route: string, logger: Logger): (parts: readonly ChallengePart[]) => void {
  const logged = new Set<string>([""]);
  return (parts) => {
    const leftOut = parts.join(", ");
    if (logged.has(leftOut)) return;
    logged.add(leftOut);
    logger.info("challenge_shortened", { route, leftOut });
  };
}
