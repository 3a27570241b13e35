/**
 * Writes down what a process tells its store, and what became of records.
 *
 * @module
 */
import type {
  Claim,
  ClaimRequest,
  MaybePromise,
  PaymentRecord,
  PaymentStore,
  StoredAnswer,
  Transition,
} from "@farebox/core";
import { digest } from "./random.js";
import type { Transcript } from "./transcript.js";

/** How one process is written down. */
export interface Scribe {
  readonly transcript: Transcript;
  readonly now: () => number;
  /** `payment 1` for an identity, or a text with one. */
  readonly nameOf: (identity: string) => string;
  /** The lane of a process and a payment; `undefined`: the process is dead, and nothing of it is noted. */
  readonly laneOf: (payment: string) => string | undefined;
}

/** Notes every call of a store. The object stays the one it is, so that a memory store is known as one. */
export function recorded<S extends PaymentStore>(store: S, scribe: Scribe): S {
  const { claim, find, transition, release, unfinished, renew, keep, ready, runs, exposure } = store;
  const bound = <T extends (...args: never[]) => unknown>(method: T): T => method.bind(store) as T;
  const follow = <T>(call: () => MaybePromise<T>, note: (outcome: T) => void): MaybePromise<T> => {
    return then(call(), (value) => {
      note(value);
      return value;
    });
  };
  const put = (kind: "state" | "store", identity: string, text: string) => {
    const lane = scribe.laneOf(scribe.nameOf(identity));
    if (lane !== undefined) scribe.transcript.note(kind, lane, text);
  };
  Object.assign(store, {
    claim(request: ClaimRequest) {
      return follow<Claim>(
        () => bound(claim)(request),
        (outcome) => {
          const found = outcome.kind === "taken" ? ` ${outcome.record.state}` : "";
          put("store", request.identity, `claim ${written(request, scribe)}: ${outcome.kind}${found}`);
          if (outcome.kind === "claimed") put("state", request.identity, "nothing → claimed");
        },
      );
    },
    find(identity: string) {
      return follow<PaymentRecord | undefined>(
        () => bound(find)(identity),
        (record) => put("store", identity, `find: ${record?.state ?? "nothing"}`),
      );
    },
    transition(change: Transition) {
      return follow(
        () => bound(transition)(change),
        (isDone) => {
          put("store", change.identity, `transition ${written(change, scribe)}: ${isDone}`);
          if (isDone && change.from !== change.to) put("state", change.identity, becoming(change));
        },
      );
    },
    release(identity: string, owner: string) {
      return follow(
        () => bound(release)(identity, owner),
        () => {
          put("store", identity, `release by ${ownerOf(owner, scribe)}`);
          put("state", identity, "released");
        },
      );
    },
    unfinished() {
      put("store", "", "unfinished");
      return bound(unfinished)();
    },
    ...(renew && {
      renew: (owned: Parameters<typeof renew>[0], untilMs: number) =>
        follow(
          () => bound(renew)(owned, untilMs),
          () => put("store", "", `renew ${owned.length} for ${untilMs - scribe.now()} ms`),
        ),
    }),
    ...(keep && {
      keep: (name: string, value: string) =>
        follow(
          () => bound(keep)(name, value),
          () => put("store", "", `keep ${name}`),
        ),
    }),
    ...(ready && {
      ready: () =>
        follow(
          () => bound(ready)(),
          () => {},
        ),
    }),
    ...(runs && {
      runs: {
        put(run: Parameters<typeof runs.put>[0], nowMs: number) {
          const { runs: labels } = scribe.transcript;
          const label = labels.of(run.id);
          return follow(
            () => then(runs.put(run, nowMs), (all) => sorted(all, ({ id }) => labels.of(id))),
            (all) => put("store", run.identity, `run ${label}${run.isAbandoned ? " abandoned" : ""}: ${all.length}`),
          );
        },
        remove: (run: Parameters<typeof runs.remove>[0]) =>
          follow(
            () => runs.remove(run),
            () => put("store", "", `run ${scribe.transcript.runs.of(run.id)} ends`),
          ),
      },
    }),
    ...(exposure && {
      exposure: {
        put: (entry: Parameters<typeof exposure.put>[0], nowMs: number) =>
          follow(
            () => then(exposure.put(entry, nowMs), (sums) => ({ ...sums, due: [...sums.due].sort() })),
            ({ payer, total, due }) =>
              put(
                "store",
                entry.identity,
                `exposure ${entry.micros}${entry.isDue ? " due" : ""}: ${payer} of ${total}, ${due.length} due`,
              ),
          ),
        remove: (entry: Parameters<typeof exposure.remove>[0]) =>
          follow(
            () => exposure.remove(entry),
            () => put("store", entry.identity, "exposure ends"),
          ),
      },
    }),
  });
  return store;
}

/** At once, if it can be. */
function then<T, U>(value: MaybePromise<T>, next: (value: T) => U): MaybePromise<U> {
  return isPromise(value) ? value.then(next) : next(value);
}

function isPromise<T>(value: MaybePromise<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value;
}

/** Stores list in an order of their own, which differs from one time to the next. */
function sorted<T>(all: readonly T[], placeOf: (one: T) => number): readonly T[] {
  return [...all].sort((a, b) => placeOf(a) - placeOf(b));
}

function ownerOf(owner: string, { transcript }: Scribe): string {
  return `owner ${transcript.owners.of(owner)}`;
}

function becoming({ from, to, facilitator, receipt, entry }: Transition): string {
  const by = typeof facilitator === "string" ? ` by ${facilitator}` : "";
  const moved =
    receipt === undefined ? "" : `, receipt ${receipt.success} ${receipt.errorReason ?? receipt.amount ?? ""}`;
  return `${from} → ${to}${by}${moved}${entry === undefined ? "" : `, entered ${entry.amount}`}`;
}

/** A change with all its fields, random ones by their labels, times from now. */
function written(change: ClaimRequest | Transition, scribe: Scribe): string {
  return Object.entries(change)
    .filter(([name]) => name !== "identity")
    .map(([name, value]: [string, unknown]) => `${name}=${writtenField(name, value, scribe)}`)
    .join(" ");
}

function writtenField(name: string, value: unknown, scribe: Scribe): string {
  if (value === null || value === undefined) return String(value);
  if (name === "owner" || name === "newOwner") return ownerOf(String(value), scribe);
  if (name === "leaseUntilMs" || name === "expiresAtMs") return `${Number(value) - scribe.now()}`;
  if (name === "answer") {
    const { status, headers, body } = value as StoredAnswer;
    return `${status}/${headers.length}/${digest(body)}`;
  }
  if (name === "entry") return digest(JSON.stringify({ ...(value as object), settledAtMs: 0, id: "" }));
  if (typeof value === "object") return digest(unquoted(JSON.stringify(value)));
  return name === "binding" || name === "identifier" ? digest(unquoted(String(value))) : String(value);
}

/** Without quotes of dynamic prices, which are signed for a process that has a random name. */
export function unquoted(text: string): string {
  return text.replaceAll(/("quote\\*":\\*")[^"\\]*/g, "$1…");
}
