/**
 * examples/webhooks, with the seller killed as well as the receiver: each sale arrives, once and in order.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPayer, createTestFacilitator, pay, startFacilitatorServer } from "@farebox/testing";
import { expect, onTestFinished, test } from "vitest";

const DIST = new URL("../../examples/webhooks/dist/", import.meta.url);
const SECRET = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;

async function open() {
  const facilitator = createTestFacilitator();
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 10_000_000n);
  const facilitatorServer = await startFacilitatorServer({ facilitator });
  const folder = mkdtempSync(join(tmpdir(), "farebox-webhooks-"));
  const [sellerPort, receiverPort] = [await freePort(), await freePort()];
  const [sales, letters] = [join(folder, "sales.jsonl"), join(folder, "letters.jsonl")];
  const running = new Set<ChildProcess>();
  onTestFinished(async () => {
    for (const child of running) child.kill("SIGKILL");
    await facilitatorServer.close();
    rmSync(folder, { recursive: true });
  });
  const start = async (script: string, env: Record<string, string>) => {
    const child = fork(new URL(script, DIST), {
      env: { PATH: process.env["PATH"], WEBHOOK_SECRET: SECRET, ...env } as NodeJS.ProcessEnv,
      stdio: ["ignore", "pipe", "ignore", "ipc"],
      execArgv: [],
    });
    running.add(child);
    let seen = "";
    let tell = () => {};
    child.stdout?.on("data", (data) => {
      seen += data;
      tell();
    });
    const next = () =>
      new Promise<void>((resolve) => {
        tell = resolve;
      });
    const until = async (text: string) => {
      while (!seen.includes(text)) await next();
    };
    await until("listens");
    const kill = async () => {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
      running.delete(child);
    };
    return { until, next, kill };
  };
  return {
    sales,
    letters,
    receiverPort,
    buy: async (path: string) => (await pay(`http://127.0.0.1:${sellerPort}`, { path, payer })).status,
    startReceiver: (env = {}) => start("receiver.js", { PORT: String(receiverPort), SALES_FILE: sales, ...env }),
    startSeller: (env = {}) =>
      start("server.js", {
        PORT: String(sellerPort),
        FACILITATOR_URL: facilitatorServer.url,
        PAYMENTS_FILE: join(folder, "payments.db"),
        WEBHOOK_URL: `http://127.0.0.1:${receiverPort}/`,
        DEAD_LETTERS: letters,
        ...env,
      }),
  };
}

test("sales arrive once and in order, although receiver and seller are killed", { timeout: 180_000 }, async () => {
  const { sales, letters, buy, startReceiver, startSeller } = await open();
  let receiver = await startReceiver();
  const seller = await startSeller();
  expect(await buy("/report/1")).toBe(200);
  await receiver.until("received GET /report/:id 10000");
  await receiver.kill();
  for (const id of [2, 3, 4]) expect(await buy(`/report/${id}`)).toBe(200);
  // It has not delivered the second one, and nobody else will.
  await seller.kill();
  receiver = await startReceiver();
  const next = await startSeller();
  expect(await buy("/report/5")).toBe(200);
  while (readLines(sales).length < 5) await receiver.next();
  expect(readLines(sales).map(({ resource }) => new URL(resource!).pathname)).toEqual(
    [1, 2, 3, 4, 5].map((id) => `/report/${id}`),
  );
  expect(readLines(letters)).toEqual([]);
  await next.kill();
});

test.each([
  ["is refused", "422", 1],
  ["fails too often", "503", 2],
])(
  "a webhook that %s is a dead letter, and the next one is sent",
  { timeout: 180_000 },
  async (_how, status, attempts) => {
    const { sales, letters, buy, startReceiver, startSeller } = await open();
    const receiver = await startReceiver({ REFUSED_ROUTE: "GET /archive", REFUSED_STATUS: status });
    await startSeller({ ATTEMPTS: "2" });
    expect(await buy("/archive")).toBe(200);
    expect(await buy("/report/2")).toBe(200);
    await receiver.until("received GET /report/:id 10000");
    expect(readLines(sales)).toMatchObject([{ amount: "10000" }]);
    const [letter, ...others] = readLines(letters);
    expect([letter, others]).toMatchObject([{ problem: `the receiver responded with ${status}`, attempts }, []]);
    expect(JSON.parse(letter!["body"]!)).toMatchObject({ data: { route: "GET /archive", amount: "50000" } });
  },
);

test("a signature is good for its id, time, body and secret, for five minutes", async () => {
  const { isSigned, sign } = await import(new URL("signature.js", DIST).href);
  const nowMs = 1_795_761_423_010;
  const headers = { ...sign(SECRET, "id", "body", nowMs) };
  expect(isSigned(SECRET, headers, "body", nowMs)).toBe(true);
  expect(isSigned(SECRET, headers, "body", nowMs + 299_000)).toBe(true);
  expect(isSigned(SECRET, headers, "body", nowMs + 302_000)).toBe(false);
  expect(isSigned(SECRET, headers, "bodY", nowMs)).toBe(false);
  expect(isSigned(SECRET, { ...headers, "webhook-id": "other" }, "body", nowMs)).toBe(false);
  expect(isSigned(SECRET, { ...headers, "webhook-timestamp": String(nowMs / 1000 - 1) }, "body", nowMs)).toBe(false);
  expect(isSigned(`whsec_${Buffer.alloc(24, 8).toString("base64")}`, headers, "body", nowMs)).toBe(false);
  expect(
    isSigned(SECRET, { ...headers, "webhook-signature": `v1,AAAA ${headers["webhook-signature"]}` }, "body", nowMs),
  ).toBe(true);
  for (const bad of ["", "v1,", "v2,AAAA", "v1,AAAA"]) {
    expect(isSigned(SECRET, { ...headers, "webhook-signature": bad }, "body", nowMs)).toBe(false);
  }
  expect(isSigned(SECRET, {}, "body", nowMs)).toBe(false);
});

function readLines(file: string): readonly Record<string, string>[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}
