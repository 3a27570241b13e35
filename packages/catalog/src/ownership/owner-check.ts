/**
 * Checks with the server of a URL whether it makes an offer: first its `/.well-known/x402`, then the 402 of the resource.
 *
 * Strangers decide which servers are checked, so requests are limited for each server.
 *
 * @module
 */
import type { RegistrationRules } from "@farebox/bazaar/facilitator";
import { type Fetched, fetchGuarded, type Network } from "./guarded-fetch.js";
import {
  isElsewhere,
  judgeChallenge,
  judgeWellKnown,
  type NamedRoute,
  type OfferTerms,
  type Outcome,
  type Question,
  readWellKnown,
} from "./proof.js";

/** An offer, and where it must appear. */
export interface Inquiry {
  readonly question: Question;
  readonly terms: OfferTerms;
  /**
   * Whether somebody has paid more than the server said. Then the 402 of the resource, which buyers get, comes before the document.
   */
  readonly isDoubted?: boolean | undefined;
}

/** Checks offers. */
export interface OwnerCheck {
  /**
   * Checks the claims of one entry. An outcome is `undefined` while there were too many requests to the server: see `waitMs`.
   * Never rejects.
   */
  check(inquiries: readonly Inquiry[]): Promise<{
    readonly outcomes: readonly (Outcome | undefined)[];
    readonly waitMs: number;
  }>;
}

const MAX_CHALLENGE = 64 * 1_024;
/** The document holds all routes of a server. */
const MAX_DOCUMENT = 256 * 1_024;
/** How long a document is kept. */
const DOCUMENT_MS = 60_000;
const MAX_DOCUMENTS = 20;
/** Requests for the resources of one entry in one check. */
const MAX_RESOURCES = 4;

/** Creates the check. */
export function createOwnerCheck(rules: Omit<Network, "takeAddress">, now: () => number): OwnerCheck {
  const network = { ...rules, takeAddress: createAddressLimits(now) };
  const limits = createOriginLimits(now);
  const documents = createDocuments(network, limits, now);

  async function judgeByDocument(origin: string, inquiries: readonly Inquiry[]): Promise<(Outcome | undefined)[]> {
    const judge = (named: Named | undefined): (Outcome | undefined)[] =>
      inquiries.map(({ question, terms }) =>
        named === undefined ? undefined : judgeDocument({ question, terms }, named, network),
      );
    const known = await documents.known(origin);
    const outcomes = judge(known ?? (await documents.fetch(origin)));
    const isOutdated = inquiries.some(({ question }, at) => question.type === "mcp" && !isConfirmed(outcomes[at]));
    // Only the document can confirm a tool, so an older one does not refuse it.
    return known !== undefined && isOutdated ? judge(await documents.fetch(origin)) : outcomes;
  }

  /** Lets the resources decide where the document did not confirm. */
  async function judgeByResources(
    origin: string,
    inquiries: readonly Inquiry[],
    outcomes: (Outcome | undefined)[],
  ): Promise<void> {
    const responses = new Map<string, Fetched>();
    let failure: Fetched | undefined;
    for (const [at, { question, terms, isDoubted = false }] of inquiries.entries()) {
      const byDocument = outcomes[at];
      if (question.type === "mcp" || (isFinal(byDocument) && !(isDoubted && isConfirmed(byDocument)))) continue;
      const { method, url } = question;
      const key = `${method} ${url}`;
      let response = responses.get(key) ?? failure;
      if (response === undefined && responses.size < MAX_RESOURCES && limits.take(origin)) {
        const target = { method, url: new URL(url), status: 402, maxBytes: MAX_CHALLENGE };
        response = await fetchGuarded(target, network);
        responses.set(key, response);
        // A server that does not respond to one request gets no other.
        if (!response.ok) failure = response;
      }
      outcomes[at] = judgeBoth(byDocument, response && judgeFetched({ question, terms }, response, network));
    }
  }

  return {
    async check(inquiries) {
      const [first] = inquiries;
      if (first === undefined) return { outcomes: [], waitMs: 0 };
      // Every claim of an entry has the entry's URL, so there is one server.
      const { origin } = new URL(first.question.url);
      if (!limits.enter(origin)) return { outcomes: inquiries.map(() => undefined), waitMs: INTERVAL_MS };
      try {
        const outcomes = await judgeByDocument(origin, inquiries);
        await judgeByResources(origin, inquiries, outcomes);
        return { outcomes, waitMs: outcomes.includes(undefined) ? limits.waitMs(origin) : 0 };
      } finally {
        limits.leave(origin);
      }
    },
  };
}

