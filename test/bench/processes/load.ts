/**
 * Load on one path for some seconds, in a process of its own: as much as the servers take, or at a steady rate. It says by IPC
 * when it is ready, begins when it is told to, sends the outcome, and keeps its connections until it is disconnected.
 *
 * @module
 */
import { once } from "node:events";
import { atCount } from "../plan.js";
import { Connection } from "./connection.js";
import { Mint, SIGNED_FIRST } from "./payments.js";
import { type Percentiles, Tally } from "./tally.js";

/** What is asked for. */
export interface Load {
  /** With `{n}` where each request has another number. Connections go to several URLs in turn. */
  readonly urls: readonly string[];
  /** Where the payments' offers are read. Default: nothing is paid. */
  readonly payAt?: string;
  readonly connections: number;
  readonly seconds: number;
  /** Requests a second, whether responses come or not. Default: each connection sends one when it has its response. */
  readonly rate?: number;
  /** Seconds of one interval of {@link LoadResult.intervals}. Default: all. */
  readonly intervalSeconds?: number;
  /** The only status that may come. Default: each one is counted. */
  readonly expect?: number;
}

/** The responses to the requests that were sent in an interval. */
export interface Interval extends Percentiles {
  /** Its end, in seconds since the first request. */
  readonly second: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** The most requests that were due and had no response. */
  readonly mostWaiting: number;
}

/** The outcome. */
export interface LoadResult extends Percentiles {
  readonly requests: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly intervals: readonly Interval[];
}

/** How many connections to each server share the payments that are signed. */
const SIGNED_CONNECTIONS = 16;

// Connections stay open until all is counted at their other end.
process.on("disconnect", () => process.exit());

const load: Load = JSON.parse(process.argv[2] ?? "");
const { urls, connections: connectionCount, seconds, rate, intervalSeconds = seconds, expect } = load;
const targets = urls.map((url) => new URL(url.replace("{n}", "~")));
const path = targets[0]?.pathname.replace("~", "{n}") ?? "/";
const isNumbered = path.includes("{n}");
const whole = new Tally();
const slots = Array.from({ length: Math.ceil(seconds / intervalSeconds) }, () => new Tally());
const { connections, mint } = await setUp();
process.send?.("ready");
await once(process, "message");
let count = 0;
let waiting = 0;
const startedAt = performance.now();
const endsAt = startedAt + seconds * 1000;

await (rate === undefined ? sendAll() : sendAtRate(rate));
const measured: LoadResult = {
  requests: whole.count,
  statuses: whole.statuses,
  ...whole.percentiles(),
  intervals: slots.map((slot, at) => ({
    second: Math.round((at + 1) * intervalSeconds * 10) / 10,
    statuses: slot.statuses,
    mostWaiting: slot.mostWaiting,
    ...slot.percentiles(),
  })),
};
process.send?.(measured);

async function setUp(): Promise<{ readonly connections: readonly Connection[]; readonly mint: Mint | undefined }> {
  const made = await Promise.all(
    Array.from({ length: connectionCount }, (_, at) =>
      Connection.open(targets[at % targets.length] as URL, (error) => {
        throw error;
      }),
    ),
  );
  if (load.payAt === undefined) return { connections: made, mint: undefined };
  const opened = await Mint.open(atCount(load.payAt, 0));
  const first = made.slice(0, targets.length * SIGNED_CONNECTIONS);
  const each = Math.ceil((targets.length * SIGNED_FIRST) / first.length);
  await Promise.all(
    first.map(async (to) => {
      for (let sent = 0; sent < each; sent++) {
        const payment = await opened.sign();
        await new Promise((resolve) => to.get(path, payment, resolve));
      }
    }),
  );
  return { connections: made, mint: opened };
}

/** Sends the next request, which was due at `dueAt`. */
function send(connection: Connection, dueAt: number, onDone: () => void): void {
  count++;
  const slot = slotAt(dueAt);
  connection.get(isNumbered ? atCount(path, count) : path, mint?.next(), (status) => {
    if (expect !== undefined && status !== expect) throw new Error(`${urls[0]}: ${status} in place of ${expect}`);
    const milliseconds = performance.now() - dueAt;
    whole.add(status, milliseconds);
    slot?.add(status, milliseconds);
    onDone();
  });
}

function slotAt(time: number): Tally | undefined {
  return slots[Math.min(slots.length - 1, Math.floor((time - startedAt) / 1000 / intervalSeconds))];
}

function sendAll(): Promise<unknown> {
  return Promise.all(
    connections.map(
      (connection) =>
        new Promise<void>((resolve) => {
          const next = () => {
            const now = performance.now();
            if (now < endsAt) send(connection, now, next);
            else resolve();
          };
          next();
        }),
    ),
  );
}

/** Each connection has its turn, so that all are in use. A request for one that waits for a response waits as well. */
function sendAtRate(perSecond: number): Promise<void> {
  const lines = connections.map((connection) => ({ connection, isFree: true, late: [] as number[] }));
  let due = 0;
  return new Promise((resolve) => {
    const sendOn = (line: (typeof lines)[number], dueAt: number) => {
      line.isFree = false;
      send(line.connection, dueAt, () => {
        waiting--;
        line.isFree = true;
        const next = line.late.shift();
        if (next !== undefined) sendOn(line, next);
        else if (waiting === 0 && performance.now() >= endsAt) resolve();
      });
    };
    const tick = () => {
      const now = performance.now();
      for (; due < ((Math.min(now, endsAt) - startedAt) / 1000) * perSecond; due++) {
        waiting++;
        const line = lines[due % lines.length] as (typeof lines)[number];
        // A tick that is late is this process's doing, so a request is due at the tick.
        if (line.isFree) sendOn(line, now);
        else line.late.push(now);
      }
      slotAt(now)?.noteWaiting(waiting);
      if (now < endsAt) setTimeout(tick, 1);
      else if (waiting === 0) resolve();
    };
    tick();
  });
}
