/**
 * Findings: likely mistakes in a valid configuration. Each is logged once.
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
  | "FAREBOX_PRICED_TWICE"
  | "FAREBOX_ROUTER_UNREADABLE"
  | "FAREBOX_MEMORY_STORE"
  | "FAREBOX_MEMORY_LEDGER"
  | "FAREBOX_STORE_EVICTION"
  | "FAREBOX_STORE_NOT_DURABLE"
  | "FAREBOX_STORE_REPLICA"
  | "FAREBOX_QUOTE_SECRET_DIFFERS"
  | "FAREBOX_PROXY_IGNORED"
  | "FAREBOX_HOST_NOT_ALLOWED"
  | "FAREBOX_OFFER_UNSUPPORTED"
  | "FAREBOX_FACILITATOR_DOWN"
  | "FAREBOX_OVERRIDE_IN_HEADER"
  | "FAREBOX_FOREIGN_PAYMENT"
  | "FAREBOX_PAYEE_UNPAYABLE"
  | "FAREBOX_NOT_HTTPS"
  | "FAREBOX_CHALLENGE_LARGE"
  | "FAREBOX_CHALLENGE_TOO_LARGE"
  | "FAREBOX_TEMPLATE_NOT_LISTABLE"
  | "FAREBOX_DECLARATION_NOT_LISTABLE"
  | "FAREBOX_TOOL_NOT_LISTABLE"
  | "FAREBOX_PATH_PARAM_UNKNOWN"
  | "FAREBOX_EXAMPLE_MISSING"
  | "FAREBOX_TOOL_URL_UNKNOWN"
  | "FAREBOX_LISTING_REJECTED"
  | "FAREBOX_BODY_NOT_PARSED"
  | "FAREBOX_BODY_NOT_KEPT"
  | "FAREBOX_REQUEST_UNNAMED"
  | "FAREBOX_BODY_FAILED"
  | "FAREBOX_PAYMENT_HEADER_READ"
  | "FAREBOX_METERED_UNCOUNTED"
  | "FAREBOX_METERED_NOT_SHARED"
  | "FAREBOX_HANDLER_TOO_LONG"
  | "FAREBOX_TRANSACTION_REPEATED"
  | "FAREBOX_SIGNED_HOST_UNKNOWN";

/** The codes whose remedy is always the same. */
export type PlainFindingCode = Exclude<FindingCode, "FAREBOX_PAYEE_UNPAYABLE">;

/** One likely mistake. */
export interface Finding {
  readonly code: FindingCode;
  /** The key or route, e.g. `GET /weather`; `undefined` for a finding about the server. */
  readonly route: string | undefined;
  /** What was found, in a sentence. */
  readonly message: string;
  /** What to do, in a sentence. */
  readonly remedy: string;
}

/** All findings so far. */
export interface Findings {
  readonly all: readonly Finding[];
  /** Keeps and logs a finding, each once. */
  add(finding: Finding): void;
  /** Logs a finding once without keeping it, because it may be fixed at any time. */
  tell(finding: Finding): void;
}

/** Starts an empty list. The number of findings is limited by codes and routes, not by requests. */
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

/** A proxy sends the client's scheme, and Express does not trust the proxy. */
export function proxyFinding(): Finding {
  return finding(
    "FAREBOX_PROXY_IGNORED",
    undefined,
    "A request has X-Forwarded-Proto, but Express trusts no proxy, so resource URLs have the scheme of the proxy's connection",
  );
}

/** A request came for a host that is not allowed. */
export function foreignHostFinding(): Finding {
  return finding(
    "FAREBOX_HOST_NOT_ALLOWED",
    undefined,
    "A request came for a host that is not in allowedHosts; its resource URL has the first allowed host instead",
  );
}

/** Catalogs list https URLs only. */
export function notHttpsFinding(): Finding {
  return finding(
    "FAREBOX_NOT_HTTPS",
    undefined,
    "Resource URLs that are declared for catalogs begin with http://, and their host is public",
  );
}