/** What a document and the resource say together; `undefined` while the resource has to wait. */
function judgeBoth(byDocument: Outcome | undefined, byResource: Outcome | undefined): Outcome | undefined {
  if (byDocument === undefined || byResource === undefined || isConfirmed(byResource)) return byResource;
  const isOverruled = byDocument.kind === "absent" || (byDocument.kind === "denied" && byResource.kind === "denied");
  return isOverruled ? byResource : byDocument;
}

function isConfirmed(outcome: Outcome | undefined): boolean {
  return outcome?.kind === "confirmed";
}

/** Whether no resource has to decide. A server that does not respond with its document gets no other request. */
function isFinal(outcome: Outcome | undefined): boolean {
  return isConfirmed(outcome) || isElsewhere(outcome) || outcome?.kind === "unreachable";
}

interface Documents {
  /** The document of a server that was fetched within a minute. */
  known(origin: string): Promise<Named | undefined> | undefined;
  /** Fetches it; `undefined` while there were too many requests to the server. */
  fetch(origin: string): Promise<Named | undefined> | undefined;
}

/** One document decides about all routes of its server. */
function createDocuments(network: Network, limits: OriginLimits, now: () => number): Documents {
  const kept = new Map<string, { readonly untilMs: number; readonly named: Promise<Named | undefined> }>();
  return {
    known(origin) {
      const document = kept.get(origin);
      return document !== undefined && now() < document.untilMs ? document.named : undefined;
    },
    fetch(origin) {
      if (!limits.take(origin)) return undefined;
      kept.delete(origin);
      for (const oldest of kept.keys()) {
        if (kept.size < MAX_DOCUMENTS) break;
        kept.delete(oldest);
      }
      const url = new URL("/.well-known/x402", origin);
      const target = { method: "GET", url, status: 200, maxBytes: MAX_DOCUMENT };
      const named = fetchGuarded(target, network).then((fetched): Named | undefined => {
        if (fetched.ok) return readWellKnown(fetched.body ?? "", origin);
        // The next check tries again.
        if (kept.get(origin)?.named === named) kept.delete(origin);
        return fetched.isBusy ? undefined : fetched.problem;
      });
      kept.set(origin, { untilMs: now() + DOCUMENT_MS, named });
      return named;
    },
  };
}

/** What a document names, or why it could not be fetched. */
type Named = readonly NamedRoute[] | string;

/** `undefined` where the document leaves the decision to the resource. */
function judgeDocument({ question, terms }: Inquiry, named: Named, rules: RegistrationRules): Outcome | undefined {
  if (typeof named === "string") return { kind: "unreachable", reason: `the server of the URL ${named}` };
  const silent = { kind: "unreachable", reason: "/.well-known/x402 of the server does not name the tool" } as const;
  return judgeWellKnown(question, terms, named, rules) ?? (question.type === "mcp" ? silent : undefined);
}

