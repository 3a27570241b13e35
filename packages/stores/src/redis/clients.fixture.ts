/**
 * Clients of each supported library and version.
 *
 * @module
 */
import * as ioredis6 from "ioredis";
import * as ioredis5 from "ioredis5";
import * as redis6 from "redis";
import * as redis5 from "redis5";
import type { RedisClient } from "./redis-store.js";

/** A connected client. */
export interface Connected {
  readonly client: RedisClient;
  end(): unknown;
}

/** Connects a client to the server on a port. */
export type Connect = (port: number) => Promise<Connected>;

export const connectRedis6: Connect = async (port) => {
  const client = await redis6
    .createClient({ url: `redis://127.0.0.1:${port}` })
    .on("error", () => {})
    .connect();
  return { client, end: () => client.destroy() };
};

export const connectRedis5: Connect = async (port) => {
  const client = await redis5
    .createClient({ url: `redis://127.0.0.1:${port}` })
    .on("error", () => {})
    .connect();
  return { client, end: () => client.destroy() };
};

export const connectIoredis6: Connect = async (port) => {
  const client = new ioredis6.Redis(port, "127.0.0.1");
  return { client, end: () => client.disconnect() };
};

export const connectIoredis5: Connect = async (port) => {
  const client = new ioredis5.Redis(port, "127.0.0.1");
  return { client, end: () => client.disconnect() };
};

const connectSender: Connect = async (port) => {
  const client = await redis6
    .createClient({ url: `redis://127.0.0.1:${port}` })
    .on("error", () => {})
    .connect();
  const sendCommand = (...words: string[]) => client.sendCommand(words);
  return { client: { sendCommand }, end: () => client.destroy() };
};

const connectWithBuffers: Connect = async (port) => {
  const client = await redis6
    .createClient({ url: `redis://127.0.0.1:${port}`, RESP: 3, commandOptions: { typeMapping: { 36: Buffer } } })
    .on("error", () => {})
    .connect();
  return { client, end: () => client.destroy() };
};

const connectPool: Connect = async (port) => {
  const pool = redis6.createClientPool({ url: `redis://127.0.0.1:${port}` }).on("error", () => {});
  await pool.connect();
  return { client: pool, end: () => pool.destroy() };
};

const connectWithPrefix: Connect = async (port) => {
  const client = new ioredis6.Redis({ port, host: "127.0.0.1", keyPrefix: "shop:" });
  return { client, end: () => client.disconnect() };
};

/** Clients of one server. */
export const CLIENTS: Readonly<Record<string, Connect>> = {
  "redis 6": connectRedis6,
  "redis 5": connectRedis5,
  "ioredis 6": connectIoredis6,
  "ioredis 5": connectIoredis5,
  "{ sendCommand }": connectSender,
  "redis 6 that returns Buffers": connectWithBuffers,
  "a pool of redis 6": connectPool,
  "ioredis 6 with a keyPrefix": connectWithPrefix,
};

/** Clients of a cluster. */
export const CLUSTERS: Readonly<Record<string, Connect>> = {
  "a cluster of redis 6": async (port) => {
    const client = redis6.createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] });
    await client.on("error", () => {}).connect();
    return { client, end: () => client.destroy() };
  },
  "a cluster of redis 5": async (port) => {
    const client = redis5.createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] });
    await client.on("error", () => {}).connect();
    return { client, end: () => client.destroy() };
  },
  "a cluster of ioredis 6": async (port) => {
    const client = new ioredis6.Cluster([{ port, host: "127.0.0.1" }]);
    return { client, end: () => client.disconnect() };
  },
  "a cluster of ioredis 5": async (port) => {
    const client = new ioredis5.Cluster([{ port, host: "127.0.0.1" }]);
    return { client, end: () => client.disconnect() };
  },
};
