/**
 * Access over HTTP: which seller calls, and how often. Decided from the headers and the address alone, before a body is read.
 *
 * @module
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { type Issues, issuePath } from "@farebox/core/issues";
import { isJsonObject } from "@farebox/core/protocol";
import { type Assets, type Limits, type Payees, type PolicyContext, parseLimits } from "./policy.js";

/** A seller that may call over HTTP. Its own `payees`, `assets` and `requestsPerMinute` take the place of the general ones. */
export interface SellerCredential {
  /** For the log, and for functions that decide about payments. */
  readonly name: string;
  /** Sent as `Authorization: Bearer …` or `X-API-Key: …`. 16 to 512 printable characters each; two while one is replaced. */
  readonly tokens: readonly string[];
  readonly payees?: Payees;
  readonly assets?: Assets;
  readonly requestsPerMinute?: number;
}

/** A credential, checked. Of the tokens only the digests are kept. */
export interface Seller {
  readonly name: string;
  readonly limits: Limits;
  readonly requestsPerMinute: number | undefined;
  readonly digests: readonly Buffer[];
}

/** The headers and the address of a call. */
export interface Caller {
  readonly authorization: string | undefined;
  readonly apiKey: string | undefined;
  readonly address: string;
}

/** Whether a caller may go on. */
export type Admission =
  | { readonly ok: true; readonly seller: Seller | undefined }
  | { readonly ok: false; readonly status: 401 | 429; readonly reason: string; readonly retryAfterSeconds?: number };

/** The general settings of access, checked. */
export interface AccessSettings {
  /** `undefined`: no credential is asked for. */
  readonly sellers: readonly Seller[] | undefined;
  readonly requestsPerMinute: number | undefined;
}

/** Creates the check of callers. Its memory is bounded. */
export function createAccess(
  { sellers, requestsPerMinute }: AccessSettings,
  now: () => number = () => performance.now(),
): (caller: Caller) => Admission {
  const bySeller = createRateLimit(now);
  const byAddress = createRateLimit(now);

  function limit(rate: RateLimit, source: string, most: number | undefined): Admission | undefined {
    const retryAfterSeconds = most === undefined ? undefined : rate.take(source, most);
    if (retryAfterSeconds === undefined) return undefined;
    return { ok: false, status: 429, reason: "too many requests", retryAfterSeconds };
  }

  return (caller) => {
    const seller = sellers === undefined ? undefined : findSeller(sellers, tokenOf(caller));
    if (seller !== undefined) {
      return limit(bySeller, seller.name, seller.requestsPerMinute ?? requestsPerMinute) ?? { ok: true, seller };
    }
    const limited = limit(byAddress, sourceOf(caller.address), requestsPerMinute);
    if (limited !== undefined) return limited;
    if (sellers === undefined) return { ok: true, seller };
    return { ok: false, status: 401, reason: "a known credential is required" };
  };
}

const LONGEST_TOKEN = 512;
const TOKEN = /^[\x21-\x7e]{16,512}$/;

function tokenOf({ authorization = "", apiKey }: Caller): string | undefined {
  if (/^bearer /i.test(authorization.slice(0, 7))) return authorization.slice(7).trim();
  return apiKey;
}

/** Compares with every digest, so that the time does not tell which one was near. */
function findSeller(sellers: readonly Seller[], token: string | undefined): Seller | undefined {
  if (token === undefined || token.length > LONGEST_TOKEN) return undefined;
  const given = digestOf(token);
  let found: Seller | undefined;
  for (const seller of sellers) {
    for (const digest of seller.digests) if (timingSafeEqual(digest, given)) found = seller;
  }
  return found;
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** One customer of a provider has a /64 of IPv6. */
function sourceOf(address: string): string {
  if (!address.includes(":") || address.includes(".")) return address.slice(0, 64);
  const [head = "", tail] = address.split("::", 2);
  const groups = head === "" ? [] : head.split(":");
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === "" ? 0 : tail.split(":").length);
  return [...groups, ...Array.from({ length: Math.max(missing, 0) }, () => "0"), ...(tail?.split(":") ?? [])]
    .slice(0, 4)
    .join(":")
    .slice(0, 64);
}

const MINUTE_MS = 60_000;

/** Sources that are counted one by one within a minute. All further ones share one count. */
const MAX_SOURCES = 10_000;

/** Counts requests by source and minute. */
interface RateLimit {
  /** Counts a request; over the limit it says in how many seconds to come back. */
  take(source: string, most: number): number | undefined;
}

/** Creates an empty count. `now`: milliseconds, never backwards. */
function createRateLimit(now: () => number): RateLimit {
  const counts = new Map<string, number>();
  let endsMs = 0;
  return {
    take(source, most) {
      const at = now();
      if (at >= endsMs) {
        counts.clear();
        endsMs = at + MINUTE_MS;
      }
      const name = counts.has(source) || counts.size < MAX_SOURCES ? source : "";
      const count = (counts.get(name) ?? 0) + 1;
      if (count > most) return Math.ceil((endsMs - at) / 1000);
      counts.set(name, count);
      return undefined;
    },
  };
}

const RATE = { least: 1, most: 1_000_000, usual: 0 } as const;

/** Reads `requestsPerMinute`; `undefined`: no limit. */
export function parseRate(value: unknown, path: string, issues: Issues): number | undefined {
  return value === undefined ? undefined : issues.readNumber(path, value, RATE);
}

/** Reads `credentials`. No token is quoted in an issue. */
export function parseCredentials(value: unknown, context: PolicyContext): readonly Seller[] | undefined {
  const { path, issues } = context;
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length === 0) {
    issues.addOutline(path, "a list of at least one credential", value);
    return [];
  }
  const names = new Set<string>();
  const tokens = new Set<string>();
  return value.map((credential: unknown, index) => {
    const at = issuePath(path, index);
    const given = isJsonObject(credential) ? credential : {};
    if (isJsonObject(credential)) {
      issues.checkKeys(at, given, ["name", "tokens", "payees", "assets", "requestsPerMinute"]);
    } else issues.addText(at, "an object with name and tokens", "something else");
    const { name, tokens: own, requestsPerMinute } = given;
    const isNamed = typeof name === "string" && /^[\w.-]{1,64}$/.test(name) && !names.has(name);
    if (!isNamed)
      issues.addText(`${at}.name`, "a name of its own: 1 to 64 letters, digits, '.', '_' or '-'", "another");
    else names.add(name);
    const digests = parseTokens(own, { path: `${at}.tokens`, seen: tokens, issues });
    const limits = parseLimits(given, { ...context, path: at });
    const rate = parseRate(requestsPerMinute, `${at}.requestsPerMinute`, issues);
    return { name: isNamed ? name : "", limits, requestsPerMinute: rate, digests };
  });
}

function parseTokens(
  value: unknown,
  { path, seen, issues }: { readonly path: string; readonly seen: Set<string>; readonly issues: Issues },
): readonly Buffer[] {
  const isList = Array.isArray(value) && value.length > 0;
  if (!isList || !value.every((token) => typeof token === "string" && TOKEN.test(token))) {
    issues.addText(path, "a list of tokens, each 16 to 512 printable ASCII characters without spaces", "another");
    return [];
  }
  if (value.some((token) => seen.has(token)))
    issues.addText(path, "tokens that no other credential has", "a shared one");
  for (const token of value) seen.add(token);
  return value.map(digestOf);
}
