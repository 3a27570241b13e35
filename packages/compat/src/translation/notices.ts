/**
 * What a seller who comes from the reference is told at start: where Farebox works in another way for these routes, hooks and
 * facilitators. Each once per process, in one block.
 *
 * @see `docs/reference/compat.md`
 * @module
 */
import type { LogFields, LoggerOption } from "@farebox/core";
import { createLogger } from "@farebox/core/adapter";
import type { RegisteredHooks } from "./registrations.js";

/** Something that works in another way than with the reference. */
export interface Notice {
  /** The key of its route; `undefined`: it is about all. */
  readonly route: string | undefined;
  /** A sentence without its full stop. */
  readonly text: string;
}

const told = new Set<string>();

/** Sellers may create middleware for each request. */
const MAX_TOLD = 1000;

/** For how many routes each text was told. */
const routesOf = new Map<string, number>();

/** Who has more routes reads the text often enough, or makes a key of each request's path. */
const MAX_ROUTES = 20;

/** Tells a seller, by the logger or on stderr. */
export function tell(notices: readonly Notice[], logger: LoggerOption | undefined): void {
  const news = notices.filter(({ route, text }) => {
    const count = routesOf.get(text) ?? 0;
    if (count >= MAX_ROUTES || !isNew(`${route ?? ""}: ${text}`)) return false;
    routesOf.set(text, count + 1);
    return true;
  });
  if (news.length === 0) return;
  if (logger === undefined || logger === "text") {
    const lines = news.map(({ route, text }) => `  - ${route === undefined ? "" : `${route}: `}${text}\n`);
    process.stderr.write(`[farebox] other than with @x402/express (docs/reference/compat.md):\n${lines.join("")}`);
    return;
  }
  for (const { route, text } of news) createLogger(logger).warn("FAREBOX_COMPAT", { route, message: text });
}

/** Tells a seller what a hook did, each once. */
export function createWarner(logger: LoggerOption | undefined): (event: string, fields: LogFields) => void {
  return (event, fields) => {
    const { message } = fields;
    // As the same notice at start.
    if (event === "FAREBOX_COMPAT" && Object.keys(fields).length === 1) {
      return tell([{ route: undefined, text: String(message) }], logger);
    }
    const text = `${event} · ${Object.values(fields).join(" · ")}`;
    // The message of an error may quote a client, and differ with each request.
    if (!isNew(event === "hook_failed" ? `${event} ${fields["hook"]} ${fields["error"]}` : text)) return;
    if (logger === undefined || logger === "text") process.stderr.write(`[farebox] ${text}\n`);
    else createLogger(logger).warn(event, fields);
  };
}

function isNew(id: string): boolean {
  if (told.has(id) || told.size >= MAX_TOLD) return false;
  told.add(id);
  return true;
}

/** What hooks do in another way. A seller may register them at any time. */
export function findHooks(server: RegisteredHooks, requestHooks = 0): Notice[] {
  const { beforeVerifyHooks, beforeSettleHooks, onVerifyFailureHooks, onSettleFailureHooks } = server;
  const asking = [
    ...(requestHooks > 0 ? ["onProtectedRequest"] : []),
    ...(beforeVerifyHooks.length > 0 ? ["onBeforeVerify"] : []),
    ...(beforeSettleHooks.length > 0 ? ["onBeforeSettle"] : []),
  ];
  const failing = [
    ...(onVerifyFailureHooks.length > 0 ? ["onVerifyFailure"] : []),
    ...(onSettleFailureHooks.length > 0 ? ["onSettleFailure"] : []),
  ];
  const texts = [
    ...asking.map((name) => `${name}: a hook that throws denies the request`),
    ...failing.map((name) => `${name}: { recovered } changes nothing`),
  ];
  return texts.map((text) => ({ route: undefined, text }));
}