/** Statuses that say nothing about a resource. */
function isFailing(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** `undefined` if the request has to wait. */
function judgeFetched({ question, terms }: Inquiry, fetched: Fetched, rules: RegistrationRules): Outcome | undefined {
  if (!fetched.ok && fetched.isBusy) return undefined;
  if (!fetched.ok) return { kind: "unreachable", reason: `the server of the URL ${fetched.problem}` };
  const { status } = fetched;
  if (status === 402) return judgeChallenge(question, terms, fetched, rules);
  const reason = `the server of the URL responds with ${status} to an unpaid request`;
  return { kind: isFailing(status) ? "unreachable" : "absent", reason };
}

interface OriginLimits {
  /** Begins a check, unless there are too many of this server: a slow server must not hold up others. */
  enter(origin: string): boolean;
  leave(origin: string): void;
  /** Counts a request, unless there were too many. */
  take(origin: string): boolean;
  /** How long a claim waits for its turn. Each call is another turn. */
  waitMs(origin: string): number;
}

/** Checks at once. */
const MAX_CHECKS = 4;
/** Requests at once, and one more each second. */
const BURST = 10;
const INTERVAL_MS = 1_000;
const MAX_ORIGINS = 5_000;
/** Claims that wait longer take any turn of this time. */
const MAX_WAIT_MS = 3_600_000;

interface OriginLimit {
  checks: number;
  /** When the last counted request is forgotten. */
  freeMs: number;
  /** The last turn that was given away. */
  turnMs: number;
}

/** Requests to one address at once, and one more each 100 ms. Many servers may share one. */
const ADDRESS_BURST = 20;
const ADDRESS_INTERVAL_MS = 100;

/** Limits requests to each address, under all names that lead there. */
function createAddressLimits(now: () => number): Network["takeAddress"] {
  const freeAt = new Map<string, number>();
  return (address) => {
    const key = networkOf(address);
    const earliestMs = now() - ADDRESS_BURST * ADDRESS_INTERVAL_MS;
    const freeMs = Math.max(freeAt.get(key) ?? 0, earliestMs) + ADDRESS_INTERVAL_MS;
    if (freeMs > now()) return false;
    // The last one used is the last one forgotten.
    freeAt.delete(key);
    freeAt.set(key, freeMs);
    for (const oldest of freeAt.keys()) {
      if (freeAt.size <= MAX_ORIGINS) break;
      freeAt.delete(oldest);
    }
    return true;
  };
}

/** One machine may have all addresses of an IPv6 network. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail = ""] = address.toLowerCase().split("::");
  const [groups, last] = [head, tail].map((part) => (part === "" ? [] : part.split(":")));
  const zeros = Array.from({ length: Math.max(0, 8 - (groups?.length ?? 0) - (last?.length ?? 0)) }, () => "0");
  return [...(groups ?? []), ...zeros, ...(last ?? [])].slice(0, 4).join(":");
}

/** Limits requests to each server. Keeps only servers with requests of the last seconds. */
function createOriginLimits(now: () => number): OriginLimits {
  const origins = new Map<string, OriginLimit>();

  function limitOf(origin: string): OriginLimit {
    const known = origins.get(origin);
    if (known !== undefined) return known;
    if (origins.size >= MAX_ORIGINS) {
      const isOver = (limit: OriginLimit): boolean =>
        limit.checks === 0 && Math.max(limit.freeMs, limit.turnMs) <= now();
      for (const [name, limit] of origins) if (isOver(limit)) origins.delete(name);
    }
    // All of them are busy. One is forgotten, and its limit begins anew.
    const [oldest] = origins.keys();
    if (origins.size >= MAX_ORIGINS && oldest !== undefined) origins.delete(oldest);
    const limit = { checks: 0, freeMs: 0, turnMs: 0 };
    origins.set(origin, limit);
    return limit;
  }

  return {
    enter(origin) {
      const limit = limitOf(origin);
      if (limit.checks >= MAX_CHECKS) return false;
      limit.checks += 1;
      return true;
    },
    leave(origin) {
      const limit = limitOf(origin);
      limit.checks = Math.max(0, limit.checks - 1);
    },
    take(origin) {
      const limit = limitOf(origin);
      const freeMs = Math.max(limit.freeMs, now() - BURST * INTERVAL_MS) + INTERVAL_MS;
      if (freeMs > now()) return false;
      limit.freeMs = freeMs;
      return true;
    },
    waitMs(origin) {
      const limit = limitOf(origin);
      limit.turnMs = Math.max(limit.turnMs, limit.freeMs, now()) + INTERVAL_MS;
      const waitMs = limit.turnMs - now();
      return waitMs <= MAX_WAIT_MS ? waitMs : Math.ceil(Math.random() * MAX_WAIT_MS);
    },
  };
}
