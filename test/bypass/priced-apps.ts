/**
 * Apps of which a handler can be reached by two prices, and what has to be asked and paid there.
 *
 * @module
 */
import type { Payments, RouteConfig } from "@farebox/express";
import type { Express, RequestHandler } from "express";
import { type EXPRESSES, PAY_TO } from "../express/shop.js";

/** What an app is built from. */
export interface Parts {
  readonly app: Express;
  readonly express: (typeof EXPRESSES)[number][1];
  readonly one: Payments;
  /** A second seller in the same app. */
  readonly other: Payments;
  readonly serve: RequestHandler;
}

export interface PricedApp {
  readonly name: string;
  readonly build: (parts: Parts) => unknown;
  /** What a request is asked for, in cents. */
  readonly asks: Readonly<Record<string, number>>;
  /** Routes with two prices, and those in cents. */
  readonly twice: readonly (readonly [path: string, ...cents: number[]])[];
}

export const CHEAP = at("$0.01");
export const DEAR = at("$5");

function at(price: `$${number}`): RouteConfig {
  return { accepts: { price, network: "eip155:84532", payTo: PAY_TO } };
}

const DEAR_AND_OTHERS = { "GET /api/dear": 500, "HEAD /API/Dear/": 500, "GET /api/other": 1 };
const BOTH_AT_DEAR = [["/api/dear", 1, 500]] as const;

const CHARGES: readonly PricedApp[] = [
  {
    name: "a charge in a route behind a wider table",
    build: ({ app, one, serve }) =>
      app
        .use(one.routes({ "GET /api/*": CHEAP }))
        .get("/api/dear", one.charge(DEAR), serve)
        .get("/api/:page", serve),
    asks: DEAR_AND_OTHERS,
    twice: BOTH_AT_DEAR,
  },
  {
    name: "a charge in a route before a wider table",
    build: ({ app, one, serve }) =>
      app
        .get("/api/dear", one.charge(DEAR), serve)
        .use(one.routes({ "GET /api/*": CHEAP }))
        .get("/api/:page", serve),
    asks: DEAR_AND_OTHERS,
    twice: BOTH_AT_DEAR,
  },
  {
    name: "a charge in a route behind a table with the route's own key",
    build: ({ app, one, serve }) =>
      app.use(one.routes({ "GET /api/dear": CHEAP })).all("/api/dear", one.charge(DEAR), serve),
    asks: { "GET /api/dear": 500, "POST /api/dear": 500 },
    twice: BOTH_AT_DEAR,
  },
  {
    name: "a charge in a route of a router behind a wider table",
    build: ({ app, express, one, serve }) => {
      const router = express.Router().get("/dear", one.charge(DEAR), serve).get("/:page", serve);
      app.use(one.routes({ "GET /api/*": CHEAP })).use("/api", router);
    },
    asks: DEAR_AND_OTHERS,
    twice: BOTH_AT_DEAR,
  },
  {
    name: "a charge of another seller in a route behind a wider table",
    build: ({ app, one, other, serve }) =>
      app
        .use(one.routes({ "GET /api/*": CHEAP }))
        .get("/api/dear", other.charge(DEAR), serve)
        .get("/api/:page", serve),
    asks: DEAR_AND_OTHERS,
    twice: BOTH_AT_DEAR,
  },
  {
    name: "a charge in a route behind a charge at its mount",
    build: ({ app, one, serve }) =>
      app.use("/api", one.charge(CHEAP)).get("/api/dear", one.charge(DEAR), serve).get("/api/:page", serve),
    asks: DEAR_AND_OTHERS,
    twice: BOTH_AT_DEAR,
  },
  {
    name: "a charge in a route behind a charge in its router",
    build: ({ app, express, one, serve }) => {
      const router = express.Router().use(one.charge(CHEAP)).get("/dear", one.charge(DEAR), serve);
      app.use("/api", router.get("/:page", serve));
    },
    asks: DEAR_AND_OTHERS,
    twice: BOTH_AT_DEAR,
  },
  {
    name: "a charge in a route behind a charge for the whole app",
    build: ({ app, one, serve }) =>
      app.use(one.charge(CHEAP)).get("/api/dear", one.charge(DEAR), serve).get("/api/:page", serve),
    asks: DEAR_AND_OTHERS,
    twice: BOTH_AT_DEAR,
  },
  {
    name: "a charge in front of a charge in one route",
    build: ({ app, one, serve }) => app.get("/api/dear", one.charge(CHEAP), one.charge(DEAR), serve),
    asks: { "GET /api/dear": 500 },
    twice: BOTH_AT_DEAR,
  },
  {
    name: "two charges of one price in one route",
    build: ({ app, one, serve }) => app.get("/api/dear", one.charge(DEAR), one.charge(DEAR), serve),
    asks: { "GET /api/dear": 500 },
    twice: [["/api/dear", 500]],
  },
  {
    name: "a key and a charge of one price",
    build: ({ app, one, serve }) =>
      app.use(one.routes({ "GET /api/dear": DEAR })).get("/api/dear", one.charge(DEAR), serve),
    asks: { "GET /api/dear": 500 },
    twice: [["/api/dear", 500]],
  },
  {
    name: "a table of each request, and a charge in a route with a wider alias",
    build: ({ app, one, serve }) => {
      const keys = { "GET /api/dear": CHEAP };
      app.use((req, res, next) => one.routes(keys)(req, res, next));
      app.get(["/api/dear", "/api/:page/all"], one.charge(DEAR), serve);
    },
    asks: { "GET /api/dear": 500, "GET /api/dear/all": 500 },
    twice: [],
  },
  {
    name: "a table of each request, and a charge in a route with an expression",
    build: ({ app, one, serve }) => {
      const keys = { "GET /api/dear": CHEAP };
      app.use((_req, _res, next) => next()).use((req, res, next) => one.routes(keys)(req, res, next));
      app.get(/^\/api\/dear/i, one.charge(DEAR), serve);
    },
    asks: { "GET /api/dear": 500, "HEAD /API/Dear/": 500 },
    twice: [],
  },
  {
    name: "a key at the root of a mount, and a charge in a strict app",
    build: ({ app, one, serve }) =>
      app
        .enable("strict routing")
        .use("/api", one.routes({ "GET /": CHEAP }))
        .get("/api", one.charge(DEAR), serve),
    asks: { "GET /api": 500 },
    twice: [["/api", 1, 500]],
  },
  {
    name: "a charge for one method of a route, and a key for the other",
    build: ({ app, one, serve }) => {
      app.use(one.routes({ "GET /api/dear": CHEAP }));
      app.route("/api/dear").post(one.charge(DEAR), serve).get(serve);
    },
    asks: { "GET /api/dear": 1, "POST /api/dear": 500 },
    twice: [],
  },
];

