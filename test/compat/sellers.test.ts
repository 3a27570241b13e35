/**
 * Files written after public sellers, with the reference's imports as they are, with one of them changed, and with all of them
 * changed: the same requests of an independent client get the same responses, and the same money moves.
 *
 * @module
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createTestFacilitator, type Ledger, startFacilitatorServer } from "@farebox/testing";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import { appendPaymentIdentifierToExtensions } from "@x402/extensions/payment-identifier";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const NETWORK = "eip155:84532";
const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const OTHER_OWNER = "0x1111111111111111111111111111111111111111";
const PAYMENT_ID = "note-0123456789abcdef";
const SELLERS = fileURLToPath(new URL("sellers/serve.mjs", import.meta.url));

/** What a request got, in the words of all sides. */
interface Seen {
  readonly status: number;
  readonly type: string | null;
  readonly body: unknown;
  /** What moved for it, as "recipient amount". */
  readonly moved: readonly string[];
  readonly receipt: unknown;
  /** Why the client has to pay. */
  readonly error: unknown;
}

function decode(header: string | null): Record<string, unknown> | undefined {
  return header === null ? undefined : JSON.parse(Buffer.from(header, "base64").toString("utf8"));
}

function isEmpty(body: unknown): boolean {
  return typeof body === "object" && body !== null && Object.keys(body).length === 0;
}

function isChallenge(body: unknown): boolean {
  return typeof body === "object" && body !== null && "accepts" in body;
}

interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default true. */
  readonly isPaid?: boolean;
}

interface Side {
  ask(seller: string, request: Ask): Promise<Seen>;
  exported(seller: string): Promise<Record<string, unknown>>;
  challenge(seller: string, request: Ask): Promise<Challenge>;
}

interface Challenge {
  readonly resource: { readonly url: string; readonly description: string };
  readonly accepts: readonly {
    readonly amount: string;
    readonly payTo: string;
    readonly extra: Readonly<Record<string, unknown>>;
  }[];
  readonly extensions?: Readonly<Record<string, unknown>>;
}

const closing: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

/** All sides in a process, a facilitator, and a client with money for each side. */
async function start(): Promise<ReadonlyMap<string, Side>> {
  const folder = mkdtempSync(fileURLToPath(new URL(".copies-", import.meta.url)));
  closing.push(() => rmSync(folder, { recursive: true }));
  const facilitator = createTestFacilitator();
  const server = await startFacilitatorServer({ facilitator });
  closing.push(() => server.close());
  const env = { ...process.env, FACILITATOR_URL: server.url, NETWORK, PAY_TO };
  const child = fork(SELLERS, [folder], { env, stdio: ["ignore", "pipe", "pipe", "ipc"] });
  const ended = once(child, "exit");
  closing.push(async () => {
    child.kill();
    await ended;
  });
  const served = await servedBy(child);
  return new Map(Object.entries(served).map(([side, places]) => [side, openSide(places, facilitator.ledger)]));
}

