/**
 * A route at the root of a mount is one entry: its resource, its template, and what its server says when the catalog asks.
 *
 * @module
 */
import type { RequestListener } from "node:http";
import { ExactEvmScheme, HTTPFacilitatorClient, paymentMiddleware, x402ResourceServer } from "@farebox/compat";
import { createPayments, type Payments, type PaymentsOptions } from "@farebox/express";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import * as reference from "@x402/core/server";
import { ExactEvmScheme as ReferenceScheme } from "@x402/evm/exact/server";
import { paymentMiddleware as referenceMiddleware } from "@x402/express";
import type { Express, RequestHandler } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { VERSIONS } from "../express/shop.js";
import { PATIENT_SELLER } from "../interop/servers.js";
import { NETWORK, PAYEE } from "./library.js";
import { entriesOf, openHere, serve } from "./sellers.js";

const DAY_MS = 24 * 60 * 60 * 1_000;

const FEES = { price: "$0.001", description: "Fees", extensions: { bazaar: { discoverable: true } } } as const;

const sell: RequestHandler = (_req, res) => void res.json({ sold: true });

interface Plan {
  /** What sells is created by this version of Express. */
  readonly build: (app: Express, payments: Payments, facilitatorUrl: string) => void;
  /** The paths that clients ask for, in this order. */
  readonly paths: readonly string[];
  readonly options?: (origin: string) => Partial<PaymentsOptions>;
  /** What is in front of the app. */
  readonly front?: (app: Express) => RequestListener;
}

/** Sells at each path, and yields what the challenges named, what the facilitator said about listing, and what is listed. */
async function play(app: Express, { build, paths, options = () => ({}), front = (inner) => inner }: Plan) {
  const clock = { now: Date.now() };
  const library = await openHere({ now: () => clock.now });
  const server: { listener: RequestListener } = { listener: app };
  const { url } = await serve((req, res) => server.listener(req, res));
  const payments = createPayments({
    ...PATIENT_SELLER,
    ...{ facilitator: library.facilitator, strict: false, networks: [NETWORK], payTo: { "eip155:*": PAYEE } },
    ...options(url),
  });
  onTestFinished(() => payments.close());
  app.set("env", "test");
  build(app, payments, library.url);
  server.listener = front(app);
  const payer = createPayer();
  const buy = async (path: string) => {
    const { status, challenge } = await pay(url, { path });
    expect(status).toBe(402);
    const paid = await pay(url, { path, payer });
    expect(paid).toMatchObject({ status: 200, receipt: { success: true } });
    const said = JSON.parse(Buffer.from(String(paid.headers["extension-responses"]), "base64").toString());
    return { resource: challenge?.resource.url.replace(url, ""), said: said.bazaar };
  };
  const listed = async () => (await entriesOf(library)).map(({ resource }) => resource.replace(url, ""));

  const first = [];
  for (const path of paths) first.push(await buy(path));
  for (const { said } of first) expect(said).not.toHaveProperty("rejectedReason");
  await library.catalog.checkDue();
  const entries = await listed();
  for (const path of paths) expect((await buy(path)).said).toEqual({ status: "success" });
  clock.now += DAY_MS;
  await library.catalog.checkDue();
  expect(await listed()).toEqual(entries);
  for (const path of paths) expect((await buy(path)).said).toEqual({ status: "success" });
  return { resources: first.map(({ resource }) => resource), entries };
}

/** The reference's way to write a seller, on compat. */
function compatTable(url: string): RequestHandler {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url })).register(NETWORK, new ExactEvmScheme());
  const accepts = { scheme: "exact", price: "$0.001", network: NETWORK, payTo: PAYEE } as const;
  return paymentMiddleware({ "GET /": { accepts, description: "Fees", extensions: FEES.extensions } }, server);
}

