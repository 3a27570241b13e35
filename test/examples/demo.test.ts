/**
 * The demo, as `pnpm demo` runs it: its exit code is its verdict.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { chromium } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { CHROMIUM } from "../paywall/stage.js";

const SEVERAL = new URL("several.mjs", import.meta.url).pathname;
const DEMO = new URL("../../examples/demo/dist/", import.meta.url).pathname;

function run(script: string, ...args: string[]): ChildProcess {
  const child = spawn(process.execPath, [DEMO + script, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  // A demo that is asked to end ends what it has started.
  const closed = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await closed;
  });
  return child;
}

async function finish(demo: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  const [[code], out, err] = await Promise.all([once(demo, "close"), text(demo.stdout!), text(demo.stderr!)]);
  return { code, out, err };
}

/** Runs a script with each of some command lines, in one process. */
async function runEach(script: string, calls: readonly (readonly string[])[]) {
  const child = spawn(process.execPath, [SEVERAL, DEMO + script, JSON.stringify(calls)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [, out, err] = await Promise.all([once(child, "close"), text(child.stdout), text(child.stderr)]);
  const partsOf = (printed: string) => [...printed.matchAll(/([\s\S]*?)exit (\d+)\n/g)];
  const [outs, errs] = [partsOf(out), partsOf(err)];
  expect([outs.length, errs.length], err).toEqual([calls.length, calls.length]);
  return outs.map(([, printed = "", code], at) => ({ code: Number(code), out: printed, err: errs[at]?.[1] ?? "" }));
}

test("the demo shows a payment from the challenge to the balances on chain, keeps serving with --serve, takes payments by hand, and stops when asked to", async () => {
  const port = await freePorts();
  const demo = run("main.js", "--serve", "--port", String(port));
  const finished = finish(demo);
  const lines = createInterface({ input: demo.stdout! });
  await new Promise<void>((resolve) => lines.on("line", (line) => line.includes("network:") && resolve()));

  const words = `http://127.0.0.1:${port}/words`;
  const json = ["-H", "content-type: application/json", "-d", '{"text":"one two three"}'];
  const [paid, metered, unpayable] = await runEach("pay.js", [
    [`http://127.0.0.1:${port}/weather`],
    [...json, words],
    [`http://127.0.0.1:${port}/nothing`],
  ]);
  expect(paid).toMatchObject({ code: 0, err: "" });
  expect(paid?.out).toContain("✓ paid");
  expect(metered).toMatchObject({ code: 0, err: "" });
  for (const part of [`POST ${words} → 200 OK`, '{"words":["three","two","one"]}', '"amount": "300"', "✓ paid"]) {
    expect(metered?.out).toContain(part);
  }
  expect(unpayable).toMatchObject({ code: 1, err: "✗ not paid: the response status is 404\n" });

  demo.kill("SIGINT");
  const { code, out, err } = await finished;
  expect(err).toBe("");
  expect(code).toBe(0);
  const story = [
    "402 Payment Required",
    '"maxAmountRequired": "1000"',
    '"signature": "0x',
    "200 OK",
    '"success": true',
    "payer                10       9.999  0x",
    "seller                0       0.001  0x",
    "the facilitator has listed it",
    "All checks passed",
    `curl -i http://127.0.0.1:${port}/weather`,
    `npx -y pnpm@10 pay http://127.0.0.1:${port}/weather`,
  ];
  expect(story.filter((part) => !out.includes(part))).toEqual([]);
}, 180_000);

test.skipIf(CHROMIUM === undefined)(
  "the demo names a page with --browser, in which one click pays",
  async () => {
    const port = await freePorts();
    const demo = run("main.js", "--browser", "--port", String(port));
    const finished = finish(demo);
    const lines = createInterface({ input: demo.stdout! });
    const url = await new Promise<string>((resolve) =>
      lines.on("line", (line) => {
        const [found] = /http:\/\/\S+\/weather/.exec(line) ?? [];
        if (found !== undefined) resolve(found);
      }),
    );
    const browser = await chromium.launch({ executablePath: CHROMIUM ?? "", args: ["--no-sandbox"] });
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    page.setDefaultTimeout(0);
    await page.goto(url);
    await page.getByRole("button", { name: "Pay $0.001" }).click();
    await page.getByRole("heading", { name: "Paid" }).waitFor();
    expect(await page.locator("pre").textContent()).toContain("Lisbon");
    // Another origin cannot have the wallet sign: it may not send JSON without being asked.
    const other = await fetch(new URL("/demo-wallet", url), {
      method: "POST",
      headers: { "content-type": "text/plain" },
      body: "{}",
    });
    expect(other.status).toBe(415);
    demo.kill("SIGINT");
    expect(await finished).toMatchObject({ code: 0, err: "" });
  },
  180_000,
);

test("the demo sends one payment to two processes with --processes 2, and it runs and settles once", async () => {
  const { code, out, err } = await finish(run("main.js", "--processes", "2"));
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const story = [
    /process 1: GET http:\/\/127\.0\.0\.1:\d+\/weather → 200 OK/,
    /process 2: GET http:\/\/127\.0\.0\.1:\d+\/weather → 200 OK/,
    /the handler ran once, in process [12]/,
    /the payment settled once/,
    /All checks passed/,
  ];
  expect(story.filter((part) => !part.test(out))).toEqual([]);
});

type Refused = readonly [args: readonly string[], says: string];
type Finished = Awaited<ReturnType<typeof runEach>>[number];

/** Said so in one line, and did nothing. */
function expectRefusal({ code, err }: Finished, says: string) {
  expect([code, err]).toEqual([1, expect.stringContaining(says)]);
  expect(err.trim().split("\n")).toHaveLength(1);
}

test("the demo refuses what it cannot do, and says which port is busy, each in one line", async () => {
  const busy = createServer().listen(0, "127.0.0.1");
  await once(busy, "listening");
  const { port } = busy.address() as AddressInfo;
  const refused: readonly Refused[] = [
    [["--port", "abc"], '--port takes a number from 1 to 65533, not "abc"'],
    [["--wat"], "Usage: demo [--serve] [--browser] [--port N] [--processes N]"],
    [["--processes", "1"], '--processes takes a number from 2 to 8, not "1"'],
    [["--processes", "2", "--serve"], "--processes takes neither --serve, --browser nor --port"],
    [
      ["--serve", "--port", String(port)],
      `✗ port ${port} is in use: stop the process that listens there, or choose other ports with --port N\n`,
    ],
  ];
  const finished = await runEach(
    "main.js",
    refused.map(([args]) => args),
  );
  for (const [at, each] of finished.entries()) expectRefusal(each, refused[at]?.[1] ?? "");
  busy.close();
}, 180_000);

test("pay prints its options with --help, and refuses what it cannot do, each in one line", async () => {
  const refused: readonly Refused[] = [
    [["file:///etc/hosts"], "pay takes one http or https URL"],
    [["--silent", "http://127.0.0.1:1/"], "Unknown option '--silent' (see --help)"],
    [["-H", "a b: c", "http://127.0.0.1:1/"], '--header takes "name: value", not "a b: c"'],
    [["-X", "GET", "-d", "a=b", "http://127.0.0.1:1/"], "GET takes no --data"],
  ];
  const [help, ...others] = await runEach("pay.js", [["--", "--help"], ...refused.map(([args]) => args)]);
  expect(help).toMatchObject({ code: 0, err: "" });
  for (const option of ["-X, --method", "-d, --data", "-H, --header"]) expect(help?.out).toContain(option);
  for (const [at, each] of others.entries()) expectRefusal(each, refused[at]?.[1] ?? "");
}, 180_000);

test("pay sends methods, headers and data as curl does", async () => {
  const seen: object[] = [];
  const server = createHttpServer(async (req, res) => {
    const { method, headers } = req;
    seen.push({ method, type: headers["content-type"], custom: headers["x-custom"], body: await text(req) });
    res.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await runEach("pay.js", [
    ["-d", "a=1", "--data", "b=2", "-H", "X-Custom: one", "-H", "x-custom:two", url],
    [url, "-XDELETE"],
    ["--request=PUT", "-d", `@${new URL("demo-body.txt", import.meta.url).pathname}`, url],
  ]);
  server.close();
  expect(seen).toEqual([
    { method: "POST", type: "application/x-www-form-urlencoded", custom: "one, two", body: "a=1&b=2" },
    { method: "DELETE", type: undefined, custom: undefined, body: "" },
    { method: "PUT", type: "application/x-www-form-urlencoded", custom: undefined, body: "one two" },
  ]);
}, 180_000);

test("pay shows the receipt of a metered response, which comes after its body", async () => {
  let asked = 0;
  const server = createHttpServer((req, res) => {
    if (req.url === "/receipt") {
      const isKnown = asked++ > 0;
      res.writeHead(isKnown ? 200 : 202, { "Retry-After": "0" });
      res.end(isKnown ? '{"success":true,"amount":"40"}' : "{}");
      return;
    }
    res.setHeader("PAYMENT-RECEIPT-URL", `${url}/receipt`);
    res.end("one two");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { code, out } = await finish(run("pay.js", url));
  server.close();
  for (const part of ["one two", '"amount": "40"', "✓ paid"]) expect(out).toContain(part);
  expect([code, asked]).toEqual([0, 2]);
});

/** The first of three ports in a row that are free. */
async function freePorts(): Promise<number> {
  for (;;) {
    const servers = [createServer().listen(0, "127.0.0.1")];
    await once(servers[0]!, "listening");
    const { port } = servers[0]!.address() as AddressInfo;
    for (const next of [port + 1, port + 2, port + 3]) servers.push(createServer().listen(next, "127.0.0.1"));
    const results = await Promise.allSettled(servers.slice(1).map((server) => once(server, "listening")));
    for (const server of servers) server.close();
    if (results.every(({ status }) => status === "fulfilled")) return port;
  }
}