/** A facilitator refuses to list a route. */
export function listingRejectedFinding(route: string, reason: string | undefined): Finding {
  const said = reason === undefined ? "without a reason" : `with the reason: ${legible(reason)}`;
  return finding("FAREBOX_LISTING_REJECTED", route, `A facilitator rejected its declaration, ${said}`);
}

/** A route checks request bodies or prices by them, and no body parser has read them. */
export function bodyNotParsedFinding(route: string): Finding {
  return finding(
    "FAREBOX_BODY_NOT_PARSED",
    route,
    "A request could not be checked or priced, because no body parser had read its body; it got 500 and was not charged",
  );
}

/** Middleware has read the bodies of a route, and has left too little to tell them apart. */
export function bodyNotKeptFinding(route: string): Finding {
  return finding(
    "FAREBOX_BODY_NOT_KEPT",
    route,
    "A paid request got 400, because middleware had read its body and left too little of it to bind the payment to",
  );
}

/** The handler of a route was reached in a way that is not for sale. */
export function unnamedRequestFinding(route: string): Finding {
  return finding(
    "FAREBOX_REQUEST_UNNAMED",
    route,
    "A request reached its handler by a method or path that none of the handler's keys names, or after it had paid another price; it got 404 and was not charged",
  );
}

/** A facilitator names a transaction that has paid for another payment. */
export function transactionRepeatedFinding(route: string): Finding {
  return finding(
    "FAREBOX_TRANSACTION_REPEATED",
    route,
    "A facilitator said that a payment was settled, and named the transaction that has paid for another one; its outcome counts as unknown",
  );
}

/** A function of the seller's that writes a body, or a page, failed. */
export function bodyFailedFinding(route: string, body: string): Finding {
  return finding("FAREBOX_BODY_FAILED", route, `Its ${body} failed, so the client got the usual body; the log has why`);
}

/** A handler looks for the header of the payment, which is removed. */
export function paymentHeaderReadFinding(route: string): Finding {
  return finding(
    "FAREBOX_PAYMENT_HEADER_READ",
    route,
    "Its handler, or middleware behind the payments, read the header PAYMENT-SIGNATURE, which is removed from paid requests",
  );
}

/** A metered response was delivered, and nothing was charged for it. */
export function uncountedFinding(route: string): Finding {
  return finding(
    "FAREBOX_METERED_UNCOUNTED",
    route,
    "A metered response was sent, and its handler never said what it costs",
  );
}

/** Metered responses are counted in this process only, and there are probably others. */
export function meteredNotSharedFinding(route: string, platform: string): Finding {
  return finding(
    "FAREBOX_METERED_NOT_SHARED",
    route,
    `Its responses are metered, and each process counts its own exposure: ${platform} runs several, or restarts them`,
  );
}

/** A handler needs nearly all of the time, or more, that payments on a network live. */
export function handlerTooLongFinding(route: string, network: string): Finding {
  return finding(
    "FAREBOX_HANDLER_TOO_LONG",
    route,
    `Its handler took nearly all of the time for which a payment on ${network} can settle, or more; a response that is later than that gets 504 and is not charged`,
  );
}

/** A facilitator does not say what it supports: it is down, or its URL is wrong. */
export function facilitatorDownFinding({
  name,
  problem,
}: {
  readonly name: string;
  readonly problem: string;
}): Finding {
  const message = `${name} does not say what it supports: ${legible(problem)}`;
  return finding("FAREBOX_FACILITATOR_DOWN", undefined, message);
}

/** Payments are stored in this process only, and there are probably others. */
export function memoryStoreFinding(platform: string): Finding {
  return finding(
    "FAREBOX_MEMORY_STORE",
    undefined,
    `Payments are stored in memory, but ${platform} runs several processes or restarts them, and they do not share their payments`,
  );
}

