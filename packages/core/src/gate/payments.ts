/**
 * The seller's engine, framework-free: options in, a gate per route table out.
 *
 * @module
 */
import type { Scheme } from "../scheme/scheme.js";
import { createGate, type Gate } from "./gate.js";
import { createIssues } from "./issues.js";
import type { PaymentsOptions, RoutesConfig } from "./options.js";
import { type PaymentsConfig, parseOptions } from "./parse-options.js";
import { parseRoutes } from "./parse-routes.js";

/** The gate of one route table, and what an adapter needs to know besides. */
export interface PaymentsGate extends Gate {
  /** How much of an answer is held back until its payment has settled, in bytes. */
  readonly holdBytes: number;
}

/**
 * Checks the options and returns what makes a gate of a route table.
 *
 * @param builtIn - Schemes of the packages at hand.
 * @throws ConfigError with every issue at once; so does what it returns.
 */
export function createPaymentsEngine(
  options: PaymentsOptions,
  builtIn: readonly Scheme[],
): (routes: RoutesConfig) => PaymentsGate {
  const issues = createIssues();
  const config = parseOptions(options, builtIn, issues);
  issues.throwIfAny();
  return (routes) => toGate(routes, config);
}

/**
 * Checks options and one route table together.
 *
 * @param builtIn - Schemes of the packages at hand.
 * @throws ConfigError with every issue of both at once.
 */
export function createPaymentsGate(
  routes: RoutesConfig,
  options: PaymentsOptions,
  builtIn: readonly Scheme[],
): PaymentsGate {
  const issues = createIssues();
  return toGate(routes, parseOptions(options, builtIn, issues), issues);
}

function toGate(routes: RoutesConfig, config: PaymentsConfig, issues = createIssues()): PaymentsGate {
  const table = parseRoutes(routes, config, issues);
  issues.throwIfAny();
  return { ...createGate(table, config), holdBytes: config.holdBytes };
}
