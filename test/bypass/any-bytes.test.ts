/**
 * Requests of any bytes: the server neither crashes nor hangs, and no priced handler runs.
 *
 * @module
 */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPayments } from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";
import type { RequestHandler } from "express";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { readDraws } from "../draws.js";
import { expectNoStrayErrors, PRICED, VERSIONS } from "../express/shop.js";

const draws = readDraws("requests of any bytes");

/** In one draw. */
const REQUESTS = 250;

const KEYS = ["/paid", "/any/:id", "/f/*path", "/s/*", "/o{/:p}", "/m/:a-:b"];
/** The same routes as both versions of Express write them. */
const ROUTES = ["/paid", "/any/:id", "/m/:a-:b", /^\/f\/.+/, /^\/s(?:\/.*)?$/, /^\/o(?:\/[^/]+)?\/?$/];
const TARGETS = ["/paid", "/any/7", "/f/a/b", "/s", "/o", "/m/x-y", "/api/paid", "*", "http://x/paid"];
const HEADERS = ["PAYMENT-SIGNATURE: ", "Host: ", "X-Forwarded-Proto: ", "Transfer-Encoding: chunked", "Expect: "];

/** Latin-1, so that a character is a byte. */
const bytes = fc.string({ unit: fc.nat(0xff).map((code) => String.fromCharCode(code)), maxLength: 60 });
const targets = fc.tuple(fc.constantFrom(...TARGETS), fc.nat(20), bytes).map(([target, at, more]) => {
  return target.slice(0, at) + more.replace(/[\r\n ]/g, "") + target.slice(at);
});
const lines = fc.array(
  fc.oneof(
    bytes,
    fc.tuple(fc.constantFrom(...HEADERS), bytes).map(([name, value]) => name + value),
  ),
  {
    maxLength: 4,
  },
);
const methods = fc.constantFrom("GET", "HEAD", "POST", "DELETE", "OPTIONS", "PROPFIND", "get", "");
const requests = fc.oneof(
  { weight: 1, arbitrary: bytes },
  {
    weight: 6,
    arbitrary: fc
      .tuple(methods, fc.oneof(targets, fc.constantFrom(...TARGETS)), lines)
      .map(([method, target, headers]) => [`${method} ${target} HTTP/1.1`, "Host: x", ...headers, "", ""].join("\r\n")),
  },
);

/** Any header may come, also one that is worth a warning. */
const QUIET = { info() {}, warn() {}, error() {} };

describe.each(VERSIONS)("on %s", (_, express) => {
  test(
    "every connection ends, and no priced handler is reached, for any bytes",
    async () => {
      expectNoStrayErrors();
      let reached = 0;
      const reach: RequestHandler = (req, res) => {
        if (req.method !== "OPTIONS") reached += 1;
        res.end();
      };
      const payments = createPayments({ facilitator: createTestFacilitator(), logger: QUIET });
      const app = express().set("env", "test");
      app.use(payments.routes(Object.fromEntries(KEYS.map((key) => [key, PRICED]))));
      app.all(ROUTES, reach);
      app.use("/api", express.Router().all("/paid", payments.charge(PRICED), reach));
      const send = await openServer(app);

      const sending = fc.asyncProperty(requests, async (text) => void (await send(text)));
      for (const seed of draws.seeds()) await fc.assert(sending, { seed, numRuns: REQUESTS });
      expect(await send("GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).toContain("404");
      expect(reached).toBe(0);
    },
    draws.timeoutMs,
  );
});

/** Serves for the time of the test. What is sent is all there will be: the client then ends its side. */
async function openServer(listener: Parameters<typeof createServer>[1]): Promise<(text: string) => Promise<string>> {
  const folder = await mkdtemp(join(tmpdir(), "farebox-"));
  const server = createServer(listener).listen(join(folder, "socket"));
  await once(server, "listening");
  onTestFinished(async () => {
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
    await rm(folder, { recursive: true });
  });
  return async (text) => {
    const socket = connect(join(folder, "socket")).setEncoding("latin1");
    let received = "";
    socket.on("data", (data: string) => {
      received += data;
    });
    // A server that breaks a connection off has ended it.
    socket.on("error", () => {});
    socket.end(text, "latin1");
    await once(socket, "close");
    return received;
  };
}