/** The store keeps payments, and no ledger. */
export function memoryLedgerFinding(): Finding {
  return finding(
    "FAREBOX_MEMORY_LEDGER",
    undefined,
    "The store keeps no ledger, so each process has one of its own in memory, and loses it when it ends",
  );
}

/** The server of the store may lose records. */
export function storeFinding({
  kind,
  detail,
}: {
  readonly kind: "EVICTION" | "NOT_DURABLE" | "REPLICA";
  readonly detail: string;
}): Finding {
  return finding(`FAREBOX_STORE_${kind}`, undefined, `The server of the store: ${legible(detail)}`);
}

/** Another process signs prices and retry tokens with another secret. */
export function secretDiffersFinding(): Finding {
  return finding(
    "FAREBOX_QUOTE_SECRET_DIFFERS",
    undefined,
    "Another process has used the same store today with another quoteSecret, so each refuses prices and retry tokens of the other",
  );
}

/** The secret that the store has kept is another one than before. */
export function secretLostFinding(): Finding {
  return finding(
    "FAREBOX_QUOTE_SECRET_DIFFERS",
    undefined,
    "The store has another secret than before: it was emptied, replaced or restored while processes ran, and may have lost records of payments, too",
  );
}

/** A response asks for another amount in a header, as the reference's `setSettlementOverrides` does. */
export function overrideInHeaderFinding(route: string): Finding {
  return finding(
    "FAREBOX_OVERRIDE_IN_HEADER",
    route,
    "A response asked in its header Settlement-Overrides for another amount than the one that is charged; a response that had not settled got 500 and was not charged",
  );
}

/** A response has a challenge, a receipt or a token of another seller's, which no client of this one can use. */
export function foreignPaymentFinding(route: string): Finding {
  return finding(
    "FAREBOX_FOREIGN_PAYMENT",
    route,
    "A response of its handler had headers of another payment, such as PAYMENT-REQUIRED, or asked for one by its body; the headers were removed, and a 402 became 502",
  );
}

/** An offer cannot be paid, because its payee lacks something on chain. */
export function payeeFinding(
  { symbol, network, payTo }: { readonly symbol: string; readonly network: string; readonly payTo: string },
  { problem, remedy }: { readonly problem: string; readonly remedy: string },
): Finding {
  const message = `${payTo} cannot be paid in ${symbol} on ${network}: ${problem}`;
  return { code: "FAREBOX_PAYEE_UNPAYABLE", route: undefined, message, remedy };
}

/** A finding with the remedy for its code. */
export function finding(code: PlainFindingCode, route: string | undefined, message: string): Finding {
  return { code, route, message, remedy: REMEDIES[code] };
}

