/**
 * The interface of an extension. It compiles a seller's declaration once, at start-up, and returns the declaration to send for each
 * request. It may also have its say in each challenge and each receipt, and have hooks.
 *
 * @see `docs/guides/write-an-extension.md`
 * @see x402 v2 §5.1.2 "Extensions"
 * @module
 */
import type { PlainFindingCode } from "./events/findings.js";
import type { PaymentHooks, PricedRequest, SettledContext } from "./events/hooks.js";
import type { Issues } from "./issues.js";
import type { ExtensionDeclaration, PaymentRequirements, ResourceInfo } from "./protocol/documents.js";
import type { JsonObject } from "./protocol/json.js";
import type { Method } from "./route/route-key.js";

/** An extension that a seller can declare under `extensions[key]`. */
export interface Extension {
  /** Its identifier, e.g. `bazaar`. */
  readonly key: string;
  /** Compiles a seller's declaration, which may be any value. Returns `undefined` for an invalid one, and adds issues. */
  compile(declaration: unknown, context: DeclarationContext): CompiledDeclaration | undefined;
}

/** A compiled declaration. */
export interface CompiledDeclaration {
  /**
   * Returns the declaration for a request, or `undefined` for none. Should return the same object for requests that change nothing.
   * Facilitators and documents get this one. Must not throw.
   */
  at(occasion: DeclarationOccasion): ExtensionDeclaration | undefined;
  /**
   * Returns the declaration for one challenge, or `undefined` for none. The client waits for it, at most 5 seconds. If it throws, is late,
   * or returns anything else, the challenge has the declaration of `at`, and the log has `extension_failed`. Default: that of `at`.
   *
   * @example ({ declaration }) => declaration && { ...declaration, info: { ...declaration.info, nonce: randomUUID() } }
   */
  readonly challenge?: (
    context: ChallengeContext,
  ) => ExtensionDeclaration | undefined | Promise<ExtensionDeclaration | undefined>;
  /** Whether `challenge` may return any JSON object, also one without `info` and `schema`. Default `false`. */
  readonly isFreeForm?: boolean;
  /**
   * Fields of `info` that differ per challenge. The facilitator gets the client's copy of them as it was sent. Of all other fields it
   * gets those of `at`. Default: none.
   *
   * @example ["nonce", "issuedAt"]
   */
  readonly dynamicFields?: readonly string[];
  /**
   * Returns what the receipt has under `extensions[key]`, or `undefined` for nothing. Called once the money has moved, before that is
   * recorded: the response, its replays and hooks have the same. The payment waits for it, at most 2 seconds. If it throws, is late, or
   * returns no JSON object, the receipt has no such entry, and the log has `extension_failed`. So it has if the header of the receipt
   * would be longer than 4 KiB. Default: nothing.
   *
   * @example ({ receipt }) => ({ thanks: receipt.payer })
   */
  readonly receipt?: (context: SettledContext) => JsonObject | undefined | Promise<JsonObject | undefined>;
  /**
   * Hooks for routes that declare the extension. Each is asked after the seller's, in the order of the declarations; the first verdict
   * counts. Default: none.
   *
   * @example { onRequest: ({ header }) => (isMember(header("x-member")) ? { grant: true } : undefined) }
   */
  readonly hooks?: PaymentHooks;
  /** Returns the `outputSchema` for older clients and catalogs. Default: no `outputSchema`. */
  readonly outline?: (declaration: ExtensionDeclaration, url: string) => Outline;
  /**
   * Returns a declaration without its examples, for the header of a challenge that would be too long. The body has them. Asked only where
   * `isPublic` is set. Must not throw. Default: all of it.
   */
  readonly withoutExamples?: (declaration: ExtensionDeclaration) => ExtensionDeclaration;
  /** Checks the input of a request. Default: no check. */
  readonly checkInput?: (input: RequestInput) => readonly InputProblem[];
  /** The media type that a checked body must have, by method. Default: not checked. */
  readonly bodyType?: (method: string) => "json" | "form-data" | "text" | undefined;
  /** Whether it lists the route in public catalogs. Default `false`. */
  readonly isPublic?: boolean;
  readonly notices: readonly DeclarationNotice[];
}

