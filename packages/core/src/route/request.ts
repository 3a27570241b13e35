/**
 * A request as the gate gets it, independent of the framework.
 *
 * @module
 */
import { belowMount } from "./route-table.js";
import type { ReceiversOf } from "./router-view.js";

/** One request: over HTTP, or a call that carries a payment beside its arguments. */
export interface GateRequest {
  readonly method: string;
  /** Raw pathname relative to the mount, as the framework matches it, e.g. `/weather`. */
  readonly path: string;
  /** The mount of the gate, e.g. `/api`, or `""` at the top. */
  readonly mountPath: string;
  /** Raw pathname with the mount, exactly as sent. Default: `mountPath` and `path` joined. */
  readonly fullPath?: string;
  /** Whether the router is Express 4's. Default `false`. */
  readonly hasOldRouter?: boolean;
  /** Whether routers behind the gate may read another path, because the URL contains invalid characters. Default `false`. */
  readonly isUnclear?: boolean;
  /** The mount as the seller wrote it, e.g. `/:tenant`. Default: `mountPath`. */
  readonly mountTemplate?: () => string;
  /**
   * Asks the framework's router which handlers would receive a request of this method: for a full path, or without one for this
   * request. Default: unknown.
   */
  readonly receiversOf?: ReceiversOf;
  /** Raw query with its `?`, or `""`. */
  readonly search: string;
  /** Scheme and host of the client's URL, e.g. `https://api.example.com`; `undefined` if invalid. */
  readonly origin: string | undefined;
  /** Whether a proxy sent the client's scheme, and the framework does not trust the proxy. Default `false`. */
  readonly isProxyIgnored?: boolean;
  /** Values of `Accept` and `User-Agent`, which distinguish browsers from programs. */
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  /** Value of `PAYMENT-SIGNATURE`. */
  readonly paymentSignature: string | undefined;
  /** The payment, if it does not come in a header; `paymentSignature` is then ignored. Any value that a client can send. */
  readonly payment?: unknown;
  /** The value of a header, by its name in any case. Default: no headers. */
  readonly header?: (name: string) => string | undefined;
  /** Whether the request has a body, parsed or not. Default `false`. */
  readonly hasBody?: boolean;
  /** The parsed body. Default: `undefined`. */
  readonly body?: unknown;
  /** The client's address, if it is certain. */
  readonly client?: string | undefined;
  /**
   * Returns a digest of the body, `""` without a body, or `undefined` if the client disconnected before sending all of it. Called only
   * for requests with a payment. Must not throw or reject. Default: `""`.
   */
  readonly digestBody?: () => string | undefined | Promise<string | undefined>;
}

/** The whole path of a request. */
export function fullPathOf({ fullPath, mountPath, path }: GateRequest): string {
  return fullPath ?? belowMount(mountPath, path);
}

/** The digest of a request's body; `undefined` if the client disconnected before sending all of it. */
export function digestOf({ digestBody }: GateRequest): string | undefined | Promise<string | undefined> {
  return digestBody === undefined ? "" : digestBody();
}
