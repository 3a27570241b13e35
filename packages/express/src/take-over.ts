/**
 * Taking a response over: what it could do before, and ours in its place.
 *
 * Both ways to put something of ours on a response have an obvious form that V8 serves badly. `res.end = () => …` and
 * `Object.defineProperty(res, name, { get: () => … })` are kept where only a full garbage collection frees anything, and with
 * them all that they lead to: the request, its response, its payment.
 *
 * @see `docs/performance.md`, "What is put on a response"
 * @module
 */
import type { ServerResponse } from "node:http";

/** Node's own methods, or those of middleware that came before. */
export type Originals = Pick<ServerResponse, "writeHead" | "flushHeaders" | "write" | "end">;

/** Takes them, bound, as they are now. */
export function takeOriginals(res: ServerResponse): Originals {
  return {
    writeHead: res.writeHead.bind(res),
    flushHeaders: res.flushHeaders.bind(res),
    write: res.write.bind(res),
    end: res.end.bind(res),
  };
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

/** Says of each flag whether it is true early. */
export interface EarlyFlags {
  isSet(name: Flag): boolean;
}

const EARLY: unique symbol = Symbol("farebox.early");

/** The same two getters for all responses. */
const GETTERS: PropertyDescriptorMap & ThisType<{ readonly [EARLY]: EarlyFlags }> = {
  headersSent: {
    configurable: true,
    get() {
      return this[EARLY].isSet("headersSent");
    },
  },
  writableEnded: {
    configurable: true,
    get() {
      return this[EARLY].isSet("writableEnded");
    },
  },
};

/** Lets ours say what the flags are. */
export function overrideFlags(res: ServerResponse & { [EARLY]?: EarlyFlags }, flags: EarlyFlags): void {
  res[EARLY] = flags;
  Object.defineProperties(res, GETTERS);
}

/** What a flag is without ours. */
export function originalFlag(res: ServerResponse, name: Flag): boolean {
  return Boolean(Reflect.get(Object.getPrototypeOf(res), name, res));
}
