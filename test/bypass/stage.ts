/**
 * Where cases are tried: a facilitator, a server to proxy to and a folder of files, and a fresh app for each case.
 *
 * @module
 */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createTestFacilitator, startFacilitatorServer } from "@farebox/testing";
import { buildApp } from "./app.js";
import { type Case, type Must, SITE, type Subject, type Version } from "./case.js";
import { type Facilitators, readChallengedAmount, type Seller } from "./sellers.js";

/** The outcome of a case. */
export type Outcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** Whether the handler ran. */
      readonly ran: boolean;
      /** The key whose price the challenge names. */
      readonly key: string | undefined;
      readonly settlements: number;
      readonly milliseconds: number;
    }
  | { readonly kind: "did not start"; readonly reason: string };

export interface Stage {
  /** Tries a case once, with an app of its own. */
  run(subject: Case, version: Version, seller: Seller): Promise<Outcome>;
  /** Builds the app and the table that a case shares with others. */
  build(subject: Subject, version: Version, seller: Seller): Trying;
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
  const build: Stage["build"] = (subject, version, seller) => {
    const made = makeTable(subject, seller, facilitators);
    if (made.kind === "did not start") return async () => made;
    const { app, takeReached } = buildApp(subject, { version, site, upstream: portOf(upstream), table: made.table });
    return async ({ request, keys }) => {
      const before = facilitator.calls.settle.length;
      // A table looks for its app among the listeners of the server.
      server.removeAllListeners("request").on("request", app);
      const start = performance.now();
      const answer = await send(request, portOf(server));
      const milliseconds = performance.now() - start;
      const settlements = facilitator.calls.settle.length - before;
      return { kind: "answered", ran: takeReached(), ...readAnswer(answer, keys), settlements, milliseconds };
    };
  };
  return {
    build,
    run: (subject, version, seller) => build(subject, version, seller)(subject),
    async close() {
      await Promise.all([facilitatorServer.close(), stop(upstream), stop(server)]);
      rmSync(site, { recursive: true });
    },
  };
}

/** What an outcome is called in a case; a status that no case asks for is called by its number. */
export function verdictOf(outcome: Outcome): Must | string {
  if (outcome.kind === "did not start") return "does not start";
  const { status, ran } = outcome;
  if (ran) return status === 200 ? "free" : `${status}, handler ran`;
  const verdicts: Readonly<Record<number, Must>> = {
    402: "priced",
    400: "refused",
    404: "not found",
    204: "preflight",
  };
  return verdicts[status] ?? `${status}`;
}

function makeTable(subject: Subject, seller: Seller, facilitators: Facilitators) {
  try {
    return { kind: "started", table: seller(subject, facilitators) } as const;
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
  const server = createServer(listener).listen(0, "127.0.0.1");
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

/** Sends a request as it is written, on a connection of its own, and reads until the server ends it. */
async function send(request: string, port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("latin1");
  socket.write(`${request} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n`, "latin1");
  let received = "";
  for await (const text of socket) received += text;
  return received;
}

function readAnswer(answer: string, keys: readonly string[]) {
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
  const [, header] = /^PAYMENT-REQUIRED: (\S+)\r$/im.exec(answer) ?? [];
  // The first key costs a cent, 10,000 atomic units.
  const key = header === undefined ? undefined : keys[readChallengedAmount(header) / 10_000 - 1];
  return { status, key };
}
