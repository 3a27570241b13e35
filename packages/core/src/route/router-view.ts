/**
 * The framework's router as the gate and the report see it: its routes, and which of them would receive a request.
 *
 * @module
 */

/** A registered route. */
export interface RegisteredRoute {
  /** The same object as in {@link Receiver}. */
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
   * The handlers that would receive a request, in order, up to one that responds to all it gets behind the gate.
   *
   * @param from - A gate, or a handler.
   * @param method - `undefined`: any method.
   * @param path - From the top of the app. `undefined`: all handlers.
   */
  receiversOf(from: object, method: string | undefined, path: string | undefined): readonly Receiver[];
  readonly routes: readonly RegisteredRoute[];
  /** Whether the routers could be read. Default `true`. */
  readonly isReadable?: boolean;
  /** Whether a function of the seller's calls a gate, which the routers then do not show. Default: unknown. */
  isCalled?(gate: object): boolean;
  /** Whether the app contains other apps or is mounted in one. Their routes are not visible here. */
  readonly hasOtherApps: boolean;
}

/** A handler that would receive a request. */
export interface Receiver {
  /** The same object for one handler in every result. */
  readonly handler: object;
  /**
   * - `route`: a route.
   * - `mount`: another function with a path: a proxy, for example.
   * - `files`: a file server.
   * - `function`: any other function. It receives every request of its router.
   * - `charge`: a gate with a price of its own, mounted, or in the route before it.
   */
  readonly kind: "route" | "mount" | "files" | "function" | "charge";
  /** Whether it receives the request before the gate or handler does that was asked from. */
  readonly isBefore: boolean;
  /** Whether it responds to every request: it takes no `next` and cannot pass a request on. */
  readonly isFinal: boolean;
  /** Whether it takes every path of the app: pages for what is not found, for example. */
  readonly takesAll: boolean;
  /** Where it is mounted, as the seller wrote it; for a route, its path. `undefined` if unknown. */
  readonly paths: readonly string[] | undefined;
}