describe.each(VERSIONS)("on %s, a route at the root of a mount", (_, express) => {
  const router = (strict = false) => express.Router({ strict });
  const app = (strict = false) => (strict ? express().enable("strict routing") : express());

  const MOUNTED: readonly (readonly [what: string, build: Plan["build"]])[] = [
    ["a charge in a router", (app, payments) => app.use("/fees/basic", router().get("/", payments.charge(FEES), sell))],
    [
      "a table in a router",
      (app, payments) =>
        app.use(
          "/fees/basic",
          router()
            .use(payments.routes({ "GET /": FEES }))
            .get("/", sell),
        ),
    ],
    [
      "a table that is mounted",
      (app, payments) => app.use("/fees/basic", payments.routes({ "GET /": FEES })).get("/fees/basic", sell),
    ],
    [
      "a charge in an app in the app",
      (app, payments) => app.use("/fees/basic", express().get("/", payments.charge(FEES), sell)),
    ],
    [
      "a table in an app in the app",
      (app, payments) =>
        app.use(
          "/fees/basic",
          express()
            .use(payments.routes({ "GET /": FEES }))
            .get("/", sell),
        ),
    ],
    [
      "a charge in a router in a router",
      (app, payments) => app.use("/fees", router().use("/basic", router().get("/", payments.charge(FEES), sell))),
    ],
    [
      "a charge in a router at a mount that is written with a slash",
      (app, payments) => app.use("/fees/basic/", router().get("/", payments.charge(FEES), sell)),
    ],
    [
      "compat in a router",
      (app, _payments, url) => app.use("/fees/basic", router().use(compatTable(url)).get("/", sell)),
    ],
  ];

  test.each(MOUNTED)("is listed, stays listed and is paid for again: %s", async (_what, build) => {
    expect(await play(app(), { build, paths: ["/fees/basic", "/fees/basic/", "/fees/basic?x=1"] })).toEqual({
      resources: ["/fees/basic", "/fees/basic/", expect.stringMatching(/^\/fees\/basic(?:\?x=1)?$/)],
      entries: ["/fees/basic"],
    });
  });

  test("is one entry where routing is strict", async () => {
    const build: Plan["build"] = (app, payments) =>
      app.use("/fees/basic", router(true).get("/", payments.charge(FEES), sell));
    expect(await play(app(true), { build, paths: ["/fees/basic", "/fees/basic/"] })).toEqual({
      resources: ["/fees/basic", "/fees/basic/"],
      entries: ["/fees/basic"],
    });
  });

  test("is one entry below a mount with a parameter", async () => {
    const build: Plan["build"] = (app, payments) =>
      app.use("/fees/:kind", router().get("/", payments.charge(FEES), sell));
    expect(await play(app(), { build, paths: ["/fees/basic", "/fees/full/"] })).toEqual({
      resources: ["/fees/basic", "/fees/full/"],
      entries: ["/fees/:kind"],
    });
  });

  test("is one entry where a charge takes all that is below the mount", async () => {
    const build: Plan["build"] = (app, payments) => app.use("/fees/basic", payments.charge(FEES), sell);
    expect(await play(app(), { build, paths: ["/fees/basic", "/fees/basic/", "/fees/basic/more"] })).toEqual({
      resources: ["/fees/basic", "/fees/basic/", "/fees/basic/more"],
      entries: ["/fees/basic/:var1"],
    });
  });

  /** A proxy that serves the app below `/v1`. */
  const behindV1 = (inner: Express): RequestListener => {
    return (req, res) => inner(Object.assign(req, { url: (req.url ?? "").replace(/^\/v1/, "") || "/" }), res);
  };
  const options = (origin: string) => ({ publicUrl: `${origin}/v1` });

  test.each([
    ["the seller has a publicUrl with a path", "/fees/basic", ["/v1/fees/basic", "/v1/fees/basic/"]],
    ["it is the root of the site", "/", ["/v1/", "/v1/"]],
  ] as const)("has the path of the public URL where %s", async (_what, mount, named) => {
    const build: Plan["build"] = (app, payments) => app.use(mount, router().get("/", payments.charge(FEES), sell));
    const paths = mount === "/" ? ["/v1", "/v1/"] : named;
    const { resources, entries } = await play(app(), { build, paths, options, front: behindV1 });
    expect(resources).toEqual(named);
    expect(entries).toEqual(named.slice(0, 1));
  });

  test.each<[string, Plan["build"]]>([
    ["a charge", (app, payments) => app.get("/", payments.charge(FEES), sell)],
    ["a table", (app, payments) => app.use(payments.routes({ "GET /": FEES })).get("/", sell)],
    ["a charge in a router", (app, payments) => app.use(router().get("/", payments.charge(FEES), sell))],
  ])("has the one slash of the site's root: %s", async (_what, build) => {
    expect(await play(app(), { build, paths: ["/"] })).toEqual({ resources: ["/"], entries: ["/"] });
  });

  test("has in /.well-known/x402 the spelling that its challenge has", async () => {
    const server: { listener: RequestListener } = { listener: app() };
    const { url } = await serve((req, res) => server.listener(req, res));
    const open = (settings: Partial<PaymentsOptions>) => {
      const payments = createPayments({
        ...PATIENT_SELLER,
        ...{ facilitator: createTestFacilitator(), strict: false, networks: [NETWORK], payTo: { "eip155:*": PAYEE } },
        ...settings,
      });
      onTestFinished(() => payments.close());
      const shop = app().get("/.well-known/x402", payments.wellKnown());
      shop.get("/", payments.charge(FEES), sell);
      return shop.use("/fees/basic", router().get("/", payments.charge(FEES), sell));
    };
    for (const [prefix, settings, front] of [
      ["", {}, (inner: Express) => inner],
      ["/v1", options(url), behindV1],
    ] as const) {
      server.listener = front(open(settings));
      const { resources } = (await pay(url, { path: `${prefix}/.well-known/x402` })).json() as { resources: string[] };
      expect(resources).toEqual([`${url}${prefix}/`, `${url}${prefix}/fees/basic`]);
      for (const resource of resources) expect((await pay(resource)).challenge?.resource.url).toBe(resource);
    }
  });

  test("is named as the reference names it", async () => {
    const library = await openHere();
    const facilitator = new reference.HTTPFacilitatorClient({ url: library.url });
    const server = new reference.x402ResourceServer(facilitator).register(NETWORK, new ReferenceScheme());
    const accepts = { scheme: "exact", price: "$0.001", network: NETWORK, payTo: PAYEE } as const;
    const theirs = referenceMiddleware({ "GET /": { accepts } }, server);
    const sellers = [compatTable(library.url), theirs].map((table) =>
      serve(app().use("/fees/basic", router().use(table).get("/", sell))),
    );
    const [ours, others] = await Promise.all(sellers);
    for (const path of ["/fees/basic", "/fees/basic/"]) {
      const named = [];
      for (const { url } of [ours, others].flatMap((one) => one ?? [])) {
        named.push((await pay(url, { path })).challenge?.resource.url.replace(url, ""));
      }
      expect(named).toEqual([path, path]);
    }
  });
});
