/**
 * Loads a seller's module: the file that makes the Express app and its payments.
 *
 * @module
 */
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Payments } from "@farebox/express";
import type { Application } from "express";
import { CliError } from "../frame/cli-error.js";

/** What was found among the exports of a seller's module. */
export interface SellerModule {
  /** The absolute path. */
  readonly path: string;
  /** The export `app`, or the default export. */
  readonly app: Application | undefined;
  /** The export `payments`. */
  readonly payments: Payments | undefined;
  /** Every export, by its name. */
  readonly exports: Readonly<Record<string, unknown>>;
}

const REMEDY = "Export the Express app as app, and the result of createPayments() as payments";

/** Whether an argument names a file, and no URL. */
export function isFile(argument: string): boolean {
  return !/^https?:\/\//i.test(argument);
}

/** Loads a module. @throws CliError if there is none, if it throws, or if it has no app and no payments */
export async function loadSellerModule(file: string): Promise<SellerModule> {
  const path = resolve(file);
  if (!existsSync(path) || !statSync(path).isFile()) {
    throw new CliError(
      "FAREBOX_CLI_MODULE",
      `there is no file ${JSON.stringify(file)}`,
      "Name the file that makes the app",
    );
  }
  // What the file prints is no result of the command.
  const { console } = globalThis;
  for (const method of ["log", "info", "debug"] as const) console[method] = console.error;
  const exports = await importFile(path, file);
  const found = "default" in exports && isRecord(exports["default"]) ? { ...exports["default"], ...exports } : exports;
  const app = [found["app"], found["default"]].find(isApp);
  const payments = [found["payments"], found["default"]].find(isPayments);
  return { path, app, payments, exports: found };
}

/** The app and the payments of a module. @throws CliError if one is missing */
export async function loadSeller(file: string): Promise<{ readonly app: Application; readonly payments: Payments }> {
  const { app, payments } = await loadSellerModule(file);
  if (app !== undefined && payments !== undefined) return { app, payments };
  const missing = [...(app === undefined ? ["app"] : []), ...(payments === undefined ? ["payments"] : [])];
  throw new CliError("FAREBOX_CLI_MODULE", `${file} does not export ${missing.join(" and ")}`, REMEDY);
}

async function importFile(path: string, file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (cause) {
    const { code, message } = cause as { readonly code?: string; readonly message?: string };
    const isTypeScript = code === "ERR_UNKNOWN_FILE_EXTENSION";
    const why = isTypeScript ? "this version of Node does not run TypeScript" : (message ?? String(cause));
    const remedy = isTypeScript
      ? "Use Node 22.18 or later, or name the compiled file"
      : "Mend the file, so that node runs it";
    throw new CliError("FAREBOX_CLI_MODULE", `${file} cannot be loaded: ${why}`, remedy, { cause });
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isApp(value: unknown): value is Application {
  const { handle, use, get } = Object(value) as Record<string, unknown>;
  return typeof value === "function" && [handle, use, get].every((each) => typeof each === "function");
}

function isPayments(value: unknown): value is Payments {
  const { routes, charge, report, openapi } = Object(value) as Record<string, unknown>;
  return [routes, charge, report, openapi].every((each) => typeof each === "function");
}