/** The name of the extension by which a header says what it leaves out. No other extension can have it. */
export const LEFT_OUT_EXTENSION = "farebox";

/** What is expected in its place, for issues. */
export const OTHER_NAME: string = `another name: headers say under "${LEFT_OUT_EXTENSION}" what they leave out`;

/** The place of a declaration, for its compilation. */
export interface DeclarationContext {
  /** The path for issues, e.g. `routes["GET /users/:id"].extensions.bazaar`. */
  readonly path: string;
  readonly route: RouteFacts;
  /** The URL that the seller wrote for the resource: of an endpoint, or `mcp://tool/<name>`. `undefined`: none. */
  readonly resource: string | undefined;
  /** The path of `publicUrl`, which stands before each template: `/v1`, or `""`. */
  readonly publicPath: string;
  /**
   * Hosts that the seller named for the URL of this route, in lower case; one without a port stands for all its ports. Empty: the host
   * is the one that the client names.
   */
  readonly ownHosts: readonly string[];
  /** Whether the route sells nothing, `accepts: []`: hooks decide who may pass. */
  readonly isAuthOnly: boolean;
  /** Whether a function sets a price of the route. */
  readonly isPricedPerRequest: boolean;
  /** Add mistakes here. */
  readonly issues: Issues;
}

/** A route as known at start-up. */
export interface RouteFacts {
  /** E.g. `GET /users/:id`; `payments.charge` for a route that the framework matches. */
  readonly key: string;
  /** `undefined`: every method, or not yet known. */
  readonly method: Method | undefined;
  /** The variants of its path, without mounts. `undefined`: not yet known. */
  readonly paths: readonly RoutePath[] | undefined;
  readonly description: string;
  /** Media type of the response, e.g. `application/json`, or `""`. */
  readonly mimeType: string;
}

/** One variant of a route's path. */
export interface RoutePath {
  /** E.g. `/users/:id`. */
  readonly template: string;
  /** Names of its parameters, e.g. `["id"]`. */
  readonly params: readonly string[];
}

/** A likely mistake in a valid declaration. */
export interface DeclarationNotice {
  readonly code: PlainFindingCode;
  /** A sentence. */
  readonly message: string;
}

/** The parts of a request that a declaration may depend on. */
export interface DeclarationOccasion {
  readonly method: string;
  /** Absolute URL of the resource. `undefined`: there is no request, and the declaration is for a document. */
  readonly url?: string;
  /** Returns the place of the request. Call it only if needed. */
  readonly locate: () => {
    /** E.g. `/users/:id`; `undefined` if the route is a regular expression. */
    readonly routeTemplate: string | undefined;
    /** Decoded values, e.g. `{ id: "7" }`. */
    readonly pathParams: Readonly<Record<string, string>>;
  };
}

/** One challenge that is about to be sent. Everything in it is a copy, or is frozen. */
export interface ChallengeContext {
  readonly request: PricedRequest;
  readonly resource: ResourceInfo;
  /** The offers of the challenge, in its order. */
  readonly offers: readonly PaymentRequirements[];
  /** The declaration of `at`. */
  readonly declaration: ExtensionDeclaration | undefined;
  /** Why the client has to pay, or has to pay again: the challenge's `error`. */
  readonly error: string;
}

/** The input of a request, to check before the payment. */
export interface RequestInput {
  readonly method: string;
  /** The query with its `?`, or `""`. */
  readonly search: string;
  readonly pathParams: Readonly<Record<string, string>>;
  /** The parsed body. Do not change it. */
  readonly body: unknown;
}

/** One mistake in the input of a request. */
export interface InputProblem {
  readonly in: "query" | "body" | "path";
  /** JSON pointer, e.g. `/city`; `""` for the whole. */
  readonly at: string;
  /** A description of valid input, e.g. `must be string`. Never quotes the request. */
  readonly message: string;
}

/** Input and output of a route for `outputSchema`, a field of older clients and catalogs. */
export interface Outline {
  readonly input: JsonObject;
  readonly output: JsonObject | null;
}
