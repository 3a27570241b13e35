/**
 * A facilitator's word about a declaration is kept, logged and relayed, and never prevents a payment.
 *
 * @module
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ExtensionResponses, Facilitator, PaymentEvent } from "@farebox/core";
import { decodeExtensionResponses, encodeExtensionResponses } from "@farebox/core/protocol";
import { createPayments, type PaymentsOptions, type RouteConfig } from "@farebox/express";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import express from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { listener } from "../listener.js";
import { LENIENT, PATIENT, PRICED } from "./shop.js";

const DECLARED: RouteConfig = { ...PRICED, extensions: { bazaar: { discoverable: true } } };

/** The words of the facilitator in each call. */
interface Words {
  readonly verify?: unknown;
  readonly settle?: unknown;
}

function openListedShop(facilitator: PaymentsOptions["facilitator"], options: Partial<PaymentsOptions> = {}) {
  const warned: string[] = [];
  const logger = { info() {}, error() {}, warn: (event: string) => void warned.push(event) };
  const payments = createPayments({ facilitator, logger, deadlines: PATIENT, ...LENIENT, ...options });
  const heard: PaymentEvent<"extension_outcome">[] = [];
  payments.on("extension_outcome", (event) => heard.push(event));
  const app = express();
  app.use(
    payments.routes({ "GET /paid": DECLARED, "GET /silent": PRICED, "GET /first": { ...DECLARED, settle: "before" } }),
  );
  app.get(["/paid", "/silent", "/first"], (_req, res) => void res.json({}));
  app.get("/report/:id", payments.charge(DECLARED), (_req, res) => void res.json({}));
  onTestFinished(() => payments.close());
  return { app, payments, warned, heard };
}

/** A facilitator in this process that says something besides. */
function createTeller(words: Words) {
  const facilitator = createTestFacilitator();
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 1_000_000n);
  const telling: Facilitator = {
    verify: async (request, options) =>
      ({ ...(await facilitator.verify(request, options)), extensionResponses: words.verify }) as never,
    settle: async (request, options) =>
      ({ ...(await facilitator.settle(request, options)), extensionResponses: words.settle }) as never,
    supported: (options) => facilitator.supported(options),
  };
  return { facilitator, telling, payer };
}

/** The same behind HTTP, in a header. */
async function openTeller(words: { readonly [call in keyof Words]: string | readonly string[] }) {
  const { facilitator, payer } = createTeller({});
  const server = createServer(
    listener(async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk);
      const call = req.url?.slice(1) as "verify" | "settle" | "supported";
      const body = call === "supported" ? undefined : JSON.parse(Buffer.concat(chunks).toString());
      const said = call === "supported" ? undefined : words[call];
      if (said !== undefined) res.setHeader("EXTENSION-RESPONSES", said);
      res.end(JSON.stringify(await facilitator[call](body)));
    }),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, payer };
}

function relayedBy({
  headers,
}: {
  readonly headers: Readonly<Record<string, unknown>>;
}): ExtensionResponses | undefined {
  return decodeExtensionResponses(headers["extension-responses"] as string | undefined);
}

const SUCCESS = { bazaar: { status: "success" } } as const;
const PROCESSING = { bazaar: { status: "processing" } } as const;
const REJECTED = { bazaar: { status: "rejected", rejectedReason: "routeTemplate does not match" } } as const;

