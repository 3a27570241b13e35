/**
 * What a seller writes. `parse-options.ts` and `parse-routes.ts` turn it into what the request path reads.
 *
 * @module
 */
import type { Logger } from "../events/logger.js";
import type { Extension } from "../extension/extension.js";
import type { Deadlines } from "../facilitator/deadlines.js";
import type { Facilitator } from "../facilitator/facilitator.js";
import type { HttpFacilitatorOptions } from "../facilitator/http-facilitator.js";
import type { HeaderValues } from "../http/header-values.js";
import type { NetworkPattern } from "../network/caip2.js";
import type { AssetPrice, DollarPrice, TickerPrice } from "../price/price.js";
import type { RouteKey } from "../route/route-key.js";
import type { Scheme } from "../scheme/scheme.js";
import type { PaymentStore } from "../store/payment-store.js";
import type { Chargeable } from "./chargeable.js";
import type { PaymentHooks, PricedRequest } from "./hooks.js";
import type { StartTimer } from "./run.js";

/** Dollars (`"$0.01"`), a stablecoin by its ticker (`"0.01 USDT"`), or atomic units of a named asset. */
export type Price = DollarPrice | TickerPrice | AssetPrice;

/** What a price or a recipient may depend on. */
export interface PriceRequest extends PricedRequest {
  /** The query with its `?`, or `""`. */
  readonly search: string;
  /** Decoded, e.g. `{ city: "Paris" }`. */
  readonly pathParams: Readonly<Record<string, string>>;
  /** What a body parser has made of the body, if one comes before the payments. A stranger's: check it. */
  readonly body: unknown;
}

/**
 * Says what a request costs. The price is signed into the offer, with request and body, and holds for `maxTimeoutSeconds`; so it
 * may be another one by the time of the payment. What it throws, or a price that cannot be sold, is answered 503.
 */
export type PriceFunction = (request: PriceRequest) => Price | Promise<Price>;

/** Says who is paid, as {@link PriceFunction} says how much. */
export type PayToFunction = (request: PriceRequest) => string | Promise<string>;

