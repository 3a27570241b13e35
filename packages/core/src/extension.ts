/**
 * The contract of an extension that has more to say of a route than a constant: it compiles what a seller declares, once,
 * and says at each request what goes out.
 *
 * @see x402 v2 §5.1.2 "Extensions"
 * @module
 */
import type { PlainFindingCode } from "./events/findings.js";
import type { Issues } from "./issues.js";
import type { ExtensionDeclaration } from "./protocol/documents.js";
import type { JsonObject } from "./protocol/json.js";
import type { Method } from "./route/route-key.js";

/** What is known of a route when it is compiled. */
export interface RouteFacts {
  /** `GET /users/:id`; `payments.charge` for a route that the framework matches. */
  readonly key: string;
  /** `undefined`: every method, or not known yet. */
  readonly method: Method | undefined;
  /** Ways to write its path, without mounts; `undefined`: not known yet. */
  readonly paths: readonly RoutePath[] | undefined;
  readonly description: string;
  /** Media type of the answer, or `""`. */
  readonly mimeType: string;
}

/** One way to write the path of a route. */
export interface RoutePath {
  /** `/users/:id`. */
  readonly template: string;
  /** Names of its parameters: `["id"]`. */
  readonly params: readonly string[];
}

/** Where a declaration stands. */
export interface DeclarationContext {
  /** For issues: `routes["GET /users/:id"].extensions.bazaar`. */
  readonly path: string;
  readonly route: RouteFacts;
  /** Takes everything that is wrong. */
  readonly issues: Issues;
}

/** What looks wrong about a declaration although it is valid. */
export interface DeclarationNotice {
  readonly code: PlainFindingCode;
  /** A sentence. */
  readonly message: string;
}

/** A request, as far as it changes what is declared. */
export interface DeclarationOccasion {
  readonly method: string;
  /** Says where the request is; asked only when it is to be known. */
  readonly locate: () => {
    /** `/users/:id`; `undefined` where a route is a regular expression. */
    readonly routeTemplate: string | undefined;
    /** Decoded. */
    readonly pathParams: Readonly<Record<string, string>>;
  };
}

/** What goes into a request, to be checked before it is paid for. */
export interface RequestInput {
  readonly method: string;
  /** The query with its `?`, or `""`. */
  readonly search: string;
  readonly pathParams: Readonly<Record<string, string>>;
  /** What a body parser has made of the body. Not to be changed. */
  readonly body: unknown;
}

/** What is wrong with a request. */
export interface InputProblem {
  readonly in: "query" | "body" | "path";
  /** JSON pointer into that: `/city`; `""` for all of it. */
  readonly at: string;
  /** What would be right: `must be string`. Never quotes the request. */
  readonly message: string;
}

/** Input and output of a route as older documents have them, in `outputSchema`. */
export interface Outline {
  readonly input: JsonObject;
  readonly output: JsonObject | null;
}

/** A declaration, compiled. */
export interface CompiledDeclaration {
  /**
   * What goes out at a request; `undefined`: nothing at this one. Yields the same object where the request changes nothing.
   * Must not throw.
   */
  at(occasion: DeclarationOccasion): ExtensionDeclaration | undefined;
  /** What of a declaration older documents say in `outputSchema`. Default: it says nothing there. */
  readonly outline?: (declaration: ExtensionDeclaration, url: string) => Outline;
  /** Checks what goes into a request. Default: it has nothing to check by. */
  readonly checkInput?: (input: RequestInput) => readonly InputProblem[];
  /** What a body has to be sent as, by method, where it is checked. */
  readonly bodyType?: (method: string) => "json" | "form-data" | "text" | undefined;
  /** Whether it puts the route into public catalogs. Default `false`. */
  readonly isPublic?: boolean;
  readonly notices: readonly DeclarationNotice[];
}

/** An extension that a seller can declare under `extensions[key]`. */
export interface Extension {
  /** Its identifier: `bazaar`. */
  readonly key: string;
  /**
   * Compiles what a seller has declared, which may be anything. `undefined` when that cannot be done; then why is among
   * the issues.
   */
  compile(declaration: unknown, context: DeclarationContext): CompiledDeclaration | undefined;
}
