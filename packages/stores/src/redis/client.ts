/**
 * The clients that a seller may have, told apart by their methods.
 *
 * @module
 */
import type { Issues } from "@farebox/core/issues";

/**
 * A client or cluster of `redis` 5 or 6, one of `ioredis` 5 or 6, or any object that sends commands:
 * `{ sendCommand: (...words) => client.send(words) }`.
 */
export type RedisClient =
  | { readonly call: (...words: never[]) => PromiseLike<unknown> }
  | { readonly sendCommand: (...words: never[]) => PromiseLike<unknown> };

/** What the store needs of a client. */
export interface Commands {
  /**
   * Sends a command.
   *
   * @param key - A key of the node that should get it, in a cluster.
   * @param signal - Takes the command out of the client's queue, if the client can do so.
   */
  send(words: readonly string[], key: string, signal: AbortSignal): PromiseLike<unknown>;
  /** Opens another connection, for notifications. Absent if the client cannot. */
  readonly subscribe?: () => Subscriber;
}

/** A connection for notifications. */
export interface Subscriber {
  readonly connected: Promise<unknown>;
  add(channel: string, listener: () => void): Promise<unknown>;
  remove(channel: string): Promise<unknown>;
  /** Called whenever the connection is there, and its channels too. */
  onReconnect(listener: () => void): void;
  close(): void;
}

type Methods = Readonly<Record<string, (...values: never[]) => unknown>>;

/** Adds an issue for an object that is no client. */
export function checkClient(client: unknown, issues: Issues): void {
  if (kindOf(client) !== undefined) return;
  const expected =
    "a client of redis or ioredis, such as createClient() or new Redis(), or { sendCommand: (...words) => a promise }";
  issues.addOutline("client", expected, client);
}

/** What kind of client it is, or `undefined`. */
function kindOf(client: unknown): "ioredis" | "node-redis" | "node-redis cluster" | "sender" | undefined {
  if (!has(client, "sendCommand")) return has(client, "call") ? "ioredis" : undefined;
  if (has(client, "call") && has(client, "defineCommand")) return "ioredis";
  if (!has(client, "evalSha")) return "sender";
  return Reflect.has(client as object, "slots") ? "node-redis cluster" : "node-redis";
}

function has(client: unknown, method: string): client is Methods {
  return typeof client === "object" && client !== null && typeof Reflect.get(client, method) === "function";
}

/** Sends commands with a client that `checkClient` has accepted. */
export function commandsOf(client: RedisClient): Commands {
  const kind = kindOf(client);
  // Without a listener, a connection that breaks would end the process. The client connects again, and calls reject until then.
  if (has(client, "listenerCount") && call<number>(client, "listenerCount", "error") === 0) {
    call(client, "on", "error", () => {});
  }
  const canSubscribe = kind !== "sender" && has(client, "duplicate");
  return {
    send(words, key, signal) {
      switch (kind) {
        case "ioredis":
          return call(client, "call", ...words);
        case "node-redis":
          return call(client, "sendCommand", words, { abortSignal: signal });
        case "node-redis cluster":
          return call(client, "sendCommand", key, false, words, { abortSignal: signal });
        default:
          return call(client, "sendCommand", ...words);
      }
    },
    ...(canSubscribe && {
      subscribe: (): Subscriber => (kind === "ioredis" ? subscribeIoredis(client) : subscribeRedis(client)),
    }),
  };
}

function subscribeRedis(client: object): Subscriber {
  const own: object = call(client, "duplicate");
  call(own, "on", "error", () => {});
  const listeners = new Map<string, () => void>();
  return {
    connected: Promise.resolve(call(own, "connect")),
    add(channel, listener) {
      listeners.set(channel, listener);
      return call(own, "subscribe", channel, listener);
    },
    remove(channel) {
      const listener = listeners.get(channel);
      listeners.delete(channel);
      return call(own, "unsubscribe", channel, listener);
    },
    // The client subscribes again before it says that it is ready.
    onReconnect: (listener) => call(own, "on", "ready", listener),
    close: () => ignoreErrors(() => call(own, "destroy")),
  };
}

function subscribeIoredis(client: object): Subscriber {
  const isCluster = Reflect.get(client, "isCluster") === true;
  // A subscription waits for the connection, also where the seller's own commands do not.
  const own: object = isCluster ? call(client, "duplicate") : call(client, "duplicate", { enableOfflineQueue: true });
  const listeners = new Map<string, () => void>();
  call(own, "on", "error", () => {});
  call(own, "on", "message", (channel: string) => listeners.get(channel)?.());
  return {
    connected: Promise.resolve(),
    add(channel, listener) {
      listeners.set(channel, listener);
      return call(own, "subscribe", channel);
    },
    remove(channel) {
      listeners.delete(channel);
      return call(own, "unsubscribe", channel);
    },
    onReconnect(listener) {
      // The client subscribes again only after it has said that it is ready.
      const again = async () => {
        if (listeners.size > 0) await call(own, "subscribe", ...listeners.keys());
        listener();
      };
      call(own, "on", "ready", () => void again().catch(() => {}));
    },
    close: () => ignoreErrors(() => call(own, "disconnect")),
  };
}

/** A connection that is closed already cannot be closed again. */
function ignoreErrors(close: () => unknown): void {
  try {
    close();
  } catch {}
}

/** Calls a method of a client, whose types differ between libraries and versions. */
function call<T>(client: object, method: string, ...values: readonly unknown[]): T {
  return Reflect.apply(Reflect.get(client, method), client, values);
}
