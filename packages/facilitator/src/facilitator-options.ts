/**
 * Options of a facilitator.
 *
 * @module
 */
import type { Catalog } from "@farebox/bazaar/facilitator";
import {
  canonicalNetwork,
  createIssues,
  type FacilitatorScheme,
  type Issues,
  isNetwork,
  type Logger,
} from "@farebox/core";
import { checkLogger, isFunction } from "./logger-option.js";

/** What a facilitator is made of. */
export interface FacilitatorOptions {
  /** What it can verify and settle; one scheme per name and network. */
  readonly schemes: readonly FacilitatorScheme[];
  /** Identifiers of extensions it understands, for `/supported`, besides those that its schemes name. Default none. */
  readonly extensions?: readonly string[];
  /** Lists what is paid for, e.g. `createCatalog(…)` of `@farebox/catalog`. Default: nothing is listed. */
  readonly catalog?: Catalog;
  /** Takes a line per call; never a signature, never a URL. Default: nobody. */
  readonly logger?: Logger;
}

/** The options, checked. */
export interface FacilitatorConfig {
  readonly schemes: readonly FacilitatorScheme[];
  readonly extensions: readonly string[];
  readonly catalog: Catalog | undefined;
  readonly logger: Logger | undefined;
}

/** Checks the options. @throws ConfigError with every issue at once. */
export function parseFacilitatorOptions(options: FacilitatorOptions): FacilitatorConfig {
  const { schemes, extensions = [], catalog, logger } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["schemes", "extensions", "catalog", "logger"]);
  if (Array.isArray(schemes) && schemes.length > 0) checkSchemes(schemes, issues);
  else issues.add("options.schemes", "a list of at least one scheme", schemes);
  if (!Array.isArray(extensions) || extensions.some((name) => typeof name !== "string")) {
    issues.add("options.extensions", "a list of identifiers", extensions);
  }
  if (catalog !== undefined && !isCatalog(catalog)) {
    issues.add("options.catalog", "a catalog, e.g. createCatalog(…) of @farebox/catalog", catalog);
  }
  checkLogger(logger, issues);
  issues.throwIfAny();
  const lists = { schemes: Object.freeze([...schemes]), extensions: Object.freeze([...extensions]) };
  return Object.freeze({ ...lists, catalog, logger });
}

function isCatalog(value: unknown): value is Catalog {
  if (typeof value !== "object" || value === null) return false;
  const { register, list, search, isCursor } = value as Partial<Catalog>;
  return [register, list, search, isCursor].every(isFunction);
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
  if (typeof value !== "object" || value === null) return false;
  const {
    scheme,
    network,
    extra,
    signers,
    extensions = [],
    verify,
    settle,
    health,
  } = value as Partial<FacilitatorScheme>;
  const isNamed = typeof scheme === "string" && isNetwork(network) && typeof extra === "object" && extra !== null;
  const areLists = [signers, extensions].every((list) => Array.isArray(list));
  return isNamed && areLists && [verify, settle, health].every(isFunction);
}
