/**
 * Checks the options once, at start-up, and freezes what the request path reads.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { createPaymentEvents, type PaymentEvents } from "../events/events.js";
import { createFindings, type Findings } from "../events/findings.js";
import { createStartLogger, type Logger, neverThrowing } from "../events/logger.js";
import type { Extension } from "../extension.js";
import { createHttpFacilitator } from "../facilitator/http-facilitator.js";
import { createFacilitatorPool, type FacilitatorEntry, type FacilitatorPool } from "../facilitator/pool.js";
import { DEFAULT_DEADLINES, type Deadlines, type FacilitatorHealth } from "../facilitator/pool-member.js";
import type { RpcNode } from "../http/rpc-node.js";
import { isHost, parseBaseUrl } from "../http/urls.js";
import { type Issues, join } from "../issues.js";
import { isNetwork, sameNetwork } from "../protocol/caip2.js";
import { isJsonObject } from "../protocol/json.js";
import type { Scheme } from "../scheme/scheme.js";
import { createMemoryStore } from "../store/memory-store.js";
import type { PaymentStore } from "../store/payment-store.js";
import { createQuotes, type Quotes } from "./dynamic-price.js";
import { type PaymentHooks, parseHooks } from "./hooks.js";
import { createOngoingRuns, type OngoingRuns } from "./in-flight.js";
import { createListings, type Listings } from "./listings.js";
import type { PaymentsOptions } from "./options.js";
import { LOOK_UP_MS } from "./outcome.js";
import { describeWithoutSecrets, parseFacilitators, parseRpc } from "./parse-endpoints.js";
import { type BuiltIn, isMethod, parseParts } from "./parse-parts.js";
import { createPendingSettlements, type PendingSettlements } from "./pending.js";
import { type StartTimer, startTimer } from "./run.js";
import { parseServiceInfo, type ServiceInfo } from "./service-info.js";
import { createSignatureChecks, type SignatureChecks } from "./signature-checks.js";

/** The options, checked: everything present, nothing left to interpret. */
export interface PaymentsConfig {
  readonly facilitator: FacilitatorPool;
  readonly schemes: readonly Scheme[];
  readonly extensions: readonly Extension[];
  /** For routes without their own. */
  readonly service: ServiceInfo;
  readonly relayExtensionResponses: boolean;
  readonly payTo: Readonly<Record<string, string>>;
  readonly networks: readonly string[];
  /** Without a trailing slash. */
  readonly publicUrl: string | undefined;
  /** Lower case. */
  readonly allowedHosts: readonly string[];
  readonly includeQuery: boolean;
  readonly strict: boolean;
  readonly findings: Findings;
  readonly holdBytes: number;
  /** Nodes by network, in its canonical spelling. */
  readonly rpc: ReadonlyMap<string, RpcNode>;
  readonly signatures: SignatureChecks;
  readonly store: PaymentStore;
  /** How long the owner of a settlement may take before another one takes over. */
  readonly leaseMs: number;
  readonly copyWaitMs: number;
  readonly hooks: PaymentHooks;
  readonly quotes: Quotes;
  readonly events: PaymentEvents;
  readonly ongoing: OngoingRuns;
  readonly pending: PendingSettlements;
  readonly listings: Listings;
  readonly logger: Logger;
  readonly now: () => number;
  readonly timer: StartTimer;
}

/** Every key, so that a mistyped one is an error also for callers without types. */
const KEYS = Object.keys({
  facilitator: true,
  payTo: true,
  networks: true,
  schemes: true,
  extensions: true,
  serviceName: true,
  tags: true,
  iconUrl: true,
  relayExtensionResponses: true,
  publicUrl: true,
  allowedHosts: true,
  includeQuery: true,
  strict: true,
  holdBytes: true,
  deadlines: true,
  rpc: true,
  verifySignatures: true,
  store: true,
  copyWaitMs: true,
  maxRunsPerPayer: true,
  hooks: true,
  quoteSecret: true,
  logger: true,
  now: true,
  timer: true,
} satisfies Record<keyof PaymentsOptions, true>);

