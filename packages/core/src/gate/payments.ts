/**
 * The seller's engine, framework-free: options in, a gate per route table out.
 *
 * @module
 */
import { ConfigError } from "../errors.js";
import { createIssues, type Issues } from "../issues.js";
import type { Scheme } from "../scheme/scheme.js";
import { createGate, type Gate } from "./gate.js";
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
  const config = check("options", (issues) => parseOptions(options, builtIn, issues));
  return (routes) => check("routes", (issues) => toGate(routes, config, issues));
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
  return check("options and routes", (issues) => toGate(routes, parseOptions(options, builtIn, issues), issues));
}

function toGate(routes: RoutesConfig, config: PaymentsConfig, issues: Issues): PaymentsGate {
  const table = parseRoutes(routes, config, issues);
  return { ...createGate(table, config), holdBytes: config.holdBytes };
}

/** Throws what was noted; what throws by itself, such as a getter or a scheme, is one more thing that is wrong. */
function check<T>(what: string, parse: (issues: Issues) => T): T {
  const issues = createIssues();
  try {
    const parsed = parse(issues);
    issues.throwIfAny();
    return parsed;
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const issue = { path: what, expected: "values that can be read and compiled", received: "an error, see cause" };
    throw new ConfigError([issue], { cause });
  }
}
