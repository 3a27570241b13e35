/**
 * Checks a seller's options once, at start-up: options in, settings out.
 *
 * @module
 */
import { type PaymentHooks, parseHooks } from "../events/hooks.js";
import { createLogger, type Logger } from "../events/logger.js";
import { type Extension, LEFT_OUT_EXTENSION, OTHER_NAME } from "../extension.js";
import { createHttpFacilitator } from "../facilitator/http-facilitator.js";
import type { FacilitatorEntry } from "../facilitator/pool.js";
import { DEFAULT_DEADLINES, type Deadlines } from "../facilitator/pool-member.js";
import type { RpcNode } from "../http/rpc-node.js";
import { isHost, parseBaseUrl } from "../http/urls.js";
import { type Issues, issuePath } from "../issues.js";
import { type LedgerSettings, parseLedger } from "../ledger/parse-ledger.js";
import type { PaymentsOptions, PriceParser, StartTimer } from "../options.js";
import type { ExposureLimits } from "../price/dollars.js";
import { parsePrice } from "../price/price.js";
import type { ServiceInfo } from "../pricing/challenge.js";
import { type LoadPaywall, type PaywallSettings, PLAIN_PAYWALL } from "../pricing/paywall.js";
import type { PublicUrlSettings } from "../pricing/resource.js";
import { RECEIPT_MS } from "../pricing/route-extensions.js";
import { canonicalNetwork, expectedNetwork, isNetwork, networkByName, sameNetwork } from "../protocol/caip2.js";
import { isJsonObject } from "../protocol/json.js";
import { SEARCH_MS } from "../sale/outcome.js";
import type { Scheme } from "../scheme/scheme.js";
import { CONFIRM_MS } from "../steps/confirmations.js";
import { createMemoryStore } from "../store/memory-store.js";
import type { PaymentStore } from "../store/payment-store.js";
import type { SharedLedger } from "../store/shared-ledger.js";
import type { OpenTelemetryApi } from "../telemetry/open-telemetry.js";
import { describeWithoutSecrets, parseFacilitators, parseRpc } from "./parse-endpoints.js";
import { parsePaywall } from "./parse-paywall.js";
import { parseServiceInfo } from "./service-info.js";

/** The checked options with all defaults. Plain data, except parts of the seller such as the store, logger and schemes. */
export interface Settings {
  readonly facilitators: readonly FacilitatorEntry[];
  readonly deadlines: Deadlines;
  /** The seller's schemes come first. */
  readonly schemes: readonly Scheme[];
  readonly priceParsers: readonly PriceParser[];
  readonly extensions: readonly Extension[];
  /** For routes without their own service info. */
  readonly service: ServiceInfo;
  /** The page for browsers, for what routes do not set. */
  readonly paywall: PaywallSettings;
  /** Loads the page that can be paid in. `undefined`: the adapter has none. */
  readonly loadPaywall: LoadPaywall | undefined;
  readonly relayExtensionResponses: boolean;
  /** For routes that do not say. */
  readonly keepPaymentHeader: boolean;
  readonly payTo: Readonly<Record<string, string>>;
  readonly networks: readonly string[];
  readonly publicUrls: PublicUrlSettings;
  readonly strict: boolean | undefined;
  readonly holdBytes: number;
  /** RPC nodes by network, in its canonical spelling. */
  readonly rpc: ReadonlyMap<string, RpcNode>;
  /** How many blocks deep a settlement on a network must be, before it counts. */
  readonly confirmationsOn: (network: string) => number;
  readonly verifySignatures: boolean;
  readonly store: PaymentStore;
  /** Whether the seller named the store. */
  readonly isStoreChosen: boolean;
  readonly ledger: LedgerSettings;
  /** How long a settlement may take before another run takes over, if leases are not renewed. */
  readonly leaseMs: number;
  readonly copyWaitMs: number;
  readonly maxRunsPerPayer: number;
  readonly exposure: ExposureLimits;
  readonly hooks: PaymentHooks;
  /** `undefined`: the seller set none. */
  readonly quoteSecret: Uint8Array | undefined;
  /** Never throws. */
  readonly metrics: boolean;
  readonly telemetry: OpenTelemetryApi | undefined;
  /** How many bytes of responses are held. */
  readonly heldBytes: () => number;
  readonly logger: Logger;
  readonly now: () => number;
  readonly timer: StartTimer;
}

