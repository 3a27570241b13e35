/**
 * A draft: what a declaration says, whatever the form in which it was written, before a request fills in the rest.
 *
 * @module
 */
import type { DeclarationNotice, Issues, RouteFacts } from "@farebox/core";
import type { BazaarDeclaration, BodyType, JsonSchema } from "../declaration.js";

/** A declaration for some methods. */
export interface Draft {
  /** Without method, template and path parameters. */
  readonly declaration: BazaarDeclaration;
  /** Methods it is for; `undefined`: any, as for an MCP tool. */
  readonly methods: readonly string[] | undefined;
  readonly checks: InputSchemas;
}

/** What a request is checked by, as far as it is declared. Each stands for itself. */
export interface InputSchemas {
  readonly query?: JsonSchema | undefined;
  readonly body?: JsonSchema | undefined;
  readonly path?: JsonSchema | undefined;
  readonly bodyType?: BodyType | undefined;
}

/** Where a declaration is read, and who takes what is wrong with it, and what merely looks wrong. */
export interface Reading {
  /** For issues. */
  readonly path: string;
  readonly route: RouteFacts;
  readonly issues: Issues;
  note(code: DeclarationNotice["code"], message: string): void;
}

/** Methods whose input is in the query. */
export const QUERY_METHODS: readonly string[] = ["GET", "HEAD", "DELETE"];

/** Methods whose input is in the body. */
export const BODY_METHODS: readonly string[] = ["POST", "PUT", "PATCH"];

/** Methods of a route, as Express serves it. */
export function methodsOf({ method }: RouteFacts): readonly string[] {
  if (method === undefined) return [...QUERY_METHODS, ...BODY_METHODS];
  return method === "GET" ? ["GET", "HEAD"] : [method];
}

/** Facilitators that this project knows of refuse payments with a longer description. */
export const MAX_DESCRIPTION = 500;
