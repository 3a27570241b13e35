/**
 * Requests to servers that strangers name. Anyone who pays may name a URL, so nothing here trusts the URL, its DNS records
 * or the response.
 *
 * @module
 */
import { promises as dns } from "node:dns";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { isPublicHost } from "@farebox/bazaar/facilitator";

/** Finds the addresses of a host. A rejection means no address. */
export type HostLookup = (hostname: string) => Promise<readonly string[]>;

/** Which servers may be reached, and how their addresses are found. */
export interface Network {
  /** Whether `http:` URLs and private addresses are allowed, for development. */
  readonly allowLocal: boolean;
  readonly lookup: HostLookup;
  /** Counts a request to an address, unless there were too many: strangers may give one server any number of names. */
  readonly takeAddress: (address: string) => boolean;
  /** From the first DNS query to the last byte. */
  readonly timeLimitMs: number;
  /** Ends every request. */
  readonly signal: AbortSignal;
}

/** A request without a body and without credentials. */
export interface Target {
  readonly method: string;
  readonly url: URL;
  /** The body is read only with this status. */
  readonly status: number;
  /** Longest body. A longer one is not read to its end. */
  readonly maxBytes: number;
}

/** A response, or why it is missing: the end of a sentence about the server. */
export type Fetched =
  | {
      readonly ok: true;
      readonly status: number;
      readonly paymentRequired: string | undefined;
      /** Absent with another status, an encoding, or too many bytes. */
      readonly body: string | undefined;
    }
  | { readonly ok: false; readonly problem: string; readonly isBusy?: true };

const MAX_HEADER_BYTES = 32 * 1_024;
/** Most addresses of one host that are tried. All of them are checked. */
const MAX_ADDRESSES = 8;

const REFUSED = "has a private address";
const TOO_LATE = "did not respond in time";
const UNREACHABLE = "cannot be reached";

/**
 * Sends one request. Follows no redirect, decompresses nothing, reuses no connection, and never rejects.
 *
 * Private addresses are refused after DNS: the socket connects only to addresses that were checked, so a second DNS response
 * cannot lead elsewhere.
 */
export function fetchGuarded(target: Target, network: Network): Promise<Fetched> {
  const { url, method } = target;
  const { allowLocal, signal } = network;
  if (url.protocol !== "https:" && !(allowLocal && url.protocol === "http:")) return failed("is not https");
  // The socket makes no DNS query for an address, so it would not be checked.
  if (!allowLocal && !isPublicHost(url.hostname)) return failed(REFUSED);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !network.takeAddress(host)) return failed(UNREACHABLE, { isBusy: true });
  return new Promise((resolve) => {
    let request: ClientRequest | undefined;
    const finish = (result: Fetched): void => {
      clearTimeout(timer);
      resolve(result);
      request?.destroy();
    };
    const timer = setTimeout(() => finish({ ok: false, problem: TOO_LATE }), network.timeLimitMs);
    timer.unref();
    const fail = (error?: Error): void =>
      finish({
        ok: false,
        problem: error instanceof PrivateAddress ? REFUSED : UNREACHABLE,
        ...(error instanceof BusyAddress ? { isBusy: true } : {}),
      });
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const headers = { Accept: "application/json", "Accept-Encoding": "identity", "User-Agent": "farebox-catalog" };
    try {
      request = send(url, {
        ...{ method, agent: false, signal, maxHeaderSize: MAX_HEADER_BYTES, rejectUnauthorized: true },
        headers: { ...headers, Connection: "close", ...(BODIES.has(method) ? { "Content-Length": "0" } : {}) },
        lookup: checkedLookup(network),
      });
    } catch {
      return fail();
    }
    // Emitted in place of a response with status 101 too.
    request.on("error", fail).on("close", () => fail());
    // A server may send interim responses without end. They are no part of the body, so the socket counts them.
    request.on("information", () => {
      if ((request?.socket?.bytesRead ?? 0) > MAX_HEADER_BYTES) fail();
    });
    request.on("response", (response) => {
      response.on("error", fail);
      readBody(response, target).then((body) => finish(toFetched(response, body)), fail);
    });
    request.end();
  });
}

const BODIES: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

async function failed(problem: string, more: { readonly isBusy?: true } = {}): Promise<Fetched> {
  return { ok: false, problem, ...more };
}

function toFetched({ statusCode = 0, headers }: IncomingMessage, body: string | undefined): Fetched {
  const value = headers["payment-required"];
  return { ok: true, status: statusCode, paymentRequired: typeof value === "string" ? value : undefined, body };
}

async function readBody(response: IncomingMessage, { status, maxBytes }: Target): Promise<string | undefined> {
  const encoding = response.headers["content-encoding"] ?? "identity";
  if (response.statusCode !== status || encoding.toLowerCase() !== "identity") return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

class PrivateAddress extends Error {}

class BusyAddress extends Error {}

/** One private address among others is enough to refuse a host. */
function checkedLookup({ lookup, allowLocal, takeAddress }: Network): LookupFunction {
  return (hostname, { all }, callback) => {
    lookup(hostname).then(
      (found) => {
        const addresses = found.filter((address) => isIP(address) !== 0);
        const [first] = addresses;
        if (first === undefined) return callback(new Error("no address"), "");
        if (!allowLocal && !addresses.every(isPublicHost)) return callback(new PrivateAddress(), "");
        if (!takeAddress(first)) return callback(new BusyAddress(), "");
        if (all !== true) return callback(null, first, isIP(first));
        const tried = addresses.slice(0, MAX_ADDRESSES);
        callback(
          null,
          tried.map((address) => ({ address, family: isIP(address) })),
        );
      },
      (error: Error) => callback(error, ""),
    );
  };
}

/**
 * Asks the DNS servers of the machine. `dns.lookup` would occupy one of four threads for as long as a slow DNS server likes,
 * and the rest of the process needs those for files and cryptography.
 */
export const lookupPublic: HostLookup = async (hostname) => {
  const resolver = new dns.Resolver({ timeout: 1_500, tries: 2 });
  const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  return found.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
};

/** Knows the names of this machine as well, such as `localhost`. */
export const lookupLocal: HostLookup = async (hostname) => {
  const found = await dns.lookup(hostname, { all: true });
  return found.map(({ address }) => address);
};
