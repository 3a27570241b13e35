/**
 * Buys from the seller while its receiver is killed and started again, without a network, a chain or a wallet. Each sale arrives, in order;
 * what the receiver refuses is a dead letter, and does not hold up the others.
 *
 * @module
 */
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { createPayer, createTestFacilitator, pay, startFacilitatorServer } from "@farebox/testing";

const facilitator = createTestFacilitator();
const payer = createPayer();
facilitator.ledger.fund(payer.address, 1_000_000n);
const facilitatorServer = await startFacilitatorServer({ facilitator });
const folder = mkdtempSync(join(tmpdir(), "webhooks-"));
const [sellerPort, receiverPort] = [await freePort(), await freePort()];
const secret = `whsec_${randomBytes(24).toString("base64")}`;
const [sales, deadLetters] = [join(folder, "sales.jsonl"), join(folder, "dead-letters.jsonl")];
const shared = { ...process.env, WEBHOOK_SECRET: secret };
const url = `http://127.0.0.1:${sellerPort}`;
const running = new Set<ChildProcess>();

try {
  let receiver = await start("receiver.js", "the receiver listens", {
    ...shared,
    PORT: String(receiverPort),
    SALES_FILE: sales,
    REFUSED_ROUTE: "GET /archive",
  });
  await start("server.js", "the seller listens", {
    ...shared,
    PORT: String(sellerPort),
    FACILITATOR_URL: facilitatorServer.url,
    PAYMENTS_FILE: join(folder, "payments.db"),
    WEBHOOK_URL: `http://127.0.0.1:${receiverPort}/`,
    DEAD_LETTERS: deadLetters,
  });

  await buy("/report/1");
  await receiver.until("received GET /report/:id 10000");

  await receiver.kill();
  await buy("/report/2");
  await buy("/archive");
  await buy("/report/3");
  receiver = await start("receiver.js", "the receiver listens", {
    ...shared,
    PORT: String(receiverPort),
    SALES_FILE: sales,
    REFUSED_ROUTE: "GET /archive",
  });
  await receiver.until("received GET /report/:id 10000");
  await receiver.until("received GET /report/:id 10000");

  const paths = linesOf(sales).map(({ resource }) => new URL(resource).pathname);
  assert.deepEqual(paths, ["/report/1", "/report/2", "/report/3"]);
  const letters = linesOf(deadLetters).map(({ problem, body }) => [problem, JSON.parse(body).data.route]);
  assert.deepEqual(letters, [["the receiver responded with 422", "GET /archive"]]);

  // Nobody else can say what was sold.
  const forged = await fetch(`http://127.0.0.1:${receiverPort}/`, { method: "POST", body: "{}" });
  assert.equal(forged.status, 401);
  console.log("each sale arrived once and in order, although the receiver was away; one dead letter");
} finally {
  for (const child of running) child.kill("SIGKILL");
  await facilitatorServer.close();
  rmSync(folder, { recursive: true, force: true });
}

async function buy(path: string): Promise<void> {
  const { status } = await pay(url, { path, payer });
  assert.equal(status, 200);
}

async function start(script: string, sign: string, env: NodeJS.ProcessEnv) {
  const child = fork(new URL(script, import.meta.url), { env, stdio: ["ignore", "pipe", "inherit", "ipc"] });
  running.add(child);
  const lines = createInterface({ input: child.stdout! });
  const until = lineReader(lines);
  await until(sign);
  const kill = async () => {
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
    running.delete(child);
  };
  return { until, kill };
}

/** Returns what waits for the next line of that text. Lines that came before are not lost. */
function lineReader(lines: Interface): (text: string) => Promise<void> {
  const seen: string[] = [];
  let tell = () => {};
  lines.on("line", (line) => {
    seen.push(line);
    tell();
  });
  return async (text) => {
    while (!seen.includes(text)) {
      await new Promise<void>((resolve) => {
        tell = resolve;
      });
    }
    seen.splice(seen.indexOf(text), 1);
  };
}

interface Line {
  readonly resource: string;
  readonly problem: string;
  readonly body: string;
}

function linesOf(file: string): readonly Line[] {
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
