/**
 * Checks claims in the background. Several processes share the work by leases in the store.
 *
 * @module
 */
import { setMaxListeners } from "node:events";
import type { Registered, Registration } from "@farebox/bazaar/facilitator";
import { facetsOfFilter } from "../facets.js";
import { readService, type Service } from "../service.js";
import type { CatalogStore, Decide, DueEntry, EntryChange, EntryChecks, EntryKey } from "../store.js";
import {
  applyOutcomes,
  askedInquiry,
  type Claim,
  type ClaimedEntry,
  claimEntry,
  dueClaims,
  nextDueOf,
  type PayeeServers,
  serverOf,
  type Unverified,
} from "./claims.js";
import { type HostLookup, lookupLocal, lookupPublic } from "./guarded-fetch.js";
import { createOwnerCheck } from "./owner-check.js";
import type { Outcome } from "./proof.js";
import { isIdentifier } from "./proof.js";

/** Where claims are kept, and how they are checked. */
export interface OwnersDeps {
  readonly store: CatalogStore;
  readonly allowLocal: boolean;
  readonly unverified: Unverified;
  readonly lookup: HostLookup | undefined;
  readonly now: () => number;
  /** The indexed parts of an entry; without a service, of an entry that is not listed. */
  readonly toChange: (key: EntryKey, service: Service | undefined, updatedMs: number) => EntryChange;
}

/** The owners of entries. */
export interface Owners {
  register(registration: Registration): Promise<Registered>;
  /** Checks everything that is due, and waits for the outcomes. */
  checkDue(): Promise<void>;
  /** Stops the work in the background. */
  close(): Promise<void>;
}

/** Of one request. */
const TIME_LIMIT_MS = 5_000;
/** Entries that one process checks at once. */
const MAX_RUNNING = 16;
/** Longer than any check takes. */
const LEASE_MS = 60_000;
/** How often the store is searched for due claims. A registration does not wait for that. */
const POLL_MS = 15_000;
/** The same, while claims wait for their turn. */
const WAKE_MS = 1_000;
/** Entries of a payee that are searched for its servers: so many at once, so many times. */
const PAGE = 10;
const MAX_PAGES = 10;

