/**
 * A server of the benchmark, in a process of its own. Takes its plan as the only argument; says by IPC where it listens,
 * and how much memory and processor time it has had when it is asked.
 *
 * @module
 */
import type { AddressInfo } from "node:net";
import type { Express } from "express";
import type { Plan, Side } from "../plan.js";

const plan: Plan = JSON.parse(process.argv[2] ?? "");

/** Only what is measured is loaded. */
const CREATE: Record<Side, () => Promise<(plan: Plan) => Express>> = {
  bare: async () => (await import("../sides/bare.js")).createBare,
  reference: async () => (await import("../sides/reference.js")).createReference,
  farebox: async () => (await import("../sides/farebox.js")).createFarebox,
};

const create = await CREATE[plan.side]();
const server = create(plan).listen(0, "127.0.0.1", () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
// A client that asks for one thing after another is never told to reconnect in between.
server.keepAliveTimeout = 60_000;

process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ peakBytes: process.resourceUsage().maxRSS * 1024, cpuSeconds: (user + system) / 1_000_000 });
});
process.on("disconnect", () => process.exit());
