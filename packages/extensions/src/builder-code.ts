/**
 * The extension `builder-code`: names who built the app behind a sale. The facilitator appends the codes to the data of the settlement.
 *
 * @see x402 v2 extension `builder-code`; ERC-8021, schema 2
 * @module
 */
import type { CompiledDeclaration, Extension, ExtensionDeclaration } from "@farebox/core";
import { createIssues, type Issues } from "@farebox/core/issues";
import { isJsonObject } from "@farebox/core/protocol";

/** The extension's identifier. */
export const BUILDER_CODE = "builder-code";

/** The form of each code. */
export const BUILDER_CODE_PATTERN: RegExp = /^[a-z0-9_]{1,32}$/;

/** How many service codes a seller may declare. */
export const MAX_SERVER_SERVICE_CODES = 5;

/** Those of the client, the seller and the facilitator together. */
const MAX_SERVICE_CODES = 11;

const CODE = { type: "string", pattern: BUILDER_CODE_PATTERN.source } as const;

/** The JSON Schema of the codes. */
export const BUILDER_CODE_SCHEMA: Readonly<Record<string, unknown>> = Object.freeze({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    a: { ...CODE, description: "App builder code" },
    w: { ...CODE, description: "Wallet builder code" },
    s: { type: "array", maxItems: MAX_SERVICE_CODES, items: CODE, description: "Service builder codes" },
  },
  additionalProperties: false,
});

/** The declaration of a route. */
export interface BuilderCodeDeclaration extends ExtensionDeclaration {
  readonly info: {
    /** Code of the app. */
    readonly a: string;
    /** Codes of services. */
    readonly s?: readonly string[];
  };
}

/**
 * Declares the codes of a route: `extensions: { [BUILDER_CODE]: declareBuilderCodeExtension("my_app") }`.
 *
 * @param appCode - Code of the app: 1 to 32 lower-case letters, digits and underscores.
 * @param serviceCodes - Up to 5 codes of services.
 * @throws ConfigError when a code is invalid, or there are too many.
 */
export function declareBuilderCodeExtension(
  appCode: string,
  serviceCodes: string | readonly string[] = [],
): BuilderCodeDeclaration {
  const services = typeof serviceCodes === "string" ? [serviceCodes] : serviceCodes;
  const issues = createIssues();
  checkCode(appCode, "appCode", issues);
  checkServices(services, "serviceCodes", issues);
  issues.throwIfAny();
  return { info: services.length > 0 ? { a: appCode, s: services } : { a: appCode }, schema: BUILDER_CODE_SCHEMA };
}

/** The extension, which checks the declarations of routes at start. A declaration works without it, too. */
export const builderCodeResourceServerExtension: Extension = Object.freeze({ key: BUILDER_CODE, compile });

function compile(
  declaration: unknown,
  { path, issues }: { readonly path: string; readonly issues: Issues },
): CompiledDeclaration | undefined {
  const info = isJsonObject(declaration) ? declaration["info"] : undefined;
  if (!isJsonObject(info)) {
    issues.add(path, 'declareBuilderCodeExtension("my_app")', declaration);
    return undefined;
  }
  const { a, s = [] } = info;
  const before = issues.found.length;
  checkCode(a, `${path}.info.a`, issues);
  checkServices(typeof s === "string" ? [s] : s, `${path}.info.s`, issues);
  if (issues.found.length > before) return undefined;
  const declared: ExtensionDeclaration = Object.freeze({ info, schema: BUILDER_CODE_SCHEMA });
  return { at: () => declared, notices: [] };
}

function checkCode(code: unknown, path: string, issues: Issues): void {
  if (typeof code === "string" && BUILDER_CODE_PATTERN.test(code)) return;
  issues.add(path, "1 to 32 lower-case letters, digits and underscores", code);
}

function checkServices(codes: unknown, path: string, issues: Issues): void {
  if (!Array.isArray(codes) || codes.length > MAX_SERVER_SERVICE_CODES) {
    issues.addOutline(path, `at most ${MAX_SERVER_SERVICE_CODES} codes`, codes);
    return;
  }
  for (const [at, code] of codes.entries()) checkCode(code, `${path}[${at}]`, issues);
}
