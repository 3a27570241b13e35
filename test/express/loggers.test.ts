/**
 * Loggers that sellers have: pino, winston and the console work as they are.
 */
import { Writable } from "node:stream";
import type { LoggerOption } from "@farebox/express";
import express from "express";
import { pino } from "pino";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createLogger, format, transports } from "winston";
import { openShop } from "./shop.js";

/** Text that was written, a line each. */
function createSink() {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(...String(chunk).trim().split("\n"));
      done();
    },
  });
  return { lines, stream };
}

/** A settlement is refused, and its log lines are read back. */
async function refuseOne(logger: LoggerOption) {
  const shop = await openShop(express, { options: { logger }, handler: (_req, res) => void res.send("goods") });
  shop.facilitator.failNext("rejected");
  const { status } = await shop.pay();
  expect(status).toBe(402);
  return shop.payer.address;
}

afterEach(() => void vi.restoreAllMocks());

describe("the logger", () => {
  test("pino() gets the event as its message, and fields beside it", async () => {
    const { lines, stream } = createSink();
    const payer = await refuseOne(pino({ level: "warn" }, stream));
    const logged = lines.map((line) => JSON.parse(line));
    expect(logged).toContainEqual(
      expect.objectContaining({ level: 40, msg: "settlement_rejected", route: "GET /paid", payer }),
    );
  });

  test("a child of pino keeps its own fields", async () => {
    const { lines, stream } = createSink();
    await refuseOne(pino({}, stream).child({ service: "shop" }));
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ service: "shop", msg: "settlement_rejected" }),
    );
  });

  test("winston gets the event as its message, and fields as its meta", async () => {
    const { lines, stream } = createSink();
    const payer = await refuseOne(
      createLogger({ level: "warn", format: format.json(), transports: [new transports.Stream({ stream })] }),
    );
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ level: "warn", message: "settlement_rejected", route: "GET /paid", payer }),
    );
  });

  test("console gets the event, and then the fields", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    vi.spyOn(console, "info").mockImplementation(() => {});
    const payer = await refuseOne(console);
    expect(warn).toHaveBeenCalledWith("settlement_rejected", expect.objectContaining({ route: "GET /paid", payer }));
  });

  test('"json" writes an object a line on stderr', async () => {
    const { lines, stream } = createSink();
    vi.spyOn(process.stderr, "write").mockImplementation((text) => stream.write(text));
    const payer = await refuseOne("json");
    const logged = lines.map((line) => JSON.parse(line));
    expect(logged.find(({ event }) => event === "settlement_rejected")).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      ...{ level: "warn", name: "farebox", event: "settlement_rejected" },
      ...{ route: "GET /paid", network: "eip155:84532", payer, amount: "10000", asset: expect.any(String) },
      reason: expect.any(String),
    });
  });
});
