/**
 * Counts what this process runs of the packages' sources, as V8 does it: no clock decides, so the counts are the same on every machine.
 *
 * @module
 */
import { Session } from "node:inspector/promises";
import { promiseHooks } from "node:v8";

/** What ran between two moments. */
export interface Counts {
  /** Of each file of ours, `core/sale/sale.ts`, the functions that were called. */
  readonly functions: ReadonlyMap<string, readonly string[]>;
  readonly calls: number;
  /** Of the whole process. */
  readonly promises: number;
  /** Started by `setTimeout` and `setInterval`; Node's own are not among them. */
  readonly timers: number;
}

/** Below the sources of a package. */
const SOURCE = /\/packages\/([\w-]+)\/src\/(.*)$/;

let promises = 0;
let timers = 0;

/** Timers that are started later never fire: a deadline that a busy machine lets pass would run functions that a quiet one does not. */
export function holdTimers(): void {
  for (const name of ["setTimeout", "setInterval"] as const) {
    const start = globalThis[name];
    const never = 2 ** 31 - 1;
    const startCounted = () => {
      timers++;
      return start(() => {}, never).unref();
    };
    Object.assign(globalThis, { [name]: startCounted });
  }
}

/** Counts what runs until `done` is called. */
export type Count = (run: (done: () => void) => void) => Promise<Counts>;

/**
 * Starts the counter. Called before what is counted is loaded: V8 misses calls of functions that were called before. It optimizes nothing from then
 * on, so what takes long is done first.
 */
export async function startCounter(): Promise<Count> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  return async (run) => {
    await session.post("Profiler.takePreciseCoverage");
    const counted = await new Promise<Pick<Counts, "promises" | "timers">>((resolve) => {
      // Later, or the promise of this `await` would be counted.
      setImmediate(() => {
        [promises, timers] = [0, 0];
        const stop = promiseHooks.onInit(() => promises++);
        run(() => {
          stop();
          resolve({ promises, timers });
        });
      });
    });
    const { result } = await session.post("Profiler.takePreciseCoverage");
    return { ...counted, ...callsIn(result) };
  };
}

interface Script {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
}

function callsIn(scripts: readonly Script[]): Pick<Counts, "functions" | "calls"> {
  const functions = new Map<string, readonly string[]>();
  let calls = 0;
  for (const { url, functions: all } of scripts) {
    const [, name, path] = SOURCE.exec(url) ?? [];
    if (name === undefined) continue;
    const ran = all.flatMap(({ functionName, ranges: [whole] }) => {
      // The module itself. Fields of a class that stands first begin there, too, on Node 20; they have a name.
      const isModule = functionName === "" && whole?.startOffset === 0;
      return whole === undefined || whole.count === 0 || isModule ? [] : [{ functionName, count: whole.count }];
    });
    if (ran.length === 0) continue;
    functions.set(
      `${name}/${path}`,
      ran.map(({ functionName }) => functionName || "(anonymous)"),
    );
    calls += ran.reduce((sum, { count }) => sum + count, 0);
  }
  return { functions, calls };
}
