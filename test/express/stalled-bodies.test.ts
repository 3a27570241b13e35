/** Uploads of empty wallets that stall: they end, and take no memory from the bodies of others. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createPayments, type StartTimer } from "@farebox/express";
import { createPayer, createTestFacilitator, type Payer, pay } from "@farebox/testing";
import type express5 from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { LENIENT, openServer, PAY_TO, VERSIONS } from "./shop.js";

const MIB = 1024 * 1024;
const BODY_MS = 60_000;
const QUIET = { info() {}, warn() {}, error() {} };
const PRICED = { accepts: { price: "$0.01", network: "eip155:84532", payTo: PAY_TO } } as const;

async function openShop(express: typeof express5) {
  const facilitator = createTestFacilitator();
  const limits = new Set<() => void>();
  const timer: StartTimer = (act, delayMs) => {
    if (delayMs !== BODY_MS) return () => {};
    limits.add(act);
    return () => void limits.delete(act);
  };
  const payments = createPayments({ facilitator, timer, logger: QUIET, ...LENIENT });
  onTestFinished(() => payments.close());
  let runs = 0;
  /** Bytes that each request has waiting, in the order of their arrival. */
  const arrived: { readonly readableLength: number }[] = [];
  const shop = await openServer(express, (app) => {
    app.set("trust proxy", true);
    app.use((req, _res, next) => {
      const address = req.get("X-Connected-From");
      // Tests connect from this machine alone.
      if (address !== undefined) Object.defineProperty(req.socket, "remoteAddress", { value: address });
      if (req.headers["payment-signature"] !== undefined) arrived.push(req);
      next();
    });
    app.use(payments.routes({ "POST /paid": PRICED }));
    app.post("/paid", (req, res) => {
      runs++;
      let size = 0;
      req.on("data", (chunk: Buffer) => (size += chunk.length)).on("end", () => res.json({ size }));
    });
  });
  const signed = async (payer: Payer) => {
    const { payment } = await pay(shop.url, { path: "/paid", method: "POST", payer, body: "{}" });
    return payment!;
  };
  return { facilitator, shop, limits, arrived, runs: () => runs, signed };
}

type Shop = Awaited<ReturnType<typeof openShop>>;

interface Upload {
  readonly from: string;
  readonly size: number;
  /** The client makes its address uncertain, by a header that a proxy would write. */
  readonly isUnnamed?: boolean;
  /** Default: one of a new wallet. */
  readonly payment?: object;
}

/** A wallet with nothing in it sends a part of a body, and no more. */
async function stall({ shop, arrived, signed }: Shop, { from, size, isUnnamed = false, ...given }: Upload) {
  const payment = given.payment ?? (await signed(createPayer()));
  const before = arrived.length;
  const { hostname, port } = new URL(shop.url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  const header = Buffer.from(JSON.stringify(payment)).toString("base64");
  const head = [
    "POST /paid HTTP/1.1",
    "Host: shop.example",
    ...(isUnnamed ? [`X-Connected-From: ${from}`, "Via: 1.1 nobody"] : [`X-Forwarded-For: ${from}`]),
    `PAYMENT-SIGNATURE: ${header}`,
    `Content-Length: ${size + 1}`,
  ];
  let text = "";
  socket.setEncoding("latin1").on("data", (piece: string) => {
    text += piece;
  });
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  socket.write(Buffer.alloc(size));
  const ended = once(socket, "data");
  const isThere = () => (arrived[before]?.readableLength ?? 0) === size;
  while (!isThere() && text === "") await new Promise(setImmediate);
  return { socket, said: () => text, ended };
}

function statusOf(text: string): number {
  return Number(text.split(" ")[1]);
}

async function buy({ facilitator, shop }: Shop, { from, size }: { readonly from: string; readonly size: number }) {
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 10_000n);
  const headers = { "X-Forwarded-For": from, "Content-Type": "application/octet-stream" };
  const { status, text } = await pay(shop.url, {
    path: "/paid",
    method: "POST",
    payer,
    headers,
    body: Buffer.alloc(size),
  });
  return [status, text];
}

