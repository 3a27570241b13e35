/**
 * Reads an Express request into what the gate needs. Express's types stay in this package.
 *
 * @module
 */
import { IncomingMessage } from "node:http";
import { isIP, Socket } from "node:net";
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

const PAYMENT_NAME = PAYMENT_SIGNATURE.toLowerCase();
const TOKEN_NAME = PAYMENT_RETRY_TOKEN.toLowerCase();

/** Whether this module reads headers right now, and not a handler. */
let isOwnRead = false;

/** Most clients know a server by one host. */
let lastHost: string | undefined;

/** Requests often come one after the other from one client, or from one proxy. */
let lastAddress: string | undefined;

/**
 * A request for a gate. Known free requests need none.
 *
 * Its fields are only declared: V8 would define them by another function, before the constructor sets them.
 */
export class ExpressRequest implements GateRequest {
  declare readonly native: Request;
  declare readonly method: string;
  declare readonly path: string;
  declare readonly mountPath: string;
  declare readonly search: string;
  declare readonly accept: string | undefined;
  declare readonly userAgent: string | undefined;
  declare readonly paymentSignature: string | undefined;
  declare readonly retryToken: string | undefined;
  declare readonly isProxyIgnored: boolean;
  declare readonly hasBody: boolean;
  declare private readonly gate: object;
  /** `null`: it was not read yet. */
  declare private knownOrigin: string | undefined | null;

  constructor(req: Request, gate: object) {
    const { originalUrl } = req;
    const headers = req.headers as Readonly<Record<string, string | undefined>>;
    const query = originalUrl.indexOf("?");
    this.native = req;
    this.method = req.method;
    // Express leaves no path for some URLs in absolute form, although its types say so.
    this.path = req.path ?? "/";
    this.mountPath = req.baseUrl;
    this.search = query === -1 ? "" : originalUrl.slice(query);
    this.accept = headers["accept"];
    this.userAgent = headers["user-agent"];
    isOwnRead = true;
    this.paymentSignature = headers[PAYMENT_NAME];
    isOwnRead = false;
    this.retryToken = headers[TOKEN_NAME];
    this.isProxyIgnored = headers["x-forwarded-proto"] !== undefined && !req.app.get("trust proxy");
    this.hasBody = (headers["content-length"] ?? headers["transfer-encoding"]) !== undefined && hasBody(req);
    this.gate = gate;
    this.knownOrigin = null;
  }

  get cut(): Cut {
    return cutOf(this.native);
  }

  get endsInSlash(): boolean {
    return this.native.originalUrl.split("?", 1)[0]?.endsWith("/") === true;
  }

  /**
   * Scheme and host by which the client reached the app, according to Express's "trust proxy" rules. Read once: whether a proxy is trusted
   * depends on its address, which is gone when the connection closes.
   */
  get origin(): string | undefined {
    if (this.knownOrigin !== null) return this.knownOrigin;
    const { native: req } = this;
    const isTrusted: unknown = req.app.get("trust proxy fn");
    const isBehindProxy = typeof isTrusted === "function" && isTrusted(req.socket.remoteAddress, 0);
    // Like `req.host` of Express 5: with the port, which Express 4 leaves out.
    const host = (isBehindProxy ? forwardedHost(req) : undefined) ?? req.headers.host;
    const { protocol } = req;
    this.knownOrigin = undefined;
    if (host === undefined || (protocol !== "http" && protocol !== "https")) return undefined;
    if (host !== lastHost && !isHost(host)) return undefined;
    lastHost = host;
    this.knownOrigin = `${protocol}://${host}`;
    return this.knownOrigin;
  }

  /** The client's address. `undefined` if it may be a proxy's, or if a proxy gives something else than an address. */
  get client(): string | undefined {
    const { native: req } = this;
    const { headers } = req;
    const forwardedFor = headers["x-forwarded-for"];
    // By these a request shows that it came through a proxy.
    const other = headers.forwarded ?? headers["x-real-ip"] ?? headers["via"];
    const isForwarded = forwardedFor !== undefined || other !== undefined;
    // Express reads this one header.
    if (isForwarded && (forwardedFor === undefined || !req.app.get("trust proxy"))) return undefined;
    const address = isForwarded ? req.ip : req.socket.remoteAddress;
    if (address === undefined || (address !== lastAddress && isIP(address) === 0)) return undefined;
    lastAddress = address;
    return address;
  }

