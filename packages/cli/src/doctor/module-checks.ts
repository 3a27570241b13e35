/**
 * Checks a seller's file before it is deployed: its configuration, its store, its routes, and the app while it runs on this machine.
 *
 * @module
 */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ConfigError, StoreError } from "@farebox/core";
import { createPayments, type Finding, type Payments, type PaymentsReport, type RoutesConfig } from "@farebox/express";
import express, { type Application } from "express";
import { CliError } from "../frame/cli-error.js";
import { loadSellerModule } from "../seller-module/load.js";
import { type Diagnosis, diagnose } from "./diagnoses.js";
import { fillTemplate, type Target } from "./targets.js";

/** A seller's app that runs on this machine. */
export interface RunningModule {
  readonly targets: readonly Target[];
  readonly diagnoses: readonly Diagnosis[];
  close(): Promise<void>;
}

const NOTHING = { targets: [], close: async () => {} };

/** Loads the file, asks its payments, and serves its app on a port of this machine. */
export async function openModule(file: string, processes: number): Promise<RunningModule> {
  // As a platform says it that starts several processes.
  if (processes > 1) process.env["WEB_CONCURRENCY"] = String(processes);
  let seller: { readonly app: Application; readonly payments: Payments };
  try {
    seller = await readSeller(file);
  } catch (error) {
    return { ...NOTHING, diagnoses: explain(error, file) };
  }
  const { app, payments } = seller;
  const { report, problems, isStarted } = await ask(app, payments, file);
  const diagnoses = [...problems, ...report.findings.map(toDiagnosis)];
  if (!isStarted) {
    await payments.close();
    return { ...NOTHING, diagnoses };
  }
  const server = app.listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const { port } = server.address() as AddressInfo;
  return { targets: targetsOf(report, `http://127.0.0.1:${port}`), diagnoses, close: () => close(server, payments) };
}

/** The app and the payments of a file, or those that its options and routes make. */
async function readSeller(file: string) {
  const { app, payments, exports } = await loadSellerModule(file);
  if (payments !== undefined) return { app: app ?? express(), payments };
  const { options, routes } = exports as {
    readonly options?: Parameters<typeof createPayments>[0];
    readonly routes?: RoutesConfig;
  };
  if (options === undefined || routes === undefined)
    throw new CliError("FAREBOX_CLI_MODULE", "it exports neither payments, nor options and routes", "Export them");
  const made = createPayments(options);
  const own = express();
  own.use(made.routes(routes));
  for (const key of Object.keys(routes)) {
    const [, method = "all", path = "/"] = /^(?:([A-Z]+) )?(\/.*)$/.exec(key) ?? [];
    const register = method.toLowerCase() === "get" ? "get" : method.toLowerCase() === "post" ? "post" : "all";
    own[register](path, (_req, res) => void res.json({}));
  }
  return { app: own, payments: made };
}

/** What the payments say at start-up. A seller that does not start is not asked for its routes. */
async function ask(
  app: Application,
  payments: Payments,
  file: string,
): Promise<{
  readonly report: PaymentsReport;
  readonly problems: readonly Diagnosis[];
  readonly isStarted: boolean;
}> {
  try {
    return { report: await payments.ready(app), problems: [], isStarted: true };
  } catch (error) {
    // What keeps it from starting is among its findings.
    const problems = error instanceof ConfigError ? [] : explain(error, file);
    return { report: payments.report(app), problems, isStarted: false };
  }
}

/** What went wrong, one diagnosis for each issue. */
function explain(error: unknown, file: string): readonly Diagnosis[] {
  if (error instanceof ConfigError) {
    return error.issues.map(({ path, expected, received }) =>
      diagnose("CONFIG", file, { message: `${path}: received ${received}`, remedy: `Set it to ${expected}` }),
    );
  }
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof StoreError)
    return [diagnose("STORE", file, { message: `The store cannot be used: ${message}` })];
  // The loader's errors have the error of the seller's file as their cause.
  const { cause } = Object(error) as { readonly cause?: unknown };
  if (cause instanceof ConfigError) return explain(cause, file);
  return [diagnose("MODULE_FAILS", file, { message: `The file cannot be checked: ${message}` })];
}

/** Findings by which a seller loses money, or payments. */
const ERRORS = new Set([
  "FAREBOX_TABLE_NOT_FOUND",
  "FAREBOX_ROUTER_UNREADABLE",
  "FAREBOX_TABLE_TOO_LATE",
  "FAREBOX_KEY_UNREACHABLE",
  "FAREBOX_PRICED_TWICE",
  "FAREBOX_MEMORY_STORE",
  "FAREBOX_STORE_EVICTION",
  "FAREBOX_STORE_NOT_DURABLE",
  "FAREBOX_STORE_REPLICA",
  "FAREBOX_QUOTE_SECRET_DIFFERS",
  "FAREBOX_OFFER_UNSUPPORTED",
  "FAREBOX_FACILITATOR_DOWN",
  "FAREBOX_PAYEE_UNPAYABLE",
]);

function toDiagnosis({ code, route, message, remedy }: Finding): Diagnosis {
  return { code, level: ERRORS.has(code) ? "error" : "warning", subject: route ?? "the server", message, remedy };
}

/** The routes of a report, on this machine. Those for granted requests, and free ones, are left out. */
function targetsOf({ routes }: PaymentsReport, origin: string): readonly Target[] {
  const sold = routes.filter(({ offers, method }) => offers.length > 0 && method !== "CALL");
  return sold.flatMap(({ method, path, key }) => {
    const template = path ?? key?.replace(/^[A-Z]+ /, "");
    if (template === undefined) return [];
    const url = fillTemplate(origin + template.replaceAll(/\{[^{}]*\}/g, ""));
    return URL.canParse(url) ? [{ method: method === "ANY" ? "GET" : method, url }] : [];
  });
}

async function close(server: Server, payments: Payments): Promise<void> {
  server.closeAllConnections();
  server.close();
  await payments.close();
}
