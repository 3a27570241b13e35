/**
 * Declares a route by itself, as core would at start.
 *
 * @module
 */
import {
  type CompiledDeclaration,
  type ConfigIssue,
  createIssues,
  type RouteFacts,
  type RoutePath,
} from "@farebox/core";
import type { BazaarDeclaration } from "../declaration.js";
import { bazaarExtension } from "./extension.js";

export interface Declared {
  readonly compiled: CompiledDeclaration | undefined;
  readonly issues: readonly ConfigIssue[];
  /** What goes out for a request. */
  at(method?: string, place?: ReturnType<typeof placeAt>): BazaarDeclaration | undefined;
}

/** Compiles a declaration for `GET /weather`, unless told otherwise. */
export function declare(form: unknown, route: Partial<RouteFacts> = {}): Declared {
  const issues = createIssues();
  const paths: readonly RoutePath[] = [{ template: "/weather", params: [] }];
  const facts: RouteFacts = { key: "GET /weather", method: "GET", paths, description: "", mimeType: "", ...route };
  const compiled = bazaarExtension().compile(form, { path: "bazaar", route: facts, issues });
  return {
    compiled,
    issues: issues.found,
    at: (method = facts.method ?? "GET", place = placeAt("/weather")) =>
      compiled?.at({ method, locate: () => place }) as BazaarDeclaration | undefined,
  };
}

export function placeAt(routeTemplate: string | undefined, pathParams: Readonly<Record<string, string>> = {}) {
  return { routeTemplate, pathParams };
}
