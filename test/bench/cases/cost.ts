/**
 * What one request costs a server: what it does, counted, and its processor time beside bare Express. A count is the same on every machine; a
 * ratio is nearly so, because the sides take turns.
 *
 * @module
 */
import { PATHS, type Plan, type Side } from "../plan.js";
import { Connection } from "../processes/connection.js";
import { COUNTING_FLAGS, type Countable, type Counted } from "../processes/counting.js";
import { Mint, SIGNED_FIRST } from "../processes/payments.js";
import { type RunningServer, startServer } from "../processes/spawn.js";
import { record } from "../recorded.js";

/** The kinds of requests. */
export const KINDS = ["free", "unpaid", "paid"] as const;
export type Kind = (typeof KINDS)[number];

/** Who is measured. Bare Express gives the bytes that Farebox does. */
export const SIDES: readonly Side[] = ["bare", "reference", "farebox"];

/** Of one request. */
export interface Cost extends Counted {
  /** Processor time of the whole process, in the round that took least: what disturbs a process only adds to it. */
  readonly microseconds: number;
  /** Requests per second of the processor, to bare Express. */
  readonly toBare: number;
}

export type Costs = Readonly<Record<Kind, Readonly<Record<Side, Cost>>>>;

const REQUESTS: Readonly<Record<Kind, { readonly path: string; readonly status: number }>> = {
  free: { path: PATHS.free, status: 200 },
  unpaid: { path: PATHS.challenge, status: 402 },
  paid: { path: PATHS.paid, status: 200 },
};

/** So many requests, one after another, are counted. */
const COUNTED: Readonly<Record<Countable, number>> = { bytes: 500, promises: 100, calls: 100 };
/** So many come before bytes and processor time, so that V8 has optimized what it will. */
const WARM_UP = 1_000;
const CONNECTIONS = 16;

/** How much of processor time is measured: `requests` in each of the rounds, in which the sides take turns. */
export interface Rounds {
  readonly rounds: number;
  readonly requests: number;
  /** Whether Farebox is as fast as wanted. While it is not, up to {@link MOST_TIMES} as many rounds are measured. */
  readonly isEnough?: (kind: Kind, toBare: number) => boolean;
}

/** On a busy machine V8 optimizes late. More rounds bring the least time of each side nearer to what it costs. */
const MOST_TIMES = 4;

/** Measures all. */
export async function measureCosts(rounds: Rounds): Promise<Costs> {
  const counted = await withServers(COUNTING_FLAGS, async (clients) => {
    const all = new Map<string, Counted>();
    for (const [side, client] of clients) {
      // Counting calls keeps V8 from optimizing, so it comes last.
      for (const what of ["bytes", "promises", "calls"] as const) {
        for (const kind of KINDS) {
          all.set(`${side} ${kind}`, { ...all.get(`${side} ${kind}`), ...(await client.count(what, kind)) });
        }
      }
    }
    return all;
  });
  const timed = await withServers([], (clients) => measureTimes(clients, rounds));
  const costOf = (side: Side, kind: Kind): Cost => {
    const microseconds = timed.get(`${side} ${kind}`) ?? Number.NaN;
    const toBare = (timed.get(`bare ${kind}`) ?? Number.NaN) / microseconds;
    return { ...counted.get(`${side} ${kind}`), microseconds, toBare };
  };
  const ofKind = (kind: Kind) => ({
    bare: costOf("bare", kind),
    reference: costOf("reference", kind),
    farebox: costOf("farebox", kind),
  });
  return { free: ofKind("free"), unpaid: ofKind("unpaid"), paid: ofKind("paid") };
}

async function measureTimes(
  clients: ReadonlyMap<Side, Client>,
  { rounds, requests, isEnough = () => true }: Rounds,
): Promise<ReadonlyMap<string, number>> {
  const least = new Map<string, number>();
  const toBare = (kind: Kind) =>
    (least.get(`bare ${kind}`) ?? Number.NaN) / (least.get(`farebox ${kind}`) ?? Number.NaN);
  for (const kind of KINDS) {
    for (const client of clients.values()) await client.time(kind, WARM_UP);
    for (let round = 0; round < rounds * MOST_TIMES; round++) {
      if (round >= rounds && isEnough(kind, toBare(kind))) break;
      for (const [side, client] of clients) {
        const name = `${side} ${kind}`;
        least.set(name, Math.min(least.get(name) ?? Number.POSITIVE_INFINITY, await client.time(kind, requests)));
      }
    }
  }
  return least;
}

