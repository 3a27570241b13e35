/**
 * Sellers who make the middleware anew for each request, because their prices are in a database.
 *
 * @module
 */
import {
  ExactEvmScheme,
  HTTPFacilitatorClient,
  type PaymentMiddleware,
  paymentMiddleware,
  paymentMiddlewareFromConfig,
  type RouteConfig,
  x402ResourceServer,
} from "@farebox/compat";
import { expect, test } from "vitest";
import { NETWORK, openStage, PAY_TO, quietApp } from "./stage.js";

const ROUTE: RouteConfig = { accepts: { scheme: "exact", price: "$0.01", network: NETWORK, payTo: PAY_TO } };

const MOST_LINES = 30;
const UNPAID = 40;

/** What each seller makes in a request. `n` differs by request. */
interface Seller {
  readonly url: string;
  readonly client: HTTPFacilitatorClient;
  readonly server: x402ResourceServer;
}

const MAKERS: readonly (readonly [what: string, make: (seller: Seller, n: number) => PaymentMiddleware])[] = [
  ["the same terms", ({ server }) => paymentMiddleware({ "GET /goods/:id": ROUTE }, server)],
  ["a price function", ({ server }) => paymentMiddleware({ "GET /goods/:id": dynamic() }, server)],
  ["a key of its own", ({ server }, n) => paymentMiddleware({ [`GET /goods/${n}`]: ROUTE }, server)],
  ["a server of its own", ({ client }) => paymentMiddlewareFromConfig({ "*": ROUTE }, client, schemes())],
  [
    "a facilitator client of its own",
    ({ url }) => paymentMiddlewareFromConfig({ "*": ROUTE }, new HTTPFacilitatorClient({ url }), schemes()),
  ],
];

const dynamic = (): RouteConfig => ({ accepts: { ...ROUTE.accepts, price: () => "$0.01" } as RouteConfig["accepts"] });
const schemes = () => [{ network: NETWORK, server: new ExactEvmScheme() } as const];

test.each(MAKERS)(
  "middleware that is made in each request with %s sells, and says at most a few lines",
  async (_what, make) => {
    const { facilitatorServer, serve, pay, income } = await openStage();
    const lines: string[] = [];
    const note = (event: string) => void (event.startsWith("facilitator_") || lines.push(event));
    const client = new HTTPFacilitatorClient({ url: facilitatorServer.url });
    const logger = { info: note, warn: note, error: note };
    const server = new x402ResourceServer(client, { logger }).register(NETWORK, new ExactEvmScheme());
    const seller = { url: facilitatorServer.url, client, server };
    const warned: string[] = [];
    // Other files of this process have tables that stand nowhere.
    const warn = ({ message }: Error) => void (message.includes("/goods") && warned.push(message));
    process.on("warning", warn);
    const app = quietApp();
    app.get(
      "/goods/:id",
      (req, res, next) => void make(seller, Number(req.params["id"]))(req, res, next),
      (_req, res) => void res.send("goods"),
    );
    const origin = await serve(app);
    // More requests than lines are allowed.
    for (let n = 0; n < UNPAID; n++) expect((await fetch(`${origin}/GOODS/${n}`)).status).toBe(402);
    for (let n = UNPAID; n < UNPAID + 3; n++) expect((await pay(`${origin}/goods/${n}`)).status).toBe(200);
    expect(income()).toBe(30_000n);
    process.off("warning", warn);
    expect(warned).toEqual([]);
    // Its terms once, and notices of the first keys.
    expect(lines.filter((line) => line !== "FAREBOX_COMPAT").length).toBeLessThanOrEqual(2);
    expect(lines.length).toBeLessThanOrEqual(MOST_LINES);
  },
);

test("equal tables of one server are one middleware, others are not", async () => {
  const { facilitatorServer } = await openStage();
  const client = new HTTPFacilitatorClient({ url: facilitatorServer.url });
  const server = new x402ResourceServer(client, { logger: { info() {}, warn() {}, error() {} } });
  server.register(NETWORK, new ExactEvmScheme());
  const of = (route: RouteConfig, title = "shop") => paymentMiddleware({ "GET /a": route }, server, { appName: title });
  const first = of({ ...ROUTE });
  expect(of({ ...ROUTE })).toBe(first);
  expect(of({ ...ROUTE }, "other")).not.toBe(first);
  expect(of({ ...ROUTE, description: "x" })).not.toBe(first);
  const named = { ...ROUTE, unpaidResponseBody: () => ({ contentType: "text/plain", body: "pay" }) };
  expect(of({ ...named })).toBe(of({ ...named }));
  expect(of({ ...named, unpaidResponseBody: () => ({ contentType: "text/plain", body: "pay" }) })).not.toBe(of(named));
});
