/**
 * Reads from an Express request what the gate needs. No Express type goes past this package.
 *
 * @module
 */
import { type GateRequest, matchesMount, PAYMENT_SIGNATURE, type Receivers, UNKNOWN_RECEIVERS } from "@farebox/core";
import type { Request } from "express";
import { createRouterView, receiversIn } from "./router-view.js";

/** A name or address with an optional port, as `Host` has it; anything else is not put into a URL. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9._-]{0,252}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** Reads a request as a gate sees it. What only few requests are asked for is read when it is asked for. */
export function readRequest(req: Request, gate: object): GateRequest {
  const query = req.originalUrl.indexOf("?");
  return {
    method: req.method,
    path: req.path,
    mountPath: req.baseUrl,
    fullPath: readFullPath(req),
    mountTemplate: () => readMountTemplate(req, gate),
    receiversOf: (path) => readReceivers(req, gate, path),
    search: query === -1 ? "" : req.originalUrl.slice(query),
    origin: readOrigin(req),
    isProxyIgnored: req.headers["x-forwarded-proto"] !== undefined && !req.app.get("trust proxy"),
    accept: req.get("accept"),
    userAgent: req.get("user-agent"),
    paymentSignature: req.get(PAYMENT_SIGNATURE),
  };
}

/** Takes the payment off the request, so that nothing behind the gate can log it or send it on. */
export function removePayment(req: Request): void {
  const name = PAYMENT_SIGNATURE.toLowerCase();
  delete req.headers[name];
  delete req.headersDistinct[name];
  for (let at = req.rawHeaders.length - 2; at >= 0; at -= 2) {
    if (req.rawHeaders[at]?.toLowerCase() === name) req.rawHeaders.splice(at, 2);
  }
}

/** Slash for slash, as the routers above see it: Express 4 takes a doubled slash behind a mount for one. */
function readFullPath(req: Request): string {
  const { baseUrl, path, originalUrl } = req;
  if (baseUrl === "") return path;
  // Express's own parser of URLs, on the one that was sent.
  const { path: original } = Object.create(req, { url: { value: originalUrl } }) as Request;
  const isRewritten = collapse(original) !== collapse(baseUrl + path);
  return isRewritten ? baseUrl + path : original;
}

function collapse(path: string): string {
  return `${path}/`.replace(/\/{2,}/g, "/");
}

/** Looks at the app's router. An app in an app is looked at by itself, below wherever it is mounted. */
function readReceivers(req: Request, gate: object, path: string): Receivers {
  for (const prefix of prefixesOf(req)) {
    if (!path.startsWith(prefix)) continue;
    const prefixes = prefix === "" ? [""] : ("unknown" as const);
    const below = path.slice(prefix.length) || "/";
    const receivers = receiversIn(req.app, gate, { method: req.method, path: below, prefixes });
    if (receivers.isFound) return receivers;
  }
  return UNKNOWN_RECEIVERS;
}

/** What may come before an app's own paths: nothing, unless it is an app in an app. */
function prefixesOf({ app, baseUrl }: Request): readonly string[] {
  if ((app as { readonly parent?: unknown }).parent === undefined) return [""];
  return baseUrl.split("/").map((_, at, segments) => segments.slice(0, at + 1).join("/"));
}

function readMountTemplate({ app, baseUrl }: Request, gate: object): string {
  const above = app.path();
  const mounts = createRouterView(app).mountsOf(gate);
  return mounts.map((mount) => above + mount).find((mount) => matchesMount(mount, baseUrl)) ?? baseUrl;
}

/** Express's own `trust proxy` rules decide what `protocol` is; a proxy may say anything. */
function readOrigin(req: Request): string | undefined {
  const host = req.get("host");
  const { protocol } = req;
  if (protocol !== "http" && protocol !== "https") return undefined;
  return host !== undefined && HOST.test(host) ? `${protocol}://${host}` : undefined;
}
