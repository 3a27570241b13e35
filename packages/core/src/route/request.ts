/**
 * What the gate needs to know of a request, whatever framework it came through.
 *
 * @module
 */

import { belowMount } from "./route-table.js";
import type { ReceiversOf } from "./router-view.js";

/** One request: over HTTP, or a call that has a payment beside its arguments. */
export interface GateRequest {
  readonly method: string;
  /** Raw pathname relative to the mount point, as the framework matches it: `/weather`. */
  readonly path: string;
  /** Where the gate is mounted: `/api`, or `""` at the top. */
  readonly mountPath: string;
  /** Raw pathname with the mount, slash for slash. Default: the one put after the other. */
  readonly fullPath?: string;
  /** Whether the router is Express 4's. Default `false`. */
  readonly hasOldRouter?: boolean;
  /** Whether routers behind the gate may read another path than this: the URL has signs in it that no URL has. */
  readonly isUnclear?: boolean;
  /** The mount point as the seller wrote it: `/:tenant`. Default: `mountPath`. */
  readonly mountTemplate?: () => string;
  /**
   * Who would get a request of this method, by the framework's own router: for a full path, or, asked without one, this
   * very request. Default: nobody can tell.
   */
  readonly receiversOf?: ReceiversOf;
  /** Raw query with its `?`, or `""`. */
  readonly search: string;
  /** Scheme and host by which the client reached us, e.g. `https://api.example.com`; `undefined` when unusable. */
  readonly origin: string | undefined;
  /** Whether a proxy says what the client's scheme was, and the framework was not told to believe it. */
  readonly isProxyIgnored?: boolean;
  /** Values of `Accept` and `User-Agent`, which tell a browser from a program. */
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  /** Value of `PAYMENT-SIGNATURE`. */
  readonly paymentSignature: string | undefined;
  /** The payment itself, where it does not come in a header; then `paymentSignature` does not count. Anything a stranger sends. */
  readonly payment?: unknown;
  /** Value of any header, by its name in any case. Default: there is none. */
  readonly header?: (name: string) => string | undefined;
  /** Whether the request has a body, parsed or not. Default `false`. */
  readonly hasBody?: boolean;
  /** What a body parser has made of the body. Default: nothing. */
  readonly body?: unknown;
  /** The client's address, if it is known for certain. */
  readonly client?: string | undefined;
  /**
   * A digest of the body, `""` without one; `undefined` when the client has left before all of it was here. Only asked for
   * when there is a payment. Must not throw or reject. Default: `""`.
   */
  readonly digestBody?: () => string | undefined | Promise<string | undefined>;
}

/** The whole path of a request. */
export function fullPathOf({ fullPath, mountPath, path }: GateRequest): string {
  return fullPath ?? belowMount(mountPath, path);
}

/** What a request's body is told apart by; `undefined` when the client has left before all of it was here. */
export function digestOf({ digestBody }: GateRequest): string | undefined | Promise<string | undefined> {
  return digestBody === undefined ? "" : digestBody();
}
