/**
 * Where cases are tried: a facilitator, a server to proxy to and a folder of files, and a fresh app for each case.
 *
 * @module
 */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createTestFacilitator, startFacilitatorServer } from "@farebox/testing";
import { buildApp } from "./app.js";
import { type Case, CHARGED, type Must, SITE, type Subject, type Version } from "./case.js";
import { createClient, type RawAnswer } from "./raw-line.js";
import { readChallengedAmount, type Seller } from "./sellers.js";

/** The outcome of a case. */
export type Outcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** Whether the handler ran. */
      readonly ran: boolean;
      /** Whether the response says that no price is certain. */
      readonly isDenied: boolean;
      /** The key whose price the challenge names. */
      readonly key: string | undefined;
      readonly settlements: number;
      readonly milliseconds: number;
    }
  | { readonly kind: "did not start"; readonly reason: string };

export interface Stage {
  /** Tries a case once, with an app of its own. */
  run(subject: Case, version: Version, seller: Seller): Promise<Outcome>;
  /** Builds the app and the table that a case shares with others. Before its first request it is `ready`, if it is to be. */
  build(subject: Subject, version: Version, seller: Seller, isReady?: boolean): Trying;
  close(): Promise<void>;
}

/** Tries cases of one app, one after the other. */
export type Trying = (subject: Case) => Promise<Outcome>;

/** Opens a stage. */
export async function openStage(): Promise<Stage> {
  const site = layOutSite();
  const facilitator = createTestFacilitator();
  const facilitatorServer = await startFacilitatorServer({ facilitator });
  const facilitators = { direct: facilitator, url: facilitatorServer.url };
  const upstream = await serve((_req, res) => void res.end("served from elsewhere"));
  const server = await serve();
  const client = createClient({ port: portOf(server), host: "127.0.0.1" });
  const build: Stage["build"] = (subject, version, seller, isReady = false) => {
    const make = () => {
      const till = seller(subject, facilitators);
      const made = buildApp(subject, { version, site, upstream: portOf(upstream), till });
      return { ...made, ready: isReady ? till.ready(made.app) : undefined };
    };
    const made = attempt(make);
    if (made.kind === "did not start") return async () => made;
    const { app, takeReached, ready } = made.value;
    return async ({ request, keys }) => {
      await ready;
      const before = facilitator.calls.settle.length;
      // A table looks for its app among the listeners of the server.
      server.removeAllListeners("request").on("request", app);
      const start = performance.now();
      const answer = await client.ask(`${request} HTTP/1.1\r\nHost: shop.example\r\n\r\n`, methodOf(request));
      const milliseconds = performance.now() - start;
      const settlements = facilitator.calls.settle.length - before;
      return { kind: "answered", ran: takeReached(), ...readAnswer(answer, keys), settlements, milliseconds };
    };
  };
  return {
    build,
    run: (subject, version, seller) => build(subject, version, seller)(subject),
    async close() {
      client.close();
      await Promise.all([facilitatorServer.close(), stop(upstream), stop(server)]);
      rmSync(site, { recursive: true });
    },
  };
}

/** What an outcome is called in a case; a status that no case asks for is called by its number. */
export function verdictOf(outcome: Outcome): Must | string {
  if (outcome.kind === "did not start") return "does not start";
  const { status, ran, isDenied } = outcome;
  if (ran) return status === 200 ? "free" : `${status}, handler ran`;
  const verdicts: Readonly<Record<number, Must>> = {
    200: "allowed",
    402: "priced",
    400: "refused",
    404: isDenied ? "denied" : "not found",
    204: "preflight",
  };
  return verdicts[status] ?? `${status}`;
}

function attempt<T>(make: () => T) {
  try {
    return { kind: "started", value: make() } as const;
  } catch (error) {
    return { kind: "did not start", reason: String(error) } as const;
  }
}

function layOutSite(): string {
  const site = mkdtempSync(join(tmpdir(), "farebox-site-"));
  for (const file of SITE) {
    mkdirSync(dirname(join(site, file)), { recursive: true });
    writeFileSync(join(site, file), file);
  }
  return site;
}

async function serve(listener?: RequestListener): Promise<Server> {
  const server = createServer(listener);
  // The client decides when a connection ends.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function stop(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, "close");
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** What the app takes the method for: its answer to HEAD has no body. */
function methodOf(request: string): string {
  return /_method=HEAD$/.test(request) ? "HEAD" : (request.split(" ")[0] ?? "");
}

function readAnswer(answer: RawAnswer, keys: readonly string[]) {
  if (answer.kind === "unanswered") return { status: 0, isDenied: false, key: undefined };
  const { status, head, body } = answer;
  const [, header] = /^PAYMENT-REQUIRED: (\S+)$/im.exec(head) ?? [];
  return {
    status,
    isDenied: body.includes('"error":"denied"'),
    key: header === undefined ? undefined : keyOf(readChallengedAmount(header), keys),
  };
}

/** The first key costs a cent, 10,000 atomic units. */
function keyOf(amount: number, keys: readonly string[]): string | undefined {
  return amount === CHARGED ? "charge" : keys[amount / 10_000 - 1];
}
