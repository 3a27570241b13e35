/**
 * A seller behind a wrapper of Express. Prints where it listens, and each warning of the process.
 *
 * @module
 */
import { createPayments } from "@farebox/express";
import { express, finish, Router } from "./wrap.mjs";

const { facilitator, payTo, place, isReady } = JSON.parse(process.argv[2]);

process.on("warning", ({ code, message }) => console.log(`warning ${code} ${message.replaceAll("\n", " ")}`));

const payments = createPayments({
  facilitator,
  payTo: { "eip155:*": payTo },
  networks: ["eip155:84532"],
  deadlines: { verifyMs: 120_000, settleMs: 120_000, supportedMs: 120_000 },
  logger: { info() {}, warn() {}, error() {} },
});

const PRICE = { price: "$0.01" };
const table = payments.routes({
  "GET /report": PRICE,
  "GET /all": PRICE,
  "GET /list": PRICE,
  "GET /v1/users/:id": PRICE,
  "GET /sub/item": PRICE,
  "GET /box/late/item": PRICE,
  // Wider than a route with a price of its own.
  [`GET /dear/*${process.env.EXPRESS === "4" ? "" : "rest"}`]: PRICE,
});

/** A response that proves that the handler was reached. */
const reached = async (req, res) => res.set("X-Reached", "1").send(req.originalUrl);

/** Adds the table and the routes. */
function build(to) {
  to.use(table);
  // Middleware that takes `next`, as sellers have it.
  const passes = async (_req, _res, next) => next();
  to.get("/report", passes, reached);
  to.post("/report", reached);
  to.all("/all", passes, reached);
  to.get(["/list", "/l"], reached);
  const users = Router();
  users.use(passes);
  users.get("/users/:id", passes, reached);
  users.get("/free", reached);
  to.use("/v1", users);
  to.use("/v2", users);
  const sub = express();
  sub.get(["/item", "/i"], reached);
  sub.get("/free", reached);
  to.use("/sub", sub);
  // An app that is mounted before it has routes.
  const late = express();
  to.use("/box", express.Router().use("/late", late));
  late.get(["/item", "/i"], reached);
  to.get("/dear/item", payments.charge({ price: "$0.05" }), reached);
  to.get("/free", reached);
}

const app = express();
// Otherwise both versions print stacks.
app.set("env", "test");
if (place === "router") {
  const router = Router();
  build(router);
  app.use("/api", router);
} else build(app);
finish(app);

if (isReady) {
  const { findings } = await payments.ready(app);
  console.log(`findings ${findings.map(({ code }) => code).join()}`);
}
const server = app.listen(0, "127.0.0.1", () => console.log(`listening ${server.address().port}`));