/** Schemes and extensions that come with an adapter. */
export interface BuiltIn {
  readonly schemes: readonly Scheme[];
  /** Default: none. */
  readonly extensions?: readonly Extension[];
  /** How many bytes of responses the adapter holds. Default: it holds none. */
  readonly heldBytes?: () => number;
  /** Loads the page for browsers. Default: a page that says the price, and cannot be paid in. */
  readonly loadPaywall?: LoadPaywall;
}

/** All keys. A mistyped key is also an error for callers without types. */
const KEYS = Object.keys({
  facilitator: true,
  payTo: true,
  networks: true,
  schemes: true,
  priceParsers: true,
  extensions: true,
  serviceName: true,
  tags: true,
  iconUrl: true,
  paywall: true,
  relayExtensionResponses: true,
  keepPaymentHeader: true,
  publicUrl: true,
  allowedHosts: true,
  includeQuery: true,
  strict: true,
  holdBytes: true,
  deadlines: true,
  rpc: true,
  confirmations: true,
  verifySignatures: true,
  store: true,
  ledger: true,
  copyWaitMs: true,
  maxRunsPerPayer: true,
  exposure: true,
  hooks: true,
  quoteSecret: true,
  metrics: true,
  telemetry: true,
  logger: true,
  now: true,
  timer: true,
} satisfies Record<keyof PaymentsOptions, true>);

const HOLD_BYTES = { least: 0, most: 64 * 1024 * 1024, usual: 1024 * 1024 };
const CONFIRMATIONS = { least: 0, most: 64, usual: 0, unit: "blocks" };
const COPY_WAIT_MS = { least: 0, most: 120_000, usual: 10_000, unit: "milliseconds" };
const RUNS_PER_PAYER = { least: 1, most: 1_000_000, usual: 256 };
const DEADLINE_MS = { least: 100, most: 120_000, unit: "milliseconds" };

/** Added to the facilitators' deadlines: time for two searches on chain, for extensions, for the store, and for clocks that differ. */
const LEASE_SLACK_MS = 2 * SEARCH_MS + RECEIPT_MS + 15_000;

/** Added besides where settlements have to be confirmed. */
const CONFIRMING_SLACK_MS = CONFIRM_MS + SEARCH_MS;

/** The default timer. It does not keep the process alive. */
export const startTimer: StartTimer = (act, delayMs) => {
  const timer = setTimeout(act, delayMs).unref();
  return () => clearTimeout(timer);
};

function parseTelemetry(given: unknown, issues: Issues): OpenTelemetryApi | undefined {
  if (given === undefined) return undefined;
  const partOf = (value: unknown, name: string): unknown =>
    typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  const has = (part: string, method: string) => typeof partOf(partOf(given, part), method) === "function";
  if (has("trace", "getTracer") && has("metrics", "getMeter")) return given as OpenTelemetryApi;
  issues.add("options.telemetry", "the module @opentelemetry/api", given);
  return undefined;
}

const LOG_FORMATS: readonly unknown[] = ["text", "json"];

/**
 * Checks a seller's options. The settings are only valid if nothing was added to `issues`.
 *
 * @param builtIn - Schemes and extensions of the adapter. The seller's own come before them.
 */
