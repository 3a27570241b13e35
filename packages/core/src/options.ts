/**
 * What a seller writes: options, routes, payment options. The folder `config` checks it at start-up.
 *
 * The table in `docs/reference/options.md` is generated from the comments here.
 *
 * @module
 */

import type { PaymentHooks, PricedRequest, SellersBody } from "./events/hooks.js";
import type { LoggerOption } from "./events/logger.js";
import type { Extension } from "./extension.js";
import type { Facilitator } from "./facilitator/facilitator.js";
import type { HttpFacilitatorOptions } from "./facilitator/http-facilitator.js";
import type { Deadlines } from "./facilitator/pool-member.js";
import type { HeaderValues } from "./http/client.js";
import type { PaywallTranslation } from "./paywall-texts.js";
import type { ExactPrice } from "./price/exact-price.js";
import type { AssetPrice, DollarPrice, TickerPrice } from "./price/price.js";
import type { KnownNetwork } from "./protocol/caip2.js";
import type { PaymentRequired, SettlementResponse } from "./protocol/documents.js";
import type { RouteKey } from "./route/route-key.js";
import type { SettleTime } from "./scheme/offer.js";
import type { Scheme } from "./scheme/scheme.js";
import type { PaymentStore } from "./store/payment-store.js";
import type { OpenTelemetryApi } from "./telemetry/open-telemetry.js";

export type { SettleTime } from "./scheme/offer.js";

/** Calls `act` once after `delayMs`, unless the returned function is called before. */
export type StartTimer = (act: () => void, delayMs: number) => () => void;

/** The head of a handler's response, by which `chargeable` decides. */
export interface ChargeableResponse {
  /** @example 200 */
  readonly status: number;
  /**
   * The value of its `Location`, if it has one.
   *
   * @example "https://cdn.example/song.mp3?signature=…"
   */
  readonly location?: string;
  /** Whether it is charged by default. */
  readonly isSale: boolean;
}

/** Says whether a response is charged. Called once per response; returns at once. */
export type Chargeable = (response: ChargeableResponse) => boolean;

/** Any text: the types beside it are for completion, and the text is checked at start. */
type Text = string & {};

/**
 * Dollars (`"$0.01"`), a stablecoin by ticker (`"0.01 USDT"`), a price computed by `usd` or `price`, or atomic units of any
 * token. Texts are checked at start.
 */
export type Price = DollarPrice | TickerPrice | Text | ExactPrice | AssetPrice;

/** A CAIP-2 network. Editors complete the usual ones; the text is checked at start. */
export type NetworkName = KnownNetwork | Text;

/**
 * What a price, recipient or validate function gets. A price is quoted for all that its function read of the request. A
 * price that reads `headers` as a whole, `payment` or `native` is not quoted: its function is called again with the payment.
 */
export interface PriceRequest extends PricedRequest {}

/**
 * Returns the price of a request. The price is signed into the offer with all that the function read of the request, and
 * holds for `maxTimeoutSeconds`. If it throws, or the price is invalid, the client gets 503.
 */
export type PriceFunction = (request: PriceRequest) => Price | Promise<Price>;

/** Returns the recipient of a request, as {@link PriceFunction} returns its price. */
export type PayToFunction = (request: PriceRequest) => string | Promise<string>;

/** Reads prices in dollars as another asset, or in a way of its own. */
export interface PriceParser {
  /**
   * Name of the scheme that it is for.
   *
   * @example "exact"
   * @defaultValue all
   */
  readonly scheme?: "exact" | "upto" | Text;
  /**
   * CAIP-2 network or pattern that it is for.
   *
   * @example "eip155:8453"
   * @defaultValue all
   */
  readonly network?: NetworkName | "eip155:*" | "solana:*" | "algorand:*";
  /**
   * Gets the decimal of a price in dollars, `"0.01"` for `"$0.01"`, and the network of the option. Returns
   * `{ asset, amount }` in atomic units, or nothing if the price is not its own. An option whose parser returns a promise
   * is priced with each request.
   *
   * @example (amount) => ({ asset: "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42", amount: toUnits(amount) })
   */
  readonly parse: (amount: string, network: string) => AssetPrice | undefined | Promise<AssetPrice | undefined>;
  /**
   * Asks it about prices that name a token, too: it gets `"0.01"` for `"0.01 USDC"`.
   *
   * @example true
   * @defaultValue false
   */
  readonly namedTokens?: boolean;
}

