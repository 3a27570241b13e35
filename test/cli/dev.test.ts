/**
 * `farebox dev`, as a process, with a seller of its own, a payer, and a browser.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { SYSTEM_CLOCK } from "../../packages/cli/src/frame/clock.js";
import { runFarebox } from "./run-farebox.js";

const PROGRAM = fileURLToPath(new URL("../../packages/cli/dist/farebox.js", import.meta.url));
// The seller is started from there, so that it finds the packages.
const home = mkdtempSync(join(fileURLToPath(new URL(".", import.meta.url)), "sellers-"));
const executablePath = [process.env["CHROMIUM"], "/usr/bin/chromium"].find(
  (place) => place !== undefined && existsSync(place),
);
const browserPath = executablePath ?? "";

const SELLER = join(home, "seller.mjs");
writeFileSync(
  SELLER,
  `import { createPayments } from "@farebox/express";
import express from "express";
const { PORT, FACILITATOR_URL: facilitator, NETWORK, PAY_TO } = process.env;
const payments = createPayments({ facilitator, payTo: { "eip155:*": PAY_TO }, networks: [NETWORK], publicUrl: undefined });
const app = express();
app.use(payments.routes({ "GET /weather": { price: "$0.01", description: "The weather \\u003cscript>alert(1)\\u003c/script>" } }));
app.get("/weather", (_req, res) => res.json({ weather: "sunny" }));
await payments.ready(app);
app.listen(Number(PORT), () => console.log("seller is up"));
`,
);
afterAll(() => rmSync(home, { recursive: true }));

interface Dev {
  readonly child: ChildProcess;
  readonly port: number;
  readonly lines: readonly string[];
  /** Resolves when it and all that it started have ended. */
  readonly closed: Promise<readonly unknown[]>;
  /** Resolves with the first line that matches, of all, or of those behind so many. */
  until(pattern: RegExp, behind?: number): Promise<string>;
}

/** Four ports in a row that are free. */
async function freePorts(): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    // Below those that a process gets when it asks for any.
    const first = 20_000 + Math.floor(Math.random() * 12_000);
    const servers = await Promise.all([0, 1, 2, 3].map((at) => bind(first + at)));
    for (const server of servers) server?.close();
    if (servers.every((server) => server !== undefined)) return first;
  }
  throw new Error("no free ports");
}

async function bind(port: number) {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  return once(server, "listening").then(
    () => server,
    () => undefined,
  );
}

/** Ends what was started, with all that it has started. */
const running: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(running.map((end) => end())));

async function startDev(...options: readonly string[]): Promise<Dev> {
  const port = await freePorts();
  const args = [PROGRAM, "dev", "--port", String(port), ...options, "--", process.execPath, SELLER];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  // The seller and the chain have its output, too: it is closed when the last of them has ended.
  const closed = once(child, "close");
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    createInterface(stream!).on("line", (line) => {
      lines.push(line);
      for (const look of waiting) look();
    });
  }
  const until = (pattern: RegExp, behind = 0) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const line = lines.slice(behind).find((each) => pattern.test(each));
        if (line === undefined) return;
        waiting.delete(look);
        resolve(line);
      };
      waiting.add(look);
      child.once("exit", () => reject(new Error(`farebox dev has ended:\n${lines.join("\n")}`)));
      look();
    });
  running.push(async () => {
    child.kill("SIGTERM");
    await closed;
  });
  await until(/seller is up/);
  return { child, port, lines, closed, until };
}

function switchTo(port: number, fault: string, headers: Record<string, string> = {}) {
  return fetch(`http://127.0.0.1:${port + 1}/fault`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(fault),
  });
}

/** A seller is paid, each step is told, and Ctrl-C ends all of it. */
async function demandSaleAndEnd({ child, port, lines, closed, until }: Dev): Promise<void> {
  const behind = lines.length;
  const paid = await runFarebox(["pay", `http://localhost:${port}/weather`]);
  expect(paid).toMatchObject({ code: 0, out: '{"weather":"sunny"}' });
  expect(await until(/200/, behind)).toMatch(
    /^GET \/weather 200 · verify( \d+ ms)? · run( \d+ ms)? · settle( \d+ ms)?$/,
  );
  expect(lines.slice(behind)).toContain("GET /weather 402 · challenge");
  const catalog = await runFarebox(["catalog", "search", "weather", "--catalog", `http://127.0.0.1:${port + 2}`]);
  expect(catalog.code).toBe(0);
  child.kill("SIGINT");
  expect((await closed)[0]).toBe(0);
  for (const at of [0, 1, 2, 3]) {
    const server = await bind(port + at);
    expect(server).toBeDefined();
    server?.close();
  }
}

test("on a chain, a seller is paid, each step is told, and Ctrl-C ends all of it", async () => {
  await demandSaleAndEnd(await startDev());
}, 180_000);

