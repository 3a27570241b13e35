/**
 * Findings: what looks wrong about a seller's routes although the configuration is valid. Each is told once.
 *
 * @module
 */
import type { Logger } from "./logger.js";

/** Stable codes, like those of errors. Each has a heading in `docs/reference/errors.md`. */
export type FindingCode =
  | "FAREBOX_TABLE_NOT_FOUND"
  | "FAREBOX_TABLE_TOO_LATE"
  | "FAREBOX_KEY_UNREACHABLE"
  | "FAREBOX_KEY_NEARLY_MATCHES"
  | "FAREBOX_KEY_SHADOWED"
  | "FAREBOX_KEYS_OVERLAP"
  | "FAREBOX_PRICED_TWICE"
  | "FAREBOX_METHOD_FREE"
  | "FAREBOX_MOUNT_OF_TWO_PRICES"
  | "FAREBOX_MEMORY_STORE"
  | "FAREBOX_PROXY_IGNORED"
  | "FAREBOX_HOST_NOT_ALLOWED"
  | "FAREBOX_OFFER_UNSUPPORTED"
  | "FAREBOX_OVERRIDE_IN_HEADER"
  | "FAREBOX_PAYEE_UNPAYABLE"
  | "FAREBOX_NOT_HTTPS"
  | "FAREBOX_CHALLENGE_TOO_LARGE"
  | "FAREBOX_TEMPLATE_NOT_LISTABLE"
  | "FAREBOX_PATH_PARAM_UNKNOWN"
  | "FAREBOX_EXAMPLE_MISSING"
  | "FAREBOX_LISTING_REJECTED"
  | "FAREBOX_BODY_NOT_PARSED";

/** What is to be done about it depends on its code alone. */
export type PlainFindingCode = Exclude<FindingCode, "FAREBOX_PAYEE_UNPAYABLE">;

/** One thing that looks wrong. */
export interface Finding {
  readonly code: FindingCode;
  /** The key or route it is about: `GET /weather`; `undefined` when it is about the server. */
  readonly route: string | undefined;
  /** What is there, in a sentence. */
  readonly message: string;
  /** What to do, in a sentence. */
  readonly remedy: string;
}

/** Everything that was found so far. */
export interface Findings {
  readonly all: readonly Finding[];
  /** Notes and logs a finding, unless the same was noted before. */
  add(finding: Finding): void;
  /** Only logs a finding, which may be over any time, unless the same was told before. */
  tell(finding: Finding): void;
}

/** Starts an empty list. There are as many findings as there are codes and routes, however many requests come. */
export function createFindings(logger: Logger): Findings {
  const found = new Map<string, Finding>();
  const told = new Set<string>();
  const tell = (finding: Finding) => {
    const { code, route = "", message, remedy } = finding;
    const id = idOf(finding);
    if (told.has(id)) return;
    told.add(id);
    logger.warn(code, { route, message, remedy });
  };
  return {
    get all() {
      return [...found.values()];
    },
    add(finding) {
      const id = idOf(finding);
      if (!found.has(id)) found.set(id, finding);
      tell(finding);
    },
    tell,
  };
}

function idOf({ code, route = "", message }: Finding): string {
  return `${code} ${route} ${message}`;
}
