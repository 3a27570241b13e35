/**
 * The framework's router as the gate and the report see it: its routes, and which of them would receive a request.
 *
 * @module
 */

/** A registered route. */
export interface RegisteredRoute {
  /** The same object as in {@link Receivers}. */
  readonly route: object;
  /** The path with its mounts, as the seller wrote it, e.g. `/api/users/:id`; `undefined` if unknown. */
  readonly path: string | undefined;
  /** The path without the mounts of its router, e.g. `/users/:id`. Default: unknown. */
  readonly ownPath?: string | undefined;
  /** Upper-case methods; `undefined`: every method. */
  readonly methods: readonly string[] | undefined;
  /** The gates among its handlers. */
  readonly gates: readonly object[];
}

/** The routes of one app. Gates are compared by identity. */
export interface RouterView {
  /** The mounts of a gate, as the seller wrote them: `""` or `/api`. Empty if the gate was not found. */
  mountsOf(gate: object): readonly string[];
  /**
   * The handlers that would receive a request, from the top of the app.
   *
   * @param method - `undefined`: any method.
   */
  receiversOf(gate: object, method: string | undefined, path: string): Receivers;
  readonly routes: readonly RegisteredRoute[];
  /** Whether the routers could be read. Default `true`. */
  readonly isReadable?: boolean;
  /** Whether the app contains other apps or is mounted in one. Their routes are not visible here. */
  readonly hasOtherApps: boolean;
}

/** A route that would receive a request. */
export interface Receiver {
  /** The same object for one route in every result. */
  readonly route: object;
  /**
   * Sample paths of the route with its mounts, one for each of its forms, and with placeholders for parameters: `/api/users/~`.
   * `undefined` if unknown, as for a regular expression.
   */
  readonly samples: readonly string[] | undefined;
  /** Whether it responds to every request: its first handler takes no `next` and cannot pass a request on. */
  readonly isFinal: boolean;
  readonly takesAnyMethod: boolean;
  /** The number of its own handlers that price it. */
  readonly charges: number;
}

/** Middleware that is not a route: it may respond, pass the request on, or contain an app. */
export interface OpaqueReceiver {
  readonly handler: object;
  /** Whether it is meant for such requests: mounted at a path, or a file server. Other middleware receives every request. */
  readonly isMeant: boolean;
  /** Whether it is mounted at the top of the app, and receives every request. Default `false`. */
  readonly isAtTop?: boolean;
}

/** The handlers that would receive a request, in the router's order. */
export interface Receivers {
  /** Whether the gate was found on the way. If not, nothing is known. */
  readonly isFound: boolean;
  /** Routes that receive the request before the gate. */
  readonly before: readonly Receiver[];
  /** Routes that receive it after the gate, up to one that always responds. */
  readonly after: readonly Receiver[];
  /** Routes that would receive it if that one did not respond. */
  readonly beyond: readonly Receiver[];
  /** Other middleware that may receive it after the gate and before a route that always responds. */
  readonly opaque: readonly OpaqueReceiver[];
}

/** Whether other middleware than routes may respond to the request. */
export function mayBeTakenUnseen({ isFound, opaque }: Receivers): boolean {
  return !isFound || opaque.length > 0;
}

/** The result if the router cannot be asked. */
export const UNKNOWN_RECEIVERS: Receivers = Object.freeze({
  isFound: false,
  before: [],
  after: [],
  beyond: [],
  opaque: [],
});
