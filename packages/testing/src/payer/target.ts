/**
 * What can be paid: an app, a server, or a URL.
 *
 * @module
 */
import { createServer, type RequestListener, Server } from "node:http";
import { listen, originOf } from "../http/listening.js";
import { PayerError } from "./payer-error.js";

/**
 * An Express app or any other request listener, an `http.Server`, or an http(s) URL. An app, and a server that does not
 * listen yet, listen on a free port of 127.0.0.1 for the time of the call.
 */
export type PayTarget = RequestListener | Server | URL | string;

/** Where a target can be reached. */
export interface OpenTarget {
  readonly origin: URL;
  /** Path and query of the target's own URL; `/` for apps and servers. */
  readonly path: string;
  close(): Promise<void>;
}

/**
 * Makes a target reachable.
 *
 * @throws {@link PayerError} when it is none of the things that can be paid
 */
export async function openTarget(target: PayTarget): Promise<OpenTarget> {
  if (typeof target === "string" || target instanceof URL) return openUrl(target);
  if (target instanceof Server) return target.listening ? openListening(target) : openForTheCall(target);
  if (typeof target === "function") return openForTheCall(createServer(target));
  throw new PayerError("a target is a request listener, an http.Server or a URL");
}

function openUrl(target: string | URL): OpenTarget {
  const url = URL.canParse(String(target)) ? new URL(target) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new PayerError("a target's URL starts with http:// or https://");
  }
  return { origin: new URL(url.origin), path: url.pathname + url.search, close: async () => {} };
}

function openListening(server: Server): OpenTarget {
  const origin = originOf(server);
  if (origin === undefined) throw new PayerError("the server does not listen on a port");
  return { origin, path: "/", close: async () => {} };
}

async function openForTheCall(server: Server): Promise<OpenTarget> {
  return { ...(await listen(server, 0)), path: "/" };
}
