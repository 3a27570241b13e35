/**
 * The end of a process: the load balancer is told, new payments are refused, and those under way end.
 *
 *   close({ drainMs }) → the next health check says `draining` → new payments get 503 → nothing is under way
 *
 * With a server, its listener closes when new payments are refused, and its connections behind their last response.
 *
 * @module
 */
import type { StartTimer } from "../options.js";
import type { InFlight } from "../sale/in-flight.js";

/** A load balancer that has not asked for so long is none. */
const ASKED_WITHIN_MS = 60_000;

/** After the time is over, what is left of a server is cut off. Its connections have so long to say so. */
const CUT_MS = 5_000;

/** A server that ends together with its payments. */
export interface EndingServer {
  /** From now on each response closes its connection. */
  begin(): void;
  /** Takes no more connections, and closes each behind the response that is under way. Resolves when none is left. */
  stop(): Promise<void>;
  /** Closes all connections at once. */
  cut(): void;
}

/** Lets payments under way end. */
export class Draining {
  readonly #inFlight: Pick<InFlight, "size" | "whenIdle">;
  readonly #timer: StartTimer;
  readonly #now: () => number;
  /** Whether load balancers are to send no more requests. A field: each request reads it. */
  isDraining = false;
  /** Whether payments are refused. Load balancers know by then, if there are any. */
  isRefusing = false;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  readonly #onTold: (() => void)[] = [];

  constructor(deps: { inFlight: Pick<InFlight, "size" | "whenIdle">; timer: StartTimer; now: () => number }) {
    this.#inFlight = deps.inFlight;
    this.#timer = deps.timer;
    this.#now = deps.now;
  }

  /** A health check is answered. */
  told(): void {
    this.#askedAtMs = this.#now();
    if (this.isDraining) for (const tell of this.#onTold.splice(0)) tell();
  }

  /** From now on health checks say so. */
  begin(): void {
    this.isDraining = true;
  }

  /** Resolves when nothing is under way, or the time is over. */
  async drain(drainMs: number, server?: EndingServer): Promise<void> {
    this.begin();
    server?.begin();
    const time = this.#after(drainMs);
    await Promise.race([this.#isTold(), time.over]);
    this.isRefusing = true;
    const stopped = server?.stop();
    const isOver = await Promise.race([Promise.all([this.#inFlight.whenIdle(), stopped]), time.over]);
    time.stop();
    if (isOver !== "over" || server === undefined) return;
    server.cut();
    // A connection that the server has handed on, to a WebSocket for example, is not its own any more.
    const cut = this.#after(CUT_MS);
    await Promise.race([stopped, cut.over]);
    cut.stop();
  }

  /** Resolves when a load balancer has been told, or at once if there seems to be none. */
  #isTold(): Promise<void> | undefined {
    if (this.#now() - this.#askedAtMs > ASKED_WITHIN_MS) return undefined;
    return new Promise((resolve) => void this.#onTold.push(resolve));
  }

  #after(ms: number): { readonly over: Promise<"over">; readonly stop: () => void } {
    let stop = () => {};
    const over = new Promise<"over">((resolve) => {
      stop = this.#timer(() => resolve("over"), ms);
    });
    return { over, stop: () => stop() };
  }
}
