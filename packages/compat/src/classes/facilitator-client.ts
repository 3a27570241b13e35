/**
 * Facilitators in the reference's shape: `HTTPFacilitatorClient`, its errors, and any other object with `verify`, `settle` and
 * `getSupported`.
 *
 * A settlement that a foreign client was told about and that failed has an unknown outcome, whatever its error says: the client
 * cannot tell whether the facilitator has read it.
 *
 * @module
 */
import {
  ConfigError,
  createHttpFacilitator,
  type Facilitator,
  type FacilitatorChoice,
  FacilitatorError,
  type FacilitatorErrorCode,
  type FacilitatorRequest,
  type SupportedResponse as NativeSupported,
  type VerifyResponse as NativeVerified,
  type SettlementResponse,
} from "@farebox/core";
import { type Issues, issuePath } from "@farebox/core/issues";
import type {
  FacilitatorClient,
  FacilitatorConfig,
  Network,
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from "../types.js";

type Operation = "verify" | "settle" | "supported";

/** As the reference's. Longer ones do not fit Node's timers. */
const DEFAULT_TIMEOUT_MS = 90_000;
const MAX_TIMEOUT_MS = 2_147_483_647;

/** A facilitator that rejected a payment with an error status. */
export class VerifyError extends Error {
  readonly invalidReason: string | undefined;
  readonly invalidMessage: string | undefined;
  readonly payer: string | undefined;
  readonly statusCode: number;

  constructor(statusCode: number, { invalidReason, invalidMessage, payer }: VerifyResponse) {
    super(saying(invalidReason ?? "unknown reason", invalidMessage));
    this.name = "VerifyError";
    this.statusCode = statusCode;
    this.invalidReason = invalidReason;
    this.invalidMessage = invalidMessage;
    this.payer = payer;
  }
}

/** A facilitator that refused a settlement with an error status. */
export class SettleError extends Error {
  readonly errorReason: string | undefined;
  readonly errorMessage: string | undefined;
  readonly payer: string | undefined;
  readonly transaction: string;
  readonly network: Network;
  readonly statusCode: number;

  constructor(statusCode: number, { errorReason, errorMessage, payer, transaction, network }: SettleResponse) {
    super(saying(errorReason ?? "unknown reason", errorMessage));
    this.name = "SettleError";
    this.statusCode = statusCode;
    this.errorReason = errorReason;
    this.errorMessage = errorMessage;
    this.payer = payer;
    this.transaction = transaction;
    this.network = network;
  }
}

/** A facilitator that sent something invalid. */
export class FacilitatorResponseError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "FacilitatorResponseError";
  }
}

/** A facilitator that took too long. */
export class FacilitatorTimeoutError extends FacilitatorResponseError {
  readonly operation: string;
  readonly timeoutMs: number;

  constructor(operation: string, timeoutMs: number, options?: ErrorOptions) {
    super(`Facilitator ${operation} timed out after ${timeoutMs}ms`, options);
    this.name = "FacilitatorTimeoutError";
    this.operation = operation;
    this.timeoutMs = timeoutMs;
  }
}

/** Facilitators that lack what a scheme needs. */
export class FacilitatorCapabilityError extends Error {
  readonly problems: string[];

  constructor(problems: string[]) {
    super(`Facilitators lack what schemes need:\n${problems.map((problem) => `  - ${problem}`).join("\n")}`);
    this.name = "FacilitatorCapabilityError";
    this.problems = problems;
  }
}

function saying(reason: string, message: string | undefined): string {
  return message === undefined ? reason : `${reason}: ${message}`;
}

/** Finds a {@link FacilitatorResponseError} among an error and its causes. */
export function getFacilitatorResponseError(error: unknown): FacilitatorResponseError | null {
  let cause = error;
  for (let depth = 0; depth < 10 && cause instanceof Error; depth++, cause = cause.cause) {
    if (cause instanceof FacilitatorResponseError) return cause;
  }
  return null;
}