const HOLD_BYTES = { least: 0, most: 64 * 1024 * 1024, usual: 1024 * 1024 };
const COPY_WAIT_MS = { least: 0, most: 120_000, usual: 10_000, unit: "milliseconds" };
const RUNS_PER_PAYER = { least: 1, most: 1_000_000, usual: 256 };
const DEADLINE_MS = { least: 100, most: 120_000, unit: "milliseconds" };

/** Beyond the facilitators' own deadlines: for looking at the chain twice, for the store, and for clocks that disagree. */
const LEASE_SLACK_MS = 2 * LOOK_UP_MS + 15_000;

/**
 * Checks a seller's options. What it returns is only good if nothing was added to `issues`.
 *
 * @param builtIn - Schemes and extensions of the packages at hand; those of the options come before them.
 */
export function parseOptions(given: PaymentsOptions, builtIn: BuiltIn, issues: Issues): PaymentsConfig {
  const options: Partial<PaymentsOptions> = issues.checkKeys("options", given, KEYS) ? given : {};
  const { now = Date.now, timer = startTimer } = options;
  const { logger = createStartLogger(process.env["NODE_ENV"], (line) => void process.stderr.write(line)) } = options;
  if (typeof now !== "function") issues.add("options.now", "a function that returns Unix milliseconds", now);
  if (typeof timer !== "function") issues.add("options.timer", "a function that starts a timer", timer);
  checkMethods(issues, { path: "options.logger", value: logger, methods: ["info", "warn", "error"] });

  const safeLogger = neverThrowing(logger);
  const events = createPaymentEvents(safeLogger, now);
  return Object.freeze({
    ...createPool(options, { logger: safeLogger, events, issues }),
    ...parseLimits(options, issues),
    ...parseParts(options, builtIn, issues),
    service: parseServiceInfo(options, "options", issues),
    relayExtensionResponses: parseFlag(options, "relayExtensionResponses", issues),
    payTo: parsePayTo(options.payTo, issues),
    networks: parseNetworks(options.networks, issues),
    publicUrl: parsePublicUrl(options.publicUrl, issues),
    allowedHosts: parseAllowedHosts(options.allowedHosts, issues),
    includeQuery: parseFlag(options, "includeQuery", issues),
    strict: parseFlag(options, "strict", issues),
    findings: createFindings(safeLogger),
    rpc: parseRpc(options.rpc, issues),
    signatures: createSignatureChecks(parseFlag(options, "verifySignatures", issues)),
    store: parseStore(options.store, now, issues),
    hooks: parseHooks(options.hooks, issues),
    quotes: createQuotes(parseQuoteSecret(options.quoteSecret, issues)),
    events,
    pending: createPendingSettlements({ timer }),
    listings: createListings({ events, logger: safeLogger, now }),
    logger: safeLogger,
    now,
    timer,
  });
}

/** What is not said of a flag. */
const FLAGS = { includeQuery: false, strict: false, verifySignatures: false, relayExtensionResponses: true } as const;

function parseFlag(options: Partial<PaymentsOptions>, key: keyof typeof FLAGS, issues: Issues): boolean {
  const { [key]: flag = FLAGS[key] } = options;
  if (typeof flag !== "boolean") issues.add(`options.${key}`, "true or false", flag);
  return flag;
}

function parseLimits(
  options: Partial<PaymentsOptions>,
  issues: Issues,
): Pick<PaymentsConfig, "holdBytes" | "copyWaitMs" | "ongoing"> {
  const holdBytes = issues.readNumber("options.holdBytes", options.holdBytes, HOLD_BYTES);
  const copyWaitMs = issues.readNumber("options.copyWaitMs", options.copyWaitMs, COPY_WAIT_MS);
  const runs = issues.readNumber("options.maxRunsPerPayer", options.maxRunsPerPayer, RUNS_PER_PAYER);
  return { holdBytes, copyWaitMs, ongoing: createOngoingRuns(runs) };
}

