/**
 * Resolves a seller's tables to the handlers of the apps they stand in, and compares the prices with the routes.
 *
 *   ready, or the first request of an app   finds the tables of the app, and puts their prices on its handlers
 *   each request that meets a table         the same again, if routes were added since
 *
 * A table that cannot be seen prices the requests that pass it. Until it is known where that is, its keys are for the whole app.
 *
 * @module
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { ConfigError, type PaymentsEngine, type PaymentsReport } from "@farebox/core";
import { matchesMount, type RouterView, type TableGate } from "@farebox/core/adapter";
import type { Application, Request } from "express";
import { type AppState, isAlone, mountsIn } from "./app-state.js";
import { cutOf, forgetMounts } from "./express-request.js";
import { type Exchange, REQUESTS, whenTaken } from "./first-request.js";
import { type Asked, type Asking, findNearest } from "./nearest.js";
import { createRouterView } from "./router-view.js";
import { hasChanged, isReadable, type Layer, layersOf, rootOf, stacksOf } from "./router-walk.js";

/** Puts a guard in front of a handler, once, and returns the tables that it asks, with their mounts. */
export type GuardHandler = (layer: Layer) => Map<TableGate, readonly string[]>;

/** The tables of one seller, and the apps they stand in. */
export class Inspection {
  readonly #engine: PaymentsEngine;
  readonly #guard: GuardHandler;
  /** Whether a table prices only requests that pass it. */
  readonly #tables = new WeakMap<object, { readonly onlyPassing: boolean }>();
  /** Tables that are in no app that was looked at, with the handlers that they are in front of meanwhile. */
  readonly #lost = new Map<TableGate, Set<Layer>>();
  /** Tables that only a function of the seller's shows, and where they are bound. */
  readonly #passed = new WeakMap<object, { readonly view: RouterView; readonly mounts: Set<string> }>();
  readonly #apps = new WeakMap<Application, AppState>();
  /** The apps that `ready` was asked about. */
  readonly #asked = new WeakSet<Application>();
  /** The apps that show tables. */
  readonly #homes = new Set<Application>();
  #latest: Application | undefined;
  /** Tables that were made in this turn of the event loop. A request that meets one has made it. */
  readonly #fresh = new Set<object>();
  /** Whether an app had a request. */
  #isOpen = false;
  /** So often something was found, or found to be other than it was. */
  changes = 0;

