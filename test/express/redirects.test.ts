/**
 * Redirects: a link to the goods is sold, and a way to another priced route is not.
 */
import { type ChargeableResponse, createPayments, type Payments } from "@farebox/express";
import type { Express, RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { NEWEST, openShop, PRICED, type Shop, type ShopPlan, VERSIONS } from "./shop.js";

const SIGNED = "https://cdn.example.com/song.mp3?sig=1";
const QUIET = { info() {}, warn() {}, error() {} };

const sent = (res: Parameters<RequestHandler>[1], status: number, location: string) =>
  void res.writeHead(status, { Location: location }).end();

/** A redirect to where the query says. */
const redirecting: RequestHandler = (req, res) =>
  sent(res, Number(req.query["status"] ?? 302), String(req.query["to"]));

const sold: RequestHandler = (_req, res) => void res.send("sold");

const asking = (to: string, status = 302) => ({ path: `/paid?status=${status}&to=${encodeURIComponent(to)}` });

async function expectSold(shop: Shop, to: string, status = 302): Promise<void> {
  const before = shop.facilitator.settled.length;
  const response = await shop.pay(asking(to, status));
  expect(response).toMatchObject({ status, headers: { location: to }, receipt: { success: true } });
  expect(response.headers["cache-control"]).toContain("private");
  expect(shop.facilitator.settled.length - before).toBe(1);
}

/** Payments that stay good, because they bought nothing. */
const unspent = new WeakMap<Shop, string>();

async function expectUnsold(shop: Shop, to: string, status = 302): Promise<void> {
  const before = shop.facilitator.settled.length;
  const payment = unspent.get(shop) ?? (await shop.sign(asking(to, status).path)).header;
  unspent.set(shop, payment);
  const response = await shop.ask({ ...asking(to, status), payment });
  expect([to, response.status, response.receipt]).toMatchObject([to, status, { errorReason: "not_charged" }]);
  expect(response.headers).toMatchObject({ location: to });
  expect(shop.facilitator.settled.length - before).toBe(0);
}

type ExpressModule = (typeof VERSIONS)[number][1];

/** The shops of these tests, on a version of Express. */
function shopsOn(express: ExpressModule) {
  const open = (plan: ShopPlan = {}) => openShop(express, { handler: redirecting, ...plan });

  /** An app with priced routes of every kind; `/paid` redirects. */
  const openMall = (options: ShopPlan["options"] = {}) =>
    open({
      options,
      routes: {
        "GET /paid": PRICED,
        "GET /song/:id": PRICED,
        "POST /order": PRICED,
        "GET /dl/*name": PRICED,
        "GET /dl/free.txt": { ...PRICED, accepts: { ...PRICED.accepts, price: "$0" }, free: true },
      } as NonNullable<ShopPlan["routes"]>,
      build(app, payments, { facilitator }) {
        const others = createPayments({ facilitator, logger: QUIET });
        app.use(payments);
        app.get("/paid", redirecting);
        app.get(["/song/:id", /^\/dl\/.+/], sold);
        app.post("/order", sold);
        addOthers(app, others);
      },
    });

  function addOthers(app: Express, others: Payments): void {
    app.get("/charged/:id", others.charge(PRICED), sold);
    app.post("/charged-post", others.charge(PRICED), sold);
    const router = express.Router();
    router.use(others.routes({ "GET /b": PRICED }));
    router.get("/b", sold);
    app.use("/a", router);
    const inner = express();
    inner.set("env", "test");
    inner.get("/within", others.charge(PRICED), sold);
    inner.get("/back", others.charge(PRICED), redirecting);
    app.use("/inner", inner);
    app.get("/free", sold);
  }

  return { open, openMall };
}

describe.each(VERSIONS)("on %s", (_, express) => {
  const { open, openMall } = shopsOn(express);

  test("a redirect with res.redirect to a signed URL is a sale, and the same payment buys no second one", async () => {
    const shop = await open({ handler: (_req, res) => res.redirect(SIGNED) });
    const { header } = await shop.sign();
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 302, receipt: { success: true } });
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 402 });
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test("a redirect to a priced route is no sale", async () => {
    const shop = await openMall();
    for (const to of [
      "/song/1",
      "/song/1?sig=1#at",
      "/x/../song/%C3%A9",
      "/song/1/",
      "/SONG/1",
      "/dl/a/b.mp3?sig=1",
      "?again=1",
      "/charged/7",
      "/a/b",
      "/inner/within",
    ]) {
      await expectUnsold(shop, to);
    }
  });

  test("a redirect to a priced route in front of its table is no sale", async () => {
    const shop = await open({
      routes: { "GET /paid": PRICED, "GET /early": PRICED },
      build: (app, payments) => app.get("/early", redirecting).use(payments).get("/paid", redirecting),
    });
    await expectUnsold(shop, "/early");
    expect(shop.warnings).toEqual(["FAREBOX_TABLE_TOO_LATE"]);
  });

  test("a redirect from an inner app to a priced route of the outer one is no sale", async () => {
    const shop = await openMall();
    for (const to of ["/song/1", "/inner/within"]) {
      const response = await shop.pay({ path: `/inner/back?to=${encodeURIComponent(to)}` });
      expect([to, response.receipt]).toMatchObject([to, { errorReason: "not_charged" }]);
    }
    const free = await shop.pay({ path: "/inner/back?to=/free" });
    expect(free).toMatchObject({ status: 302, receipt: { success: true } });
  });

  test("a Host header does not make another server's link ours, nor does localhost", async () => {
    const shop = await openMall();
    await expectSold(shop, `${shop.url}/song/1`);
    const local = "http://localhost/song/1?sig=1";
    const asked = await shop.pay({ ...asking(local), headers: { Host: "localhost" } });
    expect(asked).toMatchObject({ status: 302, receipt: { success: true } });
    const to = "http://cdn.example.com/song/1?sig=1";
    const headers = { Host: "cdn.example.com" };
    expect(await shop.pay({ ...asking(to), headers })).toMatchObject({ status: 302, receipt: { success: true } });
    const proxied = await open({
      build(app, payments) {
        app.set("trust proxy", true);
        app.use(payments).get("/paid", redirecting);
      },
    });
    const forged = { "X-Forwarded-Host": "cdn.example.com", "X-Forwarded-Proto": "http" };
    const there = "http://cdn.example.com/paid";
    expect(await proxied.pay({ ...asking(there), headers: forged })).toMatchObject({ receipt: { success: true } });
  });

  test("each Range request is charged, and the same payment buys no other range", async () => {
    const file = import.meta.filename;
    const shop = await open({ handler: (_req, res) => res.sendFile(file) });
    const { header } = await shop.sign();
    const first = await shop.ask({ payment: header, headers: { Range: "bytes=0-3" } });
    expect(first).toMatchObject({ status: 206, text: "/**\n", receipt: { success: true } });
    expect((await shop.ask({ payment: header, headers: { Range: "bytes=4-7" } })).status).toBe(402);
    expect((await shop.pay({ headers: { Range: "bytes=4-7" } })).status).toBe(206);
    expect((await shop.pay({ headers: { Range: "bytes=99999999-" } })).receipt).toMatchObject({ success: false });
    expect(shop.facilitator.settled).toHaveLength(2);

    const whole = await open({ handler: (_req, res) => res.sendFile(file, { acceptRanges: false }) });
    expect(await whole.pay({ headers: { Range: "bytes=0-3" } })).toMatchObject({ status: 200 });
  });
});