/** What our clients were made with. */
const configs = new WeakMap<object, FacilitatorConfig>();

/** A facilitator behind HTTP. */
export class HTTPFacilitatorClient implements FacilitatorClient {
  readonly url: string;
  readonly timeoutMs: number;
  readonly #createAuthHeaders: FacilitatorConfig["createAuthHeaders"];
  #client: Facilitator | undefined;

  /**
   * @throws ConfigError when there is no URL: no facilitator is asked that the seller did not name.
   * @throws RangeError when `timeoutMs` is out of range.
   */
  constructor(config?: FacilitatorConfig) {
    const url = config?.url;
    if (typeof url !== "string" || url === "") {
      const expected =
        'the URL of your facilitator, such as "https://x402.org/facilitator": none is asked that you did not name';
      throw new ConfigError([{ path: "HTTPFacilitatorClient.url", expected, received: "nothing" }]);
    }
    this.url = withoutTrailingSlashes(url);
    this.timeoutMs = config?.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    if (!Number.isSafeInteger(this.timeoutMs) || this.timeoutMs <= 0 || this.timeoutMs > MAX_TIMEOUT_MS) {
      throw new RangeError(`timeoutMs must be a whole number of milliseconds from 1 to ${MAX_TIMEOUT_MS}`);
    }
    this.#createAuthHeaders = config?.createAuthHeaders;
    configs.set(this, { ...config });
  }

