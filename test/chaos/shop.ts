/**
 * A shop: a seller of two processes on one store, whose deaths and outages are brought about, noted and mended.
 *
 * @module
 */
import { setTimeout as delay } from "node:timers/promises";
import { createPayer } from "@farebox/testing";
import type { Act, FaultPlan } from "./plan.js";
import { type Process, startProcess } from "./processes.js";
import { type Library, type StoreServer, startServer } from "./servers.js";

/** From when to when something was away, in Unix milliseconds. */
export interface Span {
  readonly fromMs: number;
  toMs: number;
}

/** No store is away for as long as these starts take. */
const MOST_STARTS = 20;

/** One process of the seller, until it dies. */
export interface Seller {
  readonly at: 0 | 1;
  readonly process: Process;
  readonly url: string;
  killedMs: number | undefined;
  /** Of the shop. Its responses have it in `X-Seller`. */
  readonly payTo: string;
  readonly stops: Span[];
}

/** One run of the handler. */
export interface Run {
  readonly id: number;
  readonly key: string;
  readonly seller: Seller;
  readonly startMs: number;
  /** `undefined`: its process died, or it is at work. */
  endMs: number | undefined;
}

/** A fault of the plan, for one payer. It happens once. */
export interface Fault {
  readonly id: number;
  readonly plan: FaultPlan;
  readonly key: string | undefined;
  happened: { readonly atMs: number; readonly seller: Seller } | undefined;
}

/** A transfer on the ledger, as the facilitator's process tells. */
export interface Moved {
  readonly transaction: string;
  readonly amount: string;
  readonly atMs: number;
}

/** An entry of the seller's ledger. */
export interface Entry {
  readonly payer: string;
  readonly transaction: string;
  readonly amount: string;
}

/** The facilitator's process. */
export interface Bank {
  readonly url: string;
  fund(address: string): Promise<void>;
  transfersOf(key: string): Promise<readonly Moved[]>;
  /** When it was told to settle, in Unix milliseconds. */
  callsOf(key: string): Promise<readonly number[]>;
  close(): Promise<void>;
}

export async function openBank(): Promise<Bank> {
  const process = await startProcess("./facilitator.mjs", {});
  return {
    url: process.place,
    fund: async (address) => void (await process.order("fund", address)),
    transfersOf: async (key) => (await process.order("transfers", key)) as readonly Moved[],
    callsOf: async (key) => (await process.order("calls", key)) as readonly number[],
    async close() {
      process.child.kill("SIGKILL");
      await process.ended;
    },
  };
}

/** A record whose settlement has no end. */
export interface Unfinished {
  readonly identity: string;
  readonly state: string;
}

export interface Shop {
  readonly library: Library;
  readonly bank: Bank;
  readonly runs: readonly Run[];
  /** When the store could not be reached as it should be. */
  readonly outages: readonly Span[];
  /** Every process of the shop, also those that have died. */
  readonly started: readonly Seller[];
  /** The process at a place now; it may be dead, until the next one listens. */
  seller(at: 0 | 1): Seller;
  /** Replaces all faults that wait. */
  arm(faults: readonly Fault[]): Promise<void>;
  /** Resolves when all is mended: two processes live, and the store's server is there. */
  mended(): Promise<void>;
  unfinished(): Promise<readonly Unfinished[]>;
  recover(): Promise<unknown>;
  /** All of the ledger. */
  entries(): Promise<readonly Entry[]>;
  close(): Promise<void>;
}

/** Longer than it takes a client to find its server again. */
const RECONNECT_MS = 2_500;

