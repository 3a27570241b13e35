/**
 * A table remembers what it has found out about a path. An app that has had other requests answers as one that has had none.
 *
 * @module
 */
import { createPayments } from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";
import type { Express, RequestHandler } from "express";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { readDraws } from "../draws.js";
import { type EXPRESSES, VERSIONS } from "../express/shop.js";
import { CHEAP, DEAR } from "./priced-apps.js";
import { openRawLine } from "./raw-line.js";

const draws = readDraws("paths that are remembered");

/** In one draw. */
const SEQUENCES = 60;

const QUIET = { info() {}, warn() {}, error() {} };

/** What middleware puts in place of the URL, in base64: an ordinary client could not send some of it. */
const REWRITE = "X-Url";

const PATHS = ["/report", "/u/7", "/u/vip", "/free", "/m/report", "/m", "/f/a/b", "/.well-known/x402/receipts/a", "/"];
const paths = fc.constantFrom(...PATHS);
const signs = fc.string({ unit: fc.constantFrom(..."/?#@\\:;%.&=~ab\t \u00a0".split(""), "%2f", "%00"), maxLength: 6 });
const urls = fc.oneof(
  { weight: 2, arbitrary: paths },
  {
    weight: 3,
    arbitrary: fc.tuple(paths, fc.nat(12), signs).map(([path, at, some]) => path.slice(0, at) + some + path.slice(at)),
  },
  { weight: 1, arbitrary: fc.tuple(fc.constantFrom("//x", "http://x", "/"), paths).map((parts) => parts.join("")) },
);
const requests = fc.record({
  method: fc.constantFrom("GET", "HEAD", "POST", "OPTIONS"),
  url: urls,
  isRewritten: fc.boolean(),
});
type Request = typeof requests extends fc.Arbitrary<infer T> ? T : never;

function buildApp(express: (typeof EXPRESSES)[number][1]): Express {
  const payments = createPayments({ facilitator: createTestFacilitator(), logger: QUIET, strict: false });
  const serve: RequestHandler = (_req, res) => void res.send("served");
  const app = express().set("env", "test");
  app.use((req, _res, next) => {
    const url = req.get(REWRITE);
    if (url !== undefined) req.url = Buffer.from(url, "base64").toString();
    next();
  });
  app.use(payments.routes({ "GET /report": CHEAP, "GET /u/:id": CHEAP, "GET /u/vip": DEAR, "/f/*": DEAR }));
  app.use(
    "/m",
    express
      .Router()
      .use(payments.routes({ "GET /report": DEAR }))
      .get("/report", serve),
  );
  app.get("/report", serve).get("/u/:id", serve).post("/u/:id", serve).get("/free", serve);
  app.use("/f", serve);
  return app;
}

/** Without what differs from one seller to the next. */
function write({ method, url, isRewritten }: Request): string {
  const isSendable = /^[\x21-\x7e]+$/.test(url);
  const target = isRewritten || !isSendable ? "/" : url;
  const more = target === url ? [] : [`${REWRITE}: ${Buffer.from(url).toString("base64")}`];
  return [`${method} ${target} HTTP/1.1`, "Host: x", ...more, "", ""].join("\r\n");
}

describe.each(VERSIONS)("on %s", (_, express) => {
  test(
    "a request gets the same answer, whatever was asked before",
    async () => {
      const line = await openRawLine();
      onTestFinished(() => line.close());
      const ask = async (app: Express, request: Request) => {
        line.serve(app as unknown as Parameters<typeof line.serve>[0]);
        const answer = await line.ask(write(request), request.method);
        if (answer.kind === "unanswered") return answer;
        const { status, head, body } = answer;
        const asked = /^payment-required: (\S+)/im.exec(head)?.[1];
        return { status, asked, served: body === "served" };
      };
      const statuses = new Set<number>();
      const sequences = fc.asyncProperty(fc.array(requests, { minLength: 2, maxLength: 20 }), async (sent) => {
        const known = buildApp(express);
        // What is plain is known before anything else comes.
        for (const url of PATHS) await ask(known, { method: "GET", url, isRewritten: false });
        for (const request of sent) {
          const [seen, first] = [await ask(known, request), await ask(buildApp(express), request)];
          expect(seen, JSON.stringify(request)).toEqual(first);
          if ("status" in seen) statuses.add(seen.status);
        }
      });
      for (const seed of draws.seeds()) await fc.assert(sequences, { seed, numRuns: SEQUENCES });
      expect([...statuses]).toEqual(expect.arrayContaining([200, 204, 402, 404]));
    },
    draws.timeoutMs,
  );

  test("a cut that is too long meets nothing that is remembered, and one behind a prefix that was taken off is priced", async () => {
    const payments = createPayments({ facilitator: createTestFacilitator(), logger: QUIET, strict: false });
    const app = express().set("env", "test");
    app.use((req, _res, next) => {
      req.url = req.url.replace("/v1/m", "/m");
      next();
    });
    const served: RequestHandler = (req, res) => void res.send(req.originalUrl);
    app.use(
      "/m",
      express
        .Router()
        .use(payments.routes({ "GET /report": CHEAP }))
        .get("/report", served)
        .get("/page", served),
    );
    app.use(
      "/:tenant",
      express
        .Router()
        .use(payments.routes({ "GET /secret": DEAR }))
        .use(served),
    );
    const line = await openRawLine();
    onTestFinished(() => line.close());
    line.serve(app as unknown as Parameters<typeof line.serve>[0]);
    const statusOf = async (target: string) => {
      const answer = await line.ask(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`, "GET");
      return answer.kind === "answered" ? answer.status : answer.problem;
    };
    // Express escapes the apostrophe, and cuts one character too many off: `/ecret` is left.
    const targets = [
      "/it%27s/ecret",
      "/it%27s/ecret",
      "/it's/secret?x#",
      "/it's/secret",
      "/v1/m/report",
      "http://x/v1/m/report",
    ];
    const statuses = [];
    for (const target of [...targets, "http://x/v1/m/page"]) statuses.push(await statusOf(target));
    expect(statuses).toEqual([200, 200, 400, 402, 402, 402, 200]);
  });

  test("behind a mount that was cut off in the wrong place, nothing that is remembered counts", async () => {
    const payments = createPayments({ facilitator: createTestFacilitator(), logger: QUIET, strict: false });
    const app = express().set("env", "test");
    app.use("/:a/:b", express.Router());
    app.use(payments.routes({ "GET /report": CHEAP }));
    app.use((req, res) => void res.send(req.originalUrl));
    const line = await openRawLine();
    onTestFinished(() => line.close());
    line.serve(app as unknown as Parameters<typeof line.serve>[0]);
    const statuses = [];
    for (const target of ["/files/it%27sx", "/files/it%27sx", "/files/it's/xx?#"]) {
      const answer = await line.ask(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`, "GET");
      statuses.push(answer.kind === "answered" ? answer.status : answer.problem);
    }
    expect(statuses).toEqual([200, 200, 400]);
  });
});