function openSide(served: Served, ledger: Ledger): Side {
  const account = privateKeyToAccount(generatePrivateKey());
  ledger.fund(account.address, 1_000_000_000n);
  const client = new x402Client()
    .register(NETWORK, new ExactEvmScheme(account))
    .register(NETWORK, new UptoEvmScheme(account));
  client.onAfterPaymentCreation(async ({ paymentPayload }) => {
    const { extensions } = paymentPayload;
    if (extensions?.["payment-identifier"]) appendPaymentIdentifierToExtensions(extensions, PAYMENT_ID);
  });
  const pay = wrapFetchWithPayment(fetch, client);
  const send = (seller: string, { method = "GET", path, body, headers = {}, isPaid = true }: Ask) => {
    const url = `${served[seller]?.url}${path}`;
    const isText = body === undefined ? {} : { "content-type": "application/json" };
    const init = {
      method,
      headers: { ...headers, ...isText },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    return isPaid ? pay(url, init) : fetch(url, init);
  };
  return {
    async ask(seller, request) {
      const before = ledger.transfers.length;
      const response = await send(seller, request);
      const text = await response.text();
      const type = response.headers.get("content-type")?.split(";")[0] ?? null;
      const body: unknown = type === "application/json" ? JSON.parse(text) : text;
      const moved = ledger.transfers.slice(before).map(({ to, amount }) => `${to} ${amount}`);
      const receipt = decode(response.headers.get("payment-response"));
      return {
        status: response.status,
        type,
        // The reference's body is empty, ours repeats the challenge.
        body: response.status === 402 && (isEmpty(body) || isChallenge(body)) ? "a challenge" : body,
        moved,
        // Ours says with a receipt that nothing was charged.
        receipt:
          moved.length === 0 ? undefined : { success: receipt?.["success"], extensions: receipt?.["extensions"] },
        // Beside a receipt ours repeats the reason in the challenge, too.
        error: receipt === undefined ? decode(response.headers.get("payment-required"))?.["error"] : undefined,
      };
    },
    exported: async (seller) =>
      (await fetch(String(served[seller]?.exports))).json() as Promise<Record<string, unknown>>,
    async challenge(seller, request) {
      const response = await send(seller, { ...request, isPaid: false });
      expect(response.status).toBe(402);
      return JSON.parse(Buffer.from(response.headers.get("payment-required") ?? "", "base64").toString("utf8"));
    },
  };
}

type Served = Readonly<Record<string, { readonly url: string; readonly exports: string }>>;

function servedBy(child: ChildProcess): Promise<Readonly<Record<string, Served>>> {
  let output = "";
  child.stdout?.resume();
  child.stderr?.on("data", (chunk) => {
    output += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once("message", (message) => resolve(message as Readonly<Record<string, Served>>));
    child.once("exit", (code) => reject(new Error(`the sellers ended with ${code}: ${output}`)));
  });
}

/** One request after the other, at one seller. */
const SCENARIOS: Readonly<Record<string, readonly Ask[]>> = {
  "rates-desk.cjs": [
    { path: "/health" },
    { path: "/v1/rate/DGS10?units=percent" },
    { path: "/v1/rate/unknown" },
    { path: "/v1/curve" },
    { path: "/v1/history" },
  ],
  "hat-shop.mjs": [
    { method: "POST", path: "/hats?size=m", body: { text: "hello" } },
    { path: "/orders", isPaid: false },
    { method: "POST", path: "/hats?size=xxs", body: {} },
    { path: "/orders", isPaid: false },
  ],
  "session-pass.mjs": [{ path: "/articles/one" }, { path: "/articles/two", headers: { cookie: "session=unknown" } }],
  "audit-desk.mjs": [
    { path: "/healthz" },
    { method: "POST", path: "/api/audit", body: { tests: 7 } },
    { method: "POST", path: "/api/audit", body: { tests: 51 } },
    { method: "POST", path: "/api/screen", body: { deep: true } },
    { method: "POST", path: "/api/screen", body: {} },
    { method: "POST", path: "/api/screen", body: { method: "tools/list" }, isPaid: false },
  ],
  "review-gateway.mjs": [
    { path: "/reviews/p1", headers: { "x-client": "reader" } },
    { path: "/reviews/missing", headers: { "x-client": "reader" } },
    { path: "/reviews/unreserved", headers: { "x-client": "reader" } },
    { path: "/reviews/p2", headers: { "x-client": "banned" } },
  ],
  "trial-feed.mjs": [
    { path: "/v1/position", headers: { "x-account": "a" }, isPaid: false },
    { path: "/v1/position", headers: { "x-account": "a" }, isPaid: false },
    { path: "/v1/position", headers: { "x-account": "a" }, isPaid: false },
    { path: "/v1/position", headers: { "x-account": "a" }, isPaid: false },
    { path: "/v1/position", headers: { "x-account": "blocked" }, isPaid: false },
    { path: "/v1/position", headers: { "x-request-id": "r1" } },
  ],
  "idempotent-notes.mjs": [{ path: "/note" }, { path: "/note" }],
  "reputation-feed.cjs": [
    { path: "/advice" },
    { path: "/advice" },
    { path: "/advice", headers: { "x-bad": "1" }, isPaid: false },
    { path: "/advice", isPaid: false },
  ],
  "prompt-market.mjs": [
    { path: "/prompts/hero" },
    { path: "/prompts/footer" },
    { path: "/prompts/other" },
    { path: "/library" },
    { path: "/instant" },
  ],
  "token-stream.mjs": [
    { method: "POST", path: "/generate", body: { tokens: 7 } },
    { method: "POST", path: "/generate", body: { tokens: 20, plain: true } },
  ],
  "credit-desk.mjs": [
    { path: "/credits" },
    { path: "/sized?n=5" },
    { path: "/night" },
    { path: "/cheap" },
    { path: "/cheaper" },
  ],
  "cloud-report.cjs": [{ path: "/report/2025" }, { path: "/report/1900" }, { path: "/report", isPaid: false }],
};

/** What a seller's file keeps for itself: the same on all sides. */
const KEPT = ["review-gateway.mjs", "idempotent-notes.mjs"];

/** Without what differs between any two runs: addresses of payers, and transactions. */
function comparable(seen: unknown): unknown {
  const text = JSON.stringify(seen).replace(/0x[0-9a-fA-F]{64}/g, "0xtransaction");
  return JSON.parse(text.replace(/0x(?!209693|1{40})[0-9a-fA-F]{40}\b/g, "0xpayer"));
}

let sides: ReadonlyMap<string, Side>;
beforeAll(async () => {
  sides = await start();
}, 300_000);

describe.each(["depth 1", "depth 2"])("at %s", (depth) => {
  test.each(Object.keys(SCENARIOS))("%s serves and charges as the reference does", async (seller) => {
    const [reference, ours] = [sides.get("reference"), sides.get(depth)];
    if (reference === undefined || ours === undefined) throw new Error("not started");
    const expected = await playOnce(reference, seller);
    expect(comparable(await playOnce(ours, seller))).toEqual(comparable(expected));
  });
});

const played = new Map<Side, Map<string, unknown>>();

/** A seller's state changes with each request, so each side is asked once. */
async function playOnce(side: Side, seller: string): Promise<unknown> {
  const known = played.get(side) ?? new Map<string, unknown>();
  played.set(side, known);
  if (!known.has(seller)) known.set(seller, await play(side, seller));
  return known.get(seller);
}

async function play(side: Side, seller: string): Promise<unknown> {
  const seen: unknown[] = [];
  for (const ask of SCENARIOS[seller] ?? []) seen.push([ask.path, await side.ask(seller, ask)]);
  return KEPT.includes(seller) ? [...seen, await side.exported(seller)] : seen;
}

test("the reference sells what these files offer, so that the comparison means something", async () => {
  const reference = sides.get("reference");
  if (reference === undefined) throw new Error("not started");
  const seen: unknown[] = [];
  for (const seller of Object.keys(SCENARIOS)) seen.push(await playOnce(reference, seller));
  const moved = JSON.stringify(seen).match(new RegExp(`(${PAY_TO}|${OTHER_OWNER}) \\d+`, "gi")) ?? [];
  expect(moved.length).toBeGreaterThan(10);
});
