/**
 * What the gate needs to know of a request, whatever framework it came through.
 *
 * @module
 */

/** One HTTP request. */
export interface GateRequest {
  readonly method: string;
  /** Raw pathname relative to the mount point, as the framework matches it: `/weather`. */
  readonly path: string;
  /** Where the gate is mounted: `/api`, or `""` at the top. */
  readonly mountPath: string;
  /** Raw query with its `?`, or `""`. */
  readonly search: string;
  /** Scheme and host by which the client reached us, e.g. `https://api.example.com`; `undefined` when unusable. */
  readonly origin: string | undefined;
  /** Values of `Accept` and `User-Agent`, which tell a browser from a program. */
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  /** Value of `PAYMENT-SIGNATURE`. */
  readonly paymentSignature: string | undefined;
}

const FALLBACK_ORIGIN = "http://localhost";

/**
 * The resource's URL: where clients reach it, without the query, which is the client's and not the resource's.
 *
 * @param publicUrl - Wins over what the request says, as `Host` is a stranger's word.
 */
export function resourceUrl(request: GateRequest, publicUrl: string | undefined): string {
  return (publicUrl ?? request.origin ?? FALLBACK_ORIGIN) + request.mountPath + request.path;
}
