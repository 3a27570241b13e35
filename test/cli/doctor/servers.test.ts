/**
 * `farebox doctor` and servers that are wrong in one way each.
 */

import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { paymentMiddleware } from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";
import express, { type RequestHandler } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { ROOT } from "../../docs/markdown.js";
import { createDrivenClock } from "../driven-clock.js";
import { runFarebox } from "../run-farebox.js";
import { type Diagnosed, NOBODY, OFFER, PAY_TO, seller, serve, USDC, type Wrong } from "./sellers.js";

/** It has no types. */
const cors = createRequire(import.meta.url)("cors") as (options: {
  readonly exposedHeaders: readonly string[];
}) => RequestHandler;

const SOLANA = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";

async function diagnose(url: string, ...options: string[]): Promise<Diagnosed & { readonly code: number }> {
  const { code, out, err } = await runFarebox(["doctor", url, "--json", ...options]);
  expect(err).toBe("");
  return { code, ...JSON.parse(out) };
}

test("finds nothing at a seller that is in order", async () => {
  const url = await serve(seller());
  expect(await diagnose(`${url}/weather`)).toMatchObject({
    code: 0,
    ok: true,
    diagnoses: [],
    routes: [{ route: `GET ${url}/weather` }],
  });
});

test("finds nothing at a seller with Farebox and cors", async () => {
  const app = express();
  app.use(cors({ exposedHeaders: ["PAYMENT-REQUIRED", "PAYMENT-RESPONSE"] }));
  const accepts = { price: "$0.01", network: "eip155:84532", payTo: PAY_TO } as const;
  app.use(
    paymentMiddleware(
      { "GET /weather": { accepts }, "POST /words": { accepts } },
      { facilitator: createTestFacilitator() },
    ),
  );
  app.get("/weather", (_req, res) => void res.json({}));
  app.post("/words", (_req, res) => void res.json({}));
  const url = await serve(app);
  expect(await diagnose(`${url}/weather`)).toMatchObject({ code: 0, diagnoses: [] });
  expect(await diagnose(`${url}/words`)).toMatchObject({ routes: [{ route: `GET ${url}/words` }] });
});

const CASES: readonly (readonly [what: string, code: string, level: string, wrong: Wrong])[] = [
  ["serves without a payment", "FREE", "error", { instead: (req, res) => isGet(req.method) && void200(res) }],
  ["responds with 500", "STATUS", "error", { instead: (req, res) => isGet(req.method) && end(res, 500) }],
  [
    "serves HEAD without a payment",
    "HEAD_FREE",
    "warning",
    { instead: (req, res) => req.method === "HEAD" && void200(res) },
  ],
  [
    "serves the path with a slash",
    "BYPASS",
    "error",
    { instead: (req, res) => req.url === "/weather/" && void200(res) },
  ],
  ["serves the path in capitals", "BYPASS", "error", { instead: (req, res) => req.url === "/WEATHER" && void200(res) }],
  [
    "serves the path with an escape",
    "BYPASS",
    "error",
    { instead: (req, res) => req.url === "/%77eather" && void200(res) },
  ],
  [
    "serves the path behind two slashes",
    "BYPASS",
    "error",
    { instead: (req, res) => req.url === "//weather" && void200(res) },
  ],
  [
    "serves what nobody signed",
    "BAD_PAYMENT_SERVED",
    "error",
    { instead: (req, res) => "payment-signature" in req.headers && void200(res) },
  ],
  [
    "fails at what nobody signed",
    "BAD_PAYMENT_STATUS",
    "error",
    { instead: (req, res) => "payment-signature" in req.headers && end(res, 500) },
  ],
  ["has no header", "NO_CHALLENGE", "error", { headers: { "payment-required": undefined } }],
  ["encodes for URLs", "CHALLENGE_UNREADABLE", "error", { header: Buffer.from('{"a":"??>>"}').toString("base64url") }],
  ["sends no JSON", "CHALLENGE_UNREADABLE", "error", { header: Buffer.from("hello").toString("base64") }],
  ["is of version 1", "CHALLENGE_UNREADABLE", "error", { document: { x402Version: 1 } }],
  ["has no offer", "CHALLENGE_EMPTY", "error", { accepts: [] }],
  ["writes dollars as amount", "OFFER_INVALID", "error", { offer: { amount: "0.001" } }],
  ["names a network by its name", "OFFER_INVALID", "error", { offer: { network: "base-sepolia" } }],
  ["has no time limit", "OFFER_INVALID", "error", { offer: { maxTimeoutSeconds: 0 } }],
  ["has an offer that is no object", "OFFER_INVALID", "error", { accepts: [OFFER, null] }],
  ["has a long header", "HEADER_LARGE", "warning", { document: { resource: undefined, error: "x".repeat(5000) } }],
  ["has a header that is too long", "HEADER_TOO_LARGE", "error", { document: { error: "x".repeat(20_000) } }],
  ["may be cached", "CACHEABLE", "warning", { headers: { "cache-control": "public, max-age=60" } }],
  ["exposes no headers", "CORS_EXPOSE", "warning", { headers: { "access-control-expose-headers": undefined } }],
  [
    "allows no payment header",
    "CORS_ALLOW",
    "warning",
    { preflight: { "access-control-allow-headers": "content-type" } },
  ],
  [
    "names another host",
    "RESOURCE_URL",
    "warning",
    { document: { resource: { url: "http://internal:8080/weather" } } },
  ],
  ["names no resource", "RESOURCE_URL", "warning", { document: { resource: {} } }],
  ["costs two dollars", "CLIENT_LIMIT", "warning", { offer: { amount: "2000000" } }],
  [
    "takes another token",
    "CLIENT_ASSET",
    "warning",
    { offer: { asset: "0x00000000000000000000000000000000000000aa" } },
  ],
  ["is on an unknown network", "CLIENT_NETWORK", "warning", { offer: { network: "eip155:99999" } }],
  ["lacks the token's name", "TOKEN_DOMAIN", "error", { offer: { extra: { version: "2" } } }],
  ["has another token's name", "TOKEN_DOMAIN", "error", { offer: { extra: { name: "USD Coin", version: "2" } } }],
  [
    "lacks Solana's fee payer",
    "FACILITATOR_FIELD",
    "error",
    {
      offer: {
        network: SOLANA,
        asset: "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
        payTo: "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4",
        extra: {},
      },
    },
  ],
  ["lacks the facilitator's address", "FACILITATOR_FIELD", "error", { offer: { scheme: "upto" } }],
  ["gives 5 seconds", "TIMEOUT_SHORT", "error", { offer: { maxTimeoutSeconds: 5 } }],
  ["pays nobody", "PAYEE_WRONG", "error", { offer: { payTo: `0x${"0".repeat(40)}` } }],
  ["pays the token", "PAYEE_WRONG", "error", { offer: { payTo: USDC.toLowerCase() } }],
  [
    "takes test money beside real money",
    "TESTNET_MIXED",
    "warning",
    {
      accepts: [
        OFFER,
        {
          ...OFFER,
          network: "eip155:8453",
          asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
          extra: { name: "USD Coin", version: "2" },
        },
      ],
    },
  ],
  ["has a slow clock", "CLOCK", "error", { headers: { date: new Date(Date.now() - 120_000).toUTCString() } }],
];