describe("in memory", () => {
  let dev: Dev;
  beforeAll(async () => {
    dev = await startDev("--memory");
  });
  afterEach(async () => {
    if (dev.child.exitCode === null) await switchTo(dev.port, "none");
  });

  /** Its time is that of the seller, who is another process. */
  const payFor = () => runFarebox(["pay", `http://localhost:${dev.port}/weather`], { clock: SYSTEM_CLOCK });

  test("a fault that is unknown is settled by the same payment, for one debit", async () => {
    expect((await switchTo(dev.port, "unknown")).status).toBe(204);
    const paying = payFor();
    await dev.until(/fault \(the seller is not told\)/);
    await switchTo(dev.port, "none");
    expect(await paying).toMatchObject({ code: 0, out: '{"weather":"sunny"}' });
  }, 180_000);

  test("a fault that refuses is told by the seller", async () => {
    await switchTo(dev.port, "refusing");
    const { code, err } = await payFor();
    expect(code).toBe(1);
    expect(err).toContain("insufficient_funds");
    await dev.until(/settle( \d+ ms)? \(insufficient_funds\)/);
  }, 180_000);

  test("a fault is switched by this machine's page only", async () => {
    const { port } = dev;
    expect((await switchTo(port, "down", { origin: "https://evil.example" })).status).toBe(403);
    expect((await switchTo(port, "nonsense")).status).toBe(400);
    expect((await switchTo(port, "x".repeat(1000))).status).toBe(400);
    const rebound = await new Promise((resolve, reject) => {
      request({ host: "127.0.0.1", port: port + 1, path: "/", headers: { host: "evil.example" } }, (res) => {
        res.resume();
        resolve(res.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(rebound).toBe(403);
    expect((await payFor()).code).toBe(0);
  }, 180_000);

  test.skipIf(executablePath === undefined)(
    "a fault is switched on the page, which shows requests live and runs no text of theirs",
    async () => {
      const { port, lines, until } = dev;
      const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
      onTestFinished(() => browser.close());
      const page = await browser.newPage();
      page.setDefaultTimeout(0);
      const complaints: string[] = [];
      page.on("console", (message) => void complaints.push(message.text()));
      page.on("dialog", (dialog) => void complaints.push(dialog.message()));
      await page.goto(`http://localhost:${port + 1}/`);
      await page.getByText("live", { exact: true }).waitFor();
      const before = await page.locator("li").count();
      await fetch(`http://localhost:${port}/x?%3Cscript%3Ealert(1)<img src=x onerror=alert(2)>`);
      await payFor();
      await page.locator("li").first().getByText("settle").waitFor();
      expect(await page.locator("li").first().textContent()).toMatch(/GET \/weather200verify( \d+ ms)?/);
      expect(await page.locator("li").count()).toBe(before + 3);
      await page.getByLabel("breaks every connection").check();
      const behind = lines.length;
      const failed = payFor();
      await until(/503/, behind);
      await page.getByLabel("in order").check();
      expect((await failed).code).toBe(0);
      expect(complaints).toEqual([]);
    },
    180_000,
  );

  test("a seller is paid, each step is told, and Ctrl-C ends all of it", async () => {
    await demandSaleAndEnd(dev);
  }, 180_000);
});

test("a server that ends ends it, and a port in use is told", async () => {
  const port = await freePorts();
  const start = (...args: string[]) => {
    const child = spawn(process.execPath, [PROGRAM, "dev", "--memory", "--port", String(port), "--", ...args], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let err = "";
    child.stderr.on("data", (data) => {
      err += data;
    });
    return once(child, "close").then(([code]) => ({ code, err }));
  };
  expect(await start(process.execPath, "-e", "process.exit(3)")).toMatchObject({
    code: 1,
    err: expect.stringMatching(/has ended: exit code 3/),
  });
  expect(await start("no-such-command-here")).toMatchObject({
    code: 1,
    err: expect.stringMatching(/there is no such command/),
  });
  const server = await bind(port + 1);
  onTestFinished(() => void server?.close());
  expect(await start(process.execPath, "-e", "")).toMatchObject({
    code: 1,
    err: expect.stringMatching(/port \d+ is in use\n.+\[FAREBOX_CLI_PORT]/),
  });
}, 180_000);

test.each([
  [[], /name the command that starts your server/],
  [["--target", "http://127.0.0.1:1", "--", "node"], /name the command/],
  [["node", "server.mjs"], /name the command/],
  [["--target", "https://x/y"], /--target is an http origin/],
  [["--port", "99999", "--", "node"], /--port is a whole number/],
])("refuses %j", async (args, message) => {
  const { code, err } = await runFarebox(["dev", "--memory", ...args]);
  expect(code).toBe(2);
  expect(err).toMatch(message);
});
