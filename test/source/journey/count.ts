/**
 * Counts how far one request travels through a warm seller: the files and functions of ours that it runs, their calls, and the promises and
 * timers that it makes. The seller has configured nothing but a route; its facilitator is in the process and accepts everything.
 *
 * Usage: `node --import ./test/source/journey/load-sources.mjs test/source/journey/count.ts` lists the functions of
 * each kind of request, file by file; with `--json` it prints the counts alone.
 *
 * @module
 */
import { once } from "node:events";
import { Agent, createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isDeepStrictEqual } from "node:util";
import type { Facilitator } from "@farebox/core";
import { createPayer } from "../../../packages/testing/src/payer/payer.js";
import { type Counts, holdTimers, startCounter } from "./counter.js";

/** A seller checks no signature after so many good ones, as long as its facilitator accepts the payments. */
const SIGNATURES_CHECKED = 64;
/** So many requests of a kind come before those that are counted. */
const WARM_UP = 3;
/** Each kind of request is counted so often, and each time must be like the first. */
const TIMES = 5;
/** Once both sides are done, the event loop turns so often before counting ends: more than anything of ours waits for. */
const TURNS = 10;
const NETWORK = "eip155:84532";
const NOW = Date.UTC(2026, 0, 31);
const now = () => NOW;
const accepts = {
  scheme: "exact",
  price: "$0.001",
  network: NETWORK,
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
} as const;
/** What the seller below offers, so that payments can be signed before it is loaded. */
const OFFER = {
  scheme: "exact",
  network: NETWORK,
  amount: "1000",
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: accepts.payTo,
  maxTimeoutSeconds: 300,
  extra: { name: "USDC", version: "2" },
};

const payer = createPayer();
const signed = await Promise.all(
  Array.from({ length: WARM_UP + TIMES + SIGNATURES_CHECKED + TIMES }, () => payer.signExact(OFFER, { now })),
);
let settled = 0;

holdTimers();
const countRun = await startCounter();
const { default: express } = await import("express");
const { paymentMiddleware } = await import("@farebox/express");

const facilitator: Facilitator = {
  supported: async () => ({
    kinds: [{ x402Version: 2, scheme: "exact", network: NETWORK }],
    extensions: [],
    signers: {},
  }),
  verify: async () => ({ isValid: true, payer: payer.address }),
  settle: async ({ paymentRequirements: { network, amount } }) => {
    const transaction = `0x${(++settled).toString(16).padStart(64, "0")}`;
    return { success: true, payer: payer.address, transaction, network, amount };
  },
};
const logger = { info() {}, warn: console.error, error: console.error };

const app = express();
app.use(
  paymentMiddleware({ "GET /weather": { accepts, description: "The weather, now" } }, { facilitator, logger, now }),
);
app.get("/weather", (_req, res) => void res.json({ weather: "sunny" }));
app.get("/free", (_req, res) => void res.json({ free: true }));

// Counted on one connection: the next one would make others of our functions run.
const server = createServer({ keepAliveTimeout: 0 });
let onClosed = () => {};
// Before Express, so that nothing of ours is wrapped around it.
server.on("request", (_req: IncomingMessage, res: ServerResponse) => res.once("close", () => onClosed()));
server.on("request", app);
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

interface Request {
  readonly path: string;
  readonly status: number;
  readonly headers: Record<string, string>;
}

/** Calls `done` when the response has been sent and read, and nothing is left of it in the process. */
function send({ path, status, headers }: Request, done: (response: IncomingMessage) => void): void {
  let missing = 2;
  let response: IncomingMessage;
  const onEnd = () => {
    if (--missing === 0) afterTurns(TURNS, () => done(response));
  };
  onClosed = onEnd;
  get({ port, path, headers, agent }, (received) => {
    response = received.resume();
    if (received.statusCode !== status) throw new Error(`${path}: ${received.statusCode} in place of ${status}`);
    received.once("close", onEnd);
  });
}

function afterTurns(turns: number, done: () => void): void {
  if (turns === 0) done();
  else setImmediate(afterTurns, turns - 1, done);
}

const free: Request = { path: "/free", status: 200, headers: {} };
const unpaid: Request = { path: "/weather", status: 402, headers: {} };
const { headers } = await new Promise<IncomingMessage>((resolve) => send(unpaid, resolve));
const challenge = JSON.parse(Buffer.from(String(headers["payment-required"]), "base64").toString("utf8"));

const { resource, extensions, accepts: [accepted] = [] } = challenge;
if (!isDeepStrictEqual({ ...accepted, ...OFFER }, accepted))
  throw new Error(`another offer: ${JSON.stringify(accepted)}`);

function pay(): Request {
  const payment = JSON.stringify({ ...signed.pop(), accepted, resource, extensions });
  return { path: "/weather", status: 200, headers: { "payment-signature": Buffer.from(payment).toString("base64") } };
}

/**
 * Counts one request of a kind, after `before` others.
 *
 * @throws {Error} When those that come next do not have the same counts.
 */
async function count(make: () => Request, before = WARM_UP): Promise<Counts> {
  for (let at = 0; at < before; at++) await new Promise((resolve) => send(make(), resolve));
  const all: Counts[] = [];
  for (let at = 0; at < TIMES; at++) {
    const request = make();
    all.push(await countRun((done) => send(request, done)));
  }
  const [one, ...others] = all as [Counts, ...Counts[]];
  for (const other of others) {
    if (describe(other) !== describe(one)) throw new Error(`not steady:\n${describe(one)}\n${describe(other)}`);
  }
  return one;
}

function describe(counts: Counts): string {
  const files = [...counts.functions].sort().map(([file, names]) => `  ${file.padEnd(52)} ${names.join(" ")}`);
  return [JSON.stringify(numbersOf(counts)), ...files].join("\n");
}

function numbersOf({ functions, calls, promises, timers }: Counts): Record<string, number> {
  return { files: functions.size, functions: [...functions.values()].flat().length, calls, promises, timers };
}

const counted = {
  free: await count(() => free),
  unpaid: await count(() => unpaid),
  "paid early": await count(pay),
  paid: await count(pay, SIGNATURES_CHECKED),
};
agent.destroy();
server.close();

if (process.argv.includes("--json")) {
  const numbers = Object.entries(counted).map(([kind, counts]) => [kind, numbersOf(counts)]);
  console.log(JSON.stringify(Object.fromEntries(numbers)));
} else {
  for (const [kind, counts] of Object.entries(counted)) console.log(`${kind}: ${describe(counts)}`);
}
