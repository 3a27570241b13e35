/** Payment stores with a fault in their identifiers, each in one way. */
import { setImmediate } from "node:timers/promises";
import { type Claim, createMemoryStore, type PaymentStore, type Transition } from "@farebox/core";
import { changing, connectionTo, reading } from "./faulty-stores.fixture.js";

type Now = () => number;

const TAKEN: Claim = { kind: "identifier_taken" };

/** Replaces `claim`. */
function claiming(now: Now, how: (store: PaymentStore) => PaymentStore["claim"]): PaymentStore {
  const store = createMemoryStore(now);
  return { ...connectionTo(store), claim: how(store) };
}

export function ignoresIdentifiers(now: Now): PaymentStore {
  return claiming(
    now,
    (store) =>
      ({ identifier: _, ...rest }) =>
        store.claim(rest),
  );
}

/** Keeps identifiers in their own table, and reads before it writes. */
export function looksThenIdentifies(now: Now): PaymentStore {
  const taken = new Set<string>();
  return claiming(now, (store) => async ({ identifier, ...rest }) => {
    const isTaken = identifier !== undefined && taken.has(identifier);
    await setImmediate();
    if (isTaken && (await store.find(rest.identity)) === undefined) return TAKEN;
    if (identifier !== undefined) taken.add(identifier);
    return store.claim(rest);
  });
}

export function looksAtIdentifiersFirst(now: Now): PaymentStore {
  return claiming(now, (store) => async (request) => {
    const probe = await store.claim({ ...request, identity: "probe" });
    if (probe.kind === "claimed") await store.release("probe", request.owner);
    return probe.kind === "identifier_taken" ? TAKEN : store.claim(request);
  });
}

export function reservesBeforeItRefuses(now: Now): PaymentStore {
  let reserved = 0;
  return claiming(now, (store) => async (request) => {
    const claim = await store.claim(request);
    if (claim.kind === "taken") await store.claim({ ...request, identity: `reserved ${reserved++}` });
    return claim;
  });
}

/** Refuses a claim, and writes its record anyway. */
export function recordsWhatItRefuses(now: Now): PaymentStore {
  return claiming(now, (store) => async (request) => {
    const { identifier: _, ...rest } = request;
    const claim = await store.claim(request);
    if (claim.kind === "identifier_taken") await store.claim(rest);
    return claim;
  });
}

export function hidesIdentifiers(now: Now): PaymentStore {
  return reading(createMemoryStore(now), ({ identifier: _, ...rest }) => rest);
}

export function freesWhatIsSettled(now: Now): PaymentStore {
  return changing(now, (change) => (change.to === "settled" ? { ...change, identifier: null } : change));
}

/** Stores digests in a column that ignores case. */
export function identifiersInLowerCase(now: Now): PaymentStore {
  return claiming(now, (store) => (request) => {
    const { identifier } = request;
    return store.claim({ ...request, ...(identifier && { identifier: identifier.toLowerCase() }) });
  });
}

/** Keeps identities and identifiers as keys of one table. */
export function identifiersAmongIdentities(now: Now): PaymentStore {
  return claiming(now, (store) => async (request) => {
    const { identity, identifier } = request;
    if ((await store.find(identity)) !== undefined || identifier === undefined) return store.claim(request);
    return (await store.find(identifier)) === undefined ? store.claim(request) : TAKEN;
  });
}

/** The events that free an identifier in a table of its own. */
interface Freeing {
  /** Whether a release frees it, and whether the release was done. */
  readonly release: (released: boolean) => boolean;
  readonly transition: (taken: boolean, change: Transition) => boolean;
  readonly expiry: boolean;
  /** Of its last payment, or of its first. */
  readonly of: "owner" | "any";
}

const RIGHT: Freeing = {
  release: (released) => released,
  transition: (taken, { identifier }) => taken && identifier === null,
  expiry: true,
  of: "owner",
};

export const neverFreedByRelease = (now: Now) =>
  identifiersApart(now, { ...RIGHT, release: () => false, expiry: false });
export const freedByAnyRelease = (now: Now) => identifiersApart(now, { ...RIGHT, release: () => true });
export const neverFreedByNull = (now: Now) => identifiersApart(now, { ...RIGHT, transition: () => false });
export const freedByRefusedTransition = (now: Now) =>
  identifiersApart(now, { ...RIGHT, transition: (_, { identifier }) => identifier === null });
export const neverFreedByExpiry = (now: Now) => identifiersApart(now, { ...RIGHT, expiry: false });
/** A released payment frees the identifier that it once had, even if another payment has it now. */
export const freedByFormerPayment = (now: Now) => identifiersApart(now, { ...RIGHT, of: "any" });

function identifiersApart(now: Now, freeing: Freeing): PaymentStore {
  const store = createMemoryStore(now);
  const byIdentifier = new Map<string, string>();
  const byIdentity = new Map<string, string>();
  const free = (identity: string) => {
    const identifier = byIdentity.get(identity);
    if (identifier === undefined) return;
    if (freeing.of === "any" || byIdentifier.get(identifier) === identity) byIdentifier.delete(identifier);
    if (freeing.of === "owner") byIdentity.delete(identity);
  };
  const isThere = async (identity: string) => (await store.find(identity)) !== undefined;
  const shown = reading(store, (record) => {
    const identifier = byIdentity.get(record.identity);
    const isIts = identifier !== undefined && byIdentifier.get(identifier) === record.identity;
    return { ...record, ...(isIts && { identifier }) };
  });
  return {
    ...shown,
    async claim({ identifier, ...request }) {
      const holder = identifier === undefined ? undefined : byIdentifier.get(identifier);
      const isFree = holder === undefined || (freeing.expiry && !(await isThere(holder)));
      if (!isFree && !(await isThere(request.identity))) return TAKEN;
      const claim = await shown.claim(request);
      if (claim.kind === "claimed" && identifier !== undefined) {
        byIdentifier.set(identifier, request.identity);
        byIdentity.set(request.identity, identifier);
      }
      return claim;
    },
    async transition(change) {
      const taken = await store.transition(change);
      if (freeing.transition(taken, change)) free(change.identity);
      return taken;
    },
    async release(identity, owner) {
      await store.release(identity, owner);
      if (freeing.release(!(await isThere(identity)))) free(identity);
    },
  };
}