  get body(): unknown {
    return parsedBody(this.native);
  }

  header(name: string): string | undefined {
    const value: string | readonly string[] | undefined = this.native.get(name);
    return Array.isArray(value) ? value.join(", ") : value;
  }

  get headers(): Readonly<Record<string, string>> {
    return joinValues(this.native.headers);
  }

  digestBody(reading: BodyReading): BodyDigest | Promise<BodyDigest> {
    return this.hasBody ? digestBody(this.native, reading, this) : "";
  }

  mountTemplate(): string {
    return readMountTemplate(this.native, this.gate);
  }
}

/**
 * Removes the payment and its token from a request, so that no handler logs or forwards them. A handler that looks for the payment
 * is told where it is: in a finding. The request of an admission loses its conditions, too.
 *
 * The request gets other headers, since V8 is slow to read those that something was deleted from. Middleware in front may have kept the old ones.
 */
export function removePayment(req: Request, policy: PaymentHeaderPolicy, admission: Admission | undefined): void {
  const { headers, rawHeaders } = req;
  const left: Request["headers"] = Object.create(watches.get(policy) ?? createWatch(policy));
  const removed: string[] = [];
  for (const name of Object.keys(headers)) {
    if (REMOVED.has(name) && !isLeft(name, headers, policy, admission)) removed.push(name);
    else left[name] = headers[name];
  }
  if (removed.length === 0) return;
  const distinct: object | null | undefined = Reflect.get(req, KEY_OF_DISTINCT ?? "headersDistinct");
  for (const name of removed) {
    delete headers[name];
    if (distinct) Reflect.deleteProperty(distinct, name);
  }
  let size = 0;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (removed.includes(name.toLowerCase())) continue;
    rawHeaders[size] = name;
    rawHeaders[size + 1] = rawHeaders[at + 1] as string;
    size += 2;
  }
  rawHeaders.length = size;
  if (!distinct) Object.defineProperty(req, "headersDistinct", DISTINCT);
  if (removed.includes(PAYMENT_NAME) && Object.getPrototypeOf(headers) === Object.prototype)
    Reflect.set(req, "headers", left);
}

/** Under which Node keeps `headersDistinct` of a request once it was read; to read it costs more than all else here. */
const KEY_OF_DISTINCT: symbol | undefined = findKeyOfDistinct();

function findKeyOfDistinct(): symbol | undefined {
  const request = new IncomingMessage(new Socket());
  const distinct = {};
  request.headersDistinct = distinct;
  return Object.getOwnPropertySymbols(request).find((key) => Reflect.get(request, key) === distinct);
}

/**
 * `headersDistinct` that was not read yet. Node would read as many raw headers as there were at first. Before 20.20 it also throws for a
 * header named `__proto__`.
 */
const DISTINCT: PropertyDescriptor & ThisType<Request> = {
  configurable: true,
  get() {
    const distinct: NodeJS.Dict<string[]> = Object.create(null);
    for (let at = 0; at + 1 < this.rawHeaders.length; at += 2) {
      const name = this.rawHeaders[at]?.toLowerCase() ?? "";
      distinct[name] ??= [];
      distinct[name]?.push(this.rawHeaders[at + 1] ?? "");
    }
    this.headersDistinct = distinct;
    return distinct;
  },
  set(value: unknown) {
    Object.defineProperty(this, "headersDistinct", { value, configurable: true, writable: true });
  },
};

/** Clients of the first version put the payment here, and some put it into both. */
const OLD_PAYMENT_NAME = "x-payment";

/**
 * Conditions by which a client chooses a response that is not charged: 304 or 412. `Range` and `Accept` stay: with them a client
 * chooses what it buys.
 */
