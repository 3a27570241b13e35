/**
 * Options of the facilitator and of its router. Each parser collects every issue and throws them at once.
 *
 * @module
 */
import type { Catalog } from "@farebox/bazaar/facilitator";
import type { Facilitator, FacilitatorScheme, Logger } from "@farebox/core";
import { createIssues, type Issues } from "@farebox/core/issues";
import { canonicalNetwork, isNetwork } from "@farebox/core/protocol";

/** Options of `createFacilitator`. */
export interface FacilitatorOptions {
  /** Schemes that verify and settle: one per name and network. */
  readonly schemes: readonly FacilitatorScheme[];
  /** Extension identifiers for `/supported`, in addition to those of the schemes. Default none. */
  readonly extensions?: readonly string[];
  /** Lists the services that are paid for, e.g. `createCatalog(…)` of `@farebox/catalog`. Default: nothing is listed. */
  readonly catalog?: Catalog;
  /** Receives one line per call, without signatures and URLs. Default: no log. */
  readonly logger?: Logger;
}

/** The options of a facilitator, checked. */
export interface FacilitatorConfig {
  readonly schemes: readonly FacilitatorScheme[];
  readonly extensions: readonly string[];
  readonly catalog: Catalog | undefined;
  readonly logger: Logger | undefined;
}

/** Checks the options of a facilitator. @throws ConfigError with every issue at once. */
export function parseFacilitatorOptions(options: FacilitatorOptions): FacilitatorConfig {
  const { schemes, extensions = [], catalog, logger } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["schemes", "extensions", "catalog", "logger"]);
  if (Array.isArray(schemes) && schemes.length > 0) checkSchemes(schemes, issues);
  else issues.add("options.schemes", "a list of at least one scheme", schemes);
  if (!Array.isArray(extensions) || extensions.some((name) => typeof name !== "string")) {
    issues.add("options.extensions", "a list of identifiers", extensions);
  }
  if (catalog !== undefined && !hasMethods(catalog, ["register", "list", "search", "isCursor"])) {
    issues.add("options.catalog", "a catalog, e.g. createCatalog(…) of @farebox/catalog", catalog);
  }
  checkLogger(logger, issues);
  issues.throwIfAny();
  const lists = { schemes: Object.freeze([...schemes]), extensions: Object.freeze([...extensions]) };
  return Object.freeze({ ...lists, catalog, logger });
}

function checkSchemes(schemes: readonly unknown[], issues: Issues): void {
  const seen = new Set<string>();
  for (const [at, scheme] of schemes.entries()) {
    if (!isScheme(scheme)) {
      issues.add(`options.schemes[${at}]`, "a scheme, e.g. createExactEvmScheme(…)", scheme);
      continue;
    }
    const key = `${scheme.scheme} on ${canonicalNetwork(scheme.network)}`;
    if (seen.has(key)) issues.add(`options.schemes[${at}]`, "one scheme per name and network", key);
    seen.add(key);
  }
}

function isScheme(value: unknown): value is FacilitatorScheme {
  if (!hasMethods(value, ["verify", "settle", "health"])) return false;
  const { scheme, network, extra, signers, extensions = [] } = value as Partial<FacilitatorScheme>;
  const isNamed = typeof scheme === "string" && isNetwork(network) && typeof extra === "object" && extra !== null;
  return isNamed && Array.isArray(signers) && Array.isArray(extensions);
}

/** Options of `facilitatorRouter`. */
export interface FacilitatorRouterOptions {
  /** Longest request body, 1024 to 10485760 bytes. Default 65536: a payment is a few thousand. */
  readonly bodyLimitBytes?: number;
  /** Time limit for a request body to arrive, 10 to 600000 ms. Default 10000. */
  readonly bodyTimeoutMs?: number;
  /** Receives one line per internal error. Default: no log. */
  readonly logger?: Logger;
}

/** The options of a router, checked. */
export interface RouterConfig {
  readonly limits: BodyLimits;
  readonly logger: Logger | undefined;
}

/** How much of a request body is read, and for how long. */
export interface BodyLimits {
  readonly bytes: number;
  readonly ms: number;
}

const BODY_RANGES = {
  bodyLimitBytes: { least: 1_024, most: 10 * 1_024 * 1_024, usual: 64 * 1_024 },
  bodyTimeoutMs: { least: 10, most: 600_000, usual: 10_000 },
} as const;

/** Checks the options of a router. @throws ConfigError with every issue at once. */
export function parseRouterOptions(facilitator: Facilitator, options: FacilitatorRouterOptions): RouterConfig {
  const { bodyLimitBytes, bodyTimeoutMs, logger } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["bodyLimitBytes", "bodyTimeoutMs", "logger"]);
  if (!hasMethods(facilitator, ["verify", "settle", "supported"])) {
    issues.add("facilitator", "a facilitator, e.g. createFacilitator(…)", facilitator);
  }
  const bytes = issues.readNumber("options.bodyLimitBytes", bodyLimitBytes, BODY_RANGES.bodyLimitBytes);
  const ms = issues.readNumber("options.bodyTimeoutMs", bodyTimeoutMs, BODY_RANGES.bodyTimeoutMs);
  checkLogger(logger, issues);
  issues.throwIfAny();
  return Object.freeze({ limits: Object.freeze({ bytes, ms }), logger });
}

/** Reports a `logger` option that cannot log. */
export function checkLogger(logger: Logger | undefined, issues: Issues): void {
  if (logger === undefined || hasMethods(logger, ["info", "warn", "error"])) return;
  issues.addText("options.logger", "an object with info, warn and error", "something else");
}

/** Whether a value is an object with all of these methods. */
export function hasMethods(value: unknown, names: readonly string[]): boolean {
  if (typeof value !== "object" || value === null) return false;
  const methods = value as Readonly<Record<string, unknown>>;
  return names.every((name) => typeof methods[name] === "function");
}
