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
import { matchesMount, type RouterView, type TableGate } from "@farebox/core/adapter";
import type { Application } from "express";
import { forgetMounts } from "./express-request.js";
import { createRouterView } from "./router-view.js";
import { type GuardingTable, type Layer, layersOf, rootOf, stacksOf } from "./router-walk.js";

/** Puts the price of a table in front of a handler. */
export type Guard = (layer: Layer, table: Omit<GuardingTable, "gate">) => void;

/** What is known about an app, with those that are mounted in it. */
interface AppState {
  readonly app: Application;
  readonly view: RouterView;
  /** The routers' lists of layers, how long they were, and how they ended. */
  readonly stacks: readonly { readonly stack: readonly Layer[]; readonly length: number; readonly last: unknown }[];
  /** The mounts of the tables that were found among the handlers. */
  readonly found: ReadonlyMap<object, readonly string[]>;
  /** Tables that a function of the seller's calls: the routers do not show them. With the mount of their first request. */
  readonly wrapped: ReadonlyMap<object, string>;
  /** Of a check. `undefined`: nothing was checked yet. */
  checked?: { readonly error: ConfigError | undefined } | undefined;
}

const NOTHING: RouterView = { mountsOf: () => [], receiversOf: () => [], routes: [], hasOtherApps: false };

/** Where Node says that a request came, before any handler gets it. */
const REQUESTS = "http.server.request.start";

/** Where Node says that a response has ended. */
const RESPONSES = "http.server.response.finish";

/** The tables of one seller, and the apps they stand in. */
export class Inspection {
  readonly #engine: PaymentsEngine;
  readonly #tables = new Map<TableGate, Guard>();
  /** Tables that price only requests that pass them. */
  readonly #passed = new Set<object>();
  /** Tables that were not found in any app so far. */
  readonly #lost = new Set<object>();
  readonly #apps = new WeakMap<Application, AppState>();
  /** The apps that show tables. */
  readonly #homes = new Set<Application>();
  #latest: Application | undefined;
  #isWatched = false;

  constructor(engine: PaymentsEngine) {
    this.#engine = engine;
  }

  /** Adds a table. `guard` is called for each handler that it prices. */
  addTable(gate: TableGate, guard: Guard, { onlyPassing }: { readonly onlyPassing: boolean }): void {
    this.#tables.set(gate, guard);
    if (onlyPassing) this.#passed.add(gate);
    if (this.#lost.size === 0) subscribe(REQUESTS, this.#onRequest);
    this.#lost.add(gate);
  }

  /** @param app - Default: the app that was inspected last. */
  report(app: Application | undefined = this.#latest): PaymentsReport {
    return app === undefined ? this.#engine.report() : this.#engine.report(createRouterView(rootOf(app)));
  }

  /** @throws ConfigError with every finding, if `strict` is set. */
  check(app: Application): PaymentsReport {
    return this.#check(this.#resolve(rootOf(app)), undefined);
  }

  /**
   * Resolves the tables of an app at its first request, and when routes were added. Returns whether the request has to be marked: the
   * routers do not show the table, or it prices only what passes it.
   *
   * @throws ConfigError at every request, if `strict` is set and there are findings.
   */
  meet(app: Application, gate: object, baseUrl: string): boolean {
    let state = this.#homeOf(app);
    const isShown = state.found.get(gate)?.some((mount) => matchesMount(mount, baseUrl)) === true;
    const isWrapped = !isShown && this.#tables.has(gate as TableGate);
    if (isWrapped && !state.wrapped.has(gate)) state = this.#resolve(state.app, { gate, baseUrl });
    if (state.checked === undefined) {
      const { view } = state;
      try {
        this.#check(state, (one) => one === gate || view.mountsOf(one).length > 0);
      } catch {
        // A ConfigError is remembered, and thrown below.
      }
    }
    const error = state.checked?.error;
    if (error !== undefined) throw error;
    return isWrapped || this.#passed.has(gate);
  }

  /** The state of the app that shows another one: itself, or one that it is mounted in, or a router's. */
  #homeOf(app: Application): AppState {
    const layers = layersOf(app);
    for (const home of this.#homes) {
      const state = this.#stateOf(home);
      if (rootOf(home) === home && state.stacks.some(({ stack }) => stack === layers)) return state;
    }
    return this.#stateOf(rootOf(app));
  }