/** Creates the owners, and starts to check their claims. */
export function createOwners(deps: OwnersDeps): Owners {
  const { store, allowLocal, unverified, now, toChange } = deps;
  const end = new AbortController();
  const { signal } = end;
  // Each open request listens.
  setMaxListeners(0, signal);
  const { lookup = allowLocal ? lookupLocal : lookupPublic } = deps;
  const { check } = createOwnerCheck({ allowLocal, lookup, signal, timeLimitMs: TIME_LIMIT_MS }, now);
  const running = new Set<Promise<void>>();
  let wake: NodeJS.Timeout | undefined;

  function start(): void {
    if (running.size >= MAX_RUNNING || signal.aborted) return;
    const run: Promise<void> = work().finally(() => running.delete(run));
    running.add(run);
  }

  function startSoon(): void {
    wake ??= setTimeout(() => {
      wake = undefined;
      start();
    }, WAKE_MS).unref();
  }

  /** Checks entries until none is due. Never rejects: without the store, the next start tries again. */
  async function work(): Promise<void> {
    try {
      while (!signal.aborted) {
        const [due] = await store.takeDue({ nowMs: now(), untilMs: now() + LEASE_MS, limit: 1 });
        if (due === undefined || signal.aborted) return;
        start();
        await checkEntry(due);
      }
    } catch {
      // The lease ends, and then the entry is due again.
    }
  }

  async function checkEntry({ id, claims }: DueEntry): Promise<void> {
    const due = dueClaims(readClaims(claims), now());
    // Several servers may claim the name of a tool. One that has to wait holds up no other.
    const checks = await Promise.all(byServer(due).map(checkClaims));
    if (signal.aborted) return;
    const [first] = due;
    const known = checks.flatMap(({ known }) => known);
    const waitMs = Math.max(0, ...checks.map((one) => one.waitMs));
    if (waitMs > 0) startSoon();
    if (first === undefined || known.length === 0) return store.postpone(id, now() + Math.max(waitMs, WAKE_MS));
    const { resource, toolName } = first.question;
    await store.update({ resource, toolName }, (found) => {
      const entry = applyOutcomes(readEntry(found), known, now());
      return changeFor({ resource, toolName }, entry, {
        found,
        leasedMs: 0,
        earliestMs: waitMs === 0 ? 0 : now() + waitMs,
      });
    });
  }

  /** Checks claims of one server. A claim without an outcome has to wait. */
  async function checkClaims(claims: readonly Claim[]): Promise<Checked> {
    const inquiries = [...claims.map((claim) => ({ claim, inquiry: claim })), ...claims.flatMap(askedInquiry)];
    const { outcomes, waitMs } = await check(inquiries.map(({ inquiry }) => inquiry));
    const known = claims.flatMap((claim) => {
      const ofClaim = outcomes.filter((_, at) => inquiries[at]?.claim === claim);
      const outcome = ofClaim.find((one) => one?.kind === "confirmed") ?? ofClaim[0];
      return outcome === undefined ? [] : [[claim, outcome] as const];
    });
    return { known, waitMs };
  }

  /** An entry without a service stays in the store while a claim waits. */
  function changeFor(
    key: EntryKey,
    { service, claims }: ClaimedEntry,
    { found, leasedMs, earliestMs }: Schedule,
  ): EntryChange | "remove" | undefined {
    if (service === undefined && claims.length === 0) return found && "remove";
    const updatedMs = Math.max(...(service?.methods ?? []).map((method) => method.updatedMs), 0) || now();
    const dueMs = nextDueOf(claims);
    const checks: EntryChecks = {
      claims: JSON.stringify(claims),
      dueMs: dueMs === undefined ? undefined : Math.max(dueMs, earliestMs),
      leasedMs,
    };
    const change = { ...toChange(key, service, updatedMs), checks };
    const isHidden = unverified === "hide" && service?.verifiedMs === undefined;
    return isHidden ? { ...change, facets: [] } : change;
  }

  /**
   * The servers that confirm other offers of a payee who has the name of a tool and no server. Anyone may confirm offers that pay
   * another.
   */
  async function serversOfPayee({ resource, serverUrl, offer }: Registration): Promise<PayeeServers> {
    if (!isIdentifier(resource) || serverUrl !== undefined) return { isAmbiguous: false };
    const facets = facetsOfFilter({ payTo: offer.payTo, verified: true });
    const origins = new Set<string>();
    let after = 0;
    for (let page = 0; page < MAX_PAGES; page++) {
      const found = await store.list({ facets, limit: PAGE, offset: 0, after });
      const urls = found.map(readService).map((service) => service.methods[0]?.serverUrl ?? service.resource);
      for (const url of urls) if (!isIdentifier(url)) origins.add(new URL(url).origin);
      const [only] = origins;
      if (origins.size > 1) return { isAmbiguous: true };
      if (found.length < PAGE) return only === undefined ? { isAmbiguous: false } : { only, isAmbiguous: false };
      after = found.at(-1)?.id ?? 0;
    }
    // The rest may have another server.
    return { isAmbiguous: true };
  }

  const timer = setInterval(start, POLL_MS);
  timer.unref();

  return {
    async register(registration) {
      const { resource, toolName } = registration;
      const servers = await serversOfPayee(registration);
      let registered: Registered = { kind: "processing" };
      await store.update({ resource, toolName }, (found) => {
        const result = claimEntry(readEntry(found), registration, { unverified, nowMs: now(), servers });
        ({ registered } = result);
        const leasedMs = found?.checks.leasedMs ?? 0;
        return result.entry && changeFor({ resource, toolName }, result.entry, { found, leasedMs, earliestMs: 0 });
      });
      start();
      return registered;
    },
    async checkDue() {
      start();
      while (running.size > 0) await Promise.all(running);
    },
    async close() {
      clearInterval(timer);
      clearTimeout(wake);
      end.abort();
      await Promise.all(running);
    },
  };
}

/** Claims of one entry, by the server that decides about them. */
function byServer(claims: readonly Claim[]): readonly (readonly Claim[])[] {
  const servers = new Map<string, Claim[]>();
  for (const claim of claims) {
    const server = serverOf(claim);
    servers.set(server, [...(servers.get(server) ?? []), claim]);
  }
  return [...servers.values()];
}

type Found = Parameters<Decide>[0];

interface Checked {
  readonly known: readonly (readonly [Claim, Outcome])[];
  readonly waitMs: number;
}

interface Schedule {
  readonly found: Found;
  readonly leasedMs: number;
  /** The entry is not due before. */
  readonly earliestMs: number;
}

function readEntry(found: Found): ClaimedEntry {
  if (found === undefined) return { claims: [] };
  const service = readService(found);
  return { service: service.methods.length === 0 ? undefined : service, claims: readClaims(found.checks.claims) };
}

function readClaims(claims: string): readonly Claim[] {
  return JSON.parse(claims) as readonly Claim[];
}