interface OptionOn<N extends string, Address extends string> {
  /** Default `"exact"`. */
  readonly scheme?: string;
  /** Default: the route's `price`. */
  readonly price?: Price | PriceFunction;
  /** CAIP-2. */
  readonly network: N;
  /** Who is paid. Default: the entry for this network in the options' `payTo`. */
  readonly payTo?: Address | PayToFunction;
  /** How long a payment may take from challenge to settlement, 10 to 86400 seconds. Default 300. */
  readonly maxTimeoutSeconds?: number;
  /** Added to what the scheme puts into the offer. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** One way to pay for a route. */
export type PaymentOption =
  | OptionOn<`eip155:${number}`, `0x${string}`>
  | OptionOn<`solana:${string}`, string>
  | OptionOn<`algorand:${string}`, string>;

/**
 * Says what is wrong with a request before it is charged: nothing; or a text for its client, or several, of at most 200
 * characters each. What it throws, or another answer, is answered 503.
 */
export type InputValidator = (
  request: PriceRequest,
  // biome-ignore lint/suspicious/noConfusingVoidType: a validator that has nothing to say is written without a return
) => string | readonly string[] | undefined | void | Promise<string | readonly string[] | undefined | void>;

/** When the money moves, as seen from the handler. */
export type SettleTime = "after" | "before";

/** What is charged when a handler that may charge less does not say how much. */
export type Unmetered = "maximum" | "zero" | "error";

/** Whether a payment may, must or cannot carry an id of its client's. */
export type IdentifierMode = "optional" | "required" | "off";

/** A priced route. Either it says what it `accepts`, or it has a `price` and the options say the rest. */
export interface RouteConfig {
  /** Ways to pay, the seller's favourite first: clients take the first they can. */
  readonly accepts?: PaymentOption | readonly PaymentOption[];
  /** Price of every way to pay that names none itself. */
  readonly price?: Price | PriceFunction;
  /**
   * Whether a price of zero is meant, which is refused otherwise. Beside `"$0"`: the route costs nothing, an exception among
   * keys that are priced. Beside a price by request: what it says zero of is served without payment. Default `false`.
   */
  readonly free?: boolean;
  /** For people and catalogs, at most 500 characters. */
  readonly description?: string;
  /** Media type of the answer, e.g. `application/json`. */
  readonly mimeType?: string;
  /**
   * Extensions to declare, by identifier: `{ info, schema }` each, or what the extension itself makes of it, as `bazaar` does:
   * `{ bazaar: { discoverable: true, inputSchema: { … } } }`.
   */
  readonly extensions?: Readonly<Record<string, object>>;
  /**
   * Whether a request that comes with a payment is checked before it is charged; what does not pass is answered 400. `true`:
   * query and body by what is declared of them under `extensions.bazaar`; or a function of the seller's. Default: it is not.
   * A request without a payment is told the price, whatever it asks.
   */
  readonly validate?: boolean | InputValidator;
  /** For catalogs: 1 to 32 printable ASCII characters. Default: the options'. */
  readonly serviceName?: string;
  /** For catalogs: at most 5, each like the name. Default: the options'. */
  readonly tags?: readonly string[];
  /** For catalogs: an http or https URL. Default: the options'. */
  readonly iconUrl?: string;
  /**
   * Which answers are charged. Default: those with a status from 200 to 299. A 304 and an answer to a client that has left
   * are never charged, whatever this says; nor is any answer for which it throws or returns no boolean.
   */
  readonly chargeable?: Chargeable;
  /**
   * When the money moves. Default `"after"`: once the handler has answered, whose answer is held until then. `"before"`:
   * the handler runs when it has been paid for, answers freely, and is charged whatever it answers.
   */
  readonly settle?: SettleTime;
  /**
   * The extension `payment-identifier`: with an id of its own, a payment that was served can be sent again and gets the same
   * answer. Default `"optional"`, which says so in the challenge; `"required"`: a payment without is answered 400; `"off"`:
   * it is neither mentioned nor read. Declared by `extensions`, that counts.
   */
  readonly paymentIdentifier?: IdentifierMode;
  /**
   * Of an offer by `upto`: what is charged when the handler does not say how much. Default `"maximum"`, as the protocol has
   * it. `"zero"`: nothing. `"error"`: nothing, and the client gets a 500 in place of the answer.
   */
  readonly unmetered?: Unmetered;
}

/** The route table: `{ "GET /weather": { … } }`. */
export type RoutesConfig = { readonly [key in RouteKey]?: RouteConfig };

/** Addresses by network or by pattern: `{ "eip155:*": "0x…", "solana:*": "…" }`; the exact network wins. */
export type PayToByNetwork = { readonly [pattern in `eip155:${string}`]?: `0x${string}` } & {
  readonly [pattern in `solana:${string}` | `algorand:${string}`]?: string;
};

/** A node that wants to be told something with every question. */
export interface RpcEndpoint {
  readonly url: string | URL;
  /** Most often credentials, e.g. `{ "X-Algo-API-Token": "…" }`. Default: none. */
  readonly headers?: HeaderValues;
}

/**
 * Nodes by network: `{ "eip155:84532": "https://…" }`, or `{ url, headers }` for one that takes its key in a header. In a URL
 * a query is allowed, credentials before the host are not.
 */
export type RpcByNetwork = { readonly [network in PaymentOption["network"]]?: string | URL | RpcEndpoint };

/** A facilitator behind HTTP, chosen for all networks or for some. */
export interface HttpFacilitatorChoice extends HttpFacilitatorOptions {
  /** Networks it is asked about, or patterns such as `"eip155:*"`. Default: all. */
  readonly networks?: readonly NetworkPattern[];
  /** For logs, health and records; unique. Default: the host of the URL. Never a secret. */
  readonly name?: string;
}

/** A facilitator in this process, chosen for all networks or for some. */
export interface ChosenFacilitator {
  readonly facilitator: Facilitator;
  /** Networks it is asked about, or patterns such as `"eip155:*"`. Default: all. */
  readonly networks?: readonly NetworkPattern[];
  /** For logs, health and records; unique. Default: `facilitator-1` by its position, counted from 1. Never a secret. */
  readonly name?: string;
}

/** Who verifies and settles: a base URL, a URL with headers and networks, or a facilitator in this process. */
export type FacilitatorChoice = string | URL | HttpFacilitatorChoice | ChosenFacilitator | Facilitator;

/** Options of a seller. What decides where money goes has no default. */
export interface PaymentsOptions {
  /**
   * Who verifies and settles: one, or several, the seller's favourite first. The next one is asked when one gives no
   * answer; to settle, only when it provably never got the request. Keep the name of one that has payments to settle.
   */
  readonly facilitator: FacilitatorChoice | readonly FacilitatorChoice[];
  /** For ways to pay that name no `payTo` themselves. */
  readonly payTo?: PayToByNetwork;
  /** Networks of routes that only have a `price`. */
  readonly networks?: readonly PaymentOption["network"][];
  /** The seller's own schemes; they are looked at before the built-in ones. */
  readonly schemes?: readonly Scheme[];
  /** The seller's own extensions; they are looked at before the built-in ones. */
  readonly extensions?: readonly Extension[];
  /** Of routes that name none themselves, for catalogs: 1 to 32 printable ASCII characters. */
  readonly serviceName?: string;
  /** Of routes that have none themselves, for catalogs: at most 5, each like the name. */
  readonly tags?: readonly string[];
  /** Of routes that name none themselves, for catalogs: an http or https URL. */
  readonly iconUrl?: string;
  /** Whether clients are told what a facilitator says of declarations, in `EXTENSION-RESPONSES`. Default `true`. */
  readonly relayExtensionResponses?: boolean;
  /** Origin under which clients reach this server, e.g. `https://api.example.com`. Default: what the request says. */
  readonly publicUrl?: string;
  /** Hosts by which clients reach this server, e.g. `["api.example.com"]`; others are not put into URLs. Default: any. */
  readonly allowedHosts?: readonly string[];
  /** Whether the query is part of the resource's URL. Default `false`: catalogs list a resource once. */
  readonly includeQuery?: boolean;
  /** Whether findings about routes, such as a key that no route can match, are errors. Default `false`. What facilitators support is none. */
  readonly strict?: boolean;
  /** How much of an answer is held back until its payment has settled, 0 to 64 MiB, in bytes. Default 1 MiB. */
  readonly holdBytes?: number;
  /** How long calls to the facilitator may take, each 100 to 120000 ms. */
  readonly deadlines?: Partial<Deadlines>;
  /**
   * Nodes to ask, per network, what became of a payment whose settlement has an unknown outcome. Default: none; then the
   * facilitator alone is asked, and what it cannot say stays unknown. `payments.ready` also asks them whether payees can be
   * paid.
   */
  readonly rpc?: RpcByNetwork;
  /**
   * Whether payers' signatures are checked in this process before anybody else is asked. Default `false`: the facilitator
   * checks them. On `eip155:*` it needs the package viem, takes processor time for every payment, and refuses contract
   * wallets whose signatures have 65 bytes, as a key's have; other signatures of contract wallets are left to the
   * facilitator. On Solana and Algorand they are always checked here.
   */
  readonly verifySignatures?: boolean;
  /** Remembers payments. Default: in memory, for a seller of one process. */
  readonly store?: PaymentStore;
  /** How long a copy of a payment that is being served waits for the first run's answer, 0 to 120000 ms. Default 10000. */
  readonly copyWaitMs?: number;
  /** How many handlers may be at work for one payer before their payments are settled, 1 to 1000000. Default 256. */
  readonly maxRunsPerPayer?: number;
  /** The seller's own say in what becomes of requests and payments. */
  readonly hooks?: PaymentHooks;
  /**
   * Signs prices that depend on the request; at least 32 characters, the same in every process of a seller. Default: a new one
   * for each process, so that no quote holds longer than its process.
   */
  readonly quoteSecret?: string;
  /** Takes log lines. Default: in development stderr, for what is priced and findings; otherwise nobody. */
  readonly logger?: Logger;
  /** Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
  /** Waits for the end of a payment's time. Default: timers of Node's that keep no process alive. For tests, as `now` is. */
  readonly timer?: StartTimer;
}
