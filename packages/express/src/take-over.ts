/**
 * Taking a response over: what it could do before, and ours in its place.
 *
 * Both ways to put something of ours on a response have an obvious form that V8 serves badly. `res.end = () => …` and
 * `Object.defineProperty(res, name, { get: () => … })` are kept where only a full garbage collection frees anything, and with
 * them all that they lead to: the request, its response, its payment.
 *
 * @see `docs/background/performance.md`
 * @module
 */
import type { ServerResponse } from "node:http";
import { later } from "./held-body.js";

/** Node's own methods, or those of middleware that came before. */
export type Originals = Pick<ServerResponse, "writeHead" | "flushHeaders" | "write" | "end">;

/** Takes them as they are now. They are to be called on the response. */
export function takeOriginals({ writeHead, flushHeaders, write, end }: ServerResponse): Originals {
  return { writeHead, flushHeaders, write, end };
}

/** Puts a method of ours on a response. */
export function overrideMethod<K extends keyof ServerResponse>(
  res: ServerResponse,
  name: K,
  method: ServerResponse[K],
): void {
  res[name] = method;
}

/** Flags of a response that can be true before anything has gone out. */
export type Flag = "headersSent" | "writableEnded";

/** Who has a response in hand: gets what is called on it, with the arguments in whatever form they came. */
export interface Keeper {
  writeHead(args: readonly unknown[]): void;
  flushHeaders(): void;
  write(args: readonly unknown[]): boolean;
  end(args: readonly unknown[]): void;
  /** Says whether a flag is true early. */
  isSet(name: Flag): boolean;
}

const KEEPER: unique symbol = Symbol("farebox.keeper");

type Kept = ServerResponse & { [KEEPER]: Keeper };

/** The same functions for all responses: functions of its own for each would have to be made, and looked at by V8, for each. */
const METHODS = {
  writeHead(this: Kept, ...args: readonly unknown[]) {
    this[KEEPER].writeHead(args);
    return this;
  },
  flushHeaders(this: Kept) {
    this[KEEPER].flushHeaders();
  },
  write(this: Kept, ...args: readonly unknown[]) {
    return this[KEEPER].write(args);
  },
  end(this: Kept, ...args: readonly unknown[]) {
    this[KEEPER].end(args);
    return this;
  },
  /** A hint about an answer that may never go out; it is as good as its loss. */
  writeEarlyHints(_hints: unknown, callback?: () => void) {
    later(callback);
  },
};

/** The same two getters for all responses. */
const HEADERS_SENT: PropertyDescriptor & ThisType<Kept> = {
  configurable: true,
  get() {
    return this[KEEPER].isSet("headersSent");
  },
};
const WRITABLE_ENDED: PropertyDescriptor & ThisType<Kept> = {
  configurable: true,
  get() {
    return this[KEEPER].isSet("writableEnded");
  },
};

/** Hands a response over. */
export function takeOver(res: ServerResponse, keeper: Keeper): void {
  const { writeHead, flushHeaders, write, end, writeEarlyHints } = METHODS;
  (res as Kept)[KEEPER] = keeper;
  res.writeHead = writeHead as ServerResponse["writeHead"];
  res.flushHeaders = flushHeaders as ServerResponse["flushHeaders"];
  res.write = write as ServerResponse["write"];
  res.end = end as ServerResponse["end"];
  res.writeEarlyHints = writeEarlyHints;
  // One by one, which takes half as long as `Object.defineProperties`.
  Object.defineProperty(res, "headersSent", HEADERS_SENT);
  Object.defineProperty(res, "writableEnded", WRITABLE_ENDED);
}

/** What a flag is without ours. */
export function originalFlag(res: ServerResponse, name: Flag): boolean {
  return Boolean(Reflect.get(Object.getPrototypeOf(res), name, res));
}
