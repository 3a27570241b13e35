/**
 * Reads an Express request into what the gate needs. Express's types stay in this package.
 *
 * @module
 */
import { isIP } from "node:net";
import { inspect } from "node:util";
import {
  type Admission,
  type BodyDigest,
  type BodyReading,
  type Cut,
  type GateRequest,
  isHost,
  joinValues,
  matchesMount,
  type PaymentHeaderPolicy,
  type Place,
  placeOfRoute,
} from "@farebox/core/adapter";
import { PAYMENT_RETRY_TOKEN, PAYMENT_SIGNATURE } from "@farebox/core/protocol";
import type { Application, Request } from "express";
import { digestBody, hasBody, parsedBody } from "./request-body.js";
import { createRouterView } from "./router-view.js";
import { rootOf } from "./router-walk.js";

/** Reads a request for a gate. Everything that free routes do not need is read when it is asked for. */
export function readRequest(req: Request, gate: object): GateRequest {
  return new ExpressRequest(req, gate);
}

const NOT_READ = Symbol("not read");

class ExpressRequest implements GateRequest {
  readonly method: string;
  readonly path: string;
  readonly mountPath: string;
  readonly #req: Request;
  readonly #gate: object;
  #signature: string | undefined | typeof NOT_READ = NOT_READ;
  #origin: { readonly value: string | undefined } | undefined;

  constructor(req: Request, gate: object) {
    this.method = req.method;
    // Express leaves no path for some URLs in absolute form, although its types say so.
    this.path = req.path ?? "/";
    this.mountPath = req.baseUrl;
    this.#req = req;
    this.#gate = gate;
  }

