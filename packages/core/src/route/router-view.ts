/**
 * The framework's own router, as the gate and the report see it: which routes there are, and which of them would receive a request.
 *
 * @module
 */

/** A route that is registered. */
export interface RegisteredRoute {
  /** The same object as in {@link Receivers}. */
  readonly route: object;
  /** With its mounts, as the seller wrote it: `/api/users/:id`; `undefined` when it cannot be told. */
  readonly path: string | undefined;
  /** Upper case; `undefined`: every method. */
  readonly methods: readonly string[] | undefined;
  /** The gates among its handlers. */
  readonly gates: readonly object[];
}

/** One app's routes. Gates are known by identity. */
export interface RouterView {
  /** Where a gate is mounted, as the seller wrote it: `""` or `/api`. None: it is nowhere to be seen. */
  mountsOf(gate: object): readonly string[];
  /**
   * Who would get a request, from the top of the app.
   *
   * @param method - `undefined`: of any method.
   */
  receiversOf(gate: object, method: string | undefined, path: string): Receivers;
  readonly routes: readonly RegisteredRoute[];
  /** Whether there are apps in the app, or the app is in another: what is there cannot be seen from here. */
  readonly hasOtherApps: boolean;
}

/** A route of the framework that would get a request. */
export interface Receiver {
  /** The same object for the same route. */
  readonly route: object;
  /**
   * Paths of the route with placeholders for its parameters, one for each form it has, mounts included: `/api/users/~`.
   * `undefined` when they cannot be told, as for a regular expression.
   */
  readonly samples: readonly string[] | undefined;
  /** Whether it answers every request it gets: its first handler takes no `next`, so nothing is passed on. */
  readonly isFinal: boolean;
  readonly takesAnyMethod: boolean;
  /** How many of its own handlers price it. */
  readonly charges: number;
}

/** Something that is no route: a function that may answer, pass on, or be an app of its own. */
export interface OpaqueReceiver {
  readonly handler: object;
  /** Whether it is there for requests like this: mounted at a path, or a file server. Otherwise it gets everything. */
  readonly isMeant: boolean;
}

/** Who would get a request, in the order of the router. */
export interface Receivers {
  /** Whether the table was found on the way; if not, nothing is known. */
  readonly isFound: boolean;
  /** Routes that get the request before the table does. */
  readonly before: readonly Receiver[];
  /** Routes that get it after the table, up to one that answers it. */
  readonly after: readonly Receiver[];
  /** Routes that would get it if that one did not answer. */
  readonly beyond: readonly Receiver[];
  /** What cannot be seen through and may get it after the table, and before a route that answers it. */
  readonly opaque: readonly OpaqueReceiver[];
}

/** Whether something may get the request that cannot be seen through. */
export function mayBeTakenUnseen({ isFound, opaque }: Receivers): boolean {
  return !isFound || opaque.length > 0;
}

/**
 * Asks the framework's router who would get a request for a path, with mounts; without one, the request at hand.
 *
 * @param anyMethod - Whether routes for other methods than the request's count, too.
 */
export type ReceiversOf = (path?: string, anyMethod?: boolean) => Receivers;

/** When the router cannot be asked. */
export const UNKNOWN_RECEIVERS: Receivers = Object.freeze({
  isFound: false,
  before: [],
  after: [],
  beyond: [],
  opaque: [],
});