/** Stands in until the issues are thrown, so that everything else can be checked as well. */
function noFacilitator(): FacilitatorEntry {
  return { name: "none", facilitator: createHttpFacilitator({ url: "http://localhost" }) };
}

/** Does nothing yet: a configuration that is thrown away leaves nothing behind. */
function createPool(
  options: Partial<PaymentsOptions>,
  { logger, events, issues }: { readonly logger: Logger; readonly events: PaymentEvents; readonly issues: Issues },
): Pick<PaymentsConfig, "facilitator" | "leaseMs"> {
  const entries = parseFacilitators(options.facilitator, issues);
  const deadlines = parseDeadlines(options.deadlines, issues);
  const onChange = ({ name: facilitator, state, lastErrorCode: code }: FacilitatorHealth) => {
    if (state === "up") events.emit("facilitator_up", () => ({ facilitator }));
    if (state === "down") events.emit("facilitator_down", () => ({ facilitator, code }));
  };
  const facilitator = createFacilitatorPool(entries.length > 0 ? entries : [noFacilitator()], {
    deadlines,
    logger,
    onChange,
  });
  return { facilitator, leaseMs: Math.max(entries.length, 1) * deadlines.settleMs + LEASE_SLACK_MS };
}

function parseDeadlines(deadlines: unknown, issues: Issues): Deadlines {
  if (deadlines === undefined) return DEFAULT_DEADLINES;
  const parsed = { ...DEFAULT_DEADLINES };
  if (!issues.checkKeys("options.deadlines", deadlines, Object.keys(DEFAULT_DEADLINES))) return parsed;
  for (const key of ["verifyMs", "settleMs", "supportedMs"] as const) {
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
    const path = join("options.payTo", pattern);
    const other = Object.keys(parsed).find((earlier) => sameNetwork(earlier, pattern));
    if (!isNetwork(pattern.replace(/:\*$/, ":0"))) issues.add(path, 'a CAIP-2 network or "<namespace>:*"', pattern);
    else if (other !== undefined) issues.add(path, ONE_SPELLING, other);
    else if (typeof address !== "string") issues.add(path, "an address", address);
    else parsed[pattern] = address;
  }
  return parsed;
}

/** Of two entries for one network either may be the old one. */
const ONE_SPELLING = "one entry for a network, in whatever spelling";

function parseNetworks(networks: unknown, issues: Issues): readonly string[] {
  if (networks === undefined) return [];
  if (Array.isArray(networks) && networks.every(isNetwork)) return networks;
  issues.add("options.networks", 'an array of CAIP-2 networks such as "eip155:84532"', networks);
  return [];
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

/** A secret is not quoted, not even a bad one. */
function parseQuoteSecret(secret: unknown, issues: Issues): Uint8Array {
  if (secret === undefined) return randomBytes(32);
  if (typeof secret === "string" && secret.length >= 32) return Buffer.from(secret);
  issues.addText("options.quoteSecret", "a text of at least 32 characters", `${typeof secret}, or a shorter one`);
  return randomBytes(32);
}

const STORE_METHODS = ["claim", "find", "transition", "release", "unfinished"] as const;

function parseStore(store: unknown, now: () => number, issues: Issues): PaymentStore {
  if (store === undefined) return createMemoryStore(now);
  checkMethods(issues, { path: "options.store", value: store, methods: STORE_METHODS });
  return store as PaymentStore;
}

/** What is there instead is not quoted: it may be the address of a database, or a client that holds a password. */
function checkMethods(issues: Issues, check: { path: string; value: unknown; methods: readonly string[] }): void {
  const { path, value, methods } = check;
  const isObject = typeof value === "object" && value !== null;
  const missing = isObject ? methods.filter((name) => !isMethod(value, name)) : methods;
  if (missing.length === 0) return;
  const received = isObject ? `an object without ${missing.join(", ")}` : `${value === null ? "null" : typeof value}`;
  issues.addText(path, `an object with ${methods.join(", ")}`, received);
}