  /** Read once. Free requests never need it. */
  get paymentSignature(): string | undefined {
    if (this.#signature !== NOT_READ) return this.#signature;
    isOwnRead = true;
    this.#signature = this.#req.get(PAYMENT_SIGNATURE);
    isOwnRead = false;
    return this.#signature;
  }

  get retryToken(): string | undefined {
    return this.#req.get(PAYMENT_RETRY_TOKEN);
  }

  get cut(): Cut {
    return cutOf(this.#req);
  }

  get search(): string {
    const { originalUrl } = this.#req;
    const query = originalUrl.indexOf("?");
    return query === -1 ? "" : originalUrl.slice(query);
  }

  get endsInSlash(): boolean {
    return this.#req.originalUrl.split("?", 1)[0]?.endsWith("/") === true;
  }

  /** Read once: whether a proxy is trusted depends on its address, which is gone when the connection closes. */
  get origin(): string | undefined {
    this.#origin ??= { value: readOrigin(this.#req) };
    return this.#origin.value;
  }

  get isProxyIgnored(): boolean {
    return this.#req.headers["x-forwarded-proto"] !== undefined && !this.#req.app.get("trust proxy");
  }

  get accept(): string | undefined {
    return this.#req.headers.accept;
  }

  get userAgent(): string | undefined {
    return this.#req.headers["user-agent"];
  }

  get client(): string | undefined {
    return readClient(this.#req);
  }

  get hasBody(): boolean {
    return hasBody(this.#req);
  }

  get body(): unknown {
    return parsedBody(this.#req);
  }

  header(name: string): string | undefined {
    const value: string | readonly string[] | undefined = this.#req.get(name);
    return Array.isArray(value) ? value.join(", ") : value;
  }

  get headers(): Readonly<Record<string, string>> {
    return joinValues(this.#req.headers);
  }

  get native(): Request {
    return this.#req;
  }

  digestBody(reading: BodyReading): BodyDigest | Promise<BodyDigest> {
    return digestBody(this.#req, reading, this);
  }

  mountTemplate(): string {
    return readMountTemplate(this.#req, this.#gate);
  }
}

/**
 * Removes the payment and its token from a request, so that no handler logs or forwards them. A handler that looks for the payment
 * is told where it is: in a finding. The request of an admission loses its conditions, too.
 */
export function removePayment(req: Request, policy: PaymentHeaderPolicy, admission: Admission | undefined): void {
  const { headers } = req;
  isOwnRead = true;
  const hasPayment = headers[PAYMENT_NAME] !== undefined;
  isOwnRead = false;
  if (admission !== undefined) {
    for (const name of CONDITIONS) {
      if (headers[name] !== undefined && !(admission.isHeld && isKept(name, headers, policy))) removeHeader(req, name);
    }
  }
  if (headers[TOKEN_NAME] !== undefined) removeHeader(req, TOKEN_NAME);
  if (policy.keepPaymentHeader) return;
  // Clients of the first version put the payment here, and some put it into both.
  if (headers[OLD_PAYMENT_NAME] !== undefined) removeHeader(req, OLD_PAYMENT_NAME);
  if (!hasPayment) return;
  removeHeader(req, PAYMENT_NAME);
  watchReads(headers, policy);
}

const PAYMENT_NAME = PAYMENT_SIGNATURE.toLowerCase();
const OLD_PAYMENT_NAME = "x-payment";
const TOKEN_NAME = PAYMENT_RETRY_TOKEN.toLowerCase();

/**
 * Conditions by which a client chooses a response that is not charged: 304 or 412. `Range` and `Accept` stay: with them a client
 * chooses what it buys.
 */
const CONDITIONS = ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since"];

/** A route with `revalidation` sees tags of responses. `*` is the tag of every one. */
function isKept(name: string, headers: Request["headers"], { revalidation }: PaymentHeaderPolicy): boolean {
  return revalidation && name === "if-none-match" && !/(?:^|,)\s*\*/.test(headers[name] ?? "");
}

/** Whether this module reads headers right now, and not a handler. */
let isOwnRead = false;

/** What headers inherit from, by price; `undefined`: a read has been told. */
const watches = new WeakMap<PaymentHeaderPolicy, object | undefined>();

/**
 * Tells the first read of a removed header. The headers inherit an accessor: as a property of their own, `fetch` would copy it. All
 * requests for one price share it, since functions of its own would give each request a hidden class of its own in V8.
 */
function watchReads(headers: object, policy: PaymentHeaderPolicy): void {
  if (!watches.has(policy)) watches.set(policy, createWatch(policy));
  const watch = watches.get(policy);
  if (watch !== undefined && Object.getPrototypeOf(headers) === Object.prototype) Object.setPrototypeOf(headers, watch);
}

/** Like `Object.prototype`, and without a prototype as that is: otherwise axios would not know the headers for a plain object. */
function createWatch(policy: PaymentHeaderPolicy): object {
  return Object.create(null, {
    ...Object.getOwnPropertyDescriptors(Object.prototype),
    [PAYMENT_NAME]: {
      configurable: true,
      get() {
        if (isOwnRead) return;
        watches.set(policy, undefined);
        policy.onRemovedHeaderRead();
      },
      set: writeHeader,
    },
    // `console.log` would show the prototype.
    [inspect.custom]: { configurable: true, value: copyHeaders },
  });
}

function copyHeaders(this: object): object {
  return { ...this };
}

/** Middleware that sets the header gets an ordinary one. */
function writeHeader(this: object, value: unknown): void {
  Object.defineProperty(this, PAYMENT_NAME, { value, configurable: true, enumerable: true, writable: true });
}

function removeHeader(req: Request, name: string): void {
  delete req.headers[name];
  // Before the raw headers: Node computes this property from them at the first access.
  delete req.headersDistinct[name];
  for (let at = req.rawHeaders.length - 2; at >= 0; at -= 2) {
    if (req.rawHeaders[at]?.toLowerCase() === name) req.rawHeaders.splice(at, 2);
  }
}

/** The client's address. `undefined` if it may be a proxy's, or if a proxy gives something else than an address. */
function readClient(req: Request): string | undefined {
  const isForwarded = FORWARDED.some((name) => req.headers[name] !== undefined);
  // Express reads this one header.
  const isReadable = req.headers["x-forwarded-for"] !== undefined && Boolean(req.app.get("trust proxy"));
  if (isForwarded && !isReadable) return undefined;
  const address = isForwarded ? req.ip : req.socket.remoteAddress;
  return address !== undefined && isIP(address) !== 0 ? address : undefined;
}

/** Headers by which a request shows that it came through a proxy. */
const FORWARDED = ["x-forwarded-for", "forwarded", "x-real-ip", "via"];

/** Scheme and host by which the client reached the app, according to Express's "trust proxy" rules. */
export function readOrigin(req: Request): string | undefined {
  const isTrusted: unknown = req.app.get("trust proxy fn");
  const isBehindProxy = typeof isTrusted === "function" && isTrusted(req.socket.remoteAddress, 0);
  // Like `req.host` of Express 5: with the port, which Express 4 leaves out.
  const host = (isBehindProxy ? forwardedHost(req) : undefined) ?? req.get("host");
  const { protocol } = req;
  if (host === undefined || (protocol !== "http" && protocol !== "https")) return undefined;
  if (host !== lastHost && !isHost(host)) return undefined;
  lastHost = host;
  return `${protocol}://${host}`;
}

/** Most clients know a server by one host. */
let lastHost: string | undefined;

/** Each proxy appends a host. The first one is the client's. */
function forwardedHost(req: Request): string | undefined {
  const [first = ""] = req.get("x-forwarded-host")?.split(",") ?? [];
  return first.trim() === "" ? undefined : first.trim();
}

/** The path from the top. A mount adds a slash at its root, and one of Express 4 takes a second slash behind it away. */
export function pathOf({ baseUrl, path = "/", originalUrl }: Request): string {
  const [sent] = originalUrl.split("?", 1);
  const isSent = sent === `${baseUrl}/${path}` || (path === "/" && sent === baseUrl);
  return baseUrl !== "" && isSent ? sent : baseUrl + path;
}

/** URLs that Express does not take as they are: it escapes some of their signs. */
const PARSED = /^[^/]|[\t\n\f\r #\u00a0\ufeff]/;

/** Those signs. */
const ESCAPED = /%(?:09|0[AD]|2[027]|3[CE]|5[CE]|60|7[BCD])/gi;

/** How Express has cut the mount off: what is left, with the mount in front, is the path that the client sent. */
function cutOf({ baseUrl, url, originalUrl }: Request): Cut {
  const isParsed = PARSED.test(originalUrl);
  const isEscaped = baseUrl.search(ESCAPED) !== -1;
  if (baseUrl === "" || !(isParsed || isEscaped || PARSED.test(url))) return "right";
  const [sent, mount, rest] = [pathIn(originalUrl), pathIn(baseUrl), pathIn(url)];
  // A mount may add a slash to what is left. One of Express 4 may take one away, but a cut that is too long may take two.
  const isWhole =
    sent === mount + rest || sent === mount + rest.slice(1) || (!isEscaped && sent === `${mount}/${rest}`);
  if (isWhole) return "right";
  if (isParsed) return "wrong";
  return sent.endsWith(mount + rest) ? "right" : "doubtful";
}

/** The path in a URL, without its host, in one case, and with the signs that Express escapes. It reads a backslash as a slash. */
function pathIn(url: string): string {
  const [before = ""] = url.split("?", 1);
  return before
    .replace(/^[^/]*:\/\/[^/]*/, "")
    .replace(ESCAPED, decodeURIComponent)
    .replaceAll("\\", "/")
    .toLowerCase();
}

/** The path and parameters of the matched route. A path that is a regular expression has no template and no names. */
export function readPlace(req: Request, request: GateRequest): Place {
  const path: unknown = (req.route as { readonly path?: unknown } | undefined)?.path;
  const paths: readonly unknown[] = Array.isArray(path) ? path.flat(Number.POSITIVE_INFINITY) : [path ?? "/*"];
  for (const one of paths) {
    const place = typeof one === "string" ? placeOfRoute(one, request) : undefined;
    if (place !== undefined) return place;
  }
  return { routeTemplate: undefined, pathParams: readParams(req) };
}

/** Express 5 has the segments of a wildcard as a list. */
function readParams({ params }: Request): Place["pathParams"] {
  const entries = Object.entries(params as Readonly<Record<string, unknown>>);
  return Object.freeze(
    Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value.join("/") : String(value)])),
  );
}

/** The mount of a gate as the seller wrote it, `/:tenant`; the mount of this request if the routers do not show it. */
function readMountTemplate({ app, baseUrl }: Request, gate: object): string {
  const root = rootOf(app);
  const known = mounts.get(root) ?? new WeakMap<object, readonly string[]>();
  mounts.set(root, known);
  const templates = known.get(gate) ?? createRouterView(root).mountsOf(gate);
  known.set(gate, templates);
  return templates.find((mount) => matchesMount(mount, baseUrl)) ?? baseUrl;
}

/** The mounts of gates in an app. Finding them takes a walk through all routers. */
const mounts = new WeakMap<Application, WeakMap<object, readonly string[]>>();

/** Forgets the mounts in an app whose routes have changed. */
export function forgetMounts(app: Application): void {
  mounts.delete(app);
}
