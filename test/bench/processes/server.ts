/**
 * A server of the benchmark, in a process of its own. Takes its plan as the only argument; says by IPC where it listens,
 * and how much memory and processor time it has had when it is asked.
 *
 * @module
 */
import type { EventEmitter } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { queryObjects } from "node:v8";
import type { Express } from "express";
import type { App, Plan } from "../plan.js";
import type { Counted, Counting } from "./counting.js";

/** What a server is asked by IPC. The response to `count` says that it counts, and that to `counted` what. */
export type Question = "usage" | "census" | { readonly count: Counting } | "counted";

/** What a server has used since it was started. */
export interface Usage {
  /** Memory that it has now. */
  readonly bytes: number;
  /** The most memory it has had. */
  readonly peakBytes: number;
  /** Of all its threads. */
  readonly cpuSeconds: number;
}

/** What a leak would leave behind. */
export interface Census {
  /** Of the heap, without garbage. */
  readonly heapBytes: number;
  readonly timers: number;
  /** Of the process, the HTTP server and its open connections. */
  readonly listeners: number;
}

const plan: Plan = JSON.parse(process.argv[2] ?? "");

/** Only what is measured is loaded. */
const CREATE: Record<App, () => Promise<(plan: Plan) => Express>> = {
  bare: async () => (await import("../sides/bare.js")).createBare,
  reference: async () => (await import("../sides/reference.js")).createReference,
  farebox: async () => (await import("../sides/farebox.js")).createFarebox,
  metered: async () => (await import("../sides/metered.js")).createMetered,
};

const create = await CREATE[plan.side]();
const server = create(plan).listen(0, "127.0.0.1", () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
// A client that asks for one thing after another is never told to reconnect in between.
server.keepAliveTimeout = 60_000;

/** Node does not export the class of its timers. */
const Timeout = setTimeout(() => {}, 0).constructor;
const sockets = new Set<Socket>();
server.on("connection", (socket) => {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
});

let endCounting: () => Counted = () => ({});

process.on("message", (question: Question) => {
  if (question === "usage") process.send?.(takeUsage());
  else if (question === "census") process.send?.(takeCensus());
  else if (question === "counted") process.send?.(endCounting());
  else void count(question.count);
});
process.on("disconnect", () => process.exit());

async function count(what: Counting): Promise<void> {
  const { beginCounting } = await import("./counting.js");
  process.send?.("counting");
  endCounting = beginCounting(what);
}

function takeUsage(): Usage {
  const { user, system } = process.cpuUsage();
  return {
    bytes: process.memoryUsage.rss(),
    peakBytes: process.resourceUsage().maxRSS * 1024,
    cpuSeconds: (user + system) / 1_000_000,
  };
}

function takeCensus(): Census {
  // Collects garbage first.
  const timers = queryObjects(Timeout, { format: "count" });
  const emitters: EventEmitter[] = [process, server, ...sockets];
  return { heapBytes: process.memoryUsage().heapUsed, timers, listeners: emitters.reduce(addListeners, 0) };
}

function addListeners(sum: number, emitter: EventEmitter): number {
  return emitter.eventNames().reduce((all, name) => all + emitter.listenerCount(name), sum);
}
