/**
 * Apps that no network reaches: adapters for functions of a cloud make requests of events, with a plain object in place of a socket, and
 * read the response when it emits "finish".
 */
import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Express } from "express";
import { describe, expect, test } from "vitest";
import { openShop, PRICED, VERSIONS } from "./shop.js";

interface FunctionResponse {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: string;
}

/** Calls an app with an event, as such an adapter does. */
function invoke(app: Express, path: string, headers: Record<string, string> = {}): Promise<FunctionResponse> {
  const nothing = () => {};
  const req = new IncomingMessage({ encrypted: true, readable: false, end: nothing, destroy: nothing } as never);
  Object.assign(req, { method: "GET", url: path, headers: { host: "shop.example", ...headers }, complete: true });
  const res = new ServerResponse(req);
  res.useChunkedEncodingByDefault = false;
  const sent: Buffer[] = [];
  const write = (data: string | Uint8Array, encoding: unknown, callback: unknown) => {
    sent.push(Buffer.from(data as string));
    for (const called of [encoding, callback]) if (typeof called === "function") called();
    return true;
  };
  const socket = { _writableState: {}, writable: true, on: nothing, removeListener: nothing, destroy: nothing };
  res.assignSocket({ ...socket, cork: nothing, uncork: nothing, write } as unknown as Socket);
  return new Promise((resolve) => {
    res.once("finish", () => {
      const [, body = ""] = Buffer.concat(sent).toString("utf8").split("\r\n\r\n");
      resolve({ status: res.statusCode, headers: res.getHeaders(), body });
    });
    app(req as never, res as never);
  });
}

describe.each(VERSIONS)("on %s, without a connection", (_, express) => {
  async function openFunction() {
    let app: Express | undefined;
    const shop = await openShop(express, {
      routes: { "GET /paid": PRICED, "GET /failing": PRICED },
      build(into, payments) {
        app = into.use(payments);
        into.get("/paid", (_req, res) => void res.json({ secret: 1 }));
        into.get("/failing", (_req, res) => void res.status(503).json({ error: "later" }));
      },
    });
    const call = (path: string, headers?: Record<string, string>) => invoke(app as Express, path, headers);
    return { ...shop, call };
  }

  test("a request without a payment is asked for one", async () => {
    const { call } = await openFunction();
    const { status, headers } = await call("/paid");
    expect([status, typeof headers["payment-required"]]).toEqual([402, "string"]);
  });

  test("a paid request gets its response, and is charged", async () => {
    const { call, sign, facilitator } = await openFunction();
    const { header } = await sign("/paid");
    const { status, headers, body } = await call("/paid", { "payment-signature": header });
    expect([status, body]).toEqual([200, '{"secret":1}']);
    expect(typeof headers["payment-response"]).toBe("string");
    expect(facilitator.settled).toEqual([10_000n]);
  });

  test("a response that has finished counts as delivered, so that its payment buys nothing more", async () => {
    const { call, sign } = await openFunction();
    const { header } = await sign("/paid");
    await call("/paid", { "payment-signature": header });
    expect((await call("/paid", { "payment-signature": header })).status).toBe(402);
  });

  test("an error is not charged", async () => {
    const { call, sign, facilitator } = await openFunction();
    const { header } = await sign("/failing");
    expect((await call("/failing", { "payment-signature": header })).status).toBe(503);
    expect(facilitator.settled).toEqual([]);
  });
});
