/**
 * What handlers and middleware of generated apps do: respond in several forms, rewrite requests, serve as another server would.
 *
 * @module
 */
import connect from "connect";
import type { Request, RequestHandler } from "express";
import type { HandlerForm, Rewriter } from "./app-plan.js";
import { samplePath } from "./path.js";
import type { ResolvedApp, Route } from "./resolved-app.js";

/** Writes a function that responds in one of the forms of a handler. */
export function inForm(form: HandlerForm, respond: RequestHandler): RequestHandler[] {
  switch (form) {
    case "two arguments":
      return [respond];
    case "next":
      return [(req, res, next) => respond(req, res, next)];
    case "async":
      return [asyncHandler(async (req, res, next) => respond(req, res, next))];
    case "behind sign-in":
      return [requireAuth, respond];
    default:
      return form satisfies never;
  }
}

type AsyncHandler = (...args: Parameters<RequestHandler>) => Promise<unknown>;

/** As the package `express-async-handler` has it. */
function asyncHandler(handler: AsyncHandler): RequestHandler {
  return (req, res, next) => Promise.resolve(handler(req, res, next)).catch(next);
}

/** Everybody is signed in. */
const requireAuth: RequestHandler = (_req, _res, next) => next();

/** An app of another framework, which a router of Express cannot look into. */
export function asConnectApp(handlers: readonly RequestHandler[]): RequestHandler {
  const app = connect();
  for (const handler of handlers) app.use(handler as unknown as connect.NextHandleFunction);
  return app as unknown as RequestHandler;
}

export const REWRITE: Readonly<Record<Rewriter, (app: ResolvedApp) => RequestHandler>> = {
  "strips /v9": () => rewriteUrl((url) => url.replace(/^\/v9(?=\/)/, "")),
  "collapses slashes": () => rewriteUrl((url) => url.replace(/\/{2,}/g, "/")),
  "decodes the URL": () => rewriteUrl(decodeURIComponent),
  "sends /go elsewhere": ({ routes }) => {
    const target = samplePath(routes[0]?.chain ?? [], 0);
    return rewriteUrl((url) => (url === "/go" ? target : url));
  },
  "overrides the method": () => (req, _res, next) => {
    req.method = req.get("x-http-method-override")?.toUpperCase() ?? req.method;
    next();
  },
  "overrides the method by query": () => (req, _res, next) => {
    req.method = /[?&]_method=([A-Z]+)/.exec(req.url)?.[1] ?? req.method;
    next();
  },
  "lower-cases the path": () => rewriteUrl((url) => url.replace(/^[^?#]*/, (path) => path.toLowerCase())),
  "resolves dots": () => rewriteUrl((url) => url.replace(/^\/[^?#]*/, resolveDots)),
};

function rewriteUrl(rewrite: (url: string) => string): RequestHandler {
  return (req, _res, next) => {
    try {
      req.url = rewrite(req.url);
    } catch {
      // A malformed URL stays as it is.
    }
    next();
  };
}

function resolveDots(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split("/").slice(1)) {
    if (segment === "..") segments.pop();
    else if (segment !== ".") segments.push(segment);
  }
  return `/${segments.join("/")}`;
}

/** What the server behind a proxy serves: it decodes twice, and cares neither for slashes, dots nor case. */
export function resourceOf({ plan }: Route, { path }: Request): string | undefined {
  if (plan.sort !== "proxy" && plan.sort !== "files") return undefined;
  try {
    const decoded = decodeURIComponent(decodeURIComponent(path)).replaceAll("\\", "/");
    return resolveDots(decoded.replace(/\/{2,}/g, "/"))
      .replace(/(.)\/$/, "$1")
      .toLowerCase();
  } catch {
    return undefined;
  }
}
