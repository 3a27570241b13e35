/**
 * The request in the reference's shape, for hooks and for functions of the seller's: an adapter with nine methods, and the
 * context around it.
 *
 * A context can be written as JSON: the framework's request is behind `adapter.req`, which is not enumerable.
 *
 * @module
 */
import type { PricedRequest, PriceRequest } from "@farebox/core";
import type { Request } from "express";
import type { HTTPAdapter, HTTPRequestContext } from "../types.js";
import { PRICED_REQUEST } from "./priced-request.js";

/** Reads a request of Express. */
export class ExpressAdapter implements HTTPAdapter {
  readonly #req: Request;

  constructor(req: Request) {
    this.#req = req;
  }

  /** The request itself. */
  get req(): Request {
    return this.#req;
  }

  getHeader(name: string): string | undefined {
    const value: unknown = this.#req.header(name);
    return Array.isArray(value) ? value[0] : (value as string | undefined);
  }

  getMethod(): string {
    return this.#req.method;
  }

  getPath(): string {
    return this.#req.path;
  }

  getUrl(): string {
    return `${this.#req.protocol}://${this.#req.headers.host}${this.#req.originalUrl}`;
  }

  getAcceptHeader(): string {
    return this.#req.header("Accept") ?? "";
  }

  getUserAgent(): string {
    return this.#req.header("User-Agent") ?? "";
  }

  getQueryParams(): Record<string, string | string[]> {
    return this.#req.query as Record<string, string | string[]>;
  }

  getQueryParam(name: string): string | string[] | undefined {
    return this.getQueryParams()[name];
  }

  getBody(): unknown {
    return this.#req.body;
  }
}

/** What the contract of the engine gives every hook and price function. */
type AnyRequest = PricedRequest &
  Partial<Pick<PriceRequest, "search" | "body">> & { readonly native?: unknown; readonly pathInMount?: string };

/**
 * Reads a request of the engine's. A price function that reads only parts of it gets a quote, which holds although the other parts
 * change: so nothing is read before it is asked for.
 */
class RequestAdapter implements HTTPAdapter {
  readonly #request: AnyRequest;

  constructor(request: AnyRequest) {
    this.#request = request;
  }

  /** The engine's request, for hooks of our own. */
  get [PRICED_REQUEST](): PricedRequest {
    return this.#request;
  }

  /** The framework's request. A price that reads it is computed again with the payment. */
  get req(): unknown {
    return this.#request.native;
  }

  getHeader(name: string): string | undefined {
    return this.#request.header(name);
  }

  getMethod(): string {
    return this.#request.method;
  }

  getPath(): string {
    return pathOf(this.#request);
  }

  getUrl(): string {
    const { url, search = "" } = this.#request;
    return url.includes("?") ? url : url + search;
  }

  getAcceptHeader(): string {
    return this.getHeader("accept") ?? "";
  }

  getUserAgent(): string {
    return this.getHeader("user-agent") ?? "";
  }

  getQueryParams(): Record<string, string | string[]> {
    const params: Record<string, string | string[]> = Object.create(null);
    for (const [name, value] of new URLSearchParams(this.#request.search ?? "")) {
      const known = params[name];
      if (Array.isArray(known)) known.push(value);
      else params[name] = known === undefined ? value : [known, value];
    }
    return params;
  }

  getQueryParam(name: string): string | string[] | undefined {
    return this.getQueryParams()[name];
  }

  getBody(): unknown {
    return this.#request.body;
  }
}

/** The request of a hook, which may read all of it. */
class HookAdapter extends RequestAdapter {
  /** Of the request, whatever the route says its resource is. */
  override getUrl(): string {
    const { protocol, headers, originalUrl } = (this.req ?? {}) as Partial<Request>;
    const isExpress = typeof protocol === "string" && typeof originalUrl === "string";
    return isExpress ? `${protocol}://${headers?.host}${originalUrl}` : super.getUrl();
  }
}

/** The path below the mount of the middleware, as Express has it there. */
function pathOf(request: AnyRequest): string {
  return request.pathInMount ?? request.path;
}

/** What a price or recipient function gets. The payment is read only if the function asks for it. */
class PriceContext {
  readonly adapter: HTTPAdapter;
  readonly path: string;
  readonly decodedPath: string;
  readonly method: string;
  readonly routePattern: string;

  constructor(request: AnyRequest) {
    this.adapter = new RequestAdapter(request);
    this.path = pathOf(request);
    this.decodedPath = decodePath(this.path);
    this.method = request.method;
    this.routePattern = patternOf(request.route);
  }

  get paymentHeader(): string | undefined {
    return paymentHeaderOf(this.adapter);
  }
}

/** The context of a price function. */
export function toPriceContext(request: AnyRequest): HTTPRequestContext {
  // A field that may be absent is here a getter that may yield nothing.
  return new PriceContext(request) as HTTPRequestContext;
}

/** The context of a hook. Its fields are its own, so that it can be copied by `{ ...context }`. */
export function toRequestContext(request: AnyRequest): HTTPRequestContext {
  const adapter = new HookAdapter(request);
  const paymentHeader = paymentHeaderOf(adapter);
  const { method, route } = request;
  const path = pathOf(request);
  return {
    ...{ adapter, path, decodedPath: decodePath(path), method, routePattern: patternOf(route) },
    ...(paymentHeader === undefined ? {} : { paymentHeader }),
  };
}

function paymentHeaderOf(adapter: HTTPAdapter): string | undefined {
  return adapter.getHeader("payment-signature") ?? adapter.getHeader("x-payment");
}

/** A key without its method, as the reference calls a pattern. */
function patternOf(key: string): string {
  return key.slice(key.indexOf(" ") + 1);
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
