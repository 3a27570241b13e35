/**
 * The framework's router as the gate and the report see it: its handlers, and which of them would receive a request.
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
  /** Whether one of them has a price of its own, and not a table. */
  readonly isCharged: boolean;
}

/** A handler in an app. A gate stands for itself, also where it is a handler of the route behind it. */
export interface Receiver {
  /** The same object for one handler in every result. */
  readonly handler: object;
  /** `function`: anything but routes and gates. It may respond or pass on, and read the path in its own way. */
  readonly kind: "route" | "gate" | "function";
  /** Its paths, or where it is mounted, as the seller wrote it. `undefined` if unknown. */
  readonly paths: readonly string[] | undefined;
  /** Whether it takes every path of the app; of a function, every path of its router. */
  readonly takesAll: boolean;
  /** Of a route: whether it was registered for a method by name, and has no price of its own for it, nor a table's. */
  readonly names: (method: string) => boolean;
  /** Whether it is Express's file server, as far as its name tells. Only findings depend on it. */
  readonly isFiles: boolean;
}

/** What a gate asks for. */
export interface NamedPrice {
  /** Equal for prices that are the same. */
  readonly id: string;
  /** @example "$0.01 (GET /api/*)" */
  readonly text: string;
}

/** The prices of one handler. */
export interface HandlerPrices {
  /** @example "GET /users/:id" */
  readonly where: string;
  readonly prices: readonly (NamedPrice & { readonly gate: object })[];
}

/** The handlers of one app. Gates are compared by identity. */
export interface RouterView {
  /** The mounts of a gate, as the seller wrote them: `""` or `/api`. Empty if the gate was not found. */
  mountsOf(gate: object): readonly string[];
  /** Every handler, in the order in which requests come to them. */
  readonly handlers: readonly Receiver[];
  /** Those that Express gives a request to, in order. @param method - `undefined`: any. @param path - From the top of the app. */
  receiversOf(method: string | undefined, path: string): readonly Receiver[];
  readonly routes: readonly RegisteredRoute[];
  /** The prices of each handler that has some. */
  prices(): readonly HandlerPrices[];
  /** Whether the routers could be read. Default `true`. */
  readonly isReadable?: boolean;
  /** Whether a function of the seller's calls a gate, which the routers then do not show. Default: unknown. */
  isCalled?(gate: object): boolean;
  /** Whether a gate may be where it cannot be seen: in another app, or in a router that wraps its handlers. */
  readonly mayHideGates: boolean;
}

/** Of no app. */
export const NO_HANDLERS: RouterView = {
  mountsOf: () => [],
  handlers: [],
  receiversOf: () => [],
  routes: [],
  prices: () => [],
  mayHideGates: false,
};
