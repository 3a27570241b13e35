/**
 * Apps that change after their first request: what is added, or put in the place of a handler, has the price of its key.
 *
 * @module
 */
import { createPayments, type Payments } from "@farebox/express";
import type { Express, RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { type EXPRESSES, openServer, PATIENT, PRICED, VERSIONS } from "../express/shop.js";

const QUIET = { info() {}, warn() {}, error() {} };

type ExpressModule = (typeof EXPRESSES)[number][1];

interface Parts {
  readonly app: Express;
  readonly express: ExpressModule;
  readonly payments: Payments;
  readonly serve: RequestHandler;
}

/** A layer of a router: Express says nothing about its shape. */
interface Layer {
  handle: unknown;
  readonly route?: { readonly path: unknown; readonly stack: Layer[] };
}

/** The layers of an app or a router. */
function layersOf(router: object): Layer[] {
  const { stack, router: inner, _router } = router as Record<string, { readonly stack?: unknown } | undefined>;
  if (Array.isArray(stack)) return stack;
  // Express 4 throws when its own `router` is read.
  const found = _router ?? inner;
  if (!Array.isArray(found?.stack)) throw new Error("a router of an unknown shape");
  return found.stack;
}

function stackOf(app: Express): Layer[] {
  return layersOf(Object.hasOwn(app, "_router") ? { _router: Reflect.get(app, "_router") } : { router: app.router });
}

const isRoute = ({ route }: Layer) => route !== undefined;

async function open(express: ExpressModule, mode: (typeof MODES)[number], build: (parts: Parts) => () => void) {
  let runs = 0;
  const serve: RequestHandler = (_req, res) => {
    runs += 1;
    res.send("served");
  };
  let change = () => {};
  let ready = async () => {};
  const shop = await openServer(express, (app, { facilitator }) => {
    const payments = createPayments({ facilitator, logger: QUIET, deadlines: PATIENT, strict: false });
    app.get("/free", serve);
    change = build({ app, express, payments, serve });
    ready = async () => void (await payments.ready(app));
  });
  if (mode === "with ready") await ready();
  expect((await shop.ask({ path: "/free" })).status).toBe(200);
  change();
  runs = 0;
  /** The status of an unpaid request, and whether a handler ran. */
  const ask = async (request: string) => {
    const [method = "", path = ""] = request.split(" ");
    const { status } = await shop.ask({ method, path });
    const seen = [request, status, runs];
    runs = 0;
    return seen;
  };
  return { shop, ask };
}

const MODES = ["without ready", "with ready"] as const;

/** A layer of another app, to put in the place of one. */
function layerFor(express: ExpressModule, build: (app: Express) => unknown): Layer {
  const app = express();
  build(app);
  const layer = stackOf(app).at(-1);
  if (layer === undefined) throw new Error("the app has no layer");
  return layer;
}

const KEYS = { "GET /in/report": PRICED };

/** What is there after the first request has met the app: the change, and the requests that must be priced. */
const CHANGES: Readonly<Record<string, (parts: Parts) => () => void>> = {
  "an empty app in the app is filled"({ app, express, payments, serve }) {
    const inner = express();
    app.use(payments.routes(KEYS)).use("/in", inner);
    return () => void inner.all(["/report", "/r"], serve);
  },
  "an empty router is filled"({ app, express, payments, serve }) {
    const inner = express.Router();
    app.use(payments.routes(KEYS)).use("/in", inner);
    return () => void inner.all(["/report", "/r"], serve);
  },
  "an empty app in a router is filled by a router"({ app, express, payments, serve }) {
    const inner = express();
    app.use(payments.routes(KEYS)).use("/in", express.Router().use(inner));
    return () => void inner.use(express.Router().all(["/report", "/r"], serve));
  },
  "an empty app gets its table and its routes"({ app, express, payments, serve }) {
    const inner = express();
    app.use("/in", inner);
    return () => void inner.use(payments.routes({ "GET /report": PRICED })).all(["/report", "/r"], serve);
  },
  "a route in the middle is replaced by another"({ app, express, payments, serve }) {
    app.use(payments.routes(KEYS)).all(["/in/report", "/in/r"], serve).get("/last", serve);
    return () => {
      const stack = stackOf(app);
      const at = stack.findIndex((layer) => isRoute(layer) && layer.route?.path !== "/free");
      stack[at] = layerFor(express, (other) => other.all(["/in/report", "/in/r"], serve));
    };
  },
  "a free route in the middle is replaced by a priced one"({ app, express, payments, serve }) {
    app.use(payments.routes(KEYS)).get("/other", serve).get("/last", serve);
    return () => {
      const stack = stackOf(app);
      const at = stack.findIndex(({ route }) => route?.path === "/other");
      stack[at] = layerFor(express, (other) => other.all(["/in/report", "/in/r"], serve));
    };
  },
  "a route in a router is replaced"({ app, express, payments, serve }) {
    const inner = express.Router().get("/first", serve).get("/other", serve).get("/last", serve);
    app.use(payments.routes(KEYS)).use("/in", inner);
    return () => {
      const stack = layersOf(inner);
      stack[1] = layerFor(express, (other) => other.all(["/report", "/r"], serve));
    };
  },
  "the function of a route is replaced"({ app, payments, serve }) {
    app.use(payments.routes(KEYS)).all(["/in/report", "/in/r"], (_req, res) => void res.status(500).end());
    return () => {
      const layers = stackOf(app).find(({ route }) => Array.isArray(route?.path))?.route?.stack ?? [];
      if (layers.length === 0) throw new Error("no such route");
      // Express 4 and 5 have one for each method.
      for (const layer of layers) layer.handle = serve;
    };
  },
  "functions are put in front of a route's own"({ app, payments, serve }) {
    app.use(payments.routes(KEYS));
    const route = app.route(["/in/report", "/in/r"] as never).all(serve);
    return () => {
      route.all(serve);
      const { stack } = route as unknown as { readonly stack: Layer[] };
      stack.unshift(...stack.splice(stack.length / 2));
    };
  },
};

const ASKED = ["GET /in/report", "HEAD /in/report", "POST /in/report", "GET /IN/Report/", "GET /in/r", "DELETE /in/r"];

/** The same with functions that get everything below a mount. */
const OPAQUE: Readonly<Record<string, (parts: Parts) => () => void>> = {
  "a layer in the middle is replaced by a function"({ app, express, payments, serve }) {
    app
      .use(payments.routes(KEYS))
      .use("/in", (_req, _res, next) => next())
      .get("/last", serve);
    return () => {
      const stack = stackOf(app);
      stack[stack.length - 2] = layerFor(express, (other) => other.use("/in", serve));
    };
  },
  "the function of a layer is replaced"({ app, payments, serve }) {
    app
      .use(payments.routes(KEYS))
      .use("/in", (_req, _res, next) => next())
      .get("/last", serve);
    return () => {
      const layer = stackOf(app).at(-2);
      if (layer === undefined) throw new Error("no such layer");
      layer.handle = serve;
    };
  },
};

const READ = ["GET /in/report", "POST /in/report", "GET /in/%72eport", "PUT /in/x/../report", "GET /in/\\x/report"];

describe.each(VERSIONS)("on %s", (_, express) => {
  describe.each(MODES)("%s", (mode) => {
    test.each(Object.entries(CHANGES))("the price holds after the first request when %s", async (_name, build) => {
      const { ask, shop } = await open(express, mode, build);
      for (const request of ASKED) expect(await ask(request)).toEqual([request, 402, 0]);
      expect(await ask("OPTIONS /in/report")).toEqual(["OPTIONS /in/report", 204, 0]);
      expect(await shop.pay({ path: "/in/report" })).toMatchObject({ status: 200, receipt: { success: true } });
      expect(await ask("GET /free")).toEqual(["GET /free", 200, 2]);
    });

    test.each(Object.entries(OPAQUE))("the price holds after the first request when %s", async (_name, build) => {
      const { ask, shop } = await open(express, mode, build);
      for (const request of READ) expect(await ask(request)).toEqual([request, 402, 0]);
      expect(await ask("GET /in/other")).toEqual(["GET /in/other", 200, 1]);
      expect(await shop.pay({ path: "/in/report" })).toMatchObject({ status: 200, receipt: { success: true } });
    });
  });
});
