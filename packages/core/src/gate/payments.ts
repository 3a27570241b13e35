/**
 * The seller's engine, framework-free: options in, a gate per route table out.
 *
 * @module
 */
import type { Scheme } from "../scheme/scheme.js";
import { createGate, type Gate } from "./gate.js";
import type { PaymentsOptions, RoutesConfig } from "./options.js";
import { parseOptions } from "./parse-options.js";
import { parseRoutes } from "./parse-routes.js";

/** One set of options, one store, any number of route tables. */
export interface Payments {
  /** How much of an answer is held back until its payment has settled, in bytes. */
  readonly holdBytes: number;
  /**
   * Compiles a route table.
   *
   * @throws ConfigError with every issue at once.
   */
  gate(routes: RoutesConfig): Gate;
}

/**
 * Checks the options and creates the engine.
 *
 * @param builtIn - Schemes of the packages at hand.
 * @throws ConfigError with every issue at once.
 */
export function createPaymentsEngine(options: PaymentsOptions, builtIn: readonly Scheme[]): Payments {
  const config = parseOptions(options, builtIn);
  return { holdBytes: config.holdBytes, gate: (routes) => createGate(parseRoutes(routes, config), config) };
}