const CONDITIONS = ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since"];

const REMOVED: ReadonlySet<string> = new Set([PAYMENT_NAME, OLD_PAYMENT_NAME, TOKEN_NAME, ...CONDITIONS]);

/** Whether a handler gets one of them nevertheless. */
function isLeft(
  name: string,
  headers: Request["headers"],
  { keepPaymentHeader, revalidation }: PaymentHeaderPolicy,
  admission: Admission | undefined,
): boolean {
  if (name === TOKEN_NAME) return false;
  if (name === PAYMENT_NAME || name === OLD_PAYMENT_NAME) return keepPaymentHeader;
  if (admission === undefined) return true;
  // A route with `revalidation` sees tags of responses. `*` is the tag of every one.
  const isTag = name === "if-none-match" && !/(?:^|,)\s*\*/.test(headers[name] ?? "");
  return admission.isHeld && revalidation && isTag;
}

/**
 * What headers inherit from, by price: an accessor that tells the first read of the removed header. As a property of their own, `fetch` would
 * copy it. All requests for one price share it, since functions of its own would give each request a hidden class of its own in V8. Once told,
 * it is that of every object.
 */
const watches = new WeakMap<PaymentHeaderPolicy, object>();

/** Like `Object.prototype`, and without a prototype as that is: otherwise axios would not know the headers for a plain object. */
function createWatch(policy: PaymentHeaderPolicy): object {
  const watch = Object.create(null, {
    ...Object.getOwnPropertyDescriptors(Object.prototype),
    [PAYMENT_NAME]: {
      configurable: true,
      get() {
        if (isOwnRead) return;
        watches.set(policy, Object.prototype);
        policy.onRemovedHeaderRead();
      },
      set: writeHeader,
    },
    // `console.log` would show the prototype.
    [inspect.custom]: { configurable: true, value: copyHeaders },
  });
  watches.set(policy, watch);
  return watch;
}

function copyHeaders(this: object): object {
  return { ...this };
}

/** Middleware that sets the header gets an ordinary one. */
function writeHeader(this: object, value: unknown): void {
  Object.defineProperty(this, PAYMENT_NAME, { value, configurable: true, enumerable: true, writable: true });
}

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

/** URLs that Express parses. It escapes some of their signs, and cuts mounts off by the length of the escaped text. */
const PARSED = /^[^/]|[\t\n\f\r #\u00a0\ufeff]/;

/** Those signs in a path; or a host without a scheme, which is seen there and nowhere else. */
const SIGNS = /^[^?]*[\t\n\r "'<>\\^`{|}]|^\/\/[^/@]+@/;

/** The same signs, escaped. */
const ESCAPED = /%(?:09|0[AD]|2[027]|3[CE]|5[CE]|60|7[BCD])/gi;

/**
 * How Express has cut mounts off: what is left, with the mount in front, is the path that the client sent. Behind a mount, the URL stays as
 * a wrong cut has left it.
 */
export function cutOf({ baseUrl, url, originalUrl }: Request): Cut {
  const isParsed = PARSED.test(originalUrl);
  const isEscaped = isParsed ? SIGNS.test(originalUrl) : baseUrl.search(ESCAPED) !== -1;
  if (!isEscaped && (baseUrl === "" || !(isParsed || PARSED.test(url)))) return "right";
  const [sent, mount, rest] = [pathIn(originalUrl), pathIn(baseUrl), pathIn(url)];
  // A mount may add a slash to what is left, and take one away at the end. One of Express 4 takes one away elsewhere, too; there a cut that
  // is too long may take two.
  const isWhole = isEscaped
    ? sent === mount + rest || sent === mount + rest.slice(1) || (rest === "" && sent === `${mount}/`)
    : [mount + rest, `${mount}/${rest}`].map(withSingleSlashes).includes(withSingleSlashes(sent));
  if (isWhole) return "right";
  if (isParsed) return isEscaped ? "wrong" : "doubtful";
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

function withSingleSlashes(path: string): string {
  return path.replace(/\/{2,}/g, "/");
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