  #stateOf(app: Application): AppState {
    const known = this.#apps.get(app);
    return known === undefined || hasChanged(known) ? this.#resolve(app) : known;
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
        const isApp = typeof app.path === "function" && layersOf(app) !== undefined;
        if (isApp) this.#stateOf(app);
        else if (!this.#isWatched) {
          // A function that calls the app, which only a table in front of its routes shows.
          this.#isWatched = true;
          subscribe(RESPONSES, this.#onResponse);
        }
      }
    } catch {
      // The first request that meets a table tells what is wrong.
    }
  };

  /** Tells of tables that the first request has not met. */
  readonly #onResponse = (): void => {
    unsubscribe(RESPONSES, this.#onResponse);
    try {
      if (this.#lost.size > 0) this.#engine.check(NOTHING, (gate) => this.#lost.has(gate));
    } catch {
      // With `strict`, the first request that meets a table gets the error.
    }
  };

  #check(state: AppState, only: ((gate: object) => boolean) | undefined): PaymentsReport {
    this.#latest = state.app;
    try {
      const report = this.#engine.check(state.view, only);
      state.checked = { error: undefined };
      return report;
    } catch (error) {
      // Any other error says that the routers could not be read. Requests are served all the same.
      state.checked = { error: error instanceof ConfigError ? error : undefined };
      throw error;
    }
  }

  /** @param met - A table that a request has met, and its mount, if the routers do not show it. */
  #resolve(app: Application, met?: { readonly gate: object; readonly baseUrl: string }): AppState {
    const known = this.#apps.get(app);
    forgetMounts(app);
    const view = createRouterView(app);
    // Of routers that cannot be read, none is known: every table is priced by path.
    const stacks = (view.isReadable === true ? stacksOf(layersOf(app) ?? []) : []).map(markEnd);
    const wrapped = new Map(known?.wrapped);
    if (met !== undefined) wrapped.set(met.gate, met.baseUrl);
    const found = new Map<object, readonly string[]>();
    for (const [gate, guard] of this.#tables) {
      const mounts = view.mountsOf(gate);
      if (mounts.length > 0) found.set(gate, mounts);
      const mount = wrapped.get(gate);
      const hidden = mount === undefined ? undefined : templatesOf(mount, view);
      if (mounts.length === 0 && hidden === undefined) continue;
      this.#find(gate, app);
      for (const layer of gate.bind(view, hidden)) {
        const isWrapped = hidden !== undefined || this.#passed.has(gate);
        guard(layer as Layer, { mounts: hidden ?? mounts, isWrapped });
      }
    }
    const state: AppState = { app, view, stacks, wrapped, found, checked: known?.checked };
    this.#apps.set(app, state);
    return state;
  }

  #find(gate: object, app: Application): void {
    this.#homes.add(app);
    if (this.#lost.delete(gate) && this.#lost.size === 0) unsubscribe(REQUESTS, this.#onRequest);
  }
}

/** The mounts of functions that may have called a table, as the seller wrote them. */
function templatesOf(mount: string, view: RouterView): readonly string[] {
  const places = view
    .receiversOf(view, undefined, undefined)
    .flatMap(({ kind, paths = [] }) => (kind === "route" ? [] : paths.filter((path) => matchesMount(path, mount))));
  return places.length === 0 ? [mount] : [...new Set(places)];
}

function markEnd(stack: readonly Layer[]): AppState["stacks"][number] {
  return { stack, length: stack.length, last: stack.at(-1) };
}

/** Whether routes were added, or the last one was replaced. */
function hasChanged({ stacks }: AppState): boolean {
  return stacks.some(({ stack, length, last }) => stack.length !== length || stack[length - 1] !== last);
}
