/**
 * A request at a priced route, before and after its payment is read; and what of it a facilitator gets.
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import { BlockList, isIP } from "node:net";
import type { Hooks } from "../events/hooks.js";
import type { CompiledDeclaration } from "../extension.js";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { LateCheck } from "../facilitator/pool-member.js";
import type { ChallengeOccasion } from "../pricing/challenge.js";
import type { PricedRoute } from "../pricing/priced-route.js";
import type { Place } from "../pricing/resource.js";
import type { ExtensionDeclaration, Extensions, PaymentPayload, ResourceInfo } from "../protocol/documents.js";
import { isJsonObject, type JsonObject } from "../protocol/json.js";
import { PAYMENT_IDENTIFIER } from "../protocol/payment-identifier.js";
import type { Reason } from "../protocol/reasons.js";
import { SellersRequest } from "../route/priced-request.js";
import { fullPathOf, type GateRequest } from "../route/request.js";
import type { Offer } from "../scheme/offer.js";
import type { PendingPayment } from "./outcome.js";

/** A settlement needs this much of the payment's time. Facilitators ask for 6 seconds. */
export const SETTLEMENT_MARGIN_MS = 6_000;

/** A request that a route matched. */
export interface MatchedRequest {
  readonly route: PricedRoute;
  readonly request: GateRequest;
  /** Absolute URL of the resource, for challenges. */
  readonly url: string;
  /** The URL that was requested. The seller may have set another one for the resource. */
  readonly requestUrl: string;
  /** Route template and path parameters. Found out only when they are needed. */
  readonly locate: () => Place;
  /** When it arrived, by `InFlight.next`; 0 without a payment. */
  readonly arrival: number;
}

/** A payment for one of our offers, as its scheme reads it. */
export interface ReadPayment {
  readonly kind: "read";
  readonly payment: PaymentPayload;
  readonly offer: Offer;
  readonly identity: string;
  readonly payer: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
  /** Unix milliseconds until which it can surely settle. */
  readonly settleByMs: number;
  /** Why it cannot pay any more; `undefined`: it can. */
  readonly expired: Reason | undefined;
  /** Digest of the client's identifier for the payment. */
  readonly identifier: string | undefined;
  /** The signature counts as the payer's: it is, or it was not checked yet. Otherwise only a facilitator can tell. */
  isSigned: boolean;
  isForged: LateCheck | undefined;
}

/** A request with a payment for one of our offers: what all later steps work on. */
export interface PaidRequest extends PendingPayment {
  readonly matched: MatchedRequest;
  readonly payload: PaymentPayload;
  readonly route: PricedRoute;
  readonly hooks: Hooks;
  readonly offer: Offer;
  readonly place: Place;
  /** For challenges. */
  readonly occasion: Omit<ChallengeOccasion, "error">;
  /** The client's address or session, if it is known for certain. */
  readonly client: string | undefined;
  /** As in {@link ReadPayment}. */
  readonly isSigned: boolean;
  readonly isForged: LateCheck | undefined;
  /** When the request arrived, by `InFlight.next`. */
  readonly arrival: number;
  /** Unix milliseconds until which it can surely settle. Not later than its claim expires; deadline.ts may know better. */
  settleByMs: number;
  /** Whether it may end before the time that its record is kept for. */
  readonly endsEarly: boolean;
  /** The token that the client sent, good or not. */
  readonly retryToken: string | undefined;
}

/**
 * The party that a payment comes from, so that no party takes the places of others: the network of the client, if its address
 * is public; otherwise the payer.
 */
export function sourceOf({ client = "", payer }: Pick<PaidRequest, "client" | "payer">): string {
  const family = isIP(client);
  if (family === 0 || isSharedAddress(client)) return payer.toLowerCase();
  if (family === 4 || client.includes(".")) return client.slice(client.lastIndexOf(":") + 1);
  // A client of IPv6 has a network of 2^64 addresses.
  const [head = [], tail] = client.split("::").map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = Array<string>(tail === undefined ? 0 : 8 - head.length - tail.length).fill("0");
  return [...head, ...zeros, ...(tail ?? [])].slice(0, 4).join(":");
}

/** The network of one client: its address, or the /64 of an IPv6 address. `undefined`: many clients may have this address. */
export function networkOf(client: string | undefined): string | undefined {
  return sourceOf({ client, payer: "" }) || undefined;
}

/**
 * For whom a payment counts that the seller calls verified. If its signature does not prove who the payer is, anybody may have named that
 * payer, so its runs are not the payer's. `undefined`: they are.
 */
export function countedFor(paid: PaidRequest): string | undefined {
  const isProven = paid.isSigned && paid.isForged?.("failed") !== true;
  return isProven ? undefined : `unproven ${sourceOf(paid)}`;
}

