/**
 * The extension `sign-in-with-x`: a wallet that has paid for a resource gets it again when it signs in, without paying.
 *
 * @see x402 v2 extension `sign-in-with-x`; CAIP-122
 * @module
 */
import { randomBytes } from "node:crypto";
import type {
  CompiledDeclaration,
  DeclarationContext,
  Extension,
  ExtensionDeclaration,
  JsonObject,
  PricedRequest,
  SettledContext,
} from "@farebox/core";
import { settledFor } from "@farebox/core/adapter";
import { createIssues, type Issues } from "@farebox/core/issues";
import { isJsonObject } from "@farebox/core/protocol";
import { HOST_UNKNOWN, ownUrl, readOrigin } from "./own-host.js";
import {
  admit,
  checkStorage,
  isPaidInFull,
  type ResourceOf,
  resourceOfGet,
  type SIWxHookEvent,
  type SIWxStorage,
  toBought,
  whyUnbound,
} from "./sign-in-access.js";
import type { SIWxVerifyOptions, SignatureType } from "./sign-in-message.js";

/** The extension's identifier, and the name of the header. */
export const SIGN_IN_WITH_X = "sign-in-with-x";

/** What a route declares. */
export interface DeclareSIWxOptions {
  /**
   * A sentence that the wallet shows.
   *
   * @example "Sign in to read it again"
   * @defaultValue none
   */
  readonly statement?: string | undefined;
  /**
   * Networks of wallets, as CAIP-2. Required with `accepts: []`.
   *
   * @example ["eip155:8453", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"]
   * @defaultValue those of the offers
   */
  readonly network?: string | readonly string[] | undefined;
  /**
   * How long a signature is valid. Any is valid for 5 minutes at most.
   *
   * @example 60
   * @defaultValue 5 minutes
   */
  readonly expirationSeconds?: number | undefined;
  /** @defaultValue `"1"` */
  readonly version?: string | undefined;
}

/** Options of {@link createSIWxResourceServerExtension}. */
export interface CreateSIWxOptions {
  readonly storage: SIWxStorage;
  /**
   * The origin that wallets sign in to.
   *
   * @example "https://api.example.com"
   * @defaultValue that of the resource URL, if the seller set it by `publicUrl`, `allowedHosts` or the route's `resource`, or if it is
   *   this very machine; otherwise nobody can sign in
   */
  readonly origin?: string | undefined;
  /**
   * Names what the purchase of a request grants: every request with the same name. Required on routes whose price is a function, or
   * whose method is not `GET`. `undefined` grants nothing. It must tell apart all requests that differ in price.
   *
   * @example ({ path, search }) => (search === "?size=large" ? `${path} large` : path)
   * @defaultValue path and query of `GET` requests without a body, and nothing for other requests
   */
  readonly resourceOf?: ResourceOf | undefined;
  /** @defaultValue signatures of keys, not of contract wallets */
  readonly verifyOptions?: SIWxVerifyOptions | undefined;
  readonly onEvent?: ((event: SIWxHookEvent) => void) | undefined;
}

/** The declaration of a route. */
export interface SIWxDeclaration extends ExtensionDeclaration {
  readonly supportedChains: readonly { readonly chainId: string; readonly type: SignatureType }[];
}

/** Declares the extension for a route: `extensions: { ...declareSIWxExtension({ statement: "Sign in" }) }`. */
export function declareSIWxExtension(options: DeclareSIWxOptions = {}): Record<string, SIWxDeclaration> {
  const { statement, version = "1" } = options;
  const info = { version, ...(statement === undefined ? {} : { statement }) };
  return {
    [SIGN_IN_WITH_X]: {
      info,
      supportedChains: toChains(networksOf(options.network)),
      schema: SCHEMA,
      _options: { ...options },
    },
  };
}

/**
 * Creates the extension: a fresh nonce in each challenge, access for who has paid, and a record of each payment.
 *
 * @throws ConfigError with every issue at once.
 */
export function createSIWxResourceServerExtension(options: CreateSIWxOptions): SIWxExtension {
  const issues = createIssues();
  const names = ["storage", "origin", "resourceOf", "verifyOptions", "onEvent"];
  const isObject = issues.checkKeys("options", options, names);
  const origin = isObject ? readOrigin("options.origin", options.origin, issues) : undefined;
  if (isObject) {
    checkStorage(options.storage, issues);
    checkResourceOf(options.resourceOf, issues);
  }
  issues.throwIfAny();
  return {
    key: SIGN_IN_WITH_X,
    resourceOf: options.resourceOf,
    compile: (declaration, context) => compile(declaration, context, { ...options, origin }),
  };
}

/** The extension, and how its seller names purchases. */
export interface SIWxExtension extends Extension {
  readonly resourceOf: ResourceOf | undefined;
}

/** Checks the option. */
export function checkResourceOf(resourceOf: unknown, issues: Issues): void {
  if (resourceOf !== undefined && typeof resourceOf !== "function") {
    issues.add("options.resourceOf", "a function", resourceOf);
  }
}

