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
import { createIssues, type Issues } from "@farebox/core/issues";
import { isJsonObject } from "@farebox/core/protocol";
import { HOST_UNKNOWN, isFromHere, ownUrl, plainPathOf, readOrigin, urlOf } from "./own-host.js";
import {
  readSIWxHeader,
  type SIWxVerifyOptions,
  type SignatureType,
  validateSIWxMessage,
  verifySIWxSignature,
} from "./sign-in-message.js";

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

/** Who has paid for which resource. */
export interface SIWxStorage {
  /**
   * @param resource - Path of the request with its query: `/article/7?page=2`. Before it stands the method, if that is not GET:
   *   `DELETE /article/7`.
   */
  hasPaid(resource: string, address: string): boolean | Promise<boolean>;
  recordPayment(resource: string, address: string): void | Promise<void>;
  /** With {@link SIWxStorage.recordNonce}: each signature counts once. */
  hasUsedNonce?(nonce: string): boolean | Promise<boolean>;
  /** Returns or resolves to `false` if it is recorded already: several processes may ask `hasUsedNonce` at once. */
  recordNonce?(nonce: string): unknown;
}

/** What happened to a header or a payment. */
export type SIWxHookEvent =
  | { type: "payment_recorded"; resource: string; address: string }
  | { type: "access_granted"; resource: string; address: string }
  | { type: "validation_failed"; resource: string; error?: string }
  | { type: "nonce_reused"; resource: string; nonce: string };

