import { createPayments } from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";
import { test } from "vitest";
import { VERSIONS } from "../express/shop.js";
import { priceOf } from "./purse.js";
import { openRawLine } from "./raw-line.js";

test.each(VERSIONS)("stale %s", async (name, express) => {
  const line = await openRawLine();
  const tryApp = async (title: string, build: (app: any, payments: any, ran: any) => any, requests: string[]) => {
    const payments = createPayments({
      facilitator: createTestFacilitator(),
      strict: false,
      logger: { info() {}, warn() {}, error() {} },
    });
    const app: any = express();
    app.set("env", "test");
    let runs = 0;
    const ran = (req: any, res: any) => {
      runs++;
      res.end("ran");
    };
    await build(app, payments, ran);
    line.serve(app);
    for (const r of requests) {
      runs = 0;
      const a: any = await line.ask(`${r} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`, r.split(" ")[0]!);
      console.log(`${name} | ${title} | ${r} -> ${a.status ?? a.problem} ${runs ? "RAN" : ""}`);
    }
  };
  await tryApp(
    "options route passes on, mounted priced handler",
    (app, p, ran) => {
      app.use(p.routes({ "GET /x": priceOf(1) }));
      app.options("/x", (_q: any, _s: any, next: any) => next());
      app.use("/x", ran);
    },
    ["GET /x", "OPTIONS /x", "POST /x"],
  );
  await tryApp(
    "table below /api, not ready, first request elsewhere",
    (app, p, ran) => {
      app.use("/api", p.routes({ "GET /api/weather": priceOf(1) }));
      app.get("/:x/weather", ran);
    },
    ["GET /v2/weather", "GET /api/weather", "GET /v2/weather"],
  );
  await tryApp(
    "file also in files",
    (app, p, ran) => {
      app.use(p.routes({ "GET /files/:name": priceOf(1) }));
      app.get("/files/:name", ran);
      app.use(ran);
    },
    ["GET /%66iles/s.txt"],
  );
  await tryApp(
    "mount with slash, inner alias, all",
    async (app, p, ran) => {
      const r = express.Router();
      r.all("/a", ran);
      app.use(p.routes({ "GET /m/a": priceOf(1) }));
      app.use("/m/", r);
      await p.ready(app);
    },
    ["GET /m/a", "POST /m/a", "PUT /M/A/"],
  );
  await tryApp(
    "proxy of everything, url rewritten behind the table",
    (app, p, ran) => {
      app.use(p.routes({ "GET /secret": priceOf(1) }));
      app.use((q: any, _s: any, next: any) => {
        q.url = q.url.replace(/^\/v1/, "");
        next();
      });
      app.use(ran);
    },
    ["GET /secret", "GET /v1/secret", "POST /secret"],
  );
  await tryApp(
    "catch-all route is the only one",
    (app, p, ran) => {
      app.use(p.routes({ "GET /secret": priceOf(1) }));
      app.use((q: any, _s: any, next: any) => {
        q.url = q.url.replace(/^\/v1/, "");
        next();
      });
      app.all(/.*/, ran);
    },
    ["GET /secret", "GET /v1/secret", "POST /secret", "GET /s%65cret"],
  );
  await tryApp(
    "route added to inner stack later",
    (app, p, ran) => {
      const r = express.Router();
      app.use(p.routes({ "GET /a": priceOf(1) }));
      app.get("/other", ran);
      app.use(r);
      (app as any).later = () => r.all("/a", ran);
      app.get("/add", (_q: any, s: any) => {
        r.all("/a", ran);
        s.end();
      });
    },
    ["GET /other", "GET /add", "GET /a", "POST /a"],
  );
  await tryApp(
    "route replaced at same length",
    (app, p, ran) => {
      app.use(p.routes({ "GET /a": priceOf(1) }));
      app.all("/b", ran);
      app.get("/swap", (_q: any, s: any) => {
        const st = (app.router ?? app._router).stack;
        st.splice(
          st.findIndex((l: any) => l.route?.path === "/b"),
          1,
        );
        app.all("/a", ran);
        s.end();
      });
    },
    ["GET /b", "GET /swap", "GET /a", "POST /a"],
  );
  await tryApp(
    "handler shared: route(...).all later handler on same route object",
    (app, p, ran) => {
      app.use(p.routes({ "GET /a": priceOf(1) }));
      const route = app.route("/a").get(ran);
      app.get("/add", (_q: any, s: any) => {
        route.post(ran);
        s.end();
      });
    },
    ["GET /a", "GET /add", "POST /a"],
  );
  await tryApp(
    "route directly in Router used without app",
    (app, p, ran) => {
      const r = express.Router();
      r.use(p.routes({ "GET /a": priceOf(1) }));
      r.all("/a", ran);
      app.use((q: any, s: any, n: any) => r(q, s, n));
    },
    ["GET /a", "POST /a"],
  );
  await tryApp(
    "wrapped table",
    (app, p, ran) => {
      const t = p.routes({ "GET /a": priceOf(1) });
      app.use((q: any, s: any, n: any) => t(q, s, n));
      app.all("/a", ran);
    },
    ["GET /a", "POST /a", "OPTIONS /a"],
  );
  await tryApp(
    "param mount + inner app mounted later",
    (app, p, ran) => {
      const inner: any = express();
      inner.use(p.routes({ "GET /in/a": priceOf(1) }));
      inner.all("/a", ran);
      app.use("/in", inner);
    },
    ["GET /in/a", "POST /in/a", "POST /in/a/", "OPTIONS /in/a"],
  );
  await line.close();
});