async function withServers<T>(
  flags: readonly string[],
  use: (clients: ReadonlyMap<Side, Client>) => Promise<T>,
): Promise<T> {
  const servers: RunningServer[] = [];
  const start = async (plan: Partial<Plan> & Pick<Plan, "side">) => {
    const server = await startServer({ fillers: 0, offers: 1, ...plan }, { flags });
    servers.push(server);
    return server;
  };
  try {
    const farebox = await start({ side: "farebox" });
    const reference = await start({ side: "reference" });
    const mint = await Mint.open(farebox.url + PATHS.paid);
    const answers = {
      [PATHS.challenge]: await record(farebox.url + PATHS.challenge),
      [PATHS.paid]: await record(farebox.url + PATHS.paid, { "PAYMENT-SIGNATURE": await mint.sign() }),
    };
    const bare = await start({ side: "bare", answers });
    const clients = new Map([
      ["bare", await Client.open(bare, mint, 1)],
      ["reference", await Client.open(reference, await Mint.open(reference.url + PATHS.paid), 1)],
      ["farebox", await Client.open(farebox, mint, SIGNED_FIRST)],
    ] as const);
    return await use(clients);
  } finally {
    await Promise.all(servers.map((server) => server.close()));
  }
}

/** Asks one server. */
class Client {
  readonly #server: RunningServer;
  readonly #mint: Mint;

  private constructor(server: RunningServer, mint: Mint) {
    this.#server = server;
    this.#mint = mint;
  }

  /** `signed`: how many payments are signed before others repeat the signatures. */
  static async open(server: RunningServer, mint: Mint, signed: number): Promise<Client> {
    const client = new Client(server, mint);
    await client.#send("paid", { requests: signed, connections: 1, next: () => mint.sign() });
    return client;
  }

  /** Of one request, on average. All go over one connection, so that Node does the same for each. */
  async count(what: Countable, kind: Kind): Promise<Counted> {
    if (what === "bytes") await this.#send(kind, { requests: WARM_UP, connections: 1 });
    const requests = COUNTED[what];
    let all: Counted = {};
    await this.#send(kind, {
      requests,
      connections: 1,
      around: async (act) => {
        all = await this.#server.count({ what, requests }, act);
      },
    });
    return all;
  }

  /** Microseconds of the server's processor for one request, on average. */
  async time(kind: Kind, requests: number): Promise<number> {
    let seconds = 0;
    await this.#send(kind, {
      requests,
      connections: CONNECTIONS,
      around: async (act) => {
        const before = (await this.#server.usage()).cpuSeconds;
        await act();
        seconds = (await this.#server.usage()).cpuSeconds - before;
      },
    });
    return (seconds * 1_000_000) / requests;
  }

  async #send(kind: Kind, { requests, connections, next, around = (act) => act() }: Sending): Promise<void> {
    const { path, status: expected } = REQUESTS[kind];
    const url = new URL(this.#server.url);
    const { promise: failed, reject: fail } = withResolvers();
    const opened = await Promise.all(Array.from({ length: connections }, () => Connection.open(url, fail)));
    const makePayment = next ?? (() => this.#mint.next());
    let sent = 0;
    const sendOn = async (connection: Connection) => {
      while (sent < requests) {
        sent++;
        const payment = kind === "paid" ? await makePayment() : undefined;
        const status = await new Promise<number>((resolve) => connection.get(path, payment, resolve));
        if (status !== expected) throw new Error(`${kind}: ${status} in place of ${expected}`);
      }
    };
    await Promise.race([around(async () => void (await Promise.all(opened.map(sendOn)))), failed]);
    for (const connection of opened) connection.close();
  }
}

/** Node 20 has no `Promise.withResolvers`. */
function withResolvers(): { readonly promise: Promise<never>; readonly reject: (error: Error) => void } {
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<never>((_, rejectPromise) => {
    reject = rejectPromise;
  });
  return { promise, reject };
}

interface Sending {
  readonly requests: number;
  readonly connections: number;
  /** Makes a payment. Default: one that repeats a signature. */
  readonly next?: () => Promise<string>;
  /** Called with what sends the requests, once the connections are open. */
  readonly around?: (act: () => Promise<void>) => Promise<void>;
}
