/**
 * A priced route in front of a server that is priced itself. A client of the route pays its seller, and nobody else.
 */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import type { RequestHandler } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { onHeaders, openShop, PRICED, type ShopPlan, VERSIONS } from "./shop.js";

const OTHER = "0x000000000000000000000000000000000000dEaD";

const CHALLENGE = Buffer.from(
  JSON.stringify({
    x402Version: 2,
    resource: { url: "http://upstream.example/" },
    accepts: [
      {
        scheme: "exact",
        network: "eip155:84532",
        amount: "999999999",
        asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
        payTo: OTHER,
        maxTimeoutSeconds: 60,
        extra: { name: "USDC", version: "2" },
      },
    ],
  }),
).toString("base64");

const FOREIGN = {
  "PAYMENT-REQUIRED": CHALLENGE,
  "PAYMENT-RESPONSE": "dXBzdHJlYW0=",
  "Extension-Responses": "dXBzdHJlYW0=",
  "X-PAYMENT-RESPONSE": "dXBzdHJlYW0=",
  "payment-retry-token": "upstream",
  "Payment-Receipt-Url": "http://upstream.example/receipt",
  "PAYMENT-ERROR": "payment_limit",
};

/** Opens the server behind the route. */
async function openUpstream(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Passes on whatever the server behind it says. */
function proxyTo(url: string): RequestHandler {
  return (_req, res, next) => {
    fetch(url)
      .then(async (response) => {
        const body = Buffer.from(await response.arrayBuffer());
        const headers = Object.fromEntries(
          [...response.headers].filter(([name]) => !/^(?:connection|keep-alive|transfer-encoding|date)$/.test(name)),
        );
        res.writeHead(response.status, { ...headers, "X-Upstream": "1" }).end(body);
      })
      .catch(next);
  };
}

const CHALLENGES: readonly (readonly [how: string, listener: RequestListener])[] = [
  ["in a header", (_req, res) => void res.writeHead(402, FOREIGN).end("{}")],
  [
    "in its body, as version 1 does",
    (_req, res) =>
      void res
        .writeHead(402, { "Content-Type": "application/json" })
        .end(JSON.stringify({ x402Version: 1, accepts: [{ payTo: OTHER, maxAmountRequired: "999999999" }] })),
  ],
];

/** All that a client gets, headers and trailers, as text. */
async function receive(shop: Awaited<ReturnType<typeof openShop>>): Promise<string> {
  const { header } = await shop.sign();
  const line = await shop.connect(shop.request(header).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
  return await line.ended;
}

function watch() {
  const lines: string[] = [];
  const note = (event: string, { remedy }: Readonly<Record<string, unknown>>) => void lines.push(`${event}: ${remedy}`);
  return { lines, logger: { info() {}, error: note, warn: note } };
}

const FOUND = expect.stringMatching(/^FAREBOX_FOREIGN_PAYMENT: Pay the server behind the handler/);
const PAYMENT_HEADER = /^(?:payment-(?!response)|x-payment|extension-responses)[^:]*:/im;

describe.each(VERSIONS)("on %s", (_, express) => {
  const challenge = JSON.stringify({ x402Version: 1, accepts: [{ payTo: OTHER, maxAmountRequired: "999999999" }] });
  const ANY_TYPE: readonly (readonly [how: string, handler: RequestHandler])[] = [
    ["text/html", (_req, res) => void res.status(402).send(challenge)],
    ["text/plain", (_req, res) => void res.status(402).type("text/plain").send(challenge)],
    ["no type", (_req, res) => void res.writeHead(402).end(challenge)],
    ["bytes", (_req, res) => void res.status(402).send(Buffer.from(challenge))],
    ["gzip", (_req, res) => void res.status(402).set("Content-Encoding", "gzip").end(gzipSync(challenge))],
  ];
  // Clients of version 1 do not look at the type. `res.send` of a text says text/html.
  describe.each(["after", "before"] as const)("with settle: %s", (settle) => {
    test.each(ANY_TYPE)("an upstream's challenge in a body of any type becomes 502: %s", async (_how, handler) => {
      const { lines, logger } = watch();
      const routes = { "GET /paid": { ...PRICED, settle } };
      const shop = await openShop(express, { handler, routes, options: { logger, strict: false } });
      expect(await receive(shop)).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/);
      expect(shop.facilitator.settled).toEqual(settle === "before" ? [10_000n] : []);
      expect(lines).toContainEqual(FOUND);
    });
  });

  test("a handler's own 402 stays", async () => {
    const shop = await openShop(express, { handler: (_req, res) => void res.status(402).send("buy a plan first") });
    expect(await receive(shop)).toMatch(/^HTTP\/1\.1 402 [\s\S]*buy a plan first$/);
  });

  describe.each(["after", "before"] as const)("with settle: %s", (settle) => {
    const routes = { "GET /paid": { ...PRICED, settle } };

    test.each(CHALLENGES)(
      "an upstream's challenge %s becomes 502, and nobody is asked to pay it",
      async (_how, listener) => {
        const { lines, logger } = watch();
        const upstream = await openUpstream(listener);
        const shop = await openShop(express, {
          handler: proxyTo(upstream),
          routes,
          options: { logger, strict: false },
        });
        const text = await receive(shop);
        expect(text).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/);
        const [head = ""] = text.split("\r\n\r\n");
        expect(head).not.toContain(CHALLENGE);
        expect(head.match(/^PAYMENT-RESPONSE: .*/gim)).toHaveLength(1);
        expect(shop.facilitator.settled).toEqual(settle === "before" ? [10_000n] : []);
        expect(lines).toContainEqual(FOUND);
      },
    );

    test("a sale has the receipt of its own payment only", async () => {
      const { lines, logger } = watch();
      const upstream = await openUpstream((_req, res) => void res.writeHead(200, FOREIGN).end("sold"));
      const shop = await openShop(express, { handler: proxyTo(upstream), routes, options: { logger, strict: false } });
      const text = await receive(shop);
      expect(text).toMatch(/^HTTP\/1\.1 200[\s\S]*x-upstream: 1[\s\S]*sold/i);
      expect(text).not.toMatch(PAYMENT_HEADER);
      const [receipt = ""] = text.match(/(?<=^PAYMENT-RESPONSE: ).*(?=\r$)/gim) ?? [];
      expect(JSON.parse(Buffer.from(receipt, "base64").toString())).toMatchObject({ success: true });
      expect(shop.facilitator.settled).toEqual([10_000n]);
      expect(lines).toContainEqual(FOUND);
    });

    const LATE: readonly (readonly [how: string, plan: ShopPlan])[] = [
      [
        "by middleware as the head is sent",
        {
          before: [onHeaders((res) => void (res.locals["isPaid"] && res.setHeader("X-Payment-Response", "late")))],
          handler: (_req, res) => {
            res.locals["isPaid"] = true;
            res.send("sold");
          },
        },
      ],
      [
        "in trailers",
        {
          handler: (_req, res) => {
            res.write("so");
            res.addTrailers({ "Payment-Required": CHALLENGE, "X-Other": "kept" });
            res.end("ld");
          },
        },
      ],
    ];
    test.each(LATE)("a header that is set %s does not leave", async (_how, plan) => {
      const shop = await openShop(express, { ...plan, routes });
      const text = await receive(shop);
      expect(text).toMatch(/^HTTP\/1\.1 200/);
      expect(text).not.toMatch(PAYMENT_HEADER);
      expect(shop.facilitator.settled).toEqual([10_000n]);
    });

    test("a handler's own 402 stays 402", async () => {
      const { lines, logger } = watch();
      const shop = await openShop(express, {
        handler: (_req, res) => void res.sendStatus(402),
        routes,
        options: { logger },
      });
      expect(await receive(shop)).toMatch(/^HTTP\/1\.1 402/);
      expect(lines).not.toContainEqual(FOUND);
    });
  });

  test("a copy of a sale that was kept has no header of the upstream's", async () => {
    const upstream = await openUpstream((_req, res) => void res.writeHead(200, FOREIGN).end("sold"));
    const shop = await openShop(express, { handler: proxyTo(upstream), options: { strict: false } });
    const { challenge } = await shop.ask();
    expect(challenge).toBeDefined();
    const { header } = await shop.sign();
    const both = await Promise.all([shop.ask({ payment: header }), shop.ask({ payment: header })]);
    for (const { status, headers } of both) {
      expect(status).toBe(200);
      expect(
        Object.keys(headers).filter((name) => /^(?:payment-(?!response)|x-payment|extension-r)/.test(name)),
      ).toEqual([]);
    }
    expect(shop.facilitator.settled).toEqual([10_000n]);
  });

  test("a request that a hook lets through unpaid gets no challenge of an upstream", async () => {
    const upstream = await openUpstream((_req, res) => void res.writeHead(402, FOREIGN).end("{}"));
    const shop = await openShop(express, {
      handler: proxyTo(upstream),
      options: { strict: false, hooks: { onRequest: () => ({ grant: true }) } },
    });
    const { status, headers } = await shop.ask();
    expect([status, headers["payment-required"], headers["x-upstream"]]).toEqual([502, undefined, "1"]);
  });
});