export function parseOptions(given: PaymentsOptions, builtIn: BuiltIn, issues: Issues): Settings {
  const options: Partial<PaymentsOptions> = issues.checkKeys("options", given, KEYS) ? given : {};
  const { now = Date.now, timer = startTimer } = options;
  if (typeof now !== "function") issues.add("options.now", "a function that returns Unix milliseconds", now);
  if (typeof timer !== "function") issues.add("options.timer", "a function that starts a timer", timer);
  const { logger } = options;
  if (typeof logger === "string" && !LOG_FORMATS.includes(logger)) {
    issues.add("options.logger", '"text", "json", or an object with info, warn and error', logger);
  } else if (logger !== undefined && typeof logger !== "string") {
    checkMethods(issues, { path: "options.logger", value: logger, methods: ["info", "warn", "error"] });
  }
  const facilitators = parseFacilitators(options.facilitator, issues);
  const deadlines = parseDeadlines(options.deadlines, issues);
  return Object.freeze({
    facilitators: facilitators.length > 0 ? facilitators : [noFacilitator()],
    deadlines,
    schemes: [...parseSchemes(options.schemes, issues), ...builtIn.schemes],
    priceParsers: parsePriceParsers(options.priceParsers, issues),
    extensions: [...parseExtensions(options.extensions, issues), ...(builtIn.extensions ?? [])],
    service: parseServiceInfo(options, "options", issues),
    paywall: parsePaywall(options.paywall, "options.paywall", PLAIN_PAYWALL, issues),
    loadPaywall: builtIn.loadPaywall,
    relayExtensionResponses: parseFlag(options, "relayExtensionResponses", issues),
    keepPaymentHeader: parseFlag(options, "keepPaymentHeader", issues),
    payTo: parsePayTo(options.payTo, issues),
    networks: parseNetworks(options.networks, issues),
    publicUrls: {
      publicUrl: parsePublicUrl(options.publicUrl, issues),
      allowedHosts: parseAllowedHosts(options.allowedHosts, issues),
      includeQuery: parseFlag(options, "includeQuery", issues),
    },
    strict: options.strict === undefined ? undefined : parseFlag(options, "strict", issues),
    holdBytes: issues.readNumber("options.holdBytes", options.holdBytes, HOLD_BYTES),
    rpc: parseRpc(options.rpc, issues),
    confirmationsOn: parseConfirmations(options.confirmations, issues),
    verifySignatures: parseFlag(options, "verifySignatures", issues),
    store: parseStore(options.store, now, issues),
    isStoreChosen: options.store !== undefined,
    ledger: parseLedger(options.ledger, issues),
    leaseMs:
      Math.max(facilitators.length, 1) * deadlines.settleMs +
      LEASE_SLACK_MS +
      (options.confirmations === undefined ? 0 : CONFIRMING_SLACK_MS),
    copyWaitMs: issues.readNumber("options.copyWaitMs", options.copyWaitMs, COPY_WAIT_MS),
    maxRunsPerPayer: issues.readNumber("options.maxRunsPerPayer", options.maxRunsPerPayer, RUNS_PER_PAYER),
    exposure: parseExposure(options.exposure, issues),
    hooks: parseHooks(options.hooks, issues),
    quoteSecret: parseQuoteSecret(options.quoteSecret, issues),
    metrics: parseFlag(options, "metrics", issues),
    telemetry: parseTelemetry(options.telemetry, issues),
    heldBytes: builtIn.heldBytes ?? (() => 0),
    logger: createLogger(logger),
    now,
    timer,
  });
}

/** A placeholder until the issues are thrown, so that the routes are checked too. */
function noFacilitator(): FacilitatorEntry {
  return { name: "none", facilitator: createHttpFacilitator({ url: "http://localhost" }) };
}

/** The defaults of flags. */
const FLAGS = {
  includeQuery: false,
  strict: false,
  verifySignatures: false,
  relayExtensionResponses: true,
  keepPaymentHeader: false,
  metrics: false,
} as const;

function parseFlag(options: Partial<PaymentsOptions>, key: keyof typeof FLAGS, issues: Issues): boolean {
  const { [key]: flag = FLAGS[key] } = options;
  if (typeof flag !== "boolean") issues.add(`options.${key}`, "true or false", flag);
  return flag;
}

