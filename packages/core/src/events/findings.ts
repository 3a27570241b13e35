/**
 * Findings: what looks wrong about a seller's routes although the configuration is valid. Each is told once.
 *
 * @module
 */
import { type Logger, legible } from "./logger.js";

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

/** The proxy in front says what the client's scheme was, and Express was not told to believe it. */
export function proxyFinding(): Finding {
  return finding(
    "FAREBOX_PROXY_IGNORED",
    undefined,
    "A request came with X-Forwarded-Proto, but Express trusts no proxy, so resource URLs say what the proxy connected with",
  );
}

/** A request came for a host that the seller did not name. */
export function foreignHostFinding(): Finding {
  return finding(
    "FAREBOX_HOST_NOT_ALLOWED",
    undefined,
    "A request came for a host that is not in allowedHosts; its resource URL names the first allowed host instead",
  );
}

/** Catalogs list what is reached by https. */
export function notHttpsFinding(): Finding {
  return finding(
    "FAREBOX_NOT_HTTPS",
    undefined,
    "Resource URLs that are declared for catalogs begin with http://, and name a host that anybody can reach",
  );
}

/** A facilitator says that it will not list a route. */
export function listingRejectedFinding(route: string, reason: string | undefined): Finding {
  const said = reason === undefined ? "and does not say why" : `and says why: ${legible(reason)}`;
  return finding("FAREBOX_LISTING_REJECTED", route, `A facilitator has rejected its declaration, ${said}`);
}

/** A route's bodies are to be checked, and nobody has read them. */
export function bodyNotParsedFinding(route: string): Finding {
  return finding(
    "FAREBOX_BODY_NOT_PARSED",
    route,
    "A paid request could not be checked, because no body parser has read its body before; it was answered 500, uncharged",
  );
}

/** Payments are remembered by this process alone, and there are probably others. */
export function memoryStoreFinding(platform: string): Finding {
  return finding(
    "FAREBOX_MEMORY_STORE",
    undefined,
    `Payments are remembered in memory, but ${platform} runs several processes or starts them anew, and none knows of the others' payments`,
  );
}

/** An answer came with an amount in a header, which anybody upstream can write. */
export function overrideInHeaderFinding(route: string): Finding {
  return finding(
    "FAREBOX_OVERRIDE_IN_HEADER",
    route,
    "An answer said in its header Settlement-Overrides how much is charged; the header was dropped, and nothing else came of it",
  );
}

/** Nobody can pay an offer, because of what its payee lacks on chain. */
export function payeeFinding(
  { symbol, network, payTo }: { readonly symbol: string; readonly network: string; readonly payTo: string },
  { problem, remedy }: { readonly problem: string; readonly remedy: string },
): Finding {
  const message = `Nobody can pay ${payTo} in ${symbol} on ${network}, for ${problem}`;
  return { code: "FAREBOX_PAYEE_UNPAYABLE", route: undefined, message, remedy };
}

/** A finding, with what to do about its kind. */
export function finding(code: PlainFindingCode, route: string | undefined, message: string): Finding {
  return { code, route, message, remedy: REMEDIES[code] };
}

const REMEDIES: Readonly<Record<PlainFindingCode, string>> = {
  FAREBOX_TABLE_NOT_FOUND: "Pass the middleware itself to app.use or router.use, so that its routes can be checked",
  FAREBOX_TABLE_TOO_LATE: "Mount the table before the routes it prices",
  FAREBOX_KEY_UNREACHABLE: "Correct the key, or remove it",
  FAREBOX_KEY_NEARLY_MATCHES: "Correct the key if this route is meant to be priced",
  FAREBOX_KEY_SHADOWED: "Remove the key, or the more specific ones",
  FAREBOX_KEYS_OVERLAP: "Add a key for the requests that both match, or write the one that should win first",
  FAREBOX_PRICED_TWICE: "Price the route in one place",
  FAREBOX_METHOD_FREE: "Leave the method out of the key, or register the route for that method only",
  FAREBOX_MOUNT_OF_TWO_PRICES: "Give everything below the mount one price, or serve it by routes of its own",
  FAREBOX_MEMORY_STORE: "Give a store that all processes share, or see to it that there is one process",
  FAREBOX_PROXY_IGNORED:
    'Set publicUrl, or app.set("trust proxy", …) as it fits your proxies; without a proxy somebody makes this header up',
  FAREBOX_HOST_NOT_ALLOWED: "Add the host if it is yours; otherwise somebody makes it up",
  FAREBOX_OVERRIDE_IN_HEADER: "Say it by setSettlementOverrides of @farebox/express, or by req.payment.settle",
  FAREBOX_NOT_HTTPS: "Serve it by https; behind a proxy that does, set publicUrl",
  FAREBOX_CHALLENGE_TOO_LARGE: "Shorten the descriptions and examples of its declaration, or accept fewer ways to pay",
  FAREBOX_TEMPLATE_NOT_LISTABLE: "Name the path in ASCII letters, digits and the signs _ - . ~",
  FAREBOX_PATH_PARAM_UNKNOWN: "Correct the name, or remove it if no mount has it either",
  FAREBOX_EXAMPLE_MISSING: "Give an example as input",
  FAREBOX_LISTING_REJECTED: "Do as the reason says; if it says nothing of use, ask the facilitator's operator",
  FAREBOX_BODY_NOT_PARSED: "Mount a body parser, such as express.json(), before the payments",
  FAREBOX_OFFER_UNSUPPORTED: "Add a facilitator that supports it, or remove this way to pay",
};