const USERS = { "GET /users/me": 500, "HEAD /Users/ME": 500, "GET /users/7": 1 };
const BOTH_AT_ME = [["/users/me", 1, 500]] as const;
const BOTH_AT_REPORT = [["/api/report", 1, 500]] as const;

const TABLES: readonly PricedApp[] = [
  {
    name: "two tables, the more specific one behind",
    build: ({ app, one, serve }) =>
      app
        .use(one.routes({ "GET /users/:id": CHEAP }), one.routes({ "GET /users/me": DEAR }))
        .get("/users/me", serve)
        .get("/users/:id", serve),
    asks: USERS,
    twice: BOTH_AT_ME,
  },
  {
    name: "two tables, the more specific one in front",
    build: ({ app, one, serve }) =>
      app
        .use(one.routes({ "GET /users/me": DEAR }), one.routes({ "GET /users/:id": CHEAP }))
        .get("/users/me", serve)
        .get("/users/:id", serve),
    asks: USERS,
    twice: BOTH_AT_ME,
  },
  {
    name: "tables of two sellers, the more specific one behind",
    build: ({ app, one, other, serve }) =>
      app
        .use(one.routes({ "GET /users/:id": CHEAP }))
        .use(other.routes({ "GET /users/me": DEAR }))
        .get("/users/me", serve)
        .get("/users/:id", serve),
    asks: USERS,
    twice: BOTH_AT_ME,
  },
  {
    name: "tables of two sellers, the more specific one in front",
    build: ({ app, one, other, serve }) =>
      app
        .use(other.routes({ "GET /users/me": DEAR }))
        .use(one.routes({ "GET /users/:id": CHEAP }))
        .get("/users/me", serve)
        .get("/users/:id", serve),
    asks: USERS,
    twice: BOTH_AT_ME,
  },
  {
    name: "a wider table at a mount, behind a specific one",
    build: ({ app, one, serve }) =>
      app
        .use(one.routes({ "GET /api/report": DEAR }))
        .use("/api", one.routes({ "GET /*": CHEAP }))
        .get("/api/:page", serve)
        .get("/api/report", serve),
    asks: { "GET /api/report": 500, "GET /api/other": 1 },
    twice: BOTH_AT_REPORT,
  },
  {
    name: "a wider and dearer table in a router, behind a specific one",
    build: ({ app, express, one, serve }) => {
      const router = express
        .Router()
        .use(one.routes({ "GET /*": DEAR }))
        .get("/report", serve);
      app.use(one.routes({ "GET /api/report": CHEAP })).use("/api", router.get("/:page", serve));
    },
    asks: { "GET /api/report": 1, "GET /api/other": 500 },
    twice: BOTH_AT_REPORT,
  },
  {
    name: "a charge at a mount, and a key below it",
    build: ({ app, one, serve }) =>
      app
        .use("/api", one.charge(CHEAP))
        .use(one.routes({ "GET /api/report": DEAR }))
        .get("/api/report", serve)
        .get("/api/:page", serve),
    asks: { "GET /api/report": 500, "GET /api/other": 1 },
    twice: BOTH_AT_REPORT,
  },
  {
    name: "a key, and a charge at a mount behind its table",
    build: ({ app, one, serve }) =>
      app
        .use(one.routes({ "GET /api/report": DEAR }))
        .use("/api", one.charge(CHEAP))
        .get("/api/report", serve)
        .get("/api/:page", serve),
    asks: { "GET /api/report": 500, "GET /api/other": 1 },
    twice: BOTH_AT_REPORT,
  },
  {
    name: "two tables with keys of one price",
    build: ({ app, one, serve }) =>
      app.use(one.routes({ "GET /users/:id": DEAR }), one.routes({ "GET /users/me": DEAR })).get("/users/me", serve),
    asks: { "GET /users/me": 500 },
    twice: [["/users/me", 500]],
  },
  {
    name: "two tables for different methods of a path",
    build: ({ app, one, serve }) =>
      app
        .use(one.routes({ "GET /api/report": CHEAP }), one.routes({ "POST /api/report": DEAR }))
        .get("/api/report", serve)
        .post("/api/report", serve),
    asks: { "GET /api/report": 1, "POST /api/report": 500 },
    twice: [],
  },
];

export const PRICED_APPS: readonly PricedApp[] = [...CHARGES, ...TABLES];