const REMEDIES: Readonly<Record<PlainFindingCode, string>> = {
  FAREBOX_TABLE_NOT_FOUND: "Pass the middleware itself to app.use or router.use, so that its routes can be checked",
  FAREBOX_TABLE_TOO_LATE: "Mount the table before the routes it prices",
  FAREBOX_KEY_UNREACHABLE: "Correct the key, or remove it",
  FAREBOX_KEY_NEARLY_MATCHES: "Correct the key if this route should be priced",
  FAREBOX_KEY_SHADOWED: "Remove the key, or the more specific ones",
  FAREBOX_PRICED_TWICE: "Price the route in one place",
  FAREBOX_ROUTER_UNREADABLE: "Use Express 4 or 5, or price each route by payments.charge",
  FAREBOX_MEMORY_STORE: "Set a store that all processes share, or run one process",
  FAREBOX_MEMORY_LEDGER: "Update the store, or have it keep a ledger; if you need none, leave it as it is",
  FAREBOX_STORE_EVICTION: "Have the server refuse writes when its memory is full, as the message says",
  FAREBOX_STORE_NOT_DURABLE: "Have the server write to disk, as the message says",
  FAREBOX_STORE_REPLICA: "Connect to the primary",
  FAREBOX_QUOTE_SECRET_DIFFERS:
    "Set the same quoteSecret in all processes, or none: the store then keeps one; after a change of the secret, restart all of them",
  FAREBOX_PROXY_IGNORED:
    'Set publicUrl, or app.set("trust proxy", …) as it fits your proxies; without a proxy, the client forges this header',
  FAREBOX_HOST_NOT_ALLOWED: "Add the host if it is yours; otherwise the client forges it",
  FAREBOX_OVERRIDE_IN_HEADER:
    "Import setSettlementOverrides from @farebox/express, not from @x402/express, or call req.payment.settle; if the header comes from a server behind yours, remove it",
  FAREBOX_FOREIGN_PAYMENT:
    "Pay the server behind the handler there, with a client of your own, and copy no payment headers of its response; or price the route in one place",
  FAREBOX_NOT_HTTPS: "Serve it over https; behind a proxy that does, set publicUrl",
  FAREBOX_CHALLENGE_LARGE:
    "Nothing, if your proxies take 8 KiB of headers; otherwise reduce accepts, or shorten the description and outputSchema",
  FAREBOX_CHALLENGE_TOO_LARGE: "Reduce accepts, or shorten its URL and its extensions",
  FAREBOX_TEMPLATE_NOT_LISTABLE:
    "Use only ASCII letters, digits and the characters _ - . ~ in the path and in publicUrl, and no name such as constructor",
  FAREBOX_DECLARATION_NOT_LISTABLE:
    "Shorten its schemas, descriptions and examples: catalogs take 16 KB of JSON, 24 levels and 2000 values",
  FAREBOX_TOOL_NOT_LISTABLE:
    "Set resource to mcp://tool/ with the name of the tool behind it, or to the URL of its MCP server",
  FAREBOX_PATH_PARAM_UNKNOWN: "Correct the name, or remove it if no mount has it either",
  FAREBOX_EXAMPLE_MISSING: "Add an example as input",
  FAREBOX_TOOL_URL_UNKNOWN:
    "Set serverUrl in createPaidTools: the URL of the MCP server, or its path if publicUrl is set",
  FAREBOX_LISTING_REJECTED: "Fix what the reason names; if it is unclear, ask the facilitator's operator",
  FAREBOX_BODY_NOT_PARSED: "Mount a body parser, such as express.json(), before the payment middleware",
  FAREBOX_FACILITATOR_DOWN: "Correct its URL or headers; if it is down, wait for it, or add another facilitator",
  FAREBOX_BODY_NOT_KEPT:
    "Mount the parser of such bodies (multer, say) behind the payments, or have it keep the bytes in req.rawBody",
  FAREBOX_REQUEST_UNNAMED:
    "Add a key for it; if middleware changes the method or URL of requests, mount that middleware before the table",
  FAREBOX_BODY_FAILED: "Let the function return what its option says, within 5 seconds",
  FAREBOX_PAYMENT_HEADER_READ:
    "Read req.payment, which has the payer and the amount, or set keepPaymentHeader for the route if the signed payment itself is needed",
  FAREBOX_METERED_UNCOUNTED: "Call req.payment.charge(price) in the handler, before it writes what it charges for",
  FAREBOX_METERED_NOT_SHARED: "Set a store that all processes share and that counts exposure, or run one process",
  FAREBOX_HANDLER_TOO_LONG:
    'Set settle: "before" for the payment option on that network, so that its payments settle before the handler runs, or respond earlier',
  FAREBOX_TRANSACTION_REPEATED:
    "Ask the facilitator's operator. If it settles several payments in one transaction, set rpc: the chain then shows each of them",
  FAREBOX_SIGNED_HOST_UNKNOWN: "Set publicUrl or allowedHosts, or the extension's origin",
  FAREBOX_OFFER_UNSUPPORTED: "Add a facilitator that supports it, or remove this offer",
};