export async function openShop(library: Library, bank: Bank): Promise<Shop> {
  const server = await startServer(library);
  const { address: payTo } = createPayer();
  const runs: Run[] = [];
  const outages: Span[] = [];
  const tails = new Set<Promise<unknown>>();
  const sellers: Seller[] = [];
  const started: Seller[] = [];
  let faults: readonly Fault[] = [];
  let isClosed = false;
  /** One outage at a time. */
  let isOut = false;

  const later = (work: Promise<unknown>) => {
    tails.add(work);
    void work.finally(() => tails.delete(work));
  };
  const armsOf = () =>
    faults
      .filter(({ happened }) => happened === undefined)
      .map(({ id, plan, key }) => ({ id, point: plan.point, key }));

  async function start(at: 0 | 1): Promise<void> {
    let seller: Seller | undefined;
    const given = { facilitator: bank.url, payTo, library, place: server.place };
    const process = await startProcess("./seller.mjs", given, async (kind, about) => {
      if (kind === "run" && seller !== undefined) return { result: begin(String(about), seller) };
      if (kind === "ran") {
        const run = runs[Number(about)];
        if (run !== undefined) run.endMs = Date.now();
      }
      if (kind === "reached" && seller !== undefined) return await reached(Number(about), seller);
      return { result: undefined };
    });
    seller = { at, process, url: `http://127.0.0.1:${process.place}`, payTo, killedMs: undefined, stops: [] };
    sellers[at] = seller;
    started.push(seller);
    await process.order("arm", armsOf());
  }

  function begin(key: string, seller: Seller): number {
    runs.push({ id: runs.length, key, seller, startMs: Date.now(), endMs: undefined });
    return runs.length - 1;
  }

  function kill(seller: Seller): void {
    if (seller.killedMs !== undefined) return;
    seller.process.child.kill("SIGKILL");
    seller.killedMs = Date.now();
    later(seller.process.ended.then(() => restart(seller.at)));
  }

  /** As a supervisor does: a process that cannot open its store, because it is away or locked, is started again. */
  async function restart(at: 0 | 1): Promise<void> {
    for (let tries = 1; !isClosed; tries++) {
      try {
        await start(at);
        return;
      } catch (error) {
        if (tries === MOST_STARTS) throw error;
      }
    }
  }

  async function reached(id: number, seller: Seller): Promise<{ readonly result: unknown } | undefined> {
    const fault = faults.find((one) => one.id === id);
    // The other process was first.
    if (fault === undefined || fault.happened !== undefined) return { result: false };
    fault.happened = { atMs: Date.now(), seller };
    const { act, ms } = fault.plan;
    if (act === "lose") return { result: true };
    if (act === "die" || act === "all die") {
      for (const one of act === "die" ? [seller] : sellers) kill(one);
      return undefined;
    }
    if (act === "stop") {
      const span = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
      seller.stops.push(span);
      // In SQLite it may have been stopped in the middle of a transaction.
      if (library === "sqlite") outages.push(span);
      seller.process.child.kill("SIGSTOP");
      later(
        delay(ms).then(() => {
          seller.process.child.kill("SIGCONT");
          span.toMs = Date.now();
        }),
      );
      return { result: false };
    }
    if (isOut) return { result: false };
    isOut = true;
    const span = { fromMs: Date.now(), toMs: Number.POSITIVE_INFINITY };
    outages.push(span);
    const end = await beginOutage(act, server);
    later(
      delay(ms)
        .then(end)
        .then(() => {
          isOut = false;
          span.toMs = Date.now() + RECONNECT_MS;
        }),
    );
    return { result: false };
  }

  await Promise.all([start(0), start(1)]);
  const live = () => sellers.find(({ killedMs }) => killedMs === undefined) ?? (sellers[0] as Seller);
  return {
    library,
    bank,
    runs,
    outages,
    started,
    seller: (at) => sellers[at] as Seller,
    async arm(given) {
      faults = given;
      // One that is dead is armed when it starts again.
      await Promise.allSettled(sellers.map(({ process }) => process.order("arm", armsOf())));
    },
    async mended() {
      while (tails.size > 0) await Promise.all(tails);
    },
    unfinished: async () => (await live().process.order("unfinished")) as readonly Unfinished[],
    recover: () => live().process.order("recover"),
    entries: async () => (await live().process.order("entries")) as readonly Entry[],
    async close() {
      isClosed = true;
      for (const seller of sellers) seller.process.child.kill("SIGKILL");
      await Promise.all(sellers.map(({ process }) => process.ended));
      await server.close();
    },
  };
}

/** Yields what ends it. */
async function beginOutage(act: Act, server: StoreServer): Promise<() => unknown> {
  switch (act) {
    case "server dies":
      await server.kill();
      return () => server.restart();
    case "server stops":
      server.pause();
      return () => server.resume();
    default:
      server.cut(act === "cut" ? "broken" : "silent");
      return () => server.heal();
  }
}