function compile(
  given: unknown,
  context: DeclarationContext,
  { origin, storage, verifyOptions, resourceOf, onEvent }: CreateSIWxOptions,
): CompiledDeclaration | undefined {
  const { path, ownHosts, isAuthOnly, issues } = context;
  const declared = readDeclaration(given, { path, isAuthOnly, issues });
  const unbound = resourceOf === undefined ? whyUnbound(context) : undefined;
  if (unbound !== undefined) issues.addText(path, NEEDS_RESOURCE, unbound);
  if (declared === undefined || unbound !== undefined) return undefined;
  const { networks, info, expirationSeconds } = declared;
  const toResource = (request: PricedRequest) => {
    if (isAuthOnly) return request.path;
    return resourceOf === undefined ? resourceOfGet(toBought(request)) : resourceOf(request);
  };
  const hooks = {
    async onRequest(request: PricedRequest) {
      const signedIn = request.header(SIGN_IN_WITH_X);
      if (signedIn === undefined) return undefined;
      const own = ownUrl(request.url, { hosts: ownHosts, origin, native: request.native });
      const resource = toResource(request);
      if (own === undefined || resource === undefined) return undefined;
      const admittance = { storage, verifyOptions, onEvent, isAuthOnly, networks };
      const isGranted = await admit(signedIn, { origin: new URL(own), resource }, admittance);
      return isGranted ? ({ grant: true } as const) : undefined;
    },
    async onPaid(payment: SettledContext) {
      const { receipt, payer, request } = payment;
      const bought = settledFor(payment);
      const byDefault = bought && resourceOfGet(bought);
      const resource = resourceOf === undefined ? byDefault : request && resourceOf(request);
      if (resource === undefined || !isPaidInFull(payment)) return;
      const address = receipt.payer ?? payer;
      await storage.recordPayment(resource, address);
      onEvent?.({ type: "payment_recorded", resource, address });
    },
  };
  return {
    // It concerns wallets, not facilitators.
    at: () => undefined,
    notices: origin === undefined && ownHosts.length === 0 ? [HOST_UNKNOWN] : [],
    dynamicFields: ["nonce", "issuedAt", "expirationTime"],
    challenge({ resource, offers, request }) {
      const url = ownUrl(resource.url, { hosts: ownHosts, origin, native: request.native });
      if (url === undefined) return undefined;
      const chains = networks.length > 0 ? networks : [...new Set(offers.map(({ network }) => network))];
      return challengeFor(url, { info, expirationSeconds, chains });
    },
    hooks,
  };
}

const NEEDS_RESOURCE =
  "a GET route with a fixed price, or the option resourceOf of createSIWxResourceServerExtension, which names what a purchase grants";

interface Declared {
  readonly networks: readonly string[];
  readonly info: JsonObject;
  readonly expirationSeconds: number | undefined;
}

function readDeclaration(
  given: unknown,
  { path, isAuthOnly, issues }: Pick<DeclarationContext, "path" | "isAuthOnly" | "issues">,
): Declared | undefined {
  const before = issues.found.length;
  // What `declareSIWxExtension` returns, or what it is given.
  const written = isJsonObject(given) && isJsonObject(given["_options"]) ? given["_options"] : given;
  const names = ["statement", "network", "expirationSeconds", "version", "domain", "resourceUri"];
  if (!issues.checkKeys(path, written, names)) return undefined;
  const { statement, network, expirationSeconds, version = "1" } = written;
  for (const [name, value] of Object.entries({ statement, version })) {
    const isLine = value === undefined || (typeof value === "string" && !/[\r\n]/.test(value));
    if (!isLine) issues.add(`${path}.${name}`, "a text of one line", value);
  }
  const networks = networksOf(network);
  if (!networks.every((one) => /^(?:eip155|solana):\S+$/.test(one))) {
    issues.add(`${path}.network`, "CAIP-2 networks such as eip155:8453, of eip155 and solana", network);
  } else if (isAuthOnly && networks.length === 0) {
    issues.add(`${path}.network`, "the networks of wallets, as no offer names one", network);
  }
  const range = { least: 1, most: 31_536_000, usual: 0, unit: "seconds" };
  const seconds = issues.readNumber(`${path}.expirationSeconds`, expirationSeconds, range);
  if (issues.found.length > before) return undefined;
  const info = { version, ...(statement === undefined ? {} : { statement }) };
  return { networks, info, expirationSeconds: seconds === 0 ? undefined : seconds };
}

function networksOf(network: unknown): readonly string[] {
  if (network === undefined) return [];
  return (Array.isArray(network) ? network : [network]).map(String);
}

/** The declaration of one challenge, with a nonce of its own. */
export function challengeFor(
  url: string,
  {
    info,
    expirationSeconds,
    chains,
  }: Pick<Declared, "info" | "expirationSeconds"> & { readonly chains: readonly string[] },
): SIWxDeclaration {
  const now = Date.now();
  return {
    info: {
      domain: new URL(url).host,
      uri: url,
      ...info,
      nonce: randomBytes(16).toString("hex"),
      issuedAt: new Date(now).toISOString(),
      ...(expirationSeconds === undefined
        ? {}
        : { expirationTime: new Date(now + expirationSeconds * 1000).toISOString() }),
      resources: [url],
    },
    supportedChains: toChains(chains),
    schema: SCHEMA,
  };
}

function toChains(networks: readonly string[]): SIWxDeclaration["supportedChains"] {
  return networks.map((chainId) => ({ chainId, type: chainId.startsWith("solana:") ? "ed25519" : "eip191" }));
}

const TEXT = { type: "string" } as const;

/** Short, as it is in the header of each challenge. */
const SCHEMA: JsonObject = Object.freeze({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    domain: TEXT,
    address: TEXT,
    uri: TEXT,
    version: TEXT,
    chainId: TEXT,
    type: TEXT,
    nonce: TEXT,
    issuedAt: TEXT,
    signature: TEXT,
  },
  required: ["domain", "address", "uri", "version", "chainId", "type", "nonce", "issuedAt", "signature"],
});