  constructor(engine: PaymentsEngine, guard: GuardHandler) {
    this.#engine = engine;
    this.#guard = guard;
    subscribe(REQUESTS, this.#onRequest);
  }

  /** Adds a table. One that is made later than the first request, perhaps by a request, is listed when an app shows it. */
  addTable(gate: TableGate, { onlyPassing }: { readonly onlyPassing: boolean }): void {
    this.#tables.set(gate, { onlyPassing });
    this.#fresh.add(gate);
    setImmediate(() => this.#fresh.delete(gate)).unref();
    if (this.#isOpen) gate.list(false);
    else this.#lost.set(gate, new Set());
  }

  /** @param app - Default: the app that was inspected last. */
  report(app: Application | undefined = this.#latest): PaymentsReport {
    return app === undefined ? this.#engine.report() : this.#engine.report(this.stateOf(rootOf(app)).view);
  }

  /** @throws ConfigError with every finding, if `strict` is set. */
  check(app: Application): PaymentsReport {
    if (typeof app !== "function" || !(isReadable(app) || "handle" in app)) {
      const expected = "the Express app: payments.ready(app)";
      throw new ConfigError([{ path: "app", expected, received: app === undefined ? "nothing" : typeof app }]);
    }
    this.#asked.add(rootOf(app));
    return this.#check(this.#resolve(rootOf(app)), undefined);
  }

  /**
   * Resolves the tables of an app at its first request, and when routes were added. Returns whether the request has to be marked: the
   * routers do not show the table, or it prices only what passes it.
   *
   * @throws ConfigError at every request, if `strict` is set and there are findings.
   */
  meet(app: Application, gate: object, baseUrl: string): boolean {
    const state = this.#homeOf(app, gate);
    const table = this.#tables.get(gate);
    const mounts = mountsIn(state, gate);
    const isShown = mounts.some((mount) => matchesMount(mount, baseUrl));
    const isMarked = table !== undefined && (!isShown || table.onlyPassing);
    if (isMarked && this.#fresh.has(gate)) (gate as TableGate).list(false);
    if (isMarked) this.#bindPassed(gate as TableGate, state, isShown ? mounts : templatesOf(baseUrl, state.view));
    if (state.checked === undefined) {
      try {
        this.#check(state, (one) => one === gate || mountsIn(state, one).length > 0);
      } catch {
        // A ConfigError is remembered, and thrown below.
      }
    }
    if (state.checked?.error !== undefined) throw state.checked.error;
    return isMarked;
  }

  /** The gate whose price is nearest to the handler of a request. */
  nearest(req: Request, asking: Asking): Asked {
    const state = this.#homeOf(req.app, asking.gate);
    // By a wrong path, another gate's price would be no nearer.
    if (isAlone(state, asking.gate) || cutOf(req) === "wrong") return asking;
    return findNearest({ ...asking, isHidden: !state.gates.has(asking.gate) }, req, layersOf(state.app) ?? []);
  }

  /** Forgets the tables that no request has met. */
  close(): void {
    for (const gate of this.#lost.keys()) this.#find(gate);
    unsubscribe(REQUESTS, this.#onRequest);
  }

  /** Puts a table that a request has passed in front of the handlers behind it, for requests that pass it. */
  #bindPassed(gate: TableGate, { view }: AppState, mounts: readonly string[]): void {
    this.#find(gate);
    const known = this.#passed.get(gate);
    if (known?.view === view && mounts.every((mount) => known.mounts.has(mount))) return;
    const all = new Set([...(known?.mounts ?? []), ...mounts]);
    this.changes++;
    this.#passed.set(gate, { view, mounts: all });
    for (const layer of gate.bind(view, [...all])) this.#guard(layer as Layer);
  }

  /** The state of the app that shows a gate: one that the request's app is mounted in, or another, or a router's. */
  #homeOf(app: Application, gate: object): AppState {
    const root = rootOf(app);
    const state = this.stateOf(root);
    if (this.#homes.has(root) || mountsIn(state, gate).length > 0) return state;
    const others = [...this.#homes].map((home) => this.stateOf(home));
    return others.find((one) => mountsIn(one, gate).length > 0) ?? state;
  }

  /** What is known about an app, looked at anew if its routers have changed. */
  stateOf(app: Application): AppState {
    const known = this.#apps.get(app);
    return known === undefined || known.stacks.some(hasChanged) ? this.#resolve(app) : known;
  }

  /**
   * A request may reach a handler before it meets a table, or without. So the apps of a server are looked at before their handlers get
   * the first one, until every table was found.
   */
  readonly #onRequest = (message: unknown): void => {
    const { server, request, response } = message as Exchange;
    for (const app of server.listeners("request")) {
      if (layersOf(app) !== undefined) this.#take(app as unknown as Application);
    }
    // A function may call an app.
    whenTaken(request, response, (app) => this.#take(rootOf(app)));
  };

  #take(app: Application): void {
    this.#isOpen = true;
    this.#rest();
    try {
      this.stateOf(app);
    } catch {
      // The first request that meets a table tells what is wrong.
    }
  }

  #check(state: AppState, only: ((gate: object) => boolean) | undefined): PaymentsReport {
    this.#latest = state.app;
    this.changes++;
    try {
      const isCalled = (gate: object) => this.#passed.has(gate);
      const report = this.#engine.check({ ...state.view, isCalled }, only);
      state.checked = { error: undefined };
      return report;
    } catch (error) {
      // Any other error says that the routers could not be read. Requests are served all the same.
      state.checked = { error: error instanceof ConfigError ? error : undefined };
      throw error;
    }
  }

  #resolve(app: Application): AppState {
    const known = this.#apps.get(app);
    this.changes++;
    forgetMounts(app);
    const view = createRouterView(app);
    const gates = new Set(view.handlers.flatMap(({ handler, kind }) => (kind === "gate" ? [handler] : [])));
    const state = { app, view, gates, stacks: stacksOf(app), mounts: new WeakMap(), checked: known?.checked };
    this.#apps.set(app, state);
    for (const gate of gates) {
      if (!this.#tables.has(gate)) continue;
      this.#homes.add(app);
      this.#bindShown(gate as TableGate, state);
    }
    const isLikely = view.mayHideGates && (this.#homes.size === 0 || this.#homes.has(app));
    if (isLikely || this.#asked.has(app)) for (const gate of this.#lost.keys()) this.#bindLost(gate, view);
    return state;
  }

  #bindShown(gate: TableGate, state: AppState): void {
    this.#find(gate);
    gate.list(true);
    if (this.#tables.get(gate)?.onlyPassing === true) return;
    const mounts = mountsIn(state, gate);
    for (const layer of gate.bind(state.view, mounts) as readonly Layer[]) this.#guard(layer).set(gate, mounts);
  }

  /** Puts a table that may be hidden in an app in front of the handlers that are its keys' own, until a request meets it. */
  #bindLost(gate: TableGate, view: RouterView): void {
    if (this.#tables.get(gate)?.onlyPassing === true) return;
    const own = gate.bind(view, [""]).filter((layer) => gate.pricesAt(layer).length > 0);
    for (const layer of own as readonly Layer[]) {
      this.#guard(layer).set(gate, [""]);
      this.#lost.get(gate)?.add(layer);
    }
  }

  /** It is known where a table stands. */
  #find(gate: TableGate): void {
    for (const layer of this.#lost.get(gate) ?? []) this.#guard(layer).delete(gate);
    if (this.#lost.delete(gate)) this.changes++;
    this.#rest();
  }

  /** No more is to be found out before a request. */
  #rest(): void {
    if (this.#isOpen && this.#lost.size === 0) unsubscribe(REQUESTS, this.#onRequest);
  }
}

/** The mounts of functions that may have called a table, as the seller wrote them. */
function templatesOf(mount: string, view: RouterView): readonly string[] {
  const places = view.handlers.flatMap(({ kind, paths = [] }) => {
    return kind === "function" ? paths.filter((path) => matchesMount(path, mount)) : [];
  });
  return places.length === 0 ? [mount] : [...new Set(places)];
}
