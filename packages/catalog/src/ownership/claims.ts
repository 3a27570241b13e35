/**
 * The claims of an entry: which payees say that they sell there, and what the server of the URL says about them.
 *
 * A claim waits for its check, and is listed when the server confirms it. From then on it is checked once a day. A payment may
 * ask for a check in between, which can only confirm: anyone can pay. Everything here is a decision about data; the store makes
 * it in one transaction.
 *
 * @module
 */
import type { Registered, RegisteredOffer, Registration } from "@farebox/bazaar/facilitator";
import { keepOffers, mergeService, putOffer, type Service, type ServiceMethod } from "../service.js";
import type { Inquiry } from "./owner-check.js";
import { isIdentifier, isSameTerms, type Outcome, type Question, questionOf } from "./proof.js";

/** What happens to entries that the owner of the URL has not confirmed. */
export type Unverified = "hide" | "last" | "show";

/** One method and offer of an entry. */
export interface Claim extends Inquiry {
  /** When it is checked next. */
  readonly dueMs: number;
  /** When it was checked last. */
  readonly checkedMs?: number;
  /** The check that a payment asks for. */
  readonly asked?: Asked | undefined;
  /** When it was confirmed last. */
  readonly confirmedMs?: number;
  /** Checks in a row that did not confirm it. */
  readonly failures: number;
  /** The outcome of the last of them. */
  readonly failure?: Exclude<Outcome, { readonly kind: "confirmed" }>;
}

/** A check that may confirm a claim. Any other outcome is no failure, and changes nothing about a confirmed claim. */
interface Asked {
  readonly atMs: number;
  /** Where the payment leads, if the claim itself leads elsewhere. */
  readonly question?: Question | undefined;
}

