/**
 * What is known about one app: its routers, and the tables and charges that they show.
 *
 * @module
 */
import type { ConfigError } from "@farebox/core";
import type { RouterView } from "@farebox/core/adapter";
import type { Application } from "express";
import type { Stack } from "./router-walk.js";

/** What is known about an app, with those that are mounted in it. */
export interface AppState {
  readonly app: Application;
  readonly view: RouterView;
  /** Tables and charges, of every seller. */
  readonly gates: ReadonlySet<object>;
  readonly stacks: readonly Stack[];
  /** The mounts of the gates that were asked for. */
  readonly mounts: WeakMap<object, readonly string[]>;
  /** Of a check. `undefined`: nothing was checked yet. */
  checked?: { readonly error: ConfigError | undefined } | undefined;
}

/** Whether an app shows no other gate than this one. */
export function isAlone({ gates }: AppState, gate: object): boolean {
  return gates.size === 0 || (gates.size === 1 && gates.has(gate));
}

export function mountsIn({ mounts, view }: AppState, gate: object): readonly string[] {
  const found = mounts.get(gate) ?? view.mountsOf(gate);
  mounts.set(gate, found);
  return found;
}