/** In millionths of a dollar. */
const EXPOSURE = { perPayer: 500_000n, total: 50_000_000n, unrecorded: 10_000n } as const;

/** A store adds such sums as numbers of 15 digits. */
const MOST_EXPOSURE = 10n ** 14n;

function parseExposure(given: unknown, issues: Issues): ExposureLimits {
  if (given === undefined) return EXPOSURE;
  if (!issues.checkKeys("options.exposure", given, Object.keys(EXPOSURE))) return EXPOSURE;
  const read = (key: keyof typeof EXPOSURE): bigint => {
    const { [key]: price } = given;
    if (price === undefined) return EXPOSURE[key];
    const parsed = typeof price === "string" ? parsePrice(price, [{ symbol: "USD", decimals: 6 }]) : undefined;
    if (parsed?.ok === true && parsed.amount > 0n && parsed.amount <= MOST_EXPOSURE) return parsed.amount;
    issues.add(`options.exposure.${key}`, 'dollars such as "$0.50", above zero, up to $100000000', price);
    return EXPOSURE[key];
  };
  const limits = { perPayer: read("perPayer"), total: read("total"), unrecorded: read("unrecorded") };
  if (limits.total < limits.perPayer)
    issues.add("options.exposure.total", "at least options.exposure.perPayer", given["total"]);
  return limits;
}

function parseDeadlines(deadlines: unknown, issues: Issues): Deadlines {
  if (deadlines === undefined) return DEFAULT_DEADLINES;
  const parsed = { ...DEFAULT_DEADLINES };
  if (!issues.checkKeys("options.deadlines", deadlines, Object.keys(DEFAULT_DEADLINES))) return parsed;
  for (const key of ["verifyMs", "settleMs", "supportedMs", "hookMs"] as const) {
    const range = { ...DEADLINE_MS, usual: parsed[key] };
    parsed[key] = issues.readNumber(`options.deadlines.${key}`, deadlines[key] ?? undefined, range);
  }
  return parsed;
}

function parsePayTo(payTo: unknown, issues: Issues): Readonly<Record<string, string>> {
  const parsed: Record<string, string> = {};
  if (payTo === undefined) return parsed;
  if (!isJsonObject(payTo)) {
    issues.add("options.payTo", 'addresses by network, such as { "eip155:*": "0x…" }', payTo);
    return parsed;
  }
  for (const [pattern, address] of Object.entries(payTo)) {
    const path = issuePath("options.payTo", pattern);
    const other = Object.keys(parsed).find((earlier) => sameNetwork(earlier, pattern));
    if (!isNetworkOrPattern(pattern))
      issues.add(path, expectedNetwork(pattern, 'a CAIP-2 network or "<namespace>:*"'), pattern);
    else if (other !== undefined) issues.add(path, ONE_SPELLING, other);
    else if (typeof address !== "string") issues.add(path, "an address", address);
    else parsed[pattern] = address;
  }
  return parsed;
}

/** If a network has two entries, either may be outdated. */
const ONE_SPELLING = "one entry per network, in any spelling";

function parseNetworks(networks: unknown, issues: Issues): readonly string[] {
  if (networks === undefined) return [];
  if (!Array.isArray(networks)) {
    issues.add("options.networks", 'an array of CAIP-2 networks such as "eip155:84532"', networks);
    return [];
  }
  return networks.filter((network, at) => {
    if (isNetwork(network) && networkByName(network) === undefined) return true;
    const path = issuePath("options.networks", at);
    issues.add(path, expectedNetwork(network, 'a CAIP-2 network such as "eip155:84532"'), network);
    return false;
  });
}

function parsePublicUrl(publicUrl: unknown, issues: Issues): string | undefined {
  if (publicUrl === undefined) return undefined;
  const url = parseBaseUrl(publicUrl);
  if (url === undefined) {
    issues.addText(
      "options.publicUrl",
      'an http or https URL without credentials, query and fragment, such as "https://api.example.com"',
      describeWithoutSecrets({ url: publicUrl }),
    );
  }
  return url;
}

