/**
 * Holds the prices against the routes of the app they are in, before its first request.
 *
 * @module
 */
import { ConfigError, type PaymentsEngine, type PaymentsReport } from "@farebox/core";
import type { Application } from "express";
import { createRouterView } from "./router-view.js";

/** Looks at the apps that the prices turn out to be in. */
export interface Inspection {
  /** Default: the app that was looked at last. */
  report(app?: Application): PaymentsReport;
  /** @throws ConfigError with every finding, if the seller asked for that. */
  check(app: Application): PaymentsReport;
  /** The same for the gates of one app, once, when its first request comes before anybody has checked it. */
  checkOnce(app: Application, gate: object): void;
}

/** Prepares to look at apps. */
export function createInspection(engine: PaymentsEngine): Inspection {
  const checked = new WeakMap<Application, { readonly error: unknown } | undefined>();
  let latest: Application | undefined;

  function remember(app: Application, check: () => PaymentsReport): PaymentsReport {
    latest = app;
    try {
      const report = check();
      checked.set(app, undefined);
      return report;
    } catch (error) {
      // A router that cannot be looked at is no reason to serve nothing.
      checked.set(app, error instanceof ConfigError ? { error } : undefined);
      throw error;
    }
  }

  return {
    report: (app = latest) => (app === undefined ? engine.report() : engine.report(createRouterView(app))),
    check: (app) => remember(app, () => engine.check(createRouterView(app))),
    checkOnce(app, gate) {
      if (!checked.has(app)) {
        const view = createRouterView(app);
        attempt(() => remember(app, () => engine.check(view, (one) => one === gate || view.mountsOf(one).length > 0)));
      }
      const failure = checked.get(app);
      if (failure !== undefined) throw failure.error;
    },
  };
}

/** What went wrong is known by then, if it is to be thrown. */
function attempt(check: () => unknown): void {
  try {
    check();
  } catch {
    // Thrown with every request, if the seller asked for that.
  }
}