  async verify(paymentPayload: PaymentPayload, paymentRequirements: PaymentRequirements): Promise<VerifyResponse> {
    const request = requestOf(paymentPayload, paymentRequirements);
    return (await this.#call("verify", (client, signal) => client.verify(request, { signal }))) as VerifyResponse;
  }

  async settle(paymentPayload: PaymentPayload, paymentRequirements: PaymentRequirements): Promise<SettleResponse> {
    const request = requestOf(paymentPayload, paymentRequirements);
    return (await this.#call("settle", (client, signal) => client.settle(request, { signal }))) as SettleResponse;
  }

  async getSupported(): Promise<SupportedResponse> {
    const supported = await this.#call("supported", (client, signal) => client.supported({ signal }));
    return supported as unknown as SupportedResponse;
  }

  /** The headers of one call. */
  async createAuthHeaders(path: string): Promise<{ headers: Record<string, string> }> {
    const given: Readonly<Record<string, unknown>> = { ...(await this.#createAuthHeaders?.()) };
    // Headers that are not by call are for all of them.
    const isFlat = Object.values(given).some((value) => typeof value === "string");
    return { headers: { ...((isFlat ? given : given[path]) as Record<string, string> | undefined) } };
  }

  async #call<T>(operation: Operation, send: (client: Facilitator, signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#client ??= createHttpFacilitator({
      url: this.url,
      headers: async (path) => (await this.createAuthHeaders(path)).headers,
    });
    const signal = AbortSignal.timeout(this.timeoutMs);
    try {
      return await send(this.#client, signal);
    } catch (cause) {
      if (signal.aborted) throw new FacilitatorTimeoutError(operation, this.timeoutMs, { cause });
      if (!(cause instanceof FacilitatorError)) throw cause;
      throw new FacilitatorResponseError(cause.message, { cause });
    }
  }
}

/** A facilitator by its URL, as the options take it. */
interface UrlChoice {
  readonly url: string;
  readonly headers?: NonNullable<FacilitatorConfig["createAuthHeaders"]>;
}

/** Our client's URL and headers, for the engine's own client; `undefined` if a subclass or the seller makes the calls in another way. */
function readOurs(client: object): { readonly choice: UrlChoice; readonly timeoutMs: number | undefined } | undefined {
  const config = configs.get(client);
  const { verify, settle, getSupported, createAuthHeaders } = HTTPFacilitatorClient.prototype;
  const { url } = client as HTTPFacilitatorClient;
  const isUnchanged = Object.entries({ verify, settle, getSupported, createAuthHeaders }).every(
    ([name, method]) => Reflect.get(client, name) === method,
  );
  if (config === undefined || !isUnchanged) return undefined;
  const { createAuthHeaders: headers, timeoutMs } = config;
  return { choice: { url, ...(headers === undefined ? {} : { headers }) }, timeoutMs };
}

/** Whether a client is of our class, and makes its calls as the class does. */
export function isStockClient(client: object): boolean {
  return readOurs(client) !== undefined;
}

/** Equal for clients of our class that make the same calls. */
export function identityOf(client: FacilitatorClient): unknown {
  const isOurs = typeof client === "object" && client !== null && isStockClient(client);
  return isOurs ? { ...configs.get(client) } : client;
}

function withoutTrailingSlashes(url: string): string {
  let end = url.length;
  while (url.charAt(end - 1) === "/") end--;
  return url.slice(0, end);
}

function requestOf(paymentPayload: PaymentPayload, paymentRequirements: PaymentRequirements): FacilitatorRequest {
  // The types of the wire are the same, but for `readonly` and the name of the version.
  return { x402Version: 2, paymentPayload, paymentRequirements } as unknown as FacilitatorRequest;
}

/** Facilitators for the engine's options, and the longest time that a seller gave one of them. */
export interface ChosenFacilitators {
  readonly choices: readonly FacilitatorChoice[];
  readonly timeoutMs: number | undefined;
}

/** Reads a seller's facilitators: of the reference's classes, of ours, or of any with the same methods. */
export function readFacilitators(clients: readonly unknown[], path: string, issues: Issues): ChosenFacilitators {
  const names = new Map<string, number>();
  const timeouts: number[] = [];
  const choices = clients.flatMap((client, at): FacilitatorChoice[] => {
    if (typeof client !== "object" || client === null) {
      issues.add(issuePath(path, at), EXPECTED, client);
      return [];
    }
    const ours = readOurs(client);
    if (ours?.timeoutMs !== undefined) timeouts.push(ours.timeoutMs);
    const url = (client as { readonly url?: unknown }).url;
    const name = nameOf(url, names) ?? `facilitator-${at + 1}`;
    if (ours !== undefined) return [{ ...ours.choice, name }];
    if (hasMethods(client, ["verify", "settle", "supported"])) return [{ facilitator: client as Facilitator, name }];
    if (hasMethods(client, ["verify", "settle", "getSupported"])) {
      return [{ facilitator: hostFacilitator(client as FacilitatorClient), name }];
    }
    issues.addText(issuePath(path, at), EXPECTED, "another object");
    return [];
  });
  return { choices, timeoutMs: timeouts.length === 0 ? undefined : Math.max(...timeouts) };
}

const EXPECTED = "a facilitator client: an object with verify, settle and getSupported";

function hasMethods(value: object, names: readonly string[]): boolean {
  return names.every((name) => typeof Reflect.get(value, name) === "function");
}

/** The host, and a number from the second one on: names are unique. */
function nameOf(url: unknown, names: Map<string, number>): string | undefined {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { host } = new URL(url);
  const count = (names.get(host) ?? 0) + 1;
  names.set(host, count);
  return count === 1 ? host : `${host}-${count}`;
}

/** Calls a client of the reference's shape as the engine calls a facilitator. */
function hostFacilitator(client: FacilitatorClient): Facilitator {
  return {
    async verify({ paymentPayload, paymentRequirements }) {
      try {
        return (await client.verify(...argumentsOf({ paymentPayload, paymentRequirements }))) as NativeVerified;
      } catch (error) {
        const { invalidReason, invalidMessage, payer } = fieldsOf(error);
        if (typeof invalidReason !== "string") throw failed("verify", error);
        // Its class throws what others return, when the status is not 200.
        return { isValid: false, invalidReason, ...textOf({ invalidMessage, payer }) };
      }
    },
    async settle({ paymentPayload, paymentRequirements }) {
      try {
        return (await client.settle(...argumentsOf({ paymentPayload, paymentRequirements }))) as SettlementResponse;
      } catch (error) {
        const { errorReason, errorMessage, payer, transaction } = fieldsOf(error);
        // A refusal names no transaction. With one, the money may have moved.
        if (typeof errorReason !== "string" || transaction !== "") throw failed("settle", error);
        const { network } = paymentRequirements;
        return { success: false, errorReason, transaction, network, ...textOf({ errorMessage, payer }) };
      }
    },
    async supported() {
      try {
        return (await client.getSupported()) as unknown as NativeSupported;
      } catch (error) {
        throw failed("supported", error);
      }
    },
  };
}

function argumentsOf({
  paymentPayload,
  paymentRequirements,
}: Omit<FacilitatorRequest, "x402Version">): [PaymentPayload, PaymentRequirements] {
  // A client may change what it gets; the engine's objects are shared by all requests.
  return [copyJson(paymentPayload), copyJson(paymentRequirements)] as unknown as [PaymentPayload, PaymentRequirements];
}

/** Copies what came from JSON, ten times as fast as `structuredClone` does. */
export function copyJson(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyJson);
  const copy: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(value)) {
    if (name === "__proto__") Object.defineProperty(copy, name, { value: each, enumerable: true });
    else copy[name] = copyJson(each);
  }
  return copy;
}

