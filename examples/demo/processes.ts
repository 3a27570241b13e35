/**
 * The seller in several processes, which share an SQLite file. One payment is sent to all of them at once.
 *
 * @module
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeHeader, payAtOnce } from "./client.js";
import { DemoError, insist } from "./demo-error.js";
import { good, heading, line } from "./screen.js";
import type { SellerMessage, SellerSettings } from "./seller-process.js";
import type { Stage } from "./stage.js";

/** A seller that listens. */
export interface Shop {
  /** One for each process. */
  readonly urls: readonly [string, ...string[]];
  /** The process of each run of a handler, if there are several. */
  readonly runs: readonly string[];
  close(): Promise<void>;
}

/** Starts processes of the seller on free ports. */
export async function startProcesses(payTo: `0x${string}`, facilitatorUrl: string, count: number): Promise<Shop> {
  const folder = mkdtempSync(join(tmpdir(), "farebox-demo-"));
  const children: ChildProcess[] = [];
  const runs: string[] = [];
  const close = async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exited = once(child, "exit");
      child.kill();
      await exited;
    }
    rmSync(folder, { recursive: true });
  };
  const start = (_unused: unknown, at: number) => {
    const settings: SellerSettings = {
      payTo,
      facilitatorUrl,
      file: join(folder, "payments.db"),
      name: `process ${at + 1}`,
    };
    // Their lines about prices would be in the middle of the demo's.
    const stdio = ["ignore", "inherit", "ignore", "ipc"] as const;
    const child = fork(new URL("seller-process.js", import.meta.url), [JSON.stringify(settings)], {
      stdio: [...stdio],
    });
    children.push(child);
    return untilListening(child, runs);
  };
  try {
    const [first, ...rest] = await Promise.all(Array.from({ length: count }, start));
    if (first === undefined) throw new DemoError("no processes");
    return { urls: [first, ...rest], runs, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function untilListening(child: ChildProcess, runs: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once("exit", () => reject(new DemoError("a process of the seller has ended")));
    child.on("message", (message: SellerMessage) => {
      if (message.kind === "ran") runs.push(message.name);
      else resolve(`http://127.0.0.1:${message.port}`);
    });
  });
}

/** Sends one payment to all processes at once, and checks what happened. */
export async function payTogether({ chain, payer, seller, shop }: Stage): Promise<void> {
  const [first, ...others] = shop.urls;
  heading(`One payment, sent to ${shop.urls.length} processes at once`);
  const before = await chain.balanceOf(seller.address);
  const responses = await payAtOnce([`${first}/weather`, ...others.map((url) => `${url}/weather`)], payer);
  insist(responses.length === shop.urls.length, "the payment is sent to each process");
  const transactions = new Set<unknown>();
  for (const [at, response] of responses.entries()) {
    line(`process ${at + 1}: GET ${response.url} → ${response.status} ${response.statusText}`);
    line(`           ${await response.text()}`);
    insist(response.status === 200, "each process responds with 200");
    transactions.add(decodeHeader(response.headers.get("PAYMENT-RESPONSE"))?.["transaction"]);
  }
  good("each process gave the response");
  insist(shop.runs.length === 1, "the handler runs once");
  good(`the handler ran once, in ${shop.runs[0]}`);
  insist(transactions.size === 1, "all receipts name one transaction");
  line(`transaction ${[...transactions][0]}`);
  const paid = (await chain.balanceOf(seller.address)) - before;
  insist(paid === 1000n, "the seller is paid once");
  good("the payment settled once: the seller has $0.001");
}