function parseAllowedHosts(hosts: unknown, issues: Issues): readonly string[] {
  if (hosts === undefined) return [];
  if (Array.isArray(hosts) && hosts.length > 0 && hosts.every(isHost)) return hosts.map((host) => host.toLowerCase());
  issues.add("options.allowedHosts", 'hosts without scheme and path, such as ["api.example.com"]', hosts);
  return [];
}

function parseConfirmations(given: unknown, issues: Issues): (network: string) => number {
  const path = "options.confirmations";
  if (!isJsonObject(given)) {
    const blocks = issues.readNumber(path, given, CONFIRMATIONS);
    return () => blocks;
  }
  const byNetwork = new Map<string, number>();
  for (const [network, value] of Object.entries(given)) {
    const at = issuePath(path, network);
    if (!isNetwork(network) || networkByName(network) !== undefined) {
      issues.add(at, expectedNetwork(network, 'a CAIP-2 network such as "eip155:8453"'), network);
    } else if (byNetwork.has(canonicalNetwork(network))) issues.add(at, ONE_SPELLING, network);
    else byNetwork.set(canonicalNetwork(network), issues.readNumber(at, value ?? undefined, CONFIRMATIONS));
  }
  return (network) => byNetwork.get(canonicalNetwork(network)) ?? 0;
}

/** An issue never quotes a secret, not even an invalid one. */
function parseQuoteSecret(secret: unknown, issues: Issues): Uint8Array | undefined {
  if (secret === undefined) return undefined;
  if (typeof secret === "string" && secret.length >= 32) return Buffer.from(secret);
  issues.addText("options.quoteSecret", "a text of at least 32 characters", `${typeof secret}, or a shorter one`);
  return undefined;
}

const STORE_METHODS = ["claim", "find", "transition", "release", "unfinished"] as const;

function parseStore(store: unknown, now: () => number, issues: Issues): PaymentStore {
  if (store === undefined) return createMemoryStore(typeof now === "function" ? now : undefined);
  checkMethods(issues, { path: "options.store", value: store, methods: STORE_METHODS });
  checkOptionalMethods(issues, store);
  return store as PaymentStore;
}

const LEDGER_METHODS = Object.keys({
  list: true,
  find: true,
  refund: true,
  erase: true,
  count: true,
  counts: true,
  hold: true,
  sweep: true,
} satisfies Record<keyof SharedLedger, true>);

const OPTIONAL_STORE_METHODS = ["renew", "watch", "keep", "ready"] as const;

/** A part that is there must work: it is called long after the start. */
function checkOptionalMethods(issues: Issues, store: unknown): void {
  if (typeof store !== "object" || store === null) return;
  for (const name of OPTIONAL_STORE_METHODS) {
    const value: unknown = Reflect.get(store, name);
    if (value !== undefined && typeof value !== "function")
      issues.addText(`options.store.${name}`, "a method", typeof value);
  }
  for (const name of ["runs", "exposure"]) {
    const part: unknown = Reflect.get(store, name);
    if (part !== undefined)
      checkMethods(issues, { path: `options.store.${name}`, value: part, methods: ["put", "remove"] });
  }
  const ledger: unknown = Reflect.get(store, "ledger");
  if (ledger !== undefined)
    checkMethods(issues, { path: "options.store.ledger", value: ledger, methods: LEDGER_METHODS });
}

/** The value is not quoted, because it may be a database address or a client with a password. */
function checkMethods(issues: Issues, check: { path: string; value: unknown; methods: readonly string[] }): void {
  const { path, value, methods } = check;
  const isObject = typeof value === "object" && value !== null;
  const missing = isObject ? methods.filter((name) => !isMethod(value, name)) : methods;
  if (missing.length === 0) return;
  const received = isObject ? `an object without ${missing.join(", ")}` : `${value === null ? "null" : typeof value}`;
  issues.addText(path, `an object with ${methods.join(", ")}`, received);
}