describe("what a facilitator says of a declaration", () => {
  test.each<[why: string, words: Words, listing: object | undefined, relayed: object | undefined]>([
    ["nothing", {}, undefined, undefined],
    ["at settlement", { settle: SUCCESS }, { status: "success", operation: "settle" }, SUCCESS],
    ["at verification only", { verify: PROCESSING }, { status: "processing", operation: "verify" }, PROCESSING],
    ["twice", { verify: PROCESSING, settle: SUCCESS }, { status: "success", operation: "settle" }, SUCCESS],
    ["no", { settle: REJECTED }, { ...REJECTED.bazaar, operation: "settle" }, REJECTED],
  ])("a listing is kept and handed on when the facilitator says %s", async (_why, words, listing, relayed) => {
    const { telling, payer } = createTeller(words);
    const { app, payments } = openListedShop(telling, { now: () => 1_800_000_000_000 });
    const paid = await pay(app, { path: "/paid", payer, now: () => 1_800_000_000_000 });
    expect(paid.status).toBe(200);
    expect(relayedBy(paid)).toEqual(relayed);
    const kept = listing === undefined ? undefined : { ...listing, atMs: 1_800_000_000_000 };
    expect(payments.listing("GET /paid")).toEqual(kept);
    expect(payments.report().routes.find(({ key }) => key === "GET /paid")).toMatchObject({
      isPublic: true,
      listing: kept,
    });
  });

  test("a listing is kept for a route with charge(), and for one that settles first", async () => {
    const { telling, payer } = createTeller({ settle: SUCCESS });
    const { app, payments } = openListedShop(telling);
    expect(relayedBy(await pay(app, { path: "/report/7", payer }))).toEqual(SUCCESS);
    expect(relayedBy(await pay(app, { path: "/first", payer }))).toEqual(SUCCESS);
    expect(payments.listing("GET /report/:id")).toMatchObject({ status: "success" });
    expect(payments.listing("GET /first")).toMatchObject({ status: "success" });
    const reported = payments.report(app).routes.find(({ path }) => path === "/report/:id");
    expect(reported?.listing).toMatchObject({ status: "success" });
  });

  test("a listing is emitted as an event", async () => {
    const { telling, payer } = createTeller({ verify: PROCESSING, settle: REJECTED });
    const { app, heard } = openListedShop(telling);
    await pay(app, { path: "/paid", payer });
    expect(heard).toMatchObject([
      { type: "extension_outcome", extension: "bazaar", operation: "verify", status: "processing", route: "GET /paid" },
      { extension: "bazaar", operation: "settle", ...REJECTED.bazaar, payer: payer.address },
    ]);
  });

  test("a refused listing is logged once, and is among the findings", async () => {
    const { telling, payer } = createTeller({ settle: REJECTED });
    const { app, payments, warned } = openListedShop(telling);
    for (let count = 0; count < 3; count++) await pay(app, { path: "/paid", payer });
    expect(warned.filter((event) => event === "FAREBOX_LISTING_REJECTED")).toHaveLength(1);
    const found = payments.report().findings.find(({ code }) => code === "FAREBOX_LISTING_REJECTED");
    expect(found).toMatchObject({
      route: "GET /paid",
      message: expect.stringContaining("routeTemplate does not match"),
    });
  });

  test("a listing is kept but not handed on when the seller does not want that", async () => {
    const { telling, payer } = createTeller({ settle: SUCCESS });
    const { app, payments } = openListedShop(telling, { relayExtensionResponses: false });
    expect((await pay(app, { path: "/paid", payer })).headers).not.toHaveProperty("extension-responses");
    expect(payments.listing("GET /paid")).toMatchObject({ status: "success" });
  });

  test("a listing does not count for a route that declares nothing", async () => {
    const { telling, payer } = createTeller({ settle: SUCCESS });
    const { app, payments } = openListedShop(telling);
    expect((await pay(app, { path: "/silent", payer })).headers).not.toHaveProperty("extension-responses");
    expect(payments.listing("GET /silent")).toBeUndefined();
  });

  test("a listing is read from a header of a facilitator behind HTTP", async () => {
    const { url, payer } = await openTeller({
      verify: encodeExtensionResponses(PROCESSING),
      settle: encodeExtensionResponses({ ...REJECTED, other: { status: "success" } }),
    });
    const { app, payments } = openListedShop(url);
    expect(relayedBy(await pay(app, { path: "/paid", payer }))).toEqual(REJECTED);
    expect(payments.listing("GET /paid")).toMatchObject(REJECTED.bazaar);
  });

  test.each<[why: string, words: Parameters<typeof openTeller>[0]]>([
    ["no base64", { verify: "%%%", settle: "<script>" }],
    ["no JSON", { settle: "bm90IEpTT04=" }],
    ["sent twice", { settle: [encodeExtensionResponses(SUCCESS), encodeExtensionResponses(REJECTED)] }],
    ["of another form", { settle: Buffer.from('{"bazaar":[1,{"status":{}}]}').toString("base64") }],
    ["too long", { settle: "QUFB".repeat(2500) }],
  ])("a listing that is %s does not stop a payment", async (_why, words) => {
    const { url, payer } = await openTeller(words);
    const { app, payments } = openListedShop(url);
    const paid = await pay(app, { path: "/paid", payer });
    expect(paid).toMatchObject({ status: 200, receipt: { success: true } });
    expect(paid.headers).not.toHaveProperty("extension-responses");
    expect(payments.listing("GET /paid")).toBeUndefined();
  });

  test.each([[1], ["bazaar"], [[]], [{ bazaar: null }], [{ bazaar: { status: 1 } }], [{ __proto__: null }]])(
    "a listing of %o by a facilitator in this process does not stop a payment",
    async (said) => {
      const { telling, payer } = createTeller({ verify: said, settle: said });
      const { app, payments } = openListedShop(telling);
      expect(await pay(app, { path: "/paid", payer })).toMatchObject({ status: 200, receipt: { success: true } });
      expect(payments.listing("GET /paid")).toBeUndefined();
    },
  );
});
