/**
 * How a request is noticed before any handler gets it, and which apps take it.
 *
 * @module
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Application } from "express";

/** Where Node says that a request came, before any handler gets it. */
export const REQUESTS = "http.server.request.start";

/** What Node says of a request. */
export interface Exchange {
  readonly server: Server;
  readonly request: IncomingMessage & { readonly app?: Application };
  readonly response: ServerResponse;
}

/** Tells of each app that takes a request, before its handlers do: Express looks for `locals` then. */
export function whenTaken(
  request: Exchange["request"],
  response: ServerResponse,
  take: (app: Application) => void,
): void {
  // Of another seller.
  const before = Object.getOwnPropertyDescriptor(response, "locals");
  let locals: unknown;
  let taken: Application | undefined;
  Object.defineProperty(response, "locals", {
    configurable: true,
    enumerable: true,
    get() {
      const { app } = request;
      if (app !== undefined && app !== taken) take(app);
      taken = app;
      return before?.get === undefined ? locals : before.get.call(response);
    },
    set(value) {
      locals = value;
      before?.set?.call(response, value);
    },
  });
}