/** A failed call. Its cause may quote a secret and is left out. */
function failed(operation: Operation, error: unknown): FacilitatorError {
  const { name, message, statusCode } = fieldsOf(error);
  const status = typeof statusCode === "number" ? statusCode : statusIn(message);
  const outcome = operation === "settle" ? "unknown" : "none";
  const code = codeOf(name, status);
  const call = operation === "supported" ? "say what it supports" : operation;
  const failure = { code, operation, outcome, ...(status === undefined ? {} : { status }) } as const;
  // The engine passes its cause on, and logs nothing of it: there is nothing in it.
  const cause = Object.freeze({});
  if (error instanceof Error) thrown.set(cause, error);
  return new FacilitatorError(`facilitator client failed to ${call} (${nameIn(error)})`, failure, { cause });
}

/** What clients threw. It may quote a secret: it is for hooks of the seller's, not for logs. */
const thrown = new WeakMap<object, Error>();

/** What a client of the seller's threw; the failure itself if it is no such client's. */
export function thrownByClient(failure: unknown): Error | undefined {
  if (!(failure instanceof Error)) return undefined;
  const { cause } = failure;
  return typeof cause === "object" && cause !== null ? (thrown.get(cause) ?? failure) : failure;
}

function codeOf(name: unknown, status: number | undefined): FacilitatorErrorCode {
  if (status !== undefined) return "ERR_FAREBOX_FACILITATOR_STATUS";
  if (name === "FacilitatorTimeoutError" || name === "TimeoutError") return "ERR_FAREBOX_FACILITATOR_TIMEOUT";
  return name === "FacilitatorResponseError"
    ? "ERR_FAREBOX_FACILITATOR_RESPONSE"
    : "ERR_FAREBOX_FACILITATOR_UNREACHABLE";
}

/** The reference's client writes the status into its message: `Facilitator settle failed (503): …`. */
function statusIn(message: unknown): number | undefined {
  if (typeof message !== "string") return undefined;
  const status = /^Facilitator \w+ failed \((\d{3})\)/.exec(message)?.[1];
  return status === undefined ? undefined : Number(status);
}

/** A name that can stand in a log. */
function nameIn(error: unknown): string {
  const { name, cause } = fieldsOf(error);
  const { code } = fieldsOf(cause);
  const named = typeof code === "string" ? code : name;
  return typeof named === "string" && /^\w{1,60}$/.test(named) ? named : "an error";
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function textOf(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