function parseSchemes(schemes: unknown, issues: Issues): readonly Scheme[] {
  if (schemes === undefined) return [];
  if (Array.isArray(schemes) && schemes.every(isScheme)) return schemes;
  issues.add("options.schemes", "an array of schemes", schemes);
  return [];
}

function isScheme(value: unknown): value is Scheme {
  if (!isJsonObject(value) || typeof value["scheme"] !== "string" || typeof value["networks"] !== "string")
    return false;
  const optional = [
    "findPayment",
    "completeExtra",
    "checkPayee",
    "extensionsFor",
    "checkSignature",
    "readBalance",
    "readAllowance",
    "readDeadline",
    "readConfirmations",
    "offer",
  ];
  if (optional.some((name) => value[name] !== undefined && !isMethod(value, name))) return false;
  const { allowsLess, knowsPayer } = value;
  if ([allowsLess, knowsPayer].some((flag) => flag !== undefined && typeof flag !== "boolean")) return false;
  return ["compileTerms", "sameAddress", "readPayment"].every((name) => isMethod(value, name));
}

const PARSER_KEYS = Object.keys({
  ...{ scheme: true, network: true, parse: true, namedTokens: true },
} satisfies Record<keyof PriceParser, true>);

/** A mistyped `network` would be a parser for all networks. */
function parsePriceParsers(parsers: unknown, issues: Issues): readonly PriceParser[] {
  if (parsers === undefined) return [];
  if (!Array.isArray(parsers)) {
    issues.add("options.priceParsers", "an array of price parsers: [{ network, parse }]", parsers);
    return [];
  }
  return parsers.filter((parser: unknown, at): parser is PriceParser => {
    const path = issuePath("options.priceParsers", at);
    if (!issues.checkKeys(path, parser, PARSER_KEYS)) return false;
    const { scheme, network, namedTokens } = parser;
    const isFlag = namedTokens === undefined || typeof namedTokens === "boolean";
    if (!isFlag) issues.add(issuePath(path, "namedTokens"), "true or false", namedTokens);
    const isNamed = scheme === undefined || typeof scheme === "string";
    if (!isNamed) issues.add(issuePath(path, "scheme"), 'the name of a scheme, such as "exact"', scheme);
    const isPlaced = network === undefined || isNetworkOrPattern(network);
    if (!isPlaced) {
      const expected = expectedNetwork(network, 'a CAIP-2 network or "<namespace>:*"');
      issues.add(issuePath(path, "network"), expected, network);
    }
    const isParsing = isMethod(parser, "parse");
    if (!isParsing)
      issues.add(issuePath(path, "parse"), "a function such as (amount) => ({ asset, amount })", parser["parse"]);
    return isFlag && isNamed && isPlaced && isParsing;
  });
}

function isNetworkOrPattern(network: unknown): boolean {
  return (
    typeof network === "string" && isNetwork(network.replace(/:\*$/, ":0")) && networkByName(network) === undefined
  );
}

function parseExtensions(extensions: unknown, issues: Issues): readonly Extension[] {
  if (extensions === undefined) return [];
  if (Array.isArray(extensions) && extensions.every(isExtension)) {
    for (const [at, { key }] of extensions.entries())
      if (key === LEFT_OUT_EXTENSION) issues.add(`options.extensions[${at}].key`, OTHER_NAME, key);
    return extensions;
  }
  issues.add("options.extensions", "an array of extensions", extensions);
  return [];
}

function isExtension(value: unknown): value is Extension {
  return isJsonObject(value) && typeof value["key"] === "string" && isMethod(value, "compile");
}

/** Whether an object has a method of that name, own or inherited. */
function isMethod(value: object, name: string): boolean {
  return typeof Reflect.get(value, name) === "function";
}
