/**
 * Resolves a seller's tables to the handlers of the apps they stand in, and compares the prices with the routes.
 *
 * @module
 */
import { ConfigError, type PaymentsEngine, type PaymentsReport } from "@farebox/core";
import type { TableGate } from "@farebox/core/adapter";
import type { Application } from "express";
import { createRouterView } from "./router-view.js";
import { type Layer, layersOf, stacksOf } from "./router-walk.js";

/** Puts the price of a table in front of a handler. */
export type Guard = (layer: Layer, mounts: readonly string[]) => void;

/** What is known about an app. */
interface AppState {
  /** The routers' lists of layers, and how long they were. */
  readonly stacks: readonly { readonly stack: readonly Layer[]; readonly length: number }[];
  /** Of a check. */
  error: ConfigError | undefined;
}

/** The tables of one seller, and the apps they stand in. */
export class Inspection {
  readonly #engine: PaymentsEngine;
  readonly #tables = new Map<TableGate, Guard>();
  readonly #apps = new WeakMap<Application, AppState>();
  #latest: Application | undefined;

  constructor(engine: PaymentsEngine) {
    this.#engine = engine;
  }

  /** Adds a table. `guard` is called for each handler that it prices. */
  addTable(gate: TableGate, guard: Guard): void {
    this.#tables.set(gate, guard);
  }

  /** @param app - Default: the app that was inspected last. */
  report(app: Application | undefined = this.#latest): PaymentsReport {
    return app === undefined ? this.#engine.report() : this.#engine.report(createRouterView(app));
  }

  /** @throws ConfigError with every finding, if `strict` is set. */
  check(app: Application): PaymentsReport {
    return this.#check(app, undefined);
  }

  /**
   * Resolves the tables of an app at its first request, and when routes were added.
   *
   * @throws ConfigError at every request, if `strict` is set and there are findings.
   */
  meet(app: Application, gate: object): void {
    const known = this.#apps.get(app);
    if (known === undefined) {
      const view = createRouterView(app);
      try {
        this.#check(app, (one) => one === gate || view.mountsOf(one).length > 0);
      } catch {
        // A ConfigError is remembered, and thrown below.
      }
    } else if (known.stacks.some(({ stack, length }) => stack.length !== length)) {
      this.#resolve(app, known.error);
    }
    const error = this.#apps.get(app)?.error;
    if (error !== undefined) throw error;
  }

  #check(app: Application, only: ((gate: object) => boolean) | undefined): PaymentsReport {
    this.#latest = app;
    const state = this.#resolve(app, undefined);
    try {
      return this.#engine.check(createRouterView(app), only);
    } catch (error) {
      // Any other error says that the routers could not be read. Requests are served all the same.
      if (error instanceof ConfigError) state.error = error;
      throw error;
    }
  }

  #resolve(app: Application, error: ConfigError | undefined): AppState {
    const stacks = stacksOf(layersOf(app) ?? []).map((stack) => ({ stack, length: stack.length }));
    const state: AppState = { stacks, error };
    this.#apps.set(app, state);
    const view = createRouterView(app);
    const above = app.path();
    for (const [gate, guard] of this.#tables) {
      const mounts = view.mountsOf(gate).map((mount) => above + mount);
      for (const layer of mounts.length === 0 ? [] : gate.bind(view)) guard(layer as Layer, mounts);
    }
    return state;
  }
}
