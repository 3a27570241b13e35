/**
 * Resolves a seller's tables to the handlers of the apps they stand in, and compares the prices with the routes.
 *
 *   ready, or the first request of a server   finds the tables of an app, and puts their prices on its handlers
 *   each request that meets a table           the same again, if routes were added since
 *
 * @module
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Server } from "node:http";
import { ConfigError, type PaymentsEngine, type PaymentsReport } from "@farebox/core";
import type { TableGate } from "@farebox/core/adapter";
import type { Application } from "express";
import { forgetMounts } from "./express-request.js";
import { createRouterView } from "./router-view.js";
import { type GuardingTable, isReadable, type Layer, layersOf, stacksOf } from "./router-walk.js";

/** Puts the price of a table in front of a handler. */
export type Guard = (layer: Layer, table: Omit<GuardingTable, "gate">) => void;

/** What is known about an app. */
interface AppState {
  /** The routers' lists of layers, and how long they were. */
  readonly stacks: readonly { readonly stack: readonly Layer[]; readonly length: number }[];
  /** Tables that a function of the seller's calls: the routers do not show them. With the mount of their first request. */
  readonly wrapped: ReadonlyMap<object, string>;
  /** The gates that were found among the handlers. */
  readonly found: ReadonlySet<object>;
  /** Of a check. `undefined`: nothing was checked yet. */
  readonly checked: { readonly error: ConfigError | undefined } | undefined;
}

const UNKNOWN: AppState = { stacks: [], wrapped: new Map(), found: new Set(), checked: undefined };

/** Where Node says that a request came, before any handler gets it. */
const REQUESTS = "http.server.request.start";

/** The tables of one seller, and the apps they stand in. */
export class Inspection {
  readonly #engine: PaymentsEngine;
  readonly #tables = new Map<TableGate, Guard>();
  /** Tables that were not found in any app so far. */
  readonly #lost = new Set<object>();
  readonly #apps = new WeakMap<Application, AppState>();
  #latest: Application | undefined;

  constructor(engine: PaymentsEngine) {
    this.#engine = engine;
  }

  /** Adds a table. `guard` is called for each handler that it prices. */
  addTable(gate: TableGate, guard: Guard): void {
    this.#tables.set(gate, guard);
    if (this.#lost.size === 0) subscribe(REQUESTS, this.#onRequest);
    this.#lost.add(gate);
  }

  /** @param app - Default: the app that was inspected last. */
  report(app: Application | undefined = this.#latest): PaymentsReport {
    return app === undefined ? this.#engine.report() : this.#engine.report(createRouterView(app));
  }

  /** @throws ConfigError with every finding, if `strict` is set. */
  check(app: Application): PaymentsReport {
    this.#resolve(app);
    return this.#check(app, undefined);
  }

  /**
   * Resolves the tables of an app at its first request, and when routes were added. Returns whether the routers do not show
   * the gate.
   *
   * @throws ConfigError at every request, if `strict` is set and there are findings.
   */
  meet(app: Application, gate: object, baseUrl: string): boolean {
    let known = this.#apps.get(app) ?? UNKNOWN;
    const isNew = !known.found.has(gate) && !known.wrapped.has(gate);
    if (isNew || hasChanged(known)) known = this.#resolve(app, { gate, baseUrl });
    if (known.checked === undefined) {
      const view = createRouterView(app);
      try {
        this.#check(app, (one) => one === gate || view.mountsOf(one).length > 0);
      } catch {
        // A ConfigError is remembered, and thrown below.
      }
    }
    const error = this.#apps.get(app)?.checked?.error;
    if (error !== undefined) throw error;
    return known.wrapped.has(gate);
  }

  /**
   * A table that stands behind its routes gets none of their requests. So the apps of a server are looked at before their
   * handlers get the first one, until every table was found.
   */
  readonly #onRequest = (message: unknown): void => {
    try {
      const { server } = message as { readonly server: Server };
      for (const listener of server.listeners("request")) {
        const app = listener as unknown as Application;
        if (typeof app.path !== "function" || layersOf(app) === undefined) continue;
        const known = this.#apps.get(app);
        if (known === undefined || hasChanged(known)) this.#resolve(app);
      }
    } catch {
      // The first request that meets a table tells what is wrong.
    }
  };

  #check(app: Application, only: ((gate: object) => boolean) | undefined): PaymentsReport {
    this.#latest = app;
    try {
      const report = this.#engine.check(createRouterView(app), only);
      this.#keep(app, undefined);
      return report;
    } catch (error) {
      // Any other error says that the routers could not be read. Requests are served all the same.
      this.#keep(app, error instanceof ConfigError ? error : undefined);
      throw error;
    }
  }

  #keep(app: Application, error: ConfigError | undefined): void {
    this.#apps.set(app, { ...(this.#apps.get(app) ?? UNKNOWN), checked: { error } });
  }

  /** @param met - The table that a request has met, and its mount. */
  #resolve(app: Application, met?: { readonly gate: object; readonly baseUrl: string }): AppState {
    const known = this.#apps.get(app) ?? UNKNOWN;
    const stacks = stacksOf(layersOf(app) ?? []).map((stack) => ({ stack, length: stack.length }));
    const wrapped = new Map(known.wrapped);
    const found = new Set<object>();
    forgetMounts(app);
    const view = createRouterView(app);
    const above = app.path();
    // Otherwise nothing is bound, and every path of a key is priced in front of the routes.
    const canBind = isReadable(app);
    if (met !== undefined && view.mountsOf(met.gate).length === 0) wrapped.set(met.gate, met.baseUrl);
    for (const [gate, guard] of this.#tables) {
      const mounts = view.mountsOf(gate);
      if (mounts.length > 0) {
        found.add(gate);
        const full = mounts.map((mount) => above + mount);
        for (const layer of canBind ? gate.bind(view) : []) guard(layer as Layer, { mounts: full, isWrapped: false });
        continue;
      }
      const mount = wrapped.get(gate);
      if (mount === undefined || !canBind) continue;
      const below = mount.startsWith(above) ? mount.slice(above.length) : mount;
      for (const layer of gate.bind(view, [below])) guard(layer as Layer, { mounts: [mount], isWrapped: true });
    }
    for (const gate of [...found, ...wrapped.keys()]) this.#find(gate);
    const state: AppState = { stacks, wrapped, found, checked: known.checked };
    // The gate of a route is among that route's handlers.
    if (met !== undefined && !wrapped.has(met.gate)) found.add(met.gate);
    this.#apps.set(app, state);
    return state;
  }

  #find(gate: object): void {
    if (this.#lost.delete(gate) && this.#lost.size === 0) unsubscribe(REQUESTS, this.#onRequest);
  }
}

function hasChanged({ stacks }: AppState): boolean {
  return stacks.some(({ stack, length }) => stack.length !== length);
}