/** Options of {@link createSIWxResourceServerExtension}. */
export interface CreateSIWxOptions {
  readonly storage: SIWxStorage;
  /**
   * The origin that wallets sign in to.
   *
   * @example "https://api.example.com"
   * @defaultValue that of the resource URL, if the seller set it by `publicUrl`, `allowedHosts` or the route's `resource`, or if it is
   *   this very machine, from which the request came; otherwise nobody can sign in
   */
  readonly origin?: string | undefined;
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
export function createSIWxResourceServerExtension(options: CreateSIWxOptions): Extension {
  const issues = createIssues();
  const origin = readOrigin("options.origin", options?.origin, issues);
  checkStorage(options?.storage, issues);
  issues.throwIfAny();
  return {
    key: SIGN_IN_WITH_X,
    compile: (declaration, context) => compile(declaration, context, { ...options, origin }),
  };
}

/** Checks a storage. */
export function checkStorage(storage: unknown, issues: Issues): void {
  const { hasPaid, recordPayment, hasUsedNonce, recordNonce } = (storage ?? {}) as Partial<SIWxStorage>;
  if (typeof hasPaid !== "function" || typeof recordPayment !== "function") {
    issues.add("options.storage", "an object with hasPaid and recordPayment", storage);
  } else if ((typeof hasUsedNonce === "function") !== (typeof recordNonce === "function")) {
    issues.addText("options.storage", "both hasUsedNonce and recordNonce, or neither", "one of them");
  }
}

function compile(
  given: unknown,
  { path, ownHosts, isAuthOnly, issues }: DeclarationContext,
  options: CreateSIWxOptions,
): CompiledDeclaration | undefined {
  const { origin, storage, onEvent } = options;
  const declared = readDeclaration(given, { path, isAuthOnly, issues });
  if (declared === undefined) return undefined;
  const { networks, info, expirationSeconds } = declared;
  const toOwnUrl = (url: string) => ownUrl(url, ownHosts, origin);
  // The seller may have named this machine.
  const isNamed = ownHosts.length > 0;
  const hooks = {
    async onRequest(request: PricedRequest) {
      const { url, header } = request;
      const signedIn = header(SIGN_IN_WITH_X);
      const own = signedIn === undefined ? undefined : toOwnUrl(url);
      if (signedIn === undefined || own === undefined) return undefined;
      if (origin === undefined && !isNamed && !isFromHere(own, request.native)) return undefined;
      const resource = isAuthOnly ? request.path : resourceOf(request);
      if (resource === undefined) return undefined;
      const isGranted = await admit(signedIn, { origin: new URL(own), resource }, { ...options, isAuthOnly });
      return isGranted ? ({ grant: true } as const) : undefined;
    },
    async onSettled({ receipt, payer, request, payload, route, amount }: SettledContext) {
      // Nothing was paid.
      if (amount === "0") return;
      // In the background the payment is the one that the facilitator got, whose resource is the seller's.
      const isGet = route.startsWith("GET ");
      const path = isGet ? plainPathOf(urlOf(payload.resource) ?? "") : undefined;
      const resource = request === undefined ? path : resourceOf(request);
      if (resource === undefined) return;
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
    challenge({ resource, offers }) {
      const url = toOwnUrl(resource.url);
      if (url === undefined) return undefined;
      const chains = networks.length > 0 ? networks : [...new Set(offers.map(({ network }) => network))];
      return challengeFor(url, { info, expirationSeconds, chains });
    },
    hooks,
  };
}

/** The parts of a request that tell what was paid for. */
export interface PaidForRequest {
  readonly method: string;
  readonly path: string;
  /** `"?a=1"` or `""`. */
  readonly search: string;
  readonly body: unknown;
  header(name: string): string | undefined;
}

/**
 * What a request asks for, as a storage knows it. `undefined` for one with a body: what it costs, and what it gets, is in there, and its
 * handler may change it.
 */
export function resourceOf({ method, path, search, body, header }: PaidForRequest): string | undefined {
  const hasLength = !["0", undefined].includes(header("content-length"));
  const hasBody = hasLength || header("transfer-encoding") !== undefined;
  // Parsers make an empty object of no body.
  const isEmpty = body === undefined || body === null || (isJsonObject(body) && Object.keys(body).length === 0);
  if (hasBody || !isEmpty) return undefined;
  return method === "GET" ? path + search : `${method} ${path}${search}`;
}

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

/** What decides about a header. */
export interface Admittance extends Omit<CreateSIWxOptions, "origin"> {
  /** Whether a signature alone is enough. */
  readonly isAuthOnly: boolean;
}

/** Whether a header lets its wallet pass. A header of a stranger never throws; a storage that throws does. */
export async function admit(
  header: string,
  { origin, resource }: { readonly origin: URL; readonly resource: string },
  { storage, verifyOptions, isAuthOnly, onEvent }: Admittance,
): Promise<boolean> {
  const failed = (error: string) => {
    onEvent?.({ type: "validation_failed", resource, error });
    return false;
  };
  const payload = readSIWxHeader(header);
  if (payload === undefined) return failed("The header is malformed");
  const validity = await validateSIWxMessage(payload, origin);
  if (!validity.isValid) return failed(validity.invalidMessage);
  // Before the signature, which takes some milliseconds to check.
  if (!isAuthOnly && (await storage.hasPaid(resource, payload.address)) !== true) return false;
  const verification = await verifySIWxSignature(payload, verifyOptions);
  if (!verification.isValid) return failed(verification.invalidMessage);
  const { payer: address } = verification;
  const { nonce } = payload;
  if (!(await useNonce(nonce, storage))) {
    onEvent?.({ type: "nonce_reused", resource, nonce });
    return false;
  }
  onEvent?.({ type: "access_granted", resource, address });
  return true;
}

/** Nonces that a storage is being asked about, so that two requests at once are not both the first. */
const beingUsed = new WeakMap<SIWxStorage, Set<string>>();

/** Whether a nonce is used for the first time. */
async function useNonce(nonce: string, storage: SIWxStorage): Promise<boolean> {
  if (storage.hasUsedNonce === undefined) return true;
  const inUse = beingUsed.get(storage) ?? new Set();
  beingUsed.set(storage, inUse);
  if (inUse.has(nonce)) return false;
  inUse.add(nonce);
  try {
    if ((await storage.hasUsedNonce(nonce)) === true) return false;
    return (await storage.recordNonce?.(nonce)) !== false;
  } finally {
    inUse.delete(nonce);
  }
}

/** Wallets and resources that a storage in memory remembers. */
const MAX_REMEMBERED = 100_000;

/** Remembers in this process who paid: the last 100,000 pairs of a resource and a wallet. A restart forgets them. */
export class InMemorySIWxStorage implements SIWxStorage {
  readonly #paid = new Set<string>();

  hasPaid(resource: string, address: string): boolean {
    return this.#paid.has(keyOf(resource, address));
  }

  recordPayment(resource: string, address: string): void {
    const key = keyOf(resource, address);
    // The most recent is last.
    this.#paid.delete(key);
    this.#paid.add(key);
    const [oldest] = this.#paid;
    if (this.#paid.size > MAX_REMEMBERED && oldest !== undefined) this.#paid.delete(oldest);
  }
}

/** Addresses of EVM networks have no case; those of Solana do. */
function keyOf(resource: string, address: string): string {
  return JSON.stringify([resource, address.startsWith("0x") ? address.toLowerCase() : address]);
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
