/**
 * Reads an Express request into what the gate needs. Express's types stay in this package.
 *
 * @module
 */
import { isIP } from "node:net";
import {
  type BodyDigest,
  type GateRequest,
  isHost,
  matchesMount,
  type Place,
  placeOfRoute,
  type Receivers,
  type ReceiversOf,
  UNKNOWN_RECEIVERS,
} from "@farebox/core/adapter";
import { PAYMENT_RETRY_TOKEN, PAYMENT_SIGNATURE } from "@farebox/core/protocol";
import type { Request } from "express";
import { digestBody, hasBody, parsedBody } from "./request-body.js";
import { createRouterView, isInnerApp, receiversIn } from "./router-view.js";
import {
  countSegments,
  hasOldRouter,
  type LayerRoute,
  originOf,
  takesAnyMethod,
  withoutSegments,
} from "./router-walk.js";

/** Reads a request for a gate. Everything that free routes do not need is read when it is asked for. */
export function readRequest(req: Request, gate: object): GateRequest {
  return new ExpressRequest(req, gate);
}

class ExpressRequest implements GateRequest {
  readonly method: string;
  readonly path: string;
  readonly mountPath: string;
  readonly fullPath: string;
  readonly hasOldRouter: boolean;
  readonly isUnclear: boolean;
  readonly #req: Request;
  readonly #gate: object;
  #origin: { readonly value: string | undefined } | undefined;

  constructor(req: Request, gate: object) {
    this.method = req.method;
    this.path = readPath(req);
    this.mountPath = req.baseUrl;
    this.fullPath = readFullPath(req);
    this.hasOldRouter = hasOldRouter(req.app);
    this.isUnclear = isUnclear(req);
    this.#req = req;
    this.#gate = gate;
  }

  get paymentSignature(): string | undefined {
    return this.#req.get(PAYMENT_SIGNATURE);
  }

  get retryToken(): string | undefined {
    return this.#req.get(PAYMENT_RETRY_TOKEN);
  }

