/**
 * What a framework's router shows of itself, so that a seller's table can be held against the routes there are.
 *
 * @module
 */
import type { Receivers } from "../route/receivers.js";

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
