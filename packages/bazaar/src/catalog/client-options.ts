/**
 * Options of the discovery client.
 *
 * @module
 */
import { createIssues, type Issues } from "@farebox/core";

/** Headers to send along, most often credentials. */
export type DiscoveryHeaders = Readonly<Record<string, string>>;

/** Where a catalog is, and how it is asked. */
export interface DiscoveryClientOptions {
  /** Base URL of the facilitator, e.g. `https://x402.org/facilitator`. */
  readonly url: string | URL;
  /** Sent to the catalog's own origin only. A function is asked before each call. Default: none. */
  readonly headers?: DiscoveryHeaders | (() => DiscoveryHeaders | Promise<DiscoveryHeaders>);
  /** How long one call may take, 100 to 120000 ms. Default 10000. */
  readonly timeoutMs?: number;
  /** Longest answer, 1024 to 67108864 bytes. Default 4194304. */
  readonly maxBytes?: number;
  /** Most pages that one iteration reads, 1 to 100000. Default 1000. */
  readonly maxPages?: number;
  /** Default `/discovery/resources`. */
  readonly listPath?: string;
  /** Default `/discovery/search`; catalogs differ. */
  readonly searchPath?: string;
}

/** The options, checked. */
export interface DiscoveryClientConfig {
  readonly listUrl: string;
  readonly searchUrl: string;
  readonly headers: () => DiscoveryHeaders | Promise<DiscoveryHeaders>;
  readonly bounds: { readonly timeoutMs: number; readonly maxBytes: number };
  readonly maxPages: number;
}

const KEYS = ["url", "headers", "timeoutMs", "maxBytes", "maxPages", "listPath", "searchPath"];
const RANGES = { timeoutMs: [100, 120_000], maxBytes: [1_024, 64 * 1_024 * 1_024], maxPages: [1, 100_000] } as const;

/** Checks the options. @throws ConfigError with every issue at once. */
export function parseClientOptions(options: DiscoveryClientOptions): DiscoveryClientConfig {
  const { timeoutMs = 10_000, maxBytes = 4 * 1_024 * 1_024, maxPages = 1_000, headers = {} } = options ?? {};
  const { listPath = "/discovery/resources", searchPath = "/discovery/search" } = options ?? {};
  const issues = createIssues();
  issues.checkKeys("options", options, KEYS);
  const base = baseUrlOf(options?.url);
  if (base === undefined)
    issues.addText("options.url", "an http or https URL without credentials and query", "another");
  for (const [name, value] of Object.entries({ timeoutMs, maxBytes, maxPages })) {
    const [least, most] = RANGES[name as keyof typeof RANGES];
    const isWithin = Number.isInteger(value) && value >= least && value <= most;
    if (!isWithin) issues.add(`options.${name}`, `a whole number from ${least} to ${most}`, value);
  }
  checkPaths({ listPath, searchPath }, issues);
  if (typeof headers !== "function" && !isHeaders(headers)) {
    issues.addText("options.headers", "header names with string values, or a function that returns them", "others");
  }
  issues.throwIfAny();
  return Object.freeze({
    listUrl: `${base}${listPath}`,
    searchUrl: `${base}${searchPath}`,
    headers: typeof headers === "function" ? headers : () => headers,
    bounds: { timeoutMs, maxBytes },
    maxPages,
  });
}

function baseUrlOf(value: unknown): string | undefined {
  const text = value instanceof URL ? value.href : value;
  if (typeof text !== "string" || !URL.canParse(text)) return undefined;
  const { protocol, origin, pathname, username, password, search, hash } = new URL(text);
  if (protocol !== "https:" && protocol !== "http:") return undefined;
  if (username + password + search + hash !== "") return undefined;
  return `${origin}${pathname.endsWith("/") ? pathname.slice(0, -1) : pathname}`;
}

function checkPaths(paths: Readonly<Record<string, unknown>>, issues: Issues): void {
  for (const [name, path] of Object.entries(paths)) {
    const isPath = typeof path === "string" && /^\/[\w\-./~]{0,200}$/.test(path) && !path.includes("//");
    if (!isPath) issues.add(`options.${name}`, 'a path such as "/discovery/search"', path);
  }
}

function isHeaders(value: unknown): value is DiscoveryHeaders {
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).every((text) => typeof text === "string");
}
