/**
 * What `farebox doctor` can find. `docs/reference/doctor.md` has a heading for each.
 *
 * @module
 */

/** `error`: money, or requests, are lost. `warning`: some clients cannot pay. `note`: good to know. */
export type Level = "error" | "warning" | "note";

/** Every kind of diagnosis, by the end of its code: its level; what is wrong, as a sentence; what to do, in the imperative. */
// biome-ignore format: a table reads best with one row a line
export const DIAGNOSES = {
  UNREACHABLE: ["error", "The server does not respond", "Check the URL, and that the server runs"],
  CERTIFICATE: ["error", "Clients refuse the server's TLS certificate", "Install a certificate for this host, with its whole chain"],
  NOT_TLS: ["error", "A server on the internet is reached without TLS, so payments and responses can be read and changed on the way", "Serve it by https"],
  NO_ROUTES: ["error", "No priced route was found", "Name the URL of a priced route, or serve payments.wellKnown() at /.well-known/x402 or payments.openapi() at /openapi.json"],
  FREE: ["error", "A request without a payment is served", "Mount the payment middleware before the route, with a key that names it; see payments.report()"],
  BYPASS: ["error", "Another spelling of the path is served without a payment", "Mount the payment middleware before the route, and let no proxy rewrite paths after it"],
  HEAD_FREE: ["warning", "HEAD runs the handler without a payment", "Price HEAD like GET, as Farebox does"],
  STATUS: ["error", "A request without a payment gets neither 402 nor a response", "Look at the server's log; if the request needs a body or parameters, check that the price comes before their validation"],
  BAD_PAYMENT_SERVED: ["error", "A payment that nobody signed is served", "Let a facilitator verify payments before the handler runs"],
  BAD_PAYMENT_STATUS: ["error", "A payment that nobody signed gets a server error", "Answer it with 402, as the protocol says"],
  NO_CHALLENGE: ["error", "The 402 has no PAYMENT-REQUIRED header, so clients of version 2 cannot pay", "Let no proxy remove the header; move a server of x402 version 1 to version 2"],
  CHALLENGE_UNREADABLE: ["error", "PAYMENT-REQUIRED is not base64 of a JSON document of version 2", "Write it with standard base64, in one line, with padding"],
  CHALLENGE_EMPTY: ["error", "The challenge has no offer, so nobody can pay", "Give the route an offer that a facilitator supports"],
  OFFER_INVALID: ["error", "An offer has a field that clients refuse", "Mend the field"],
  HEADER_LARGE: ["warning", "PAYMENT-REQUIRED is longer than 4096 characters, which some proxies refuse", "Shorten descriptions, examples and schemas, or raise proxy_buffer_size"],
  HEADER_TOO_LARGE: ["error", "The response's headers are too long for clients", "Shorten descriptions, examples and schemas"],
  CACHEABLE: ["warning", "Caches may keep the 402, and serve old prices or a price instead of a paid response", "Send Cache-Control: no-store with each 402"],
  CORS_MISSING: ["warning", "Pages of other origins cannot pay, because the server has no CORS headers", "Use the cors middleware before the payments, if pages in browsers are clients"],
  CORS_EXPOSE: ["warning", "Pages of other origins cannot read the payment headers", "Add PAYMENT-REQUIRED and PAYMENT-RESPONSE to Access-Control-Expose-Headers"],
  CORS_ALLOW: ["warning", "Pages of other origins cannot send a payment", "Add PAYMENT-SIGNATURE and Access-Control-Expose-Headers to Access-Control-Allow-Headers"],
  RESOURCE_URL: ["warning", "The challenge names another origin than the one that was asked", "Set publicUrl, or Express's \"trust proxy\", so that the seller knows its own URL"],
  CLIENT_LIMIT: ["warning", "Every offer costs more than $1, which clients of @x402/fetch refuse by default", "Tell clients to raise spendControls, or offer a price of at most $1"],
  CLIENT_ASSET: ["warning", "No offer is in an asset that clients of @x402/fetch pay by default", "Offer a network's usual stablecoin, too"],
  CLIENT_NETWORK: ["warning", "No offer is on a network that clients know by default", "Offer a network that clients know, too, such as Base or Solana"],
  TOKEN_DOMAIN: ["error", "The offer's extra lacks the token's EIP-712 domain, or has another one, so every signature is refused", "Set extra.name and extra.version as the token's contract has them"],
  FACILITATOR_FIELD: ["error", "The offer lacks a field that the facilitator provides, so clients cannot sign", "Let the facilitator's /supported be reached before the first request"],
  TIMEOUT_SHORT: ["error", "maxTimeoutSeconds is too short: facilitators refuse a payment with less than 6 seconds left", "Set maxTimeoutSeconds to the longest time of the handler, and at least 60"],
  PAYEE_WRONG: ["error", "The money would be lost: payTo is the zero address, or the token itself", "Set payTo to an address that you own"],
  TESTNET_MIXED: ["warning", "The route takes payments of a test network beside real money, so it can be bought for nothing", "Offer test networks on a test server only"],
  TESTNET_ONLY: ["note", "The route takes only worthless money of test networks", "Offer a main network when you go to production"],
  CLOCK: ["error", "The server's clock is wrong, so payments are refused as expired or as not yet valid", "Let the server set its clock by NTP"],
  FACILITATOR_UNREACHABLE: ["error", "The facilitator does not respond", "Check its URL, and that this machine may reach it"],
  FACILITATOR_RESPONSE: ["error", "The facilitator's /supported is unreadable", "Check that the URL is the base URL of a facilitator of version 2"],
  FACILITATOR_UNSUPPORTED: ["error", "No facilitator supports the offer, so no payment for it can settle", "Name a facilitator that supports this scheme on this network, or take the offer out"],
  FACILITATOR_TESTNET: ["error", "The facilitator is for test networks only, and the offer is on a main network", "Name a facilitator for main networks"],
  FACILITATOR_MAINNET: ["warning", "The facilitator is for main networks only, and the offer is on a test network", "Name a facilitator for test networks"],
  FACILITATOR_SIGNER: ["warning", "The offer names an address that is none of the facilitator's", "Name the facilitator that the seller uses; if it is this one, restart the seller"],
  FACILITATOR_NOT_TLS: ["error", "A facilitator on the internet is reached without TLS, so its verdicts can be changed on the way", "Use its https URL"],
  FACILITATOR_SLOW: ["warning", "The facilitator takes more than 2 seconds to respond, and each payment waits for it twice", "Name a facilitator that is nearer"],
  NODE_UNREACHABLE: ["error", "The node does not respond", "Check the URL and the key of the node"],
  NODE_WRONG_CHAIN: ["error", "The node is of another chain", "Name a node of this network"],
  NODE_BEHIND: ["warning", "The node's newest block is more than 5 minutes old", "Name a node that follows the chain, or set this machine's clock"],
  NODE_UNCLEAR: ["warning", "The node could not say whether the payee can be paid", "Try again, or name another node"],
  ASSET_MISSING: ["error", "There is no contract at the asset's address on this chain", "Set the asset to the token's address on this network"],
  PAYEE_UNPAYABLE: ["error", "The payee cannot receive the asset", "Mend it before you sell"],
  MODULE_FAILS: ["error", "The file cannot be checked", "Mend the file; it exports app and payments, or options and routes"],
  CONFIG: ["error", "The configuration is refused at start-up", "Mend each of these"],
  STORE: ["error", "The store cannot be used, so no payment can be taken", "Check the connection, and that the store's table exists"],
} as const;

/** The end of a code. */
export type DiagnosisName = keyof typeof DIAGNOSES;

/** Something that was found. */
export interface Diagnosis {
  /** `FAREBOX_DOCTOR_…`, or the code of a finding of `payments.report()`. */
  readonly code: string;
  readonly level: Level;
  /** What it is about: a route, a facilitator, a network. */
  readonly subject: string;
  /** What was seen, as a sentence without a full stop. Text of strangers is in it as it came. */
  readonly message: string;
  /** What to do, as a sentence without a full stop. */
  readonly remedy: string;
}

/** What happened at one place, in addition to what its kind says. */
interface Seen {
  /** Replaces the meaning. */
  readonly message?: string;
  readonly remedy?: string;
}

/** Makes a diagnosis. */
export function diagnose(name: DiagnosisName, subject: string, { message, remedy }: Seen = {}): Diagnosis {
  const [level, meaning, usual] = DIAGNOSES[name];
  return { code: `FAREBOX_DOCTOR_${name}`, level, subject, message: message ?? meaning, remedy: remedy ?? usual };
}
