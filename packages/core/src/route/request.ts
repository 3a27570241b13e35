/**
 * A request as the gate gets it, independent of the framework.
 *
 * @module
 */
import { belowMount } from "./route-table.js";

/** One request: over HTTP, or a call that carries a payment beside its arguments. */
export interface GateRequest {
  readonly method: string;
  /** Raw pathname relative to the mount, as the framework matches it, e.g. `/weather`. */
  readonly path: string;
  /** The mount of the gate, e.g. `/api`, or `""` at the top. */
  readonly mountPath: string;
  /** Whether the client's path ends in a slash. Asked at the root of a mount, where `path` is `/` either way. Default `false`. */
  readonly endsInSlash?: boolean;
  /** Raw pathname with the mount, exactly as sent. Default: `mountPath` and `path` joined. */
  readonly fullPath?: string;
  /** The mount as the seller wrote it, e.g. `/:tenant`. Default: `mountPath`. */
  mountTemplate?(): string;
  /** How the framework has cut the mount off. Default `right`. */
  readonly cut?: Cut | undefined;
  /** Raw query with its `?`, or `""`. */
  readonly search: string;
  /** Scheme and host of the client's URL, e.g. `https://api.example.com`; `undefined` if invalid. */
  readonly origin: string | undefined;
  /** Absolute URL of the resource, if the adapter knows it. It wins over the route's. Default: made of the fields above. */
  readonly resource?: string | undefined;
  /** Why the client has to pay, for the challenge of a request without a payment. Default `Payment required`. */
  readonly error?: string | undefined;
  /** Whether a proxy sent the client's scheme, and the framework does not trust the proxy. Default `false`. */
  readonly isProxyIgnored?: boolean;
  /** Values of `Accept` and `User-Agent`, which distinguish browsers from programs. */
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  /** Value of `PAYMENT-SIGNATURE`. */
  readonly paymentSignature: string | undefined;
  /** The payment, if it does not come in a header; `paymentSignature` is then ignored. Any value that a client can send. */
  readonly payment?: unknown;
  /** Value of `PAYMENT-RETRY-TOKEN`, or what stands for it where payments do not come in headers. Default: none. */
  readonly retryToken?: string | undefined;
  /** The value of a header, by its name in any case. Default: no headers. */
  header?(name: string): string | undefined;
  /** All headers, by their names in lower case; several values joined by `", "`. Read once. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The framework's request, for the seller's functions. */
  readonly native?: unknown;
  /** Whether the request has a body, parsed or not. Default `false`. */
  readonly hasBody?: boolean;
  /** The parsed body. Default: `undefined`. */
  readonly body?: unknown;
  /** The client's address, or its session over MCP, if it is certain. */
  readonly client?: string | undefined;
  /**
   * Returns a digest of the whole body. Called only for requests with a payment that looks good. Must not throw, and reject only as
   * `isGood` does. Default: `""`.
   */
  digestBody?(reading: BodyReading): BodyDigest | Promise<BodyDigest>;
}

/**
 * How a mount was cut off a path. Express escapes some URLs, and cuts by the length of the escaped text: what is left is then another path.
 *
 * - `doubtful`: middleware may have changed the path before. What other routes are given cannot be told from it.
 */
export type Cut = "right" | "doubtful" | "wrong";

/** Two functions that the reading of a body needs. */
export interface BodyReading {
  /** For the time limit of a body: calls later, unless the function that it returns is called. */
  timer(act: () => void, delayMs: number): () => void;
  /** Verifies the payment: asked before a body is read that would take memory which is short. `undefined`: it cannot be verified yet. */
  isGood(): Promise<boolean | undefined>;
}

/**
 * A digest that no two bodies share, `""` without a body; or why the body has no digest. `undefined`: the client disconnected before
 * sending all of it.
 */
export type BodyDigest = string | undefined | { readonly problem: BodyProblem };

/**
 * Why a body has no digest.
 *
 * - `too_large`: more than is read ahead.
 * - `no_text`: its parsed value is nested too deeply, or is no data.
 * - `not_kept`: middleware has read it, and left too little of it.
 * - `busy`: other requests have used up the memory for bodies.
 * - `slow`: it took longer than a body may take.
 * - `unverified`: memory is short, and the payment is not good.
 */
export type BodyProblem = "too_large" | "no_text" | "not_kept" | "busy" | "slow" | "unverified";

/** The whole path of a request. */
export function fullPathOf({ fullPath, mountPath, path }: GateRequest): string {
  return fullPath ?? belowMount(mountPath, path);
}

/** The digest of a request's body, or why it has no digest. */
export function digestOf(request: GateRequest, reading: BodyReading): BodyDigest | Promise<BodyDigest> {
  return request.digestBody === undefined ? "" : request.digestBody(reading);
}

/** Headers with one text each. No name is found that was not sent, `constructor` for example. */
export function joinValues(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  const joined: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name] = typeof value === "string" ? value : value.join(", ");
  }
  return Object.freeze(joined);
}
