/**
 * What one server of the benchmark is to be, as its process is told.
 *
 * @module
 */
import type { Recorded } from "./recorded.js";

/** Who answers. */
export type Side = "bare" | "reference" | "farebox";

/** What a process of the benchmark sells. `metered`: Farebox with one metered route. */
export type App = Side | "metered";

/** A payment store of several processes. */
export interface StorePlace {
  readonly kind: "redis" | "postgres" | "sqlite";
  /** URL of the server, or path of the file. */
  readonly place: string;
}

/** The server to start. */
export interface Plan {
  readonly side: App;
  /** How many keys the table has besides the ones that are asked for. */
  readonly fillers: number;
  /** Offers of the priced routes: one on EVM; or one each on two EVM networks and on Solana, with a declaration for discovery. */
  readonly offers: 1 | 3;
  /** Where the facilitator is. Default: in the server's own process, and it answers at once. */
  readonly facilitatorUrl?: string;
  /** When the money moves. Default: after the handler. Only Farebox is asked. */
  readonly settle?: "before";
  /** Where payments are recorded. Default: in memory. Only Farebox is asked. */
  readonly store?: StorePlace;
  /** How many payments the store in memory has on record before the first request. Only Farebox is asked. */
  readonly records?: number;
  /** Whether the store in memory forgets a payment when it expires. Default: ten minutes later. Only Farebox is asked. */
  readonly forgetsEarly?: boolean;
  /** What the side that the bare one stands for answers at each path. */
  readonly answers?: Readonly<Record<string, Recorded>>;
}

/** The paths that are asked for. The priced ones cost $0.001. */
export const PATHS = {
  free: "/free",
  challenge: "/weather",
  /** `{n}` is another number in each request, of as many digits. */
  dynamic: "/cities/{n}/weather",
  paid: "/paid",
  medium: "/files/medium",
  large: "/files/large",
  freeLarge: "/free-files/large",
  events: "/events",
  freeEvents: "/free-events",
  /** `?events=1000&rate=100`: so many events, so many a second. Without a rate, as fast as the client reads. */
  tokens: "/tokens",
  freeTokens: "/free-tokens",
} as const;

/** The keys of the priced ones, as a seller writes them. */
export const KEYS = [
  "GET /weather",
  "GET /cities/:city/weather",
  "GET /paid",
  "GET /files/medium",
  "GET /files/large",
  "GET /events",
] as const;

/** A path or URL as it is asked for the nth time. */
export function atCount(path: string, count: number): string {
  return path.replace("{n}", String(count).padStart(DIGITS, "0"));
}

const DIGITS = 9;
