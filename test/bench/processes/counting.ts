/**
 * Counts what a server does between two messages: no clock decides. Loaded only by a server that is asked to count.
 *
 * @module
 */
import { createHook } from "node:async_hooks";
import { type Profiler, Session } from "node:inspector";
import { promiseHooks } from "node:v8";

/** A count of so many requests, one after another. */
export interface Counting {
  readonly what: Countable;
  readonly requests: number;
}

/** What is counted. `calls` keeps V8 from optimizing, and `bytes` needs an empty heap, so each has its own turn. */
export type Countable = "bytes" | "promises" | "calls";

/**
 * Of one request. What a process does once in a while, such as to forget old payments, is rounded off: it depends on how much time has passed.
 */
export interface Counted {
  /** Functions of the seller's library that were called, and their calls. */
  readonly functions?: number;
  readonly calls?: number;
  /** Calls of Node's own functions. */
  readonly nodeCalls?: number;
  readonly promises?: number;
  /** Node's own are among them. */
  readonly timers?: number;
  /** Of the heap. */
  readonly bytes?: number;
}

/** For a server that counts. */
export const COUNTING_FLAGS: readonly string[] = [
  // Nothing is collected while bytes are counted, so that what was allocated is what the heap has grown.
  "--expose-gc",
  "--min-semi-space-size=1024",
  "--max-semi-space-size=1024",
  // A function that another thread has optimized in the meantime allocates less, and what it has inlined is not counted.
  "--no-concurrent-recompilation",
];

/** Farebox as it is built, and the reference. */
const LIBRARY = /\/packages\/\w+\/dist\/|\/node_modules\/@x402\//;

/** Begins to count; the function that it returns ends it. */
export function beginCounting({ what, requests }: Counting): () => Counted {
  return { bytes: countBytes, promises: countPromises, calls: countCalls }[what](requests);
}

function countBytes(requests: number): () => Counted {
  if (globalThis.gc === undefined) throw new Error("a server that counts bytes needs COUNTING_FLAGS");
  globalThis.gc();
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  return () => ({ bytes: Math.round((process.memoryUsage().heapUsed - before) / requests) });
}

function countPromises(requests: number): () => Counted {
  let [promises, timers] = [0, 0];
  const hook = createHook({
    init(_id, type) {
      if (type === "Timeout") timers++;
    },
  }).enable();
  const stop = promiseHooks.onInit(() => promises++);
  return () => {
    stop();
    hook.disable();
    return { promises: Math.round(promises / requests), timers: Math.round(timers / requests) };
  };
}

function countCalls(requests: number): () => Counted {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  session.post("Profiler.takePreciseCoverage");
  return () => {
    let counted: Counted = {};
    session.post("Profiler.takePreciseCoverage", (_error, { result }) => {
      counted = callsIn(result, requests);
    });
    session.post("Profiler.stopPreciseCoverage");
    session.disconnect();
    return counted;
  };
}

function callsIn(scripts: readonly Profiler.ScriptCoverage[], requests: number): Counted {
  const countsIn = (isMeant: (url: string) => boolean) =>
    scripts
      .filter(({ url }) => isMeant(url))
      .flatMap(({ functions }) => functions)
      // The module itself is no function.
      .filter(({ functionName, ranges: [whole] }) => functionName !== "" || whole?.startOffset !== 0)
      .map(({ ranges: [whole] }) => whole?.count ?? 0);
  const average = (counts: readonly number[]) => Math.round(counts.reduce((sum, count) => sum + count, 0) / requests);
  const ours = countsIn((url) => LIBRARY.test(url));
  return {
    functions: ours.filter((count) => count >= requests).length,
    calls: average(ours),
    nodeCalls: average(countsIn((url) => url.startsWith("node:"))),
  };
}
