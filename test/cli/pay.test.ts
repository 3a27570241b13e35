/**
 * `farebox pay`, with real money of a local chain, and with servers that want more than they should get.
 */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { paymentMiddleware } from "@farebox/express";
import { anvilAccounts, createTestFacilitator, type TestFacilitator } from "@farebox/testing";
import express, { type Express } from "express";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Stage, setStage } from "../../examples/demo/stage.js";
import { OFFER, PAY_TO, seller } from "./doctor/sellers.js";
import { createDrivenClock } from "./driven-clock.js";
import { runFarebox } from "./run-farebox.js";

const DEMO = anvilAccounts[1]!;

describe("on a local chain", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await setStage({ ports: { seller: 0, facilitator: 0, chain: 0 }, processes: 1 }, () => {});
  }, 60_000);
  afterAll(() => stage.close());

  test("pays the price, prints the body, and tells each step", async () => {
    const before = await stage.chain.balanceOf(stage.payer.address);
    const { code, out, err } = await runFarebox(["pay", `${stage.sellerUrl}/weather`]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toBeTypeOf("object");
    expect(before - (await stage.chain.balanceOf(stage.payer.address))).toBe(1_000n);
    expect(err).toMatch(
      /: 402\nchallenge: \$0\.001 \(USDC\) on Base Sepolia to 0x\w{40}\nsigned by 0x\w{40}, valid for \d+ seconds\n.+: 200\npaid: transaction 0x\w{64} on eip155:84532\nrequest took \d+ ms\nsign took \d+ ms\npay took \d+ ms\n$/,
    );
  });

  test("pays by use", async () => {
    const { code, out } = await runFarebox([
      "pay",
      `${stage.sellerUrl}/words`,
      "--data",
      '{"text":"one two three"}',
      "--json",
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      status: 200,
      paid: true,
      offer: { scheme: "upto" },
      receipt: { success: true },
    });
  });

  test("pays nothing above --max", async () => {
    const before = await stage.chain.balanceOf(stage.payer.address);
    const { code, out, err } = await runFarebox(["pay", `${stage.sellerUrl}/weather`, "--max", "$0.0009"]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(/nothing was paid: \$0\.001 \(USDC\) on Base Sepolia: it is more than --max \$0\.0009/);
    expect(await stage.chain.balanceOf(stage.payer.address)).toBe(before);
  });
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  onTestFinished(async () => {
    server.closeAllConnections();
    await promisify(server.close.bind(server))();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Shop {
  readonly url: string;
  /** The names of what it logged. */
  readonly logged: readonly string[];
  readonly facilitator: TestFacilitator;
  readonly app: Express;
}

/** Its time passes with that of the command. */
async function openShop(clock = createDrivenClock()): Promise<Shop> {
  const facilitator = createTestFacilitator();
  facilitator.ledger.fund(DEMO.address, 1_000_000n);
  const logged: string[] = [];
  const log = (event: string) => void logged.push(event);
  const app = express();
  app.use(
    paymentMiddleware(
      { "GET /weather": { accepts: { price: "$0.01", network: "eip155:84532", payTo: PAY_TO } } },
      { facilitator, now: clock.now, timer: clock.timer, logger: { info() {}, warn: log, error: log } },
    ),
  );
  app.get("/weather", (_req, res) => void res.json({ weather: "sunny" }));
  return { url: await serve(app), logged, facilitator, app };
}

describe("an unknown outcome", () => {
  test("is settled by the same payment, once", async () => {
    const clock = createDrivenClock();
    const { url, logged, facilitator } = await openShop(clock);
    facilitator.faults.next("settle", { kind: "drop", when: "after" });
    const { code, out, err } = await runFarebox(["pay", `${url}/weather`], { clock });
    expect({ code, out }).toEqual({ code: 0, out: '{"weather":"sunny"}' });
    expect(err).toMatch(/outcome is unknown .*in \d+ seconds\n/);
    expect(err).toContain("paid: transaction");
    expect(logged.map((event) => event.split(" ")[0])).toEqual(["settlement_unknown"]);
    expect(facilitator.ledger.balanceOf(PAY_TO)).toBe(10_000n);
  });

  test("behind a proxy that gives up is settled by the same payment, once", async () => {
    const clock = createDrivenClock();
    const shop = await openShop(clock);
    const payments: string[] = [];
    const proxy = await serve(async (req, res) => {
      const { "payment-signature": payment } = req.headers;
      const headers = typeof payment === "string" ? { "payment-signature": payment } : undefined;
      const reply = await fetch(shop.url + (req.url ?? ""), headers === undefined ? {} : { headers });
      const body = await reply.text();
      if (typeof payment === "string" && payments.push(payment) <= 2) {
        res.writeHead(payments.length === 1 ? 504 : 502).end("gateway");
        return;
      }
      for (const [name, value] of reply.headers)
        if (!/^(content-length|connection)$/.test(name)) res.setHeader(name, value);
      res.writeHead(reply.status).end(body);
    });
    const { code, out } = await runFarebox(["pay", `${proxy}/weather`], { clock });
    expect({ code, out }).toEqual({ code: 0, out: '{"weather":"sunny"}' });
    expect(new Set(payments).size).toBe(1);
    expect(shop.facilitator.ledger.balanceOf(PAY_TO)).toBe(10_000n);
  });

  test("is told when the server is gone, with the time until which it can be charged", async () => {
    let payments = new Set<string>();
    const url = await serve(
      seller({
        offer: { maxTimeoutSeconds: 1 },
        instead(req) {
          const header = req.headers["payment-signature"];
          if (typeof header !== "string") return false;
          payments = payments.add(header);
          req.socket.destroy();
          return true;
        },
      }),
    );
    const { code, out, err } = await runFarebox(["pay", `${url}/weather`]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(
      /the outcome of the payment for .+ is unknown .+ until \d{4}-.+Z\n.+\[FAREBOX_CLI_UNKNOWN_OUTCOME]/,
    );
    expect(payments.size).toBe(1);
  });
});

describe("signs nothing", () => {
  const refused: readonly (readonly [string, Parameters<typeof seller>[0], RegExp])[] = [
    ["for an unknown token", { offer: { asset: PAY_TO } }, /its value in dollars is unknown/],
    [
      "on a main network with the demo's key",
      { offer: { network: "eip155:8453", asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913" } },
      /set FAREBOX_KEY/,
    ],
    ["for an unknown scheme", { offer: { scheme: "subscribe" } }, /the scheme "subscribe" is unknown/],
    [
      "for an offer of Solana",
      { offer: { network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1" } },
      /only EVM networks can be paid/,
    ],
    ["that can be charged for a day", { offer: { maxTimeoutSeconds: 86_400 } }, /could be charged for 86400 seconds/],
    ["for a negative amount", { offer: { amount: "-5" } }, /unreadable PAYMENT-REQUIRED/],
    ["for a fraction", { offer: { amount: "0.5" } }, /unreadable PAYMENT-REQUIRED/],
    ["without an offer", { accepts: [] }, /unreadable PAYMENT-REQUIRED/],
    ["without the token's name", { offer: { extra: {} } }, /its extra has no name and version/],
    [
      "for another flow",
      { offer: { extra: { ...OFFER.extra, paymentFlow: "escrow" } } },
      /the payment flow "escrow" is unknown/,
    ],
    ["for what is no challenge", { header: "!" }, /unreadable PAYMENT-REQUIRED/],
    ["for version 1", { headers: { "payment-required": undefined } }, /has no PAYMENT-REQUIRED/],
  ];
  test.each(refused)("%s", async (_what, wrong, message) => {
    let isPaid = false;
    const url = await serve(
      seller({
        ...wrong,
        instead(req) {
          if ("payment-signature" in req.headers) isPaid = true;
          return false;
        },
      }),
    );
    const { code, out, err } = await runFarebox(["pay", `${url}/weather`]);
    expect({ code, out, isPaid }).toEqual({ code: 1, out: "", isPaid: false });
    expect(err).toMatch(message);
    expect(err).toMatch(/\[FAREBOX_CLI_NOT_PAID]/);
  });

  test("for another challenge after the payment", async () => {
    const payments: string[] = [];
    const url = await serve(
      seller({
        instead(req) {
          const header = req.headers["payment-signature"];
          if (typeof header === "string") payments.push(header);
          return false;
        },
      }),
    );
    const { code, err } = await runFarebox(["pay", `${url}/weather`]);
    expect(code).toBe(1);
    expect(err).toContain("not paid: Payment required");
    expect(payments).toHaveLength(1);
  });
});

test("sends no payment to where a server redirects", async () => {
  let received = 0;
  const thief = await serve((req, res) => {
    if ("payment-signature" in req.headers) received++;
    res.end("thanks");
  });
  const url = await serve(
    seller({
      instead(req, res) {
        if (!("payment-signature" in req.headers)) return false;
        res.writeHead(307, { location: `${thief}/weather` }).end();
        return true;
      },
    }),
  );
  const { err } = await runFarebox(["pay", `${url}/weather`]);
  expect(err).toContain(": 307");
  expect(received).toBe(0);
});

test("prints what is free, and says that nothing was signed", async () => {
  const url = await serve((_req, res) => void res.end("free \u001b[2J"));
  const { code, out, err } = await runFarebox(["pay", url], { isTTY: true });
  expect(code).toBe(0);
  expect(out).toBe("free \\u{1b}[2J\n");
  expect(err).not.toContain("signed");
});

test("keeps the key to itself", async () => {
  const { url } = await openShop();
  const key = DEMO.privateKey;
  const good = await runFarebox(["pay", `${url}/weather`, "--json"], { env: { FAREBOX_KEY: key } });
  expect(good.code).toBe(0);
  const bad = await runFarebox(["pay", `${url}/weather`], { env: { FAREBOX_KEY: `${key}00` } });
  expect(bad).toMatchObject({ code: 1, out: "" });
  expect(bad.err).toMatch(/FAREBOX_KEY is no key\n.+\[FAREBOX_CLI_KEY]/);
  for (const { out, err } of [good, bad]) expect(out + err).not.toContain(key.slice(2, 20));
});

test.each([
  [[], /name one http or https URL/],
  [["ftp://x"], /name one http or https URL/],
  [["http://x", "--max", "five"], /--max is an amount of dollars/],
  [["http://x", "--max", "$-1"], /--max is an amount of dollars/],
  [["http://x", "--data", "a", "--method", "get"], /GET takes no --data/],
  [["http://x", "--header", "nonsense"], /--header is "name: value"/],
  [["http://x", "--method", "G T"], /--method is no method/],
  [["http://x", "--timeout", "0"], /--timeout is a whole number/],
])("refuses %j", async (args, message) => {
  const { code, out, err } = await runFarebox(["pay", ...args]);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toMatch(message);
});