  get search(): string {
    const { originalUrl } = this.#req;
    const query = originalUrl.indexOf("?");
    return query === -1 ? "" : originalUrl.slice(query);
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

  readonly header = (name: string): string | undefined => this.#req.get(name);

  readonly digestBody = (): BodyDigest | Promise<BodyDigest> => digestBody(this.#req);

  readonly mountTemplate = (): string => readMountTemplate(this.#req, this.#gate);

  readonly receiversOf: ReceiversOf = (path, anyMethod = false) =>
    path === undefined ? readReceivers(this.#req, this.#gate) : receiversBelow(this.#req, this.#gate, path, anyMethod);
}

/** Removes the payment and its token from a request, so that no handler logs or forwards them. */
export function removePayment(req: Request): void {
  for (const name of [PAYMENT_SIGNATURE, PAYMENT_RETRY_TOKEN]) removeHeader(req, name.toLowerCase());
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
  const host = readHost(req);
  const { protocol } = req;
  if (protocol !== "http" && protocol !== "https") return undefined;
  return host !== undefined && isHost(host) ? `${protocol}://${host}` : undefined;
}

/** Like `req.host` of Express 5: with the port, which Express 4 leaves out. */
function readHost(req: Request): string | undefined {
  const isTrusted: unknown = req.app.get("trust proxy fn");
  if (typeof isTrusted !== "function" || !isTrusted(req.socket.remoteAddress, 0)) return req.get("host");
  // Each proxy appends a host. The first one is the client's.
  const [forwarded = ""] = req.get("x-forwarded-host")?.split(",") ?? [];
  return forwarded.trim() === "" ? req.get("host") : forwarded.trim();
}

/** Express leaves no path for some URLs in absolute form, although its types say so. */
function readPath({ path }: Request): string {
  return path ?? "/";
}

/** The path with its mounts, slash for slash as the client sent it. Express 4 drops one of two slashes behind a mount. */
function readFullPath(req: Request): string {
  const { baseUrl, originalUrl } = req;
  const path = readPath(req);
  if (baseUrl === "") return path;
  const original = pathOf(req, originalUrl);
  const isRewritten = collapse(original) !== collapse(baseUrl + path);
  return isRewritten ? baseUrl + path : original;
}

function collapse(path: string): string {
  return `${path}/`.replace(/\/{2,}/g, "/");
}

/** The path of another URL, by Express's own parser. The parser keeps its result on the request, so it gets another object. */
function pathOf(req: Request, url: string): string {
  return readPath(Object.create(req, { url: { value: url } }) as Request);
}

/**
 * Whether routers below may read another path than the gate does. If a URL has a fragment or characters that are invalid in
 * URLs, Express matches the path as Node's parser normalizes it, but cuts mounts off the URL as it was sent.
 */
function isUnclear(req: Request): boolean {
  const { url, originalUrl } = req;
  const origin = originOf(originalUrl);
  return !url.startsWith(origin) || !isReadAsSent(req, url) || (url !== originalUrl && !isReadAsSent(req, originalUrl));
}

function isReadAsSent(req: Request, url: string): boolean {
  const sent = url.slice(originOf(url).length);
  const path = url === req.url ? readPath(req) : pathOf(req, url);
  return sent.startsWith(path) || (path === "/" && !sent.startsWith("/"));
}

/** Whether the matched route was registered for the request's method by name, and not for every method. */
export function isRouteOfItsMethod(req: Request): boolean {
  const { methods } = (req.route ?? {}) as Partial<Pick<LayerRoute, "methods">>;
  return methods?.[req.method.toLowerCase()] === true && !takesAnyMethod({ methods });
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
  const known = mounts.get(gate);
  const found = known?.app === app ? findMount(known.templates, baseUrl) : undefined;
  if (found !== undefined) return found;
  const above = app.path();
  const templates = createRouterView(app)
    .mountsOf(gate)
    .map((mount) => above + mount);
  mounts.set(gate, { app, templates });
  return findMount(templates, baseUrl) ?? baseUrl;
}

/** The mounts of gates. They hardly ever change, and finding them takes a walk through all routers. */
const mounts = new WeakMap<object, { readonly app: Request["app"]; readonly templates: readonly string[] }>();

function findMount(templates: readonly string[], baseUrl: string): string | undefined {
  return templates.find((mount) => matchesMount(mount, baseUrl));
}

/** The receivers of this very request. */
function readReceivers(req: Request, gate: object): Receivers {
  if (isUnclear(req)) return receiversOfUnclear(req, gate);
  // A mount or middleware may have dropped a slash. Routers below may see either path.
  const paths = new Set([readFullPath(req), req.baseUrl + readPath(req)]);
  return [...paths].map((path) => receiversBelow(req, gate, path, false)).reduce(join);
}

/**
 * The receivers of a path, mounts included. An inner app does not know where it is mounted, so its routers are tried with
 * none, one, two … segments of the path removed.
 */
function receiversBelow(req: Request, gate: object, path: string, anyMethod: boolean): Receivers {
  const { app, baseUrl } = req;
  const method = anyMethod ? undefined : req.method;
  const depth = countSegments(baseUrl);
  for (let above = 0; above <= depth; above++) {
    const prefixes = above === 0 ? [""] : ("unknown" as const);
    const url = withoutSegments(path, above);
    const gateDepth = depth - above;
    const receivers = receiversIn(app, gate, { method, url, pathOf: (one) => one, prefixes, gateDepth });
    if (receivers.isFound) return receivers;
  }
  return UNKNOWN_RECEIVERS;
}

/**
 * The receivers of a request whose URL is unclear: the routers are walked with the whole URL, which is cut as Express cuts
 * it. Whether a mount has cut off a slash, or put one in place, cannot be told; each form counts.
 */
function receiversOfUnclear(req: Request, gate: object): Receivers {
  const { app, method, url, baseUrl, originalUrl } = req;
  if (baseUrl.includes("%") || isInnerApp(app)) return UNKNOWN_RECEIVERS;
  const origin = originOf(originalUrl);
  const rest = url.startsWith(origin) ? url.slice(origin.length) : url;
  const urls = baseUrl === "" ? [url] : [rest, `/${rest}`, rest.slice(1)].map((path) => origin + baseUrl + path);
  const gateDepth = countSegments(baseUrl);
  const found = urls
    .map((one) =>
      receiversIn(app, gate, { method, url: one, origin, gateDepth, pathOf: (whole) => pathOf(req, whole) }),
    )
    .filter(({ isFound }) => isFound);
  return found.length === 0 ? UNKNOWN_RECEIVERS : found.reduce(join);
}

/** The receivers of two paths, either of which the routers below may see. */
function join(a: Receivers, b: Receivers): Receivers {
  return {
    isFound: a.isFound && b.isFound,
    before: [...a.before, ...b.before],
    after: [...a.after, ...b.after],
    beyond: [...a.beyond, ...b.beyond],
    opaque: [...a.opaque, ...b.opaque],
  };
}
