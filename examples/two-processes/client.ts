/**
 * Sends one payment to both processes at once, without a network, a chain or a wallet.
 *
 * @module
 */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createPayer, createTestFacilitator, pay, startFacilitatorServer } from "@farebox/testing";

const facilitator = createTestFacilitator();
const payer = createPayer();
facilitator.ledger.fund(payer.address, 1_000_000n);
const facilitatorServer = await startFacilitatorServer({ facilitator });
const folder = mkdtempSync(join(tmpdir(), "two-processes-"));
const port = await freePort();

const env = {
  ...process.env,
  FACILITATOR_URL: facilitatorServer.url,
  PAYMENTS_FILE: join(folder, "payments.db"),
  PORT: String(port),
};
const seller = fork(new URL("server.js", import.meta.url), { env, stdio: ["ignore", "pipe", "inherit", "ipc"] });
try {
  const log: string[] = [];
  await new Promise<void>((resolve, reject) => {
    seller.once("exit", () => reject(new Error("the seller has ended")));
    createInterface({ input: seller.stdout! }).on("line", (line) => {
      console.log(line);
      log.push(line);
      if (count(log, "listens") === 2) resolve();
    });
  });
  const url = `http://127.0.0.1:${port}/report`;
  const { challenge } = await pay(url);
  assert.ok(challenge?.accepts[0]);
  const payment = await payer.signExact(challenge.accepts[0], { challenge });

  // The workers take new connections by turns, so each gets the payment.
  const responses = await Promise.all([pay(url, { payment }), pay(url, { payment })]);
  assert.equal(new Set(log.filter((line) => line.endsWith("gets the payment"))).size, 2, "both workers");

  // Both get the response, and the receipt of one settlement.
  for (const { status } of responses) assert.equal(status, 200);
  const [first, second] = responses.map(({ receipt, text }) => ({ transaction: receipt?.transaction, text }));
  assert.deepEqual(first, second);
  assert.equal(count(log, "runs the handler"), 1);
  assert.equal(facilitator.ledger.transfers.length, 1);

  // Sent later, it buys nothing more: the responses have been delivered.
  const later = await Promise.all([pay(url, { payment }), pay(url, { payment })]);
  for (const { status } of later) assert.notEqual(status, 200);
  assert.equal(count(log, "runs the handler"), 1);
  assert.equal(facilitator.ledger.transfers.length, 1);
  console.log("one payment at two processes at once: one run, one settlement, and both got the response");
} finally {
  const exited = once(seller, "exit");
  seller.kill();
  await exited;
  await facilitatorServer.close();
  rmSync(folder, { recursive: true });
}

function count(log: readonly string[], ending: string): number {
  return log.filter((line) => line.endsWith(ending)).length;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}