function isGet(method: string | undefined): boolean {
  return method === "GET";
}

function void200(res: Parameters<NonNullable<Wrong["instead"]>>[1]): boolean {
  return end(res, 200);
}

function end(res: Parameters<NonNullable<Wrong["instead"]>>[1], status: number): boolean {
  res.writeHead(status).end('{"weather":"sunny"}');
  return true;
}

describe("tells a server that", () => {
  test.each(CASES)("%s: %s", async (_what, name, level, wrong) => {
    const url = await serve(seller(wrong));
    const { code, ok, diagnoses } = await diagnose(`${url}/weather`);
    const found = diagnoses.find((each) => each.code === `FAREBOX_DOCTOR_${name}`);
    expect(found).toMatchObject({ level });
    expect(found!.page).toMatch(new RegExp(`/doctor\\.md#farebox_doctor_${name.toLowerCase()}$`));
    expect(code).toBe(level === "error" ? 1 : 0);
    expect(ok).toBe(level !== "error");
    // Nothing else is wrong that would be told as an error.
    expect(diagnoses.filter((each) => each.level === "error" && each !== found)).toEqual([]);
  });

  test("has no CORS headers", async () => {
    const { diagnoses } = await diagnose(
      `${await serve((req, res) => {
        res.setHeader = (
          (set) => (name: string, value: string) =>
            name === "access-control-allow-origin" ? res : set.call(res, name, value)
        )(res.setHeader) as typeof res.setHeader;
        seller()(req, res);
      })}/weather`,
    );
    expect(diagnoses.map(({ code }) => code)).toEqual(["FAREBOX_DOCTOR_CORS_MISSING"]);
  });

  test("is gone", async () => {
    const { code, diagnoses } = await diagnose(`${NOBODY}/weather`);
    expect(code).toBe(1);
    expect(diagnoses).toMatchObject([
      { code: "FAREBOX_DOCTOR_UNREACHABLE", message: expect.stringContaining("ECONNREFUSED") },
    ]);
  });

  test("never responds", async () => {
    const clock = createDrivenClock();
    const url = await serve(() => clock.pass(10_000));
    const { out } = await runFarebox(["doctor", `${url}/weather`, "--json"], { clock });
    expect(JSON.parse(out).diagnoses).toMatchObject([
      { code: "FAREBOX_DOCTOR_UNREACHABLE", message: expect.stringContaining("TIMEOUT") },
    ]);
  });

  test("responds without end", async () => {
    const url = await serve((_req, res) => {
      const write = () => {
        while (!res.destroyed && res.write("x".repeat(65_536)));
      };
      res.on("drain", write);
      write();
    });
    const { diagnoses } = await diagnose(`${url}/weather`);
    expect(diagnoses.map(({ code }) => code)).toEqual(["FAREBOX_DOCTOR_FREE"]);
  });

  test("has a certificate that clients refuse", async () => {
    const fixture = readFileSync(join(ROOT, "packages/core/src/http/localhost-certificate.fixture.ts"), "utf8");
    const [key, cert] = [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^`"]+/, /-----BEGIN CERTIFICATE-----[^`"]+/].map(
      (pattern) => pattern.exec(fixture)?.[0] ?? "",
    );
    const server = createServer({ key, cert }, seller()).listen(0, "127.0.0.1");
    await new Promise((listening) => server.once("listening", listening));
    onTestFinished(() => void server.close());
    const { diagnoses } = await diagnose(`https://127.0.0.1:${(server.address() as AddressInfo).port}/weather`);
    expect(diagnoses.map(({ code }) => code)).toEqual(["FAREBOX_DOCTOR_CERTIFICATE"]);
  });
});

