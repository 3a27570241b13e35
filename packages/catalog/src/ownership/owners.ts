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
  type Claim,
  type ClaimedEntry,
  claimEntry,
  dueClaims,
  nextDueOf,
  serverOf,
  type Unverified,
} from "./claims.js";
import { type HostLookup, lookupLocal, lookupPublic } from "./guarded-fetch.js";
import { createOwnerCheck } from "./owner-check.js";
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
/** Entries of a payee that are searched for its server. */
const MAX_SEARCHED = 10;

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
    const checks = await Promise.all(byServer(due).map(async (some) => ({ some, ...(await check(some)) })));
    if (signal.aborted) return;
    const [first] = due;
    const known = checks.flatMap(({ some, outcomes }) =>
      some.flatMap((claim, at) => (outcomes[at] === undefined ? [] : [[claim, outcomes[at]] as const])),
    );
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

  /** Where a payee sells that has the name of a tool and no server: at the first server that confirms another offer of that payee. */
  async function originOfPayee({ resource, serverUrl, offer }: Registration): Promise<string | undefined> {
    if (!isIdentifier(resource) || serverUrl !== undefined) return undefined;
    const facets = facetsOfFilter({ payTo: offer.payTo, verified: true });
    const found = await store.list({ facets, limit: MAX_SEARCHED, offset: 0, after: 0 });
    const urls = found.map(readService).map((service) => service.methods[0]?.serverUrl ?? service.resource);
    const url = urls.find((one) => !isIdentifier(one));
    return url && new URL(url).origin;
  }

  const timer = setInterval(start, POLL_MS);
  timer.unref();

  return {
    async register(registration) {
      const { resource, toolName } = registration;
      const origin = await originOfPayee(registration);
      let registered: Registered = { kind: "processing" };
      await store.update({ resource, toolName }, (found) => {
        const result = claimEntry(readEntry(found), registration, { unverified, nowMs: now(), origin });
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