describe.each(VERSIONS)("on %s", (_, express) => {
  test.each([
    ["203.0.113.7", "203.0.113.7", "198.51.100.1"],
    ["one network of IPv6", "2001:db8:1:2::7", "2001:db8:1:3::7"],
  ])("stalled uploads from %s leave room for all others", async (_what, from, other) => {
    const shop = await openShop(express);
    const stalled: { socket: Socket; said: () => string }[] = [];
    // The share of one source, but for what Node keeps by itself.
    for (let at = 0; at < 4; at++) {
      const address = from.includes(":") ? `2001:db8:1:2:${at}::9` : from;
      stalled.push(await stall(shop, { from: address, size: 4 * MIB }));
    }
    const late = await stall(shop, { from, size: 4 * MIB });
    expect(statusOf(late.said())).toBe(503);
    expect(stalled.map(({ said }) => said())).toEqual(["", "", "", ""]);
    const size = 8 * MIB;
    expect(await buy(shop, { from: other, size })).toEqual([200, JSON.stringify({ size })]);
    expect(shop.runs()).toBe(1);
  });

  test("a client that makes its address uncertain has one share, too", async () => {
    const shop = await openShop(express);
    const upload = { from: "203.0.113.7", size: 4 * MIB, isUnnamed: true };
    for (let at = 0; at < 4; at++) await stall(shop, upload);
    expect(statusOf((await stall(shop, upload)).said())).toBe(503);
    const size = 8 * MIB;
    expect(await buy(shop, { from: "198.51.100.1", size })).toEqual([200, JSON.stringify({ size })]);
  });

  test("a payment that was used takes no memory that is short: anybody can copy it from the chain", async () => {
    const shop = await openShop(express);
    const payer = createPayer();
    shop.facilitator.ledger.fund(payer.address, 10_000n);
    const { payment, status } = await pay(shop.shop.url, { path: "/paid", method: "POST", payer, body: "used" });
    expect(status).toBe(200);
    for (let at = 0; at < 8; at++) await stall(shop, { from: `203.0.113.${at}`, size: 4 * MIB });
    const copy = await stall(shop, { from: "203.0.113.100", size: 4 * MIB, payment: payment ?? {} });
    expect(statusOf(copy.said())).toBe(503);
  });

  test("the facilitator is asked before more is read, once half of the memory is taken by payments that nobody verified", async () => {
    const shop = await openShop(express);
    for (let at = 0; at < 8; at++) await stall(shop, { from: `203.0.113.${at}`, size: 4 * MIB });
    const empty = await stall(shop, { from: "203.0.113.100", size: 4 * MIB });
    expect(statusOf(empty.said())).toBe(402);
    expect(empty.said()).toContain("insufficient_funds");
    const size = 15 * MIB;
    expect(await buy(shop, { from: "198.51.100.1", size })).toEqual([200, JSON.stringify({ size })]);
    expect(shop.runs()).toBe(1);
  });

  test("a body that takes longer than a minute ends, and gives its memory back", async () => {
    const shop = await openShop(express);
    const from = "203.0.113.7";
    const stalled = [];
    for (let at = 0; at < 4; at++) stalled.push(await stall(shop, { from, size: 4 * MIB }));
    expect(shop.limits.size).toBe(4);
    for (const act of [...shop.limits]) act();
    await Promise.all(stalled.map(({ ended }) => ended));
    expect(stalled.map(({ said }) => statusOf(said()))).toEqual([408, 408, 408, 408]);
    const size = 15 * MIB;
    expect(await buy(shop, { from, size })).toEqual([200, JSON.stringify({ size })]);
    expect(shop.limits.size).toBe(0);
  });
});