describe.each(NEWEST)("on %s, what Express has no part in", (_, express) => {
  const { open, openMall } = shopsOn(express);

  test("a redirect to a signed URL is a sale with each status", async () => {
    const shop = await open();
    for (const status of [300, 301, 302, 303, 307, 308]) await expectSold(shop, SIGNED, status);
  });

  test("a redirect to a signed URL does not leave while its settlement is unknown, and leaves once it is known", async () => {
    const shop = await open({ handler: (_req, res) => res.redirect(SIGNED) });
    shop.facilitator.failNext("unknown");
    const { header } = await shop.sign();
    const first = await shop.ask({ payment: header });
    expect([first.status, first.headers["location"]]).toEqual([503, undefined]);
    expect(await shop.ask({ payment: header })).toMatchObject({ status: 302, headers: { location: SIGNED } });
  });

  test("a redirect without a Location is no sale", async () => {
    const shop = await open({ handler: (req, res) => void res.status(Number(req.query["status"])).send("goods") });
    const { header } = await shop.sign();
    for (const status of [301, 302, 303, 307, 308]) {
      const response = await shop.ask({ path: `/paid?status=${status}`, payment: header });
      expect(response).toMatchObject({ status, receipt: { errorReason: "not_charged" } });
    }
    expect(shop.facilitator.settled).toEqual([]);
  });

  test("a 304 with a Location is no sale", async () => {
    const shop = await open();
    const response = await shop.pay(asking(SIGNED, 304));
    expect(response).toMatchObject({ status: 304, receipt: { errorReason: "not_charged" } });
    expect(response.headers).not.toHaveProperty("location");
  });

  test("a redirect to no priced route of ours is a sale", async () => {
    const shop = await openMall();
    for (const to of [
      "/free",
      "/login?next=/paid",
      "https://127.0.0.1.example/song/1",
      "//cdn.example.com/song/1",
      "/\\cdn.example.com/song/1",
      "http://127.0.0.1:1/song/1",
      "mailto:song@example.com",
      "http://[",
      "/dl/free.txt",
      "/order",
      "/charged-post",
      "/song",
      "/inner/elsewhere",
      "/within",
      "/b",
      // The client decides by its path where these lead.
      "song/1?sig=1",
      "./song/1",
      "../song/1",
      "%2e%2e/song/1",
    ]) {
      await expectSold(shop, to);
    }
  });

  test("a redirect of a POST is followed as browsers do", async () => {
    const shop = await open({
      routes: { "POST /paid": PRICED, "POST /order": PRICED, "GET /song/:id": PRICED },
      build: (app, payments) =>
        app.use(payments).post("/paid", redirecting).post("/order", sold).all("/song/:id", sold),
    });
    for (const [status, to, isSold] of [
      [301, "/order", true],
      [302, "/order", true],
      [303, "/order", true],
      [307, "/order", false],
      [308, "/order", false],
      [303, "/song/1", false],
      [307, "/song/1", false],
    ] as const) {
      const response = await shop.pay({ ...asking(to, status), method: "POST" });
      expect([status, to, response]).toMatchObject([status, to, { status, receipt: { success: isSold } }]);
    }
  });

  test("a chain of redirects between priced routes is charged once, by the same payment", async () => {
    const shop = await openMall();
    const { header } = await shop.sign(asking("/charged/7").path);
    expect(await shop.ask({ ...asking("/charged/7"), payment: header })).toMatchObject({ status: 302 });
    const last = await shop.ask({ path: "/charged/7", payment: header });
    expect(last).toMatchObject({ status: 200, text: "sold", receipt: { success: true } });
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test("an absolute URL is ours by publicUrl or allowedHosts", async () => {
    const named = await openMall({ publicUrl: "https://api.example.com" });
    await expectUnsold(named, "https://api.example.com/song/1");
    await expectUnsold(named, "http://api.example.com/song/1");
    await expectUnsold(named, "/song/1");
    await expectSold(named, "https://api.example.com:8443/song/1");
    await expectSold(named, "https://cdn.example.com/song/1");

    const below = await openMall({ publicUrl: "https://api.example.com/v1" });
    await expectUnsold(below, "https://api.example.com/v1/song/1");
    await expectUnsold(below, "/v1/song/1");
    await expectSold(below, "/song/1");
    await expectSold(below, "https://api.example.com/v11/song/1");

    const allowed = await openMall({ allowedHosts: ["api.example.com", "127.0.0.1"] });
    await expectUnsold(allowed, "https://api.example.com/song/1");
    await expectSold(allowed, "https://cdn.example.com/song/1");
  });

  test("a redirect to a priced route is named in the log, unless the seller's own chargeable has decided", async () => {
    for (const chargeable of [undefined, ({ isSale }: ChargeableResponse) => isSale]) {
      const warnings: unknown[] = [];
      const logger = {
        ...QUIET,
        warn: (event: string, { route }: object & { route?: unknown }) => warnings.push([event, route]),
      };
      const shop = await open({
        routes: { "GET /paid": { ...PRICED, ...(chargeable && { chargeable }) } },
        options: { logger } as NonNullable<ShopPlan["options"]>,
      });
      await expectUnsold(shop, "/paid?again=1");
      const said = ["redirect_not_charged", "GET /paid"];
      if (chargeable === undefined) expect(warnings).toContainEqual(said);
      else expect(warnings).not.toContainEqual(said);
    }
  });

  test("chargeable gets the status, the Location and what is a sale by default, and decides", async () => {
    const asked: ChargeableResponse[] = [];
    const chargeable = (response: ChargeableResponse) => {
      asked.push(response);
      return response.isSale && response.location !== "/login";
    };
    const routes = { "GET /paid": { ...PRICED, chargeable } };
    const shop = await open({ routes });
    await expectUnsold(shop, "/login");
    await expectSold(shop, SIGNED);
    await expectUnsold(shop, "/paid");
    expect(asked).toEqual([
      { status: 302, location: "/login", isSale: true },
      { status: 302, location: SIGNED, isSale: true },
      { status: 302, location: "/paid", isSale: false },
    ]);
    const always = await open({ routes: { "GET /paid": { ...PRICED, chargeable: () => true } } });
    await expectSold(always, "/paid");
  });

  test("a redirect to a path that the client resolves is a sale, whatever slashes it writes", async () => {
    for (const to of ["../files/song", "./../files/song"]) {
      const routes = { "GET /dl/*name": PRICED };
      const handler: RequestHandler = (_req, res) => sent(res, 302, to);
      const shop = await open({ routes, build: (app, payments) => app.use(payments).get(/^\/dl\/.+/, handler) });
      for (const path of ["/dl/song", "/dl/song/"]) {
        expect([path, await shop.pay({ path })]).toMatchObject([path, { status: 302, receipt: { success: true } }]);
      }
    }
  });

  test("a redirect is charged once where the money moves before", async () => {
    const shop = await open({ routes: { "GET /paid": { ...PRICED, settle: "before" } } });
    await expectSold(shop, SIGNED);
  });
});