/** Addresses of proxies, containers and private networks. */
const SHARED = new BlockList();
for (const [address, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const) {
  SHARED.addSubnet(address, prefix, "ipv4");
}
SHARED.addSubnet("::", 127, "ipv6");
SHARED.addSubnet("fc00::", 7, "ipv6");
SHARED.addSubnet("fe80::", 10, "ipv6");

/** Whether many clients may have this address, because it is not one on the Internet. */
export function isSharedAddress(client: string): boolean {
  // A zone (`fe80::1%eth0`) is not part of the address.
  const [address = ""] = client.split("%");
  const family = isIP(address);
  return family !== 0 && SHARED.check(address, family === 4 ? "ipv4" : "ipv6");
}

/** Half of a surrogate pair, or NUL: databases refuse them. No client sends them in HTTP; a server that makes up requests may. */
const UNSTORABLE = /[\0\p{Surrogate}]/gu;

/** A part of a request as a record can hold it. */
export function storable(text: string): string {
  return text.replace(UNSTORABLE, escaped);
}

function escaped(character: string): string {
  return character === "\0" ? "%00" : "\ufffd";
}

/** The request that a quote is for: all that a price function sees unasked. */
export function toQuotedRequest({ route, request }: MatchedRequest): readonly string[] {
  const { method, mountPath, path, search } = request;
  return [route.key, route.url ?? "", method, mountPath, path, fullPathOf(request), search];
}

/** What a challenge says about a request. */
export function toOccasion(matched: MatchedRequest, error: string): ChallengeOccasion {
  const { route, request, url, locate } = matched;
  return { url, method: request.method, error, locate, request: route.asked && new SellersRequest(matched) };
}

/** What a client adds to this extension does not count: it would end up in a public catalog. */
const SELLERS_OWN = "bazaar";

/**
 * The body of the facilitator's `verify` and `settle`: our offer, resource and declarations. Of the client's words it has
 * the scheme's payload, and what the client added to extensions that we declared.
 *
 * @see x402 v2 §5.1.2 "Extensions": a client may add to the info it received, not change it
 */
export function toFacilitatorRequest(
  payment: PaymentPayload,
  offer: Offer,
  declared: {
    readonly resource: ResourceInfo;
    readonly extensions: Extensions | undefined;
    readonly compiled?: ReadonlyMap<string, CompiledDeclaration>;
  },
): FacilitatorRequest {
  const { scheme, requirements } = offer;
  const theirs = payment.extensions;
  const ofScheme = scheme.extensionsFor?.(requirements);
  let ours = declared.extensions;
  if (ofScheme !== undefined && isJsonObject(theirs)) {
    const named = Object.entries(ofScheme).filter(([identifier]) => Object.hasOwn(theirs, identifier));
    if (named.length > 0) ours = { ...Object.fromEntries(named), ...ours };
  }
  let isAnyShared = false;
  for (const identifier in ours) if (identifier !== PAYMENT_IDENTIFIER) isAnyShared = true;
  const extensions = ours === undefined || !isAnyShared ? undefined : mergeExtensions(ours, theirs, declared.compiled);
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      payload: payment.payload,
      accepted: requirements,
      resource: declared.resource,
      ...(extensions === undefined ? {} : { extensions }),
    },
    paymentRequirements: requirements,
  };
}

/** Lists in `info` to which a client may add items of its own. They end up in the data of a transaction. */
const ADDITIVE: Readonly<Record<string, readonly string[]>> = { "builder-code": ["s"] };

/** A builder code. */
const ADDED = /^[a-z0-9_]{1,32}$/;

/** A client has few items to add. */
const MAX_ADDED = 16;

/** The client's items, and all of ours; `undefined`: one of them has no list. */
function joinLists(echoed: JsonObject, { info }: ExtensionDeclaration, name: string): readonly unknown[] | undefined {
  const theirs = isJsonObject(echoed["info"]) ? echoed["info"][name] : undefined;
  const ours = info?.[name];
  if (!Array.isArray(theirs) || !Array.isArray(ours)) return undefined;
  const added = [...new Set(theirs)].filter(
    (item) => typeof item === "string" && ADDED.test(item) && !ours.includes(item),
  );
  return [...added.slice(0, MAX_ADDED), ...ours];
}

/** The payment's identifier stays between the client and us. It is the key to the response. */
function mergeExtensions(
  ours: Extensions,
  theirs: PaymentPayload["extensions"],
  compiled: ReadonlyMap<string, CompiledDeclaration> | undefined,
): JsonObject {
  const shared = Object.entries(ours).filter(([identifier]) => identifier !== PAYMENT_IDENTIFIER);
  return Object.fromEntries(
    shared.map(([identifier, declaration]) => {
      const echoed = identifier === SELLERS_OWN ? undefined : theirs?.[identifier];
      if (!isJsonObject(echoed) || !isJsonObject(echoed["info"])) return [identifier, declaration];
      // A key named `__proto__` does no harm here, but may where the object is copied field by field.
      const added = Object.entries(echoed["info"]).filter(([name]) => name !== "__proto__");
      const { dynamicFields = [] } = compiled?.get(identifier) ?? {};
      // We said something else in each challenge, and have not kept it.
      const echo = added.filter(([name]) => dynamicFields.includes(name));
      const lists = (ADDITIVE[identifier] ?? []).map((name) => [name, joinLists(echoed, declaration, name)] as const);
      const joined = Object.fromEntries([...echo, ...lists.filter(([, list]) => list !== undefined)]);
      const info = { ...Object.fromEntries(added), ...declaration.info, ...joined };
      return [identifier, { ...declaration, info }];
    }),
  );
}