test("takes a page that every path gets for no bypass", async () => {
  const url = await serve((req, res) => {
    if (req.url === "/weather" || req.method === "OPTIONS") seller()(req, res);
    else res.end("<!doctype html>");
  });
  expect((await diagnose(`${url}/weather`)).diagnoses).toEqual([]);
});

describe("a server with documents", () => {
  async function documented(): Promise<string> {
    const { createPayments } = await import("@farebox/express");
    const payments = createPayments({
      facilitator: createTestFacilitator(),
      payTo: { "eip155:*": PAY_TO },
      networks: ["eip155:84532"],
      logger: { info() {}, warn() {}, error() {} },
    });
    const app = express();
    app.use(cors({ exposedHeaders: ["PAYMENT-REQUIRED", "PAYMENT-RESPONSE"] }));
    app.use(payments.routes({ "GET /weather/:city": { price: "$0.001" }, "POST /words": { price: "$5" } }));
    app.get("/weather/:city", (_req, res) => void res.json({}));
    app.post("/words", (_req, res) => void res.json({}));
    app.get("/.well-known/x402", payments.wellKnown());
    app.get("/openapi.json", payments.openapi({ title: "Words" }));
    return serve(app);
  }

  test.each(["/", "/.well-known/x402", "/openapi.json"])("is asked for each of its routes at %s", async (path) => {
    const url = await documented();
    const { routes, diagnoses } = await diagnose(url + path);
    expect(routes.map(({ route }) => route).sort()).toEqual([`GET ${url}/weather/1`, `POST ${url}/words`]);
    expect(diagnoses.map(({ code, subject }) => [code, subject])).toEqual([
      ["FAREBOX_DOCTOR_CLIENT_LIMIT", `POST ${url}/words`],
    ]);
  });

  test("that is none has no routes", async () => {
    const url = await serve((_req, res) => void res.end("hello"));
    expect((await diagnose(url)).diagnoses).toMatchObject([{ code: "FAREBOX_DOCTOR_NO_ROUTES" }]);
  });

  test("of a stranger sends nobody to another server", async () => {
    const items = [{ resource: "http://127.0.0.1:1/x", type: "http", method: "GET" }];
    const url = await serve(
      (_req, res) => void res.end(JSON.stringify({ items, resources: ["file:///etc/passwd", 7] })),
    );
    expect((await diagnose(url)).diagnoses).toMatchObject([{ code: "FAREBOX_DOCTOR_NO_ROUTES" }]);
  });
});

describe("prints for people", () => {
  test("one block for each diagnosis, errors first, and a verdict", async () => {
    const url = await serve(seller({ offer: { amount: "2000000", maxTimeoutSeconds: 5 } }));
    const { code, out } = await runFarebox(["doctor", `${url}/weather`, "--verbose"]);
    expect(code).toBe(1);
    expect(out).toMatch(
      /^route {4}GET http.+: 402, \$2 \(USDC\) on Base Sepolia\n\nerror {4}FAREBOX_DOCTOR_TIMEOUT_SHORT .+\n.+\n.+doctor\.md#farebox_doctor_timeout_short\n\nwarning {2}FAREBOX_DOCTOR_CLIENT_LIMIT/,
    );
    expect(out).toMatch(/1 route of .+: 1 error, 1 warning\n$/);
  });

  test("no text that acts on a terminal", async () => {
    const url = await serve(seller({ offer: { network: "\u001b[2J\u202e:x" } }));
    const { out } = await runFarebox(["doctor", `${url}/weather`]);
    expect(out).toContain("\\u{1b}[2J\\u{202e}");
    for (const char of ["\u001b", "\u202e"]) expect(out).not.toContain(char);
  });
});

test.each([
  [[], /name one URL or one file/],
  [["https://x", "--timeout", "0"], /--timeout is a whole number from 1 to 120/],
  [["https://x", "--processes", "many"], /--processes is a whole number/],
  [["https://x", "--rpc", "https://node"], /--rpc is a network and a URL/],
  [["https://x", "--rpc", "eip155:1=ftp://node"], /http and https URLs/],
  [["https://x", "--facilitator", "nonsense"], /http and https URLs/],
])("refuses %j", async (args, message) => {
  const { code, out, err } = await runFarebox(["doctor", ...args]);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toMatch(message);
});
