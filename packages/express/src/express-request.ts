/**
 * Reads from an Express request what the gate needs. No Express type goes past this package.
 *
 * @module
 */
import {
  type GateRequest,
  isHost,
  matchesMount,
  PAYMENT_SIGNATURE,
  type Place,
  placeOfRoute,
  type Receivers,
  type ReceiversOf,
  UNKNOWN_RECEIVERS,
} from "@farebox/core";
import type { Request } from "express";
import { digestBody, hasBody } from "./request-body.js";
import { createRouterView, isInnerApp, receiversIn } from "./router-view.js";
import { countSegments, hasOldRouter, type LayerRoute, originOf, takesAnyMethod } from "./router-walk.js";

/** Reads a request as a gate sees it. What only few requests are asked for is read when it is asked for. */
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

  /** Each property of a request takes its time to read, and free routes pass through here, too. */
  constructor(req: Request, gate: object) {
    const { method, url, originalUrl, baseUrl, app } = req;
    const path = readPath(req);
    this.method = method;
    this.path = path;
    this.mountPath = baseUrl;
    this.fullPath = baseUrl === "" ? path : readFullPath(req);
    this.hasOldRouter = hasOldRouter(app);
    const isAsSent = url === originalUrl && url.startsWith("/") && url.startsWith(path);
    this.isUnclear = !isAsSent && isUnclear(req);
    this.#req = req;
    this.#gate = gate;
  }

  get paymentSignature(): string | undefined {
    return this.#req.get(PAYMENT_SIGNATURE);
  }

  get search(): string {
    const { originalUrl } = this.#req;
    const query = originalUrl.indexOf("?");
    return query === -1 ? "" : originalUrl.slice(query);
  }

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
    return this.#req.body;
  }

  get mountTemplate(): () => string {
    return () => readMountTemplate(this.#req, this.#gate);
  }

  get receiversOf(): ReceiversOf {
    return (path, anyMethod) => readReceivers(this.#req, this.#gate, { path, anyMethod });
  }

  get header(): (name: string) => string | undefined {
    return (name) => this.#req.get(name);
  }

  get digestBody(): () => string | undefined | Promise<string | undefined> {
    return () => digestBody(this.#req);
  }
}

/** Behind a proxy that Express was not told of, every client has the proxy's address. */
function readClient(req: Request): string | undefined {
  const isForwarded = req.headers["x-forwarded-for"] !== undefined || req.headers["forwarded"] !== undefined;
  if (isForwarded) return req.app.get("trust proxy") ? req.ip : undefined;
  return req.socket.remoteAddress;
}

/** Takes the payment off the request, so that nothing behind the gate can log it or send it on. */
export function removePayment(req: Request): void {
  const name = PAYMENT_SIGNATURE.toLowerCase();
  delete req.headers[name];
  // Before the raw headers: Node makes it of as many of those as there were.
  delete req.headersDistinct[name];
  for (let at = req.rawHeaders.length - 2; at >= 0; at -= 2) {
    if (req.rawHeaders[at]?.toLowerCase() === name) req.rawHeaders.splice(at, 2);
  }
}

/** Slash for slash, as the routers above see it: Express 4 takes a doubled slash behind a mount for one. */
function readFullPath(req: Request): string {
  const { baseUrl, originalUrl } = req;
  const path = readPath(req);
  if (baseUrl === "") return path;
  const original = pathOf(req, originalUrl);
  const isRewritten = collapse(original) !== collapse(baseUrl + path);
  return isRewritten ? baseUrl + path : original;
}

/** A mount may leave no path of a URL in absolute form; types say otherwise. */
function readPath({ path }: Request): string {
  return path ?? "/";
}

function collapse(path: string): string {
  return `${path}/`.replace(/\/{2,}/g, "/");
}

/** The path of another URL, by Express's own parser, which remembers what it has read on the request it is given. */
function pathOf(req: Request, url: string): string {
  return readPath(Object.create(req, { url: { value: url } }) as Request);
}

/**
 * Whether routers below may read another path than we do. Of a URL with a fragment or with signs that no URL has, Express
 * matches what Node's parser makes of it, and cuts mounts off what was sent.
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

/** Looks at the app's router: for a path, or for what this request will be to the routers below. */
function readReceivers(
  req: Request,
  gate: object,
  { path, anyMethod = false }: { readonly path: string | undefined; readonly anyMethod?: boolean | undefined },
): Receivers {
  if (path !== undefined) return readBelow(req, gate, { path, anyMethod });
  if (isUnclear(req)) return readUnclear(req, gate);
  const [one, other] = [readFullPath(req), req.baseUrl + readPath(req)];
  const receivers = readBelow(req, gate, { path: one, anyMethod });
  return one === other ? receivers : join(receivers, readBelow(req, gate, { path: other, anyMethod }));
}

/** Whether a slash was dropped by a mount or by middleware cannot be told, so routers below may see either path. */
function join(a: Receivers, b: Receivers): Receivers {
  return {
    isFound: a.isFound && b.isFound,
    before: [...a.before, ...b.before],
    after: [...a.after, ...b.after],
    beyond: [...a.beyond, ...b.beyond],
    opaque: [...a.opaque, ...b.opaque],
  };
}

/**
 * Goes by URLs instead of paths, and cuts them as Express does. What was cut off before us can only be put back where it
 * was read as it was sent; whether a slash was cut off with it, or put in its place, cannot be told.
 */
function readUnclear(req: Request, gate: object): Receivers {
  const { app, method, url, baseUrl, originalUrl } = req;
  if (baseUrl.includes("%") || isInnerApp(app)) return UNKNOWN_RECEIVERS;
  const origin = originOf(originalUrl);
  const rest = url.startsWith(origin) ? url.slice(origin.length) : url;
  const below = [rest, `/${rest}`, rest.slice(1)].map((path) => origin + baseUrl + path);
  const sought = { method, origin, gateDepth: countSegments(baseUrl), pathOf: (one: string) => pathOf(req, one) };
  const seen = (baseUrl === "" ? [url] : below).map((whole) => receiversIn(app, gate, { ...sought, url: whole }));
  const found = seen.filter(({ isFound }) => isFound);
  return found.length === 0 ? UNKNOWN_RECEIVERS : found.reduce(join);
}

/** An app in an app is looked at by itself, below wherever it is mounted, which its routers do not show. */
function readBelow(req: Request, gate: object, { path, anyMethod }: Asked): Receivers {
  const { app, baseUrl } = req;
  const method = anyMethod ? undefined : req.method;
  const depth = countSegments(baseUrl);
  for (const above of Array.from({ length: depth + 1 }, (_, at) => at)) {
    const prefixes = above === 0 ? [""] : ("unknown" as const);
    const url = withoutSegments(path, above);
    const gateDepth = depth - above;
    const receivers = receiversIn(app, gate, { method, url, pathOf: (one) => one, prefixes, gateDepth });
    if (receivers.isFound) return receivers;
  }
  return UNKNOWN_RECEIVERS;
}

interface Asked {
  readonly path: string;
  readonly anyMethod: boolean;
}

function withoutSegments(path: string, count: number): string {
  let rest = path;
  for (let at = 0; at < count; at++) rest = rest.replace(/^\/+[^/]+/, "");
  return rest === "" ? "/" : rest;
}

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

/** Where gates are mounted hardly ever changes, and to find it a whole router is looked through. */
const mounts = new WeakMap<object, { readonly app: Request["app"]; readonly templates: readonly string[] }>();

function findMount(templates: readonly string[], baseUrl: string): string | undefined {
  return templates.find((mount) => matchesMount(mount, baseUrl));
}

/** What a trusted proxy says the client asked for; with the port, which Express 4 leaves out. */
function readHost(req: Request): string | undefined {
  const isTrusted: unknown = req.app.get("trust proxy fn");
  if (typeof isTrusted !== "function" || !isTrusted(req.socket.remoteAddress, 0)) return req.get("host");
  // Of several proxies the first one is the client's.
  const [forwarded = ""] = req.get("x-forwarded-host")?.split(",") ?? [];
  return forwarded.trim() === "" ? req.get("host") : forwarded.trim();
}

/** Express's own `trust proxy` rules decide what `protocol` is; a proxy may say anything. */
export function readOrigin(req: Request): string | undefined {
  const host = readHost(req);
  const { protocol } = req;
  if (protocol !== "http" && protocol !== "https") return undefined;
  return host !== undefined && isHost(host) ? `${protocol}://${host}` : undefined;
}

/** Whether the route that got a request was registered for its method by name. */
export function isRouteOfItsMethod(req: Request): boolean {
  const { methods } = (req.route ?? {}) as Partial<Pick<LayerRoute, "methods">>;
  return methods?.[req.method.toLowerCase()] === true && !takesAnyMethod({ methods });
}

/** The route's path and parameters. A path that is a regular expression has neither a template nor names. */
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
