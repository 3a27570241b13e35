import { ConfigError, createPayments, type Payment } from "@farebox/express";
import type { Express, RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { openShop, PRICED, VERSIONS } from "./shop.js";

/** Responds with the route of the payment, and a header that proves that it was reached. */
const reached: RequestHandler = (req, res) => {
  const { routeTemplate, pathParams }: Partial<Payment> = req.payment ?? {};
  res.set("X-Reached", "1").json({ routeTemplate, pathParams });
};

describe.each(VERSIONS)("on %s, a route that charges", (version, express) => {
  /** A shop whose app is built by the test. */
  const open = (build: (app: Express, payments: ReturnType<typeof createPayments>) => unknown) =>
    openShop(express, {
      build: (app, _table, { facilitator }) => build(app, createPayments({ facilitator })),
    });

  test("a route with charge() answers 402, takes a payment and runs once", async () => {
    const shop = await open((app, payments) => app.get("/report/:id", payments.charge(PRICED), reached));
    const unpaid = await shop.ask({ path: "/report/7" });
    expect(unpaid).toMatchObject({ status: 402, challenge: { resource: { url: `${shop.url}/report/7` } } });
    expect(unpaid.headers).not.toHaveProperty("x-reached");
    expect(await shop.pay({ path: "/report/7" })).toMatchObject({ status: 200, receipt: { success: true } });
    expect(shop.facilitator.settled).toEqual([10000n]);
  });

  test.each<[where: string, path: string, template: string | undefined, build: Parameters<typeof open>[0]]>([
    [
      "on a router",
      "/v1/report/7/",
      "/v1/report/:id",
      (app, { charge }) => app.use("/v1", express.Router().get("/report/:id", charge(PRICED), reached)),
    ],
    [
      "on a router below a parameter",
      "/acme/report",
      "/:tenant/report",
      (app, { charge }) => app.use("/:tenant", express.Router().get("/report", charge(PRICED), reached)),
    ],
    ["on app.route()", "/report", "/report", (app, { charge }) => app.route("/report").get(charge(PRICED), reached)],
    [
      "with a regular expression",
      "/reports",
      undefined,
      (app, { charge }) => app.get(/^\/reports?$/, charge(PRICED), reached),
    ],
    ["with several paths", "/B", "/b", (app, { charge }) => app.get(["/a", "/b"], charge(PRICED), reached)],
    ["for every method", "/any", "/any", (app, { charge }) => app.all("/any", charge(PRICED), reached)],
    [
      "as middleware of everything below a mount",
      "/api/x/y",
      "/api/:var1",
      (app, { charge }) => app.use("/api", charge(PRICED), reached),
    ],
  ])("%s is priced by Express's own match", async (_where, path, routeTemplate, build) => {
    const shop = await open(build);
    const unpaid = await shop.ask({ path });
    expect(unpaid.status).toBe(402);
    expect(unpaid.headers).not.toHaveProperty("x-reached");
    const paid = await shop.pay({ path });
    expect(paid).toMatchObject({ status: 200, headers: { "x-reached": "1" } });
    expect((paid.json() as { routeTemplate?: string }).routeTemplate).toBe(routeTemplate);
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test("a route with charge() answers HEAD through GET, and OPTIONS with 204 unless the route is for OPTIONS", async () => {
    const shop = await open((app, { charge }) =>
      app
        .get("/report", charge(PRICED), reached)
        .all("/all", charge(PRICED), reached)
        .options("/asked", charge(PRICED), reached),
    );
    expect((await shop.ask({ path: "/report", method: "HEAD" })).status).toBe(402);
    expect((await shop.ask({ path: "/report", method: "OPTIONS" })).status).toBe(200);
    expect((await shop.ask({ path: "/all", method: "OPTIONS" })).status).toBe(204);
    expect((await shop.ask({ path: "/all", method: "DELETE" })).status).toBe(402);
    expect((await shop.ask({ path: "/asked", method: "OPTIONS" })).status).toBe(402);
  });

  test("a route with two prices charges once", async () => {
    const shop = await openShop(express, {
      routes: { "GET /both": PRICED },
      build: (app, table, { facilitator }) => {
        const { charge } = createPayments({ facilitator });
        app.use(table);
        app.get("/twice", charge(PRICED), charge(PRICED), reached);
        app.get("/both", charge(PRICED), reached);
      },
    });
    for (const path of ["/twice", "/both"]) {
      expect(await shop.pay({ path })).toMatchObject({ status: 200, receipt: { success: true } });
    }
    expect(shop.facilitator.settled).toEqual([10000n, 10000n]);
    expect(shop.facilitator.verified).toHaveLength(2);
  });

  test("the gate sees the values of a charged route's parameters", async () => {
    const path = version === "Express 4" ? "/f/:name/:rest*" : "/f/:name/*rest";
    const shop = await open((app, { charge }) => app.get(path, charge(PRICED), reached));
    const paid = await shop.pay({ path: "/F/a%20b/c%2Fd/e" });
    const { pathParams } = paid.json() as { pathParams: Record<string, string> };
    expect(pathParams["name"]).toBe("a b");
    if (version === "Express 5") expect(pathParams["rest"]).toBe("c/d/e");
  });

  test("a payment is good only for the charged route it was signed for", async () => {
    const shop = await open((app, { charge }) =>
      app.get("/a", charge(PRICED), reached).get("/b", charge(PRICED), reached),
    );
    const { header } = await shop.sign("/a");
    expect((await shop.ask({ path: "/a", payment: header })).status).toBe(200);
    const other = await shop.ask({ path: "/b", payment: header });
    expect(other).toMatchObject({ status: 402, challenge: { error: "payment_already_used" } });
  });
});

test("charge() refuses a wrong configuration at once, with every problem", () => {
  const { charge } = createPayments({ facilitator: "https://x402.org/facilitator" });
  const issues = (config: object) => {
    try {
      charge(config);
    } catch (error) {
      return error instanceof ConfigError ? error.issues.map(({ path }) => path) : error;
    }
    return [];
  };
  expect(issues(PRICED)).toEqual([]);
  expect(issues({ acepts: PRICED.accepts, description: 5 })).toEqual(
    expect.arrayContaining(["charge.acepts", "charge.description"]),
  );
  expect(issues({ price: "$0.01" })).toHaveLength(1);
});