/** An entry and its claims. Without a service it is not listed. */
export interface ClaimedEntry {
  readonly service?: Service | undefined;
  readonly claims: readonly Claim[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** After a check, a payment leads to another one at the earliest after this time. */
const CHANGE_MS = 10 * MINUTE_MS;
/** After one failed check, after two, and so on. A server that was not reached is checked after a minute already. */
const DELAYS_MS = [MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, DAY_MS];
/** Failed checks until a claim is forgotten that was never confirmed. */
const MAX_FAILURES = 5;
/** Failed checks until an entry is no longer shown as verified. */
const FADING = 3;
/** From then on it is checked every ten minutes, so many times, and then each hour: it comes back soon after its server does. */
const RETURNS = 6;
/** After the last confirmation, an offer is listed for this time. */
const GONE_MS = 7 * DAY_MS;
/** Claims of one entry that are not confirmed. The oldest go first. */
const MAX_UNCONFIRMED = 16;

/** When the next claim is due. */
export function nextDueOf(claims: readonly Claim[]): number | undefined {
  return claims.length === 0 ? undefined : Math.min(...claims.map(nextCheckOf));
}

function nextCheckOf({ dueMs, asked }: Claim): number {
  return Math.min(dueMs, asked?.atMs ?? dueMs);
}

/**
 * The claims that are due. Confirmed ones come first, because a server that does not respond gets no other request. Of the others the
 * newest: an owner does not wait for those who came before.
 */
export function dueClaims(claims: readonly Claim[], nowMs: number): readonly Claim[] {
  const due = claims.filter((claim) => nextCheckOf(claim) <= nowMs).reverse();
  return [...due.filter(isConfirmed), ...due.filter((claim) => !isConfirmed(claim))];
}

/** Where else a claim is checked, because of a payment. That counts only if its own question does not confirm it. */
export function askedInquiry(claim: Claim): readonly { readonly claim: Claim; readonly inquiry: Inquiry }[] {
  const { terms, isDoubted, asked } = claim;
  return asked?.question === undefined ? [] : [{ claim, inquiry: { question: asked.question, terms, isDoubted } }];
}

/** A registration's outcome, and the entry that it leaves behind. */
export interface ClaimResult {
  readonly registered: Registered;
  readonly entry?: ClaimedEntry;
}

/** Where a payee sells otherwise. */
export interface PayeeServers {
  /** The origin, if there is one. */
  readonly only?: string;
  /** Whether there are several, or may be. */
  readonly isAmbiguous: boolean;
}

interface Registering {
  readonly unverified: Unverified;
  readonly nowMs: number;
}

/** Takes the registration of a payment: lists it if its offer is confirmed, and otherwise lets it wait for the check. */
export function claimEntry(
  entry: ClaimedEntry,
  registration: Registration,
  { unverified, nowMs, servers }: Registering & { readonly servers: PayeeServers },
): ClaimResult {
  const { service, claims } = entry;
  const question = questionOf(registration, originOf(claims, registration, servers));
  if (question === undefined) {
    const reason = servers.isAmbiguous ? SEVERAL_SERVERS : NO_SERVER;
    return claimUnchecked(entry, registration, { unverified, nowMs, reason });
  }
  const inquiry: Inquiry = { question, terms: termsOf(registration.offer) };
  const known = claims.find((claim) => isSameClaim(claim, inquiry));
  const others = claims.filter((claim) => claim !== known);
  if (known?.confirmedMs !== undefined) {
    const listed = methodListedAs(service, registration);
    const paid = service && listed ? touch(service, listed, nowMs) : service;
    // Anyone can pay the payee, with a declaration and an amount of his own. The server has the last word.
    const claim = listed && known.failures === 0 ? known : askAgain(known, question, nowMs);
    const doubted = isDearer(service, registration) ? { ...claim, isDoubted: true } : claim;
    return { registered: LISTED, entry: { service: paid, claims: [...others, doubted] } };
  }
  const begun: Claim = { ...inquiry, failures: 0, dueMs: nowMs };
  const claim = known === undefined ? begun : askAgain({ ...known, question }, question, nowMs);
  const waiting = { ...entry, claims: [...withoutOldest(others), claim] };
  const { failure } = claim;
  if (failure !== undefined && failure.kind !== "unreachable") return { registered: refuse(failure), entry: waiting };
  const unchecked = claimUnchecked(waiting, registration, { unverified, nowMs, reason: NO_SERVER });
  if (unchecked.registered.kind === "listed") return unchecked;
  return { registered: failure === undefined ? { kind: "processing" } : refuse(failure), entry: waiting };
}

/** The server of a tool that says none: the one that has confirmed it, or the only one where its payee sells. */
function originOf(claims: readonly Claim[], { offer }: Registration, { only }: PayeeServers): string | undefined {
  const own = claims.find((claim) => isConfirmed(claim) && isSameTerms(claim.terms, offer));
  return own === undefined ? only : serverOf(own);
}

/** The seller may have changed something, or mended it, or its server may respond again. */
function askAgain(claim: Claim, question: Question, nowMs: number): Claim {
  const { checkedMs = 0, failures, asked } = claim;
  const isFading = isConfirmed(claim) && failures > 0;
  const earliestMs = checkedMs + (isFading ? MINUTE_MS : CHANGE_MS);
  const isElsewhere = JSON.stringify(question) !== JSON.stringify(claim.question);
  const atMs = asked?.atMs ?? Math.max(nowMs, earliestMs);
  return { ...claim, asked: { atMs, question: isElsewhere ? question : undefined } };
}

/** Whether somebody has paid more than the entry says. */
function isDearer(service: Service | undefined, { info, offer }: Registration): boolean {
  const methods = service?.methods.filter((method) => method.info.input.method === info.input.method) ?? [];
  const same = methods.flatMap(({ offers }) => offers).filter((one) => isSameTerms(one, offer));
  return same.some(({ amount }) => BigInt(amount) < BigInt(offer.amount));
}

/** Makes room for one more claim that is not confirmed. Those that failed go first. */
function withoutOldest(claims: readonly Claim[]): readonly Claim[] {
  const unconfirmed = claims.filter((claim) => !isConfirmed(claim));
  if (unconfirmed.length < MAX_UNCONFIRMED) return claims;
  const oldest = unconfirmed.find(({ failures }) => failures > 0) ?? unconfirmed[0];
  return claims.filter((claim) => claim !== oldest);
}

const LISTED: Registered = { kind: "listed" };

function refuse({ reason }: { readonly reason: string }): Registered {
  return { kind: "rejected", reason: `${reason}; it is checked again later` };
}

const NO_SERVER =
  "the resource names no server that could confirm the payee; set serverUrl, or resource.url, to the URL of the MCP server";

const SEVERAL_SERVERS =
  "the resource names no server, and its payee sells at several servers; set serverUrl, or resource.url, to the URL of the MCP server";

/** Any server may have a tool of this name. The first that says so keeps it. */
const TAKEN = {
  kind: "denied",
  reason: "another server has confirmed a tool of this name; set resource.url to the URL of the MCP server",
} as const;

/** Believes the first payee, where the operator wants that and no owner is known. */
function claimUnchecked(
  { service, claims }: ClaimedEntry,
  registration: Registration,
  { unverified, nowMs, reason }: Registering & { readonly reason: string },
): ClaimResult {
  const isNamed = isIdentifier(registration.resource);
  if (isNamed && claims.some(isConfirmed)) return { registered: { kind: "rejected", reason: TAKEN.reason } };
  if (unverified === "hide") return { registered: { kind: "rejected", reason } };
  if (claims.some(isConfirmed)) return { registered: { kind: "processing" } };
  const merged = mergeService(service, registration, nowMs);
  if (!merged.ok) return { registered: { kind: "rejected", reason: merged.reason } };
  return { registered: LISTED, entry: { service: merged.service, claims } };
}

/** Applies the outcomes of checks. Claims may have changed in the meantime. */
export function applyOutcomes(
  entry: ClaimedEntry,
  outcomes: readonly (readonly [Inquiry, Outcome])[],
  nowMs: number,
): ClaimedEntry {
  const applied = outcomes.reduce<ClaimedEntry>((current, [inquiry, outcome]) => {
    const claim = current.claims.find((one) => isSameClaim(one, inquiry));
    // Claims of others may have pushed it out in the meantime. What the server says holds all the same.
    if (outcome.kind === "confirmed" && isTaken(current.claims, inquiry))
      return claim === undefined ? current : fail(current, claim, { outcome: TAKEN, nowMs });
    if (outcome.kind === "confirmed") return confirm(current, claim ?? inquiry, { declared: outcome.declared, nowMs });
    return claim === undefined ? current : fail(current, claim, { outcome, nowMs });
  }, entry);
  return withVerification(applied);
}

function isTaken(claims: readonly Claim[], inquiry: Inquiry): boolean {
  return claims.some((claim) => isConfirmed(claim) && serverOf(claim) !== serverOf(inquiry));
}

/** The server that decides about a claim. Those for a URL have one; any server may claim the name of a tool. */
export function serverOf({ question }: Inquiry): string {
  return new URL(question.url).origin;
}

/** Lists what the server declares. The payment only led to it. */
function confirm(
  { service, claims }: ClaimedEntry,
  claim: Inquiry & Partial<Claim>,
  { declared, nowMs }: { readonly declared: Registration; readonly nowMs: number },
): ClaimedEntry {
  const question = questionOf(declared) ?? claim.question;
  const { terms, isDoubted } = claim;
  const times = { checkedMs: nowMs, confirmedMs: nowMs, dueMs: nowMs + DAY_MS };
  const confirmed: Claim = { question, terms, isDoubted, failures: 0, ...times };
  const isNew = !isConfirmed(claim);
  // The seller may have moved to another address. Then the server denies the former one.
  const others = claims
    .filter((one) => one !== claim)
    .map((one) => (isNew && isConfirmed(one) ? { ...one, dueMs: nowMs } : one));
  // Offers of those who were believed so far vanish.
  const owned =
    service && keepOffers(service, (...offer) => isClaimedBy([...others.filter(isConfirmed), confirmed], ...offer));
  return {
    service: methodListedAs(owned, declared)
      ? owned
      : putOffer(owned, declared, { updatedMs: nowMs, isDescribing: true }),
    claims: [...others, confirmed],
  };
}

/** The method of an entry that already says what a registration declares. */
function methodListedAs(service: Service | undefined, registration: Registration): ServiceMethod | undefined {
  const { offer, type: _, resource: __, toolName: ___, ...declared } = registration;
  return service?.methods.find(({ offers, updatedMs: _, ...listed }) => {
    const isSame = textOf(listed) === textOf(declared);
    return isSame && offers.some((one) => JSON.stringify(one) === JSON.stringify(offer));
  });
}

/** Values of path parameters are those of one request. */
function textOf({ info, ...declared }: Pick<Registration, "info">): string {
  const { pathParams: _, ...input } = info.input;
  return JSON.stringify({ ...declared, info: { ...info, input } });
}

/** Says when the last payment came. Nothing else of it is shown. */
function touch(service: Service, paid: ServiceMethod, updatedMs: number): Service {
  return { ...service, methods: service.methods.map((one) => (one === paid ? { ...paid, updatedMs } : one)) };
}

/** How long a claim waits after a failed check. */
function delayOf({ failures, confirmedMs }: Claim, kind: string): number {
  if (confirmedMs !== undefined && failures >= FADING) return failures < FADING + RETURNS ? CHANGE_MS : HOUR_MS;
  return DELAYS_MS[Math.min(kind === "unreachable" ? failures - 1 : failures, DELAYS_MS.length - 1)] ?? DAY_MS;
}

function fail(
  { service, claims }: ClaimedEntry,
  claim: Claim,
  { outcome, nowMs }: { readonly outcome: NonNullable<Claim["failure"]>; readonly nowMs: number },
): ClaimedEntry {
  const { kind } = outcome;
  const { confirmedMs } = claim;
  const checked: Claim = { ...claim, checkedMs: nowMs, asked: undefined };
  // Out of its turn, a stranger may have chosen the moment and the question.
  const isScheduled = claim.dueMs <= nowMs;
  if (confirmedMs !== undefined && !isScheduled)
    return { service, claims: claims.map((one) => (one === claim ? checked : one)) };
  const failures = claim.failures + (isScheduled ? 1 : 0);
  const counted: Claim = { ...checked, failures, failure: outcome };
  const failed: Claim = isScheduled ? { ...counted, dueMs: nowMs + delayOf(counted, kind) } : counted;
  const isFading = confirmedMs !== undefined && kind !== "denied" && nowMs < confirmedMs + GONE_MS;
  const isForgotten = confirmedMs === undefined ? failures > MAX_FAILURES : !isFading;
  // A server that has not confirmed the name of a tool says nothing about others that have it.
  const isOthers = confirmedMs === undefined && isIdentifier(claim.question.resource);
  const isKept = isFading || isOthers || (confirmedMs === undefined && kind === "unreachable");
  return {
    service: isKept ? service : service && keepOffers(service, (...offer) => !isClaimedBy([claim], ...offer)),
    // A failed claim keeps its place, so that newer ones are checked first.
    claims: claims.flatMap((one) => (one !== claim ? one : isForgotten ? [] : failed)),
  };
}

/** Says since when the owner confirms the entry. Forgets confirmed claims whose offers were replaced by newer ones. */
function withVerification({ service, claims }: ClaimedEntry): ClaimedEntry {
  if (service === undefined) return { claims: claims.filter((claim) => !isConfirmed(claim)) };
  const { verifiedMs: _, ...listed } = service;
  const offered = new Set<Claim>();
  keepOffers(service, (method, offer) => {
    for (const claim of claims) if (isClaimedBy([claim], method, offer)) offered.add(claim);
    return true;
  });
  const current = claims.filter((claim) => !isConfirmed(claim) || offered.has(claim));
  const times = current.flatMap(({ confirmedMs, failures }) => (failures < FADING ? (confirmedMs ?? []) : []));
  return {
    service: times.length === 0 ? listed : { ...listed, verifiedMs: Math.max(...times) },
    claims: current,
  };
}

function isConfirmed({ confirmedMs }: Partial<Claim>): boolean {
  return confirmedMs !== undefined;
}

function isClaimedBy(claims: readonly Claim[], method: string, offer: RegisteredOffer): boolean {
  return claims.some(({ question, terms }) => question.method === method && isSameTerms(terms, offer));
}

function isSameClaim(one: Inquiry, other: Inquiry): boolean {
  const isSame = one.question.method === other.question.method && serverOf(one) === serverOf(other);
  return isSame && isSameTerms(one.terms, other.terms);
}

function termsOf({ scheme, network, asset, payTo }: RegisteredOffer): Inquiry["terms"] {
  return { scheme, network, asset, payTo };
}
