/**
 * Options of the router.
 *
 * @module
 */
import { createIssues, type Facilitator, type Logger } from "@farebox/core";
import { checkLogger, isFunction } from "./logger-option.js";
import type { BodyLimits } from "./read-body.js";

/** Bounds of the router. */
export interface FacilitatorRouterOptions {
  /** Longest body, 1024 to 10485760 bytes. Default 65536: a payment is a few thousand. */
  readonly bodyLimitBytes?: number;
  /** How long a body may take to arrive, 10 to 600000 ms. Default 10000. */
  readonly bodyTimeoutMs?: number;
  /** Hears of calls that failed for reasons of ours. Default: nobody. */
  readonly logger?: Logger;
}

/** The options, checked. */
export interface RouterConfig {
  readonly limits: BodyLimits;
  readonly logger: Logger | undefined;
}

const RANGES = {
  bodyLimitBytes: { least: 1_024, most: 10 * 1_024 * 1_024, usual: 64 * 1_024 },
  bodyTimeoutMs: { least: 10, most: 600_000, usual: 10_000 },
} as const;

/** Checks the options. @throws ConfigError with every issue at once. */
export function parseRouterOptions(facilitator: Facilitator, options: FacilitatorRouterOptions): RouterConfig {
  const { bodyLimitBytes, bodyTimeoutMs, logger } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["bodyLimitBytes", "bodyTimeoutMs", "logger"]);
  if (!isFacilitator(facilitator)) issues.add("facilitator", "a facilitator, e.g. createFacilitator(…)", facilitator);
  const bytes = issues.readNumber("options.bodyLimitBytes", bodyLimitBytes, RANGES.bodyLimitBytes);
  const ms = issues.readNumber("options.bodyTimeoutMs", bodyTimeoutMs, RANGES.bodyTimeoutMs);
  checkLogger(logger, issues);
  issues.throwIfAny();
  return Object.freeze({ limits: Object.freeze({ bytes, ms }), logger });
}

function isFacilitator(value: unknown): value is Facilitator {
  if (typeof value !== "object" || value === null) return false;
  const { verify, settle, supported } = value as Partial<Facilitator>;
  return [verify, settle, supported].every(isFunction);
}