/** A list of payment options. Beside an array type, the compiler would not say which field of one option is wrong. */
export interface PaymentOptionList {
  readonly length: number;
  readonly [at: number]: PaymentOption;
}

/** One way to pay for a route. */
export interface PaymentOption {
  /**
   * Scheme: `exact` takes the price, `upto` takes up to the price.
   *
   * @example "upto"
   * @defaultValue `"exact"`
   */
  readonly scheme?: "exact" | "upto" | Text;
  /**
   * Price, as dollars, by ticker, in atomic units, or by request.
   *
   * @example "0.01 USDT"
   * @defaultValue the route's `price`
   */
  readonly price?: Price | PriceFunction;
  /**
   * CAIP-2 network.
   *
   * @example "eip155:8453"
   */
  readonly network: NetworkName;
  /**
   * Recipient: an address, or a function of the request.
   *
   * @example "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
   * @defaultValue the seller's `payTo` for the network
   */
  readonly payTo?: string | PayToFunction;
  /**
   * Time from challenge to settlement: 10 to 86400 seconds.
   *
   * @example 60
   * @defaultValue 300
   */
  readonly maxTimeoutSeconds?: number;
  /**
   * When the money of this option moves. Clients see `"before"` as `extra.paymentFlow: "upfront"`. In `extra`, `paymentFlow: "upfront"` and
   * `"authorization"` say `"before"` and `"after"`, too.
   *
   * @example "before"
   * @defaultValue the route's `settle`
   */
  readonly settle?: SettleTime;
  /**
   * Added to the `extra` of the offer.
   *
   * @example { assetTransferMethod: "permit2" }
   */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/**
 * Returns what is wrong with a request: nothing, or a sentence or several for the client, of at most 200 characters
 * each. If it throws, or returns anything else, the client gets 503.
 */
export type InputValidator = (
  request: PriceRequest,
  // biome-ignore lint/suspicious/noConfusingVoidType: a validator that has nothing to say is written without a return
) => string | readonly string[] | undefined | void | Promise<string | readonly string[] | undefined | void>;

/** What is charged when the handler of an `upto` route sets no amount. */
export type Unmetered = "maximum" | "zero" | "error";

/** Whether a payment may, must or cannot carry an id of its client. */
export type IdentifierMode = "optional" | "required" | "off";

/** Returns the body of the 402 for a request without a payment. */
export type UnpaidBody = (request: PricedRequest) => SellersBody | Promise<SellersBody>;

/** A settlement that was refused. */
export interface SettlementFailure {
  /**
   * As in the receipt and in the challenge.
   *
   * @example "insufficient_funds"
   */
  readonly reason: string;
  /** As in `PAYMENT-RESPONSE`. */
  readonly receipt: SettlementResponse;
}

/** Returns the body of the 402 for a payment whose settlement was refused. */
export type SettlementFailedBody = (
  request: PricedRequest,
  failure: SettlementFailure,
) => SellersBody | Promise<SellersBody>;

/** Returns the body of a 503. */
export type UnavailableBody = (request: PricedRequest, unavailable: Unavailable) => SellersBody | Promise<SellersBody>;

/** Why a request gets 503, and when to repeat it. */
export interface Unavailable {
  /**
   * A reason of the protocol, as in the usual body. `settlement_pending`: the money may have moved.
   *
   * @example "unexpected_verify_error"
   */
  readonly reason: string;
  /** As in `Retry-After`. */
  readonly retryAfterSeconds: number;
}

/** HTML for browsers, or a function that returns it. Texts of the challenge may come from the client: escape them. */
export type PaywallHtml = string | ((challenge: PaymentRequired, request: PricedRequest) => string | Promise<string>);

/** Colors of the page: `#rgb` or `#rrggbb`. They hold in light and in dark mode. */
export interface PaywallColors {
  /**
   * Buttons and links. The page chooses black or white for text on it.
   *
   * @example "#0b6b43"
   */
  readonly accent?: string;
  /**
   * Behind everything.
   *
   * @example "#fafafa"
   */
  readonly background?: string;
  /**
   * Of cards.
   *
   * @example "#ffffff"
   */
  readonly surface?: string;
  /**
   * Of text. Its contrast to the two above is the seller's to check.
   *
   * @example "#111111"
   */
  readonly text?: string;
}

/** The page that a browser gets with a 402. A route's settings replace the seller's, field by field. */
export interface Paywall {
  /**
   * The name at the top: 1 to 100 characters.
   *
   * @example "Weather Pro"
   * @defaultValue `serviceName`, or the host
   */
  readonly title?: string;
  /**
   * An image beside the name: a path of this server, or a `data:` URL. The page loads nothing from other origins.
   *
   * @example "/logo.svg"
   * @defaultValue none
   */
  readonly logo?: string;
  /**
   * Colors, each `#rgb` or `#rrggbb`: `accent`, `background`, `surface`, `text`.
   *
   * @example { accent: "#0b6b43" }
   * @defaultValue a blue, in light and dark mode
   */
  readonly colors?: PaywallColors;
  /**
   * Texts by language. The browser's `Accept-Language` chooses; texts that are missing are in English.
   *
   * @example { en: { pay: "Buy for {price}" }, de: { pay: "{price} bezahlen" } }
   * @defaultValue English
   */
  readonly texts?: Readonly<Record<string, PaywallTranslation>>;
  /**
   * Whether the page says that no real money is paid.
   *
   * @example true
   * @defaultValue whether every offer is on a known test network
   */
  readonly testnet?: boolean;
  /**
   * A page of your own, as HTML or a function of the challenge and the request. It is sent without a `Content-Security-Policy` of
   * Farebox. If the function throws, or takes more than 5 seconds, the page of Farebox is sent.
   *
   * @example (challenge) => `<!doctype html><title>Weather</title><h1>${challenge.accepts.length} ways to pay</h1>`
   * @defaultValue the page of Farebox
   */
  readonly html?: PaywallHtml;
}

/**
 * A priced route. It either names its payment options in `accepts`, or has a `price` and the seller's options name
 * the rest.
 */
export interface RouteConfig {
  /**
   * Payment options, in order of preference: clients take the first that they can pay. With `[]` nobody can pay: only
   * requests that a hook `onRequest` grants reach the handler.
   *
   * @example [{ price: "$0.01", network: "eip155:8453", payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" }]
   * @defaultValue one per entry of `networks`
   */
  readonly accepts?: PaymentOption | PaymentOptionList;
  /**
   * Price of every payment option without its own.
   *
   * @example "$0.01"
   */
  readonly price?: Price | PriceFunction;
  /**
   * Allows a price of zero, which is refused otherwise. Beside `"$0"` the route is free; beside a price function, a
   * request with a price of zero is.
   *
   * @example true
   * @defaultValue `false`
   */
  readonly free?: boolean;
  /**
   * For people and catalogs: at most 500 characters.
   *
   * @example "The weather, now"
   * @defaultValue `""`
   */
  readonly description?: string;
  /**
   * Media type of the response.
   *
   * @example "application/json"
   * @defaultValue `""`
   */
  readonly mimeType?: string;
  /**
   * Declared in the challenge: `{ info, schema }` by identifier, or the short form of an extension, such as `bazaar`.
   *
   * @example { bazaar: { discoverable: true } }
   */
  readonly extensions?: Readonly<Record<string, object>>;
  /**
   * Checks a paid request before it is charged; a request that fails gets 400. `true` checks query, path and body by
   * `extensions.bazaar`, and needs it. A function returns nothing, or a sentence or several for the client, of at
   * most 200 characters each; if it throws, the client gets 503.
   *
   * @example ({ body }) => (words(body) > 0 ? undefined : "the text is empty")
   * @defaultValue `false`
   */
  readonly validate?: boolean | InputValidator;
  /**
   * For catalogs: 1 to 32 printable ASCII characters.
   *
   * @example "Weather"
   * @defaultValue the seller's
   */
  readonly serviceName?: string;
  /**
   * For catalogs: at most 5, each 1 to 32 printable ASCII characters.
   *
   * @example ["weather"]
   * @defaultValue the seller's
   */
  readonly tags?: readonly string[];
  /**
   * For catalogs: an http or https URL of at most 2048 characters, on a public host.
   *
   * @example "https://api.example.com/icon.png"
   * @defaultValue the seller's
   */
  readonly iconUrl?: string;
  /**
   * Absolute http or https URL of the resource, in place of the computed one: in challenges, in what the facilitator gets
   * and in the documents for catalogs. At most 2048 ASCII characters, without credentials and fragment.
   *
   * @example "https://api.example.com/v1/weather"
   * @defaultValue `publicUrl`, or the host of the request, and its path
   */
  readonly resource?: string;
  /**
   * The JSON body of the 402 for a request without a payment. `PAYMENT-REQUIRED` stays as it is; so does the body of a
   * 402 for a refused payment, and the page for browsers. If it throws, or takes more than 5 seconds, the default is sent.
   *
   * @example ({ url }) => ({ contentType: "application/json", body: { error: "Payment required", docs: `${url}/docs` } })
   * @defaultValue the challenge
   */
  readonly unpaidBody?: UnpaidBody;
  /**
   * The body of the 402 for a payment whose settlement was refused, as `unpaidBody`. Not sent while the outcome of a
   * settlement is unknown.
   *
   * @example (_request, { reason }) => ({ contentType: "application/json", body: { error: reason } })
   * @defaultValue the challenge
   */
  readonly settlementFailedBody?: SettlementFailedBody;
  /**
   * The JSON body of a 503, as `unpaidBody`. Status and `Retry-After` stay. It must not invite to a new payment: the old one may settle.
   *
   * @example (_request, { retryAfterSeconds }) => ({ contentType: "application/json", body: { retryAfterSeconds } })
   * @defaultValue `error` and `message`
   */
  readonly unavailableBody?: UnavailableBody;
  /**
   * The page for browsers, as in the seller's options. What is set here replaces the seller's.
   *
   * @example { title: "Weather Pro", colors: { accent: "#0b6b43" } }
   * @defaultValue the seller's
   */
  readonly paywall?: Paywall;
  /**
   * Which responses are charged. Gets `status`, `location` and `isSale`, the default. A 304 and a response to a
   * disconnected client never are; if this throws or returns no boolean for a sale, nothing is charged and the client gets
   * 500. Not allowed with `settle: "before"`, on the route or on a payment option.
   *
   * @example ({ isSale, location }) => isSale && location !== "/login"
   * @defaultValue status 200 to 299, and redirects, except to priced routes
   */
  readonly chargeable?: Chargeable;
  /**
   * When the money moves, for payment options without their own `settle`. `"after"`: the response is held until it has
   * settled. `"before"`: the handler runs once it has settled, and every response is charged. `"metered"`, for `upto`: the response goes
   * out while the handler counts what it costs, and settles when it ends: within `exposure`.
   *
   * @example "before"
   * @defaultValue `"after"`
   */
  readonly settle?: SettleTime;
  /**
   * Whether a client can fetch its response again by an id of its own. `"required"`: a payment without an id gets
   * 400. `"off"`: the extension is neither declared nor read.
   *
   * @example "required"
   * @defaultValue `"optional"`
   */
  readonly paymentIdentifier?: IdentifierMode;
  /**
   * For `upto`: the amount when the handler sets none. `"zero"`: nothing is charged. `"error"`: nothing is charged,
   * and the client gets 500.
   *
   * @example "error"
   * @defaultValue `"maximum"`; with `settle: "metered"` `"zero"`
   */
  readonly unmetered?: Unmetered;
  /**
   * Whether the handler finds `PAYMENT-SIGNATURE` as the client sent it. It is removed otherwise, so that no handler logs or
   * forwards it; `req.payment` says who paid what.
   *
   * @example true
   * @defaultValue the seller's
   */
  readonly keepPaymentHeader?: boolean;
  /**
   * Whether the handler finds `If-None-Match` with the tags of responses that the client has, so that it can respond with an uncharged
   * 304. Each 304 counts as a run that the client has left. `*` is removed all the same. Not with `settle: "before"`.
   *
   * @example true
   * @defaultValue `false`: conditions are removed, and the response is charged
   */
  readonly revalidation?: boolean;
}

/** The route table: `{ "GET /weather": { price: "$0.01" } }`. */
export type RoutesConfig = { readonly [key in RouteKey]?: RouteConfig };

/** Recipients by network or pattern: `{ "eip155:*": "0x…", "solana:*": "…" }`. The exact network wins. */
export type PayToByNetwork = ByNetwork<KnownNetwork | "eip155:*" | "solana:*" | "algorand:*", string>;

/** Editors complete the known keys. */
type ByNetwork<Known extends string, T> = { readonly [network in Known]?: T } & {
  readonly [network: string]: T | undefined;
};

/** A node that needs headers. */
export interface RpcEndpoint {
  readonly url: string | URL;
  /**
   * Usually credentials.
   *
   * @defaultValue none
   */
  readonly headers?: HeaderValues;
}

/**
 * RPC URLs by network, or `{ url, headers }` for a node that needs a header. A URL may have a query, but no
 * credentials before the host.
 */
export type RpcByNetwork = ByNetwork<KnownNetwork, string | URL | RpcEndpoint>;

/** Blocks by network. */
export type ConfirmationsByNetwork = ByNetwork<KnownNetwork, number>;

/** A facilitator behind HTTP, for all networks or for some. */
export interface HttpFacilitatorChoice extends HttpFacilitatorOptions {
  /**
   * Networks or patterns that it is used for.
   *
   * @example ["eip155:*"]
   * @defaultValue all
   */
  readonly networks?: readonly (NetworkName | "eip155:*" | "solana:*" | "algorand:*")[];
  /**
   * Unique name for logs, health and records. Never a secret.
   *
   * @example "main"
   * @defaultValue the host of the URL
   */
  readonly name?: string;
}

/** A facilitator in this process, for all networks or for some. */
export interface ChosenFacilitator {
  /**
   * An object with `verify`, `settle` and `supported`.
   *
   * @example facilitator
   */
  readonly facilitator: Facilitator;
  /**
   * Networks or patterns that it is used for.
   *
   * @example ["eip155:*"]
   * @defaultValue all
   */
  readonly networks?: readonly (NetworkName | "eip155:*" | "solana:*" | "algorand:*")[];
  /**
   * Unique name for logs, health and records. Never a secret.
   *
   * @example "local"
   * @defaultValue `facilitator-1`, by position from 1
   */
  readonly name?: string;
}

/** A base URL, a URL with headers and networks, or a facilitator in this process. */
export type FacilitatorChoice = string | URL | HttpFacilitatorChoice | ChosenFacilitator | Facilitator;

/** Limits of what metered responses may cost the seller, in dollars. */
export interface ExposureOptions {
  /**
   * For one payer: at least the price of each metered route.
   *
   * @example "$5"
   * @defaultValue `"$0.50"`
   */
  readonly perPayer?: DollarPrice | Text;
  /**
   * For all payers. One more gets 503, and a stream that would cost more ends.
   *
   * @example "$500"
   * @defaultValue `"$50"`
   */
  readonly total?: DollarPrice | Text;
  /**
   * How much of one response may be delivered that a durable store has not recorded: what a process loses that is killed. A single charge
   * may be more. The store writes at least every second, and as often as this needs.
   *
   * @example "$0.10"
   * @defaultValue `"$0.01"`
   */
  readonly unrecorded?: DollarPrice | Text;
}

/** A payment that has settled, for the seller's function that knows its fee. */
export interface LedgerSale {
  /** The key of the route. */
  readonly route: string;
  readonly payee: string;
  readonly scheme: string;
  /** CAIP-2, e.g. `eip155:8453`. */
  readonly network: string;
  readonly asset: string;
  /** Atomic units, as digits. */
  readonly amount: string;
  /** The facilitator's name. `undefined`: it is not known which one it was. */
  readonly facilitator: string | undefined;
}

/** How settled payments are recorded. */
export interface LedgerOptions {
  /**
   * How many days an entry stays, 1 to 36500. Then it is deleted, whether or not a handler of `onSettled` has had it.
   *
   * @example 3650
   * @defaultValue 400
   */
  readonly retentionDays?: number;
  /**
   * How payers are recorded: by their addresses, or by a keyed hash of them.
   *
   * @example "hashed"
   * @defaultValue `"plain"`
   */
  readonly payers?: "plain" | "hashed";
  /**
   * Keys the hash of payers: at least 32 characters, the same in all processes. With another one, earlier entries of a payer are not found.
   *
   * @example process.env["LEDGER_SECRET"]!
   */
  readonly secret?: string;
  /**
   * Says what the facilitator keeps of a payment, in atomic units, as digits; or nothing.
   *
   * @example ({ facilitator }) => (facilitator === "facilitator.example" ? "1000" : undefined)
   */
  readonly feeOf?: (sale: LedgerSale) => string | undefined;
}

/** Options of a seller. Options that decide where money goes have no default. */
export interface PaymentsOptions {
  /**
   * Verifies and settles: one, or several in order of preference. The next one verifies when one fails; it settles
   * only if the request provably never reached the one before. An `http:` URL on a public host is refused.
   *
   * @example [{ url: "https://facilitator.example", headers: { Authorization: "Bearer …" } }, "https://x402.org/facilitator"]
   */
  readonly facilitator: FacilitatorChoice | readonly FacilitatorChoice[];
  /**
   * Recipients by network or pattern, for payment options without their own. The exact network wins.
   *
   * @example { "eip155:*": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" }
   */
  readonly payTo?: PayToByNetwork;
  /**
   * CAIP-2 networks of routes that only have a `price`.
   *
   * @example ["eip155:8453"]
   */
  readonly networks?: readonly NetworkName[];
  /**
   * Your own schemes. They come before the built-in ones.
   *
   * @example [voucherScheme()]
   */
  readonly schemes?: readonly Scheme[];
  /**
   * Read prices in dollars, in this order. The first that returns something wins; if none does, `$` is the network's usual
   * stablecoin.
   *
   * @example [{ network: "eip155:8453", parse: (amount) => ({ asset: "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42", amount: toUnits(amount) }) }]
   * @defaultValue none
   */
  readonly priceParsers?: readonly PriceParser[];
  /**
   * Your own extensions. They come before the built-in one, `bazaar`.
   *
   * @example [receiptExtension()]
   */
  readonly extensions?: readonly Extension[];
  /**
   * For catalogs, for routes without their own: 1 to 32 printable ASCII characters.
   *
   * @example "Weather"
   */
  readonly serviceName?: string;
  /**
   * For catalogs, for routes without their own: at most 5, each 1 to 32 printable ASCII characters.
   *
   * @example ["weather", "forecast"]
   */
  readonly tags?: readonly string[];
  /**
   * For catalogs, for routes without their own: an http or https URL of at most 2048 characters, on a public host.
   *
   * @example "https://api.example.com/icon.png"
   */
  readonly iconUrl?: string;
  /**
   * The page for browsers: `title`, `logo`, `colors`, `texts`, `testnet`, or a page of your own in `html`.
   *
   * @example { title: "Weather Pro", logo: "/logo.svg", colors: { accent: "#0b6b43" } }
   * @defaultValue a page of Farebox, named by `serviceName`
   */
  readonly paywall?: Paywall;
  /**
   * Whether clients get the facilitator's outcome of a listing, in `EXTENSION-RESPONSES`.
   *
   * @example false
   * @defaultValue `true`
   */
  readonly relayExtensionResponses?: boolean;
  /**
   * Whether handlers find `PAYMENT-SIGNATURE` as the client sent it, on routes that do not say.
   *
   * @example true
   * @defaultValue `false`
   */
  readonly keepPaymentHeader?: boolean;
  /**
   * Origin under which clients reach this server.
   *
   * @example "https://api.example.com"
   * @defaultValue from the request, by Express's `trust proxy`
   */
  readonly publicUrl?: string;
  /**
   * Hosts that may be in resource URLs. A request for another host gets the first one.
   *
   * @example ["api.example.com"]
   * @defaultValue any
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Whether the query is part of the resource URL. Catalogs list each URL once.
   *
   * @example true
   * @defaultValue `false`
   */
  readonly includeQuery?: boolean;
  /**
   * Which findings about the configuration make `ready` throw. `true`: all of them. `false`: none, so that a key may match no
   * handler. Findings that depend on facilitators, requests or other processes never do.
   *
   * @example true
   * @defaultValue those by which a route may be free that the seller has priced, and a default store in several processes
   */
  readonly strict?: boolean;
  /**
   * How much of a response is held until its payment has settled: 0 to 67108864 bytes.
   *
   * @example 65_536
   * @defaultValue 1048576 (1 MiB)
   */
  readonly holdBytes?: number;
  /**
   * Time limits of facilitator calls, and of the hook `onPaid`: each 100 to 120000 ms.
   *
   * @example { verifyMs: 5000, settleMs: 30_000, supportedMs: 5000, hookMs: 5000 }
   * @defaultValue as in the example
   */
  readonly deadlines?: Partial<Deadlines>;
  /**
   * RPC URLs by network. Used to resolve settlements with an unknown outcome, by `ready()` to check recipients, for
   * the balance of a payer with several unsettled payments, and for the time that a payment on Solana or Algorand has left. A URL may have a query, but no credentials before the host.
   *
   * @example { "eip155:8453": "https://mainnet.base.org", "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k": { url: "https://algod.example", headers: { "X-Algo-API-Token": "…" } } }
   */
  readonly rpc?: RpcByNetwork;
  /**
   * How many blocks deep a settlement must be before the response goes out: 0 to 64, one number or by network. 1: it is in a
   * block. The nodes in `rpc` are asked, and clients wait. With 0 the facilitator's word counts: a transaction that the chain
   * drops afterwards was served for nothing.
   *
   * @example { "eip155:8453": 2 }
   * @defaultValue 0
   */
  readonly confirmations?: number | ConfirmationsByNetwork;
  /**
   * Payers' signatures are checked in this process: on `eip155:*` all of them until 64 in a row were good. Then a facilitator is
   * asked first, until one signature is found that is not good; with `settle: "before"` always all. A signature of another key may be a contract wallet's: few such payments are
   * verified at a time. `true` checks all signatures, and refuses those of other keys if they have 65 bytes, also those of
   * contract wallets, such as a Safe with one owner.
   *
   * @example true
   * @defaultValue `false`
   */
  readonly verifySignatures?: boolean;
  /**
   * Remembers payments. The default is for one process.
   *
   * @example createMemoryStore()
   * @defaultValue in memory
   */
  readonly store?: PaymentStore;
  /**
   * How `payments.ledger` records settled payments. It is as durable as the store.
   *
   * @example { retentionDays: 400, payers: "hashed", secret: process.env["LEDGER_SECRET"]! }
   * @defaultValue 400 days, payers by their addresses
   */
  readonly ledger?: LedgerOptions;
  /**
   * How long a duplicate waits for the response of the request in flight: 0 to 120000 ms. Then it gets 409.
   *
   * @example 5000
   * @defaultValue 10000
   */
  readonly copyWaitMs?: number;
  /**
   * How many handlers may run for one payer before their payments settle, in all processes if the store counts runs: 1 to 1000000. A run whose client left counts
   * until its payment settles or expires. One more gets 429.
   *
   * @example 16
   * @defaultValue 256
   */
  readonly maxRunsPerPayer?: number;
  /**
   * The most that routes with `settle: "metered"` may cost you: money for responses that went out and have not settled. A payment counts
   * with what was delivered, and while its response streams with `unrecorded` more, up to its maximum. Of all processes together, if the
   * store counts it.
   *
   * @example { perPayer: "$0.50", total: "$50", unrecorded: "$0.01" }
   * @defaultValue as in the example
   */
  readonly exposure?: ExposureOptions;
  /**
   * Decide about requests and payments: grant, deny, record.
   *
   * @example { onRequest: ({ header }) => (isMember(header("X-API-Key")) ? { grant: true } : undefined) }
   */
  readonly hooks?: PaymentHooks;
  /**
   * Signs prices that depend on the request, and retry tokens: at least 32 characters, the same in all processes.
   *
   * @example process.env["QUOTE_SECRET"]!
   * @defaultValue one that the store keeps for all processes, if it can; else a random one per process
   */
  readonly quoteSecret?: string;
  /**
   * Whether metrics are counted for `payments.metrics()`.
   *
   * @example true
   * @defaultValue `false`
   */
  readonly metrics?: boolean;
  /**
   * The module `@opentelemetry/api`. It gets metrics, and spans of verification, handlers and settlement. Set your SDK up before.
   *
   * @example await import("@opentelemetry/api")
   * @defaultValue no telemetry, and nothing is loaded
   */
  readonly telemetry?: OpenTelemetryApi;
  /**
   * Gets log lines: `console`, `pino()`, a logger of winston or bunyan, or your own object. `"json"`: an object a line on stderr. A
   * logger that throws changes nothing.
   *
   * @example console
   * @defaultValue `"text"`: errors, warnings and recoveries on stderr, the same line once an hour and at most five a minute of a kind; in development also the report
   */
  readonly logger?: LoggerOption;
  /**
   * The clock, in Unix milliseconds. For tests.
   *
   * @example () => Date.now()
   * @defaultValue `Date.now`
   */
  readonly now?: () => number;
  /**
   * Calls `act` after `delayMs`, unless the returned function is called first. For tests.
   *
   * @example (act, delayMs) => { const timeout = setTimeout(act, delayMs); return () => clearTimeout(timeout); }
   * @defaultValue `setTimeout`, which keeps no process alive
   */
  readonly timer?: StartTimer;
}
