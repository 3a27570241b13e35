/**
 * Waiting for changes by Redis's channels: one connection for all watchers of a process, open only while there are some.
 *
 * @module
 */
import { StoreError } from "@farebox/core";
import { textOf, withinLimit } from "../time-limit.js";
import { Watchers } from "../watchers.js";
import type { Subscriber } from "./client.js";

/** An open connection keeps the process alive, so it is closed soon after the last watcher has left. */
const IDLE_MS = 2_000;

/** One channel that is subscribed to, or that was until just now. */
interface Channel {
  readonly entered: Promise<unknown>;
  /** Set when the last watcher has left. A client mixes up its listeners if it subscribes while it unsubscribes. */
  left?: Promise<unknown>;
}

/** The watchers of a store. */
export class RedisNotifications {
  readonly #connect: () => Subscriber;
  readonly #limitMs: number;
  readonly #watchers = new Watchers();
  readonly #channels = new Map<string, Channel>();
  #subscriber: Subscriber | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(connect: () => Subscriber, limitMs: number) {
    this.#connect = connect;
    this.#limitMs = limitMs;
  }

  async watch(name: string, onChange: () => void): Promise<() => void> {
    clearTimeout(this.#idle);
    const stop = this.#watchers.add(name, onChange, () => this.#leave(name));
    try {
      await withinLimit(this.#enter(name), { limitMs: this.#limitMs, server: "Redis" });
    } catch (error) {
      stop();
      throw error instanceof StoreError ? error : new StoreError(`Redis cannot be watched: ${textOf(error)}`);
    }
    return stop;
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#channels.clear();
    this.#subscriber?.close();
    this.#subscriber = undefined;
  }

  #enter(name: string): Promise<unknown> {
    const channel = this.#channels.get(name);
    if (channel !== undefined && channel.left === undefined) return channel.entered;
    const subscriber = this.#subscriber ?? this.#open();
    const entered = (async () => {
      await channel?.left;
      await subscriber.connected;
      await subscriber.add(name, () => this.#watchers.notify(name));
    })();
    this.#channels.set(name, { entered });
    return entered;
  }

  #leave(name: string): void {
    const [channel, subscriber] = [this.#channels.get(name), this.#subscriber];
    if (channel !== undefined) {
      channel.left = channel.entered
        .then(() => subscriber?.remove(name))
        .catch(() => {})
        .then(() => {
          if (this.#channels.get(name) === channel) this.#channels.delete(name);
        });
    }
    if (this.#watchers.size > 0) return;
    this.#idle = setTimeout(() => this.close(), IDLE_MS);
    this.#idle.unref();
  }

  #open(): Subscriber {
    const subscriber = this.#connect();
    this.#subscriber = subscriber;
    subscriber.onReconnect(() => this.#watchers.notifyAll());
    subscriber.connected.catch(() => {
      if (this.#subscriber === subscriber) this.#subscriber = undefined;
    });
    return subscriber;
  }
}
