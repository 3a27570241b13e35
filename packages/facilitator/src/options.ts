/**
 * Options of the facilitator and of its router. Each parser collects every issue and throws them at once.
 *
 * @module
 */
import type { Catalog } from "@farebox/bazaar/facilitator";
import type { Facilitator, FacilitatorScheme, Logger } from "@farebox/core";
import { createIssues, type Issues, issuePath } from "@farebox/core/issues";
import { canonicalNetwork, isNetwork } from "@farebox/core/protocol";
import { type AccessSettings, parseCredentials, parseRate, type SellerCredential } from "./access.js";
import type { MeteredScheme } from "./gas-budget.js";
import { type Assets, type Limits, type Payees, parseAtomicUnits, parseLimits, readByNetwork } from "./policy.js";

/** Options of `createFacilitator`. */
export interface FacilitatorOptions {
  /** Schemes that verify and settle: one per name and network. */
  readonly schemes: readonly FacilitatorScheme[];
  /** Extension identifiers for `/supported`, in addition to those of the schemes. Default none. */
  readonly extensions?: readonly string[];
  /** Lists the services that are paid for, e.g. `createCatalog(…)` of `@farebox/catalog`. Default: nothing is listed. */
  readonly catalog?: Catalog;
  /** Whom it serves, and at which cost. Default: it serves every payment that its schemes accept. */
  readonly policy?: FacilitatorPolicy;
  /** Receives one line per call, without signatures and URLs, how the catalog searches, and the alarms of gas budgets. Default: no log. */
  readonly logger?: Logger;
}

/** Whom a facilitator serves. Every rule but `gasPerHour` is checked before a node is asked. */
export interface FacilitatorPolicy {
  /** Who may be paid: addresses by network, or a function. Default: anyone. */
  readonly payees?: Payees;
  /** Which tokens it settles, and from which amount on: `{ "eip155:8453": { "0x8335…2913": "1000" } }`. Default: any. */
  readonly assets?: Assets;
  /** The sellers that may call over HTTP. Default: anyone who reaches the router. */
  readonly credentials?: readonly SellerCredential[];
  /** What each signer of a network may spend in an hour, in the smallest unit of the network's coin. Default: no limit. */
  readonly gasPerHour?: { readonly [network: string]: string | bigint };
  /** Calls of `verify` and `settle` per minute and source: the credential, or without one the address. Default: no limit. */
  readonly requestsPerMinute?: number;
}

/** A policy, checked. */
export interface PolicyConfig extends AccessSettings {
  readonly limits: Limits;
  readonly gasPerHour: ReadonlyMap<string, bigint>;
  /** Whether strangers cannot choose both whom it pays gas for and in which token. */
  readonly isClosed: boolean;
}

/** The options of a facilitator, checked. */
export interface FacilitatorConfig {
  readonly policy: PolicyConfig;
  readonly schemes: readonly MeteredScheme[];
  readonly extensions: readonly string[];
  readonly catalog: Catalog | undefined;
  readonly logger: Logger | undefined;
}

/** Checks the options of a facilitator. @throws ConfigError with every issue at once. */
export function parseFacilitatorOptions(options: FacilitatorOptions): FacilitatorConfig {
  const { schemes, extensions = [], catalog, policy, logger } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["schemes", "extensions", "catalog", "policy", "logger"]);
  if (Array.isArray(schemes) && schemes.length > 0) checkSchemes(schemes, issues);
  else issues.add("options.schemes", "a list of at least one scheme", schemes);
  if (!Array.isArray(extensions) || extensions.some((name) => typeof name !== "string")) {
    issues.add("options.extensions", "a list of identifiers", extensions);
  }
  if (catalog !== undefined && !hasMethods(catalog, ["register", "list", "search", "isCursor"])) {
    issues.add("options.catalog", "a catalog, e.g. createCatalog(…) of @farebox/catalog", catalog);
  }
  const checked = parsePolicy(policy, Array.isArray(schemes) ? schemes.filter(isScheme) : [], issues);
  checkLogger(logger, issues);
  issues.throwIfAny();
  const lists = { schemes: Object.freeze([...schemes]), extensions: Object.freeze([...extensions]) };
  return Object.freeze({ ...lists, policy: checked, catalog, logger });
}

const POLICY_KEYS = ["payees", "assets", "credentials", "gasPerHour", "requestsPerMinute"];

function parsePolicy(policy: unknown = {}, schemes: readonly MeteredScheme[], issues: Issues): PolicyConfig {
  const path = "options.policy";
  const networks = new Set(schemes.map(({ network }) => canonicalNetwork(network)));
  const given = issues.checkKeys(path, policy, POLICY_KEYS) ? policy : {};
  const limits = parseLimits(given, { path, networks, issues });
  const sellers = parseCredentials(given["credentials"], { path: `${path}.credentials`, networks, issues });
  const requestsPerMinute = parseRate(given["requestsPerMinute"], `${path}.requestsPerMinute`, issues);
  const gas = { path: `${path}.gasPerHour`, networks, issues };
  const gasPerHour = readByNetwork(given["gasPerHour"], gas, (value, at) => parseAtomicUnits(value, at, issues));
  for (const { network, scheme, meterGas } of schemes) {
    if (gasPerHour?.has(canonicalNetwork(network)) && typeof meterGas !== "function") {
      issues.addText(
        issuePath(gas.path, network),
        "a network whose schemes count gas (meterGas)",
        `${scheme}, which does not`,
      );
    }
  }
  const { payees, assets } = limits;
  const isListed = payees !== undefined && assets !== undefined;
  const isClosed = sellers !== undefined || typeof payees === "function" || isListed;
  return Object.freeze({ limits, sellers, requestsPerMinute, gasPerHour: gasPerHour ?? new Map(), isClosed });
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
  /**
   * Serves everybody who reaches it, and pays their gas. Needed where the facilitator's policy has neither `credentials`, nor
   * both `payees` and `assets`. Default false.
   */
  readonly open?: boolean;
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

const CLOSED_EXPECTED =
  "a facilitator whose policy has credentials, payees and assets, or a function as payees (or { open: true }, to pay gas for strangers)";

/** Checks the options of a router. @throws ConfigError with every issue at once. */
export function parseRouterOptions(facilitator: Facilitator, options: FacilitatorRouterOptions): RouterConfig {
  const { open = false, bodyLimitBytes, bodyTimeoutMs, logger } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["open", "bodyLimitBytes", "bodyTimeoutMs", "logger"]);
  if (typeof open !== "boolean") issues.add("options.open", "a boolean", open);
  if (!hasMethods(facilitator, ["verify", "settle", "supported"])) {
    issues.add("facilitator", "a facilitator, e.g. createFacilitator(…)", facilitator);
  } else if (open === false && !("isClosed" in facilitator && facilitator.isClosed === true)) {
    issues.addText("facilitator", CLOSED_EXPECTED, "a facilitator that serves everybody");
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
