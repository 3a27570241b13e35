/**
 * Waiting for changes by LISTEN: one connection of the pool for all watchers of a process, taken only while there are some.
 *
 * @module
 */
import { StoreError } from "@farebox/core";
import { textOf, withinLimit } from "../time-limit.js";
import { Watchers } from "../watchers.js";

/** A connection that the pool does not give to anyone else in the meantime. */
interface Connection {
  query(text: string): Promise<unknown>;
  on(event: "notification", listener: (message: { readonly payload?: string }) => void): void;
  on(event: "error", listener: () => void): void;
  release(destroy: boolean): void;
}

/** The connection goes back soon after the last watcher has left: it would keep the process alive. */
const IDLE_MS = 2_000;

/** The watchers of a store. */
export class PostgresNotifications {
  readonly #connect: () => Promise<Connection>;
  readonly #channel: string;
  readonly #limitMs: number;
  readonly #watchers = new Watchers();
  #connection: Promise<Connection> | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(pool: object, channel: string, limitMs: number) {
    this.#connect = () => Reflect.apply(Reflect.get(pool, "connect"), pool, []);
    this.#channel = channel;
    this.#limitMs = limitMs;
  }

  async watch(key: string, onChange: () => void): Promise<() => void> {
    clearTimeout(this.#idle);
    const stop = this.#watchers.add(key, onChange, () => this.#leave());
    try {
      await withinLimit(this.#listen(), { limitMs: this.#limitMs, server: "PostgreSQL" });
    } catch (error) {
      stop();
      throw error instanceof StoreError ? error : new StoreError(`PostgreSQL cannot be watched: ${textOf(error)}`);
    }
    return stop;
  }

  close(): void {
    clearTimeout(this.#idle);
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.then((opened) => opened.release(true)).catch(() => {});
  }

  #leave(): void {
    if (this.#watchers.size > 0) return;
    this.#idle = setTimeout(() => this.close(), IDLE_MS);
    this.#idle.unref();
  }

  #listen(): Promise<Connection> {
    if (this.#connection !== undefined) return this.#connection;
    const opening = this.#open(() => {
      if (this.#connection !== opening) return;
      this.#connection = undefined;
      void this.#again();
    });
    this.#connection = opening;
    opening.catch(() => {
      if (this.#connection === opening) this.#connection = undefined;
    });
    return opening;
  }

  async #open(onBroken: () => void): Promise<Connection> {
    const connection = await this.#connect();
    connection.on("notification", ({ payload }) => this.#watchers.notify(payload ?? ""));
    connection.on("error", onBroken);
    try {
      await connection.query(`LISTEN ${this.#channel}`);
    } catch (error) {
      connection.release(true);
      throw error;
    }
    return connection;
  }

  /** After the connection broke. If the next one cannot be had, the watchers look by themselves. */
  async #again(): Promise<void> {
    if (this.#watchers.size === 0) return;
    try {
      await this.#listen();
    } catch {}
    this.#watchers.notifyAll();
  }
}
