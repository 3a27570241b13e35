/**
 * docs/reference/responses.md has every response of Farebox: each row is brought about here, and each response has its row.
 *
 * @module
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type Facilitator, FacilitatorError } from "@farebox/core";
import { decodePaymentRequired } from "@farebox/core/protocol";
import {
  createPayments,
  type PaymentsOptions,
  paymentMiddleware,
  type RouteConfig,
  type RoutesConfig,
  type StartTimer,
} from "@farebox/express";
import { createPayer, createTestFacilitator, type PayOptions, type PayResult, pay } from "@farebox/testing";
import express, { type Express, type RequestHandler } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { listener } from "../listener.js";

const DOCUMENT = readFileSync(new URL("../../docs/reference/responses.md", import.meta.url), "utf8");

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const PRICED: RouteConfig = { accepts: { price: "$0.01", network: "eip155:84532", payTo: PAY_TO } };
const UPTO: RouteConfig = { accepts: { scheme: "upto", price: "$0.01", network: "eip155:84532", payTo: PAY_TO } };
const METERED: RouteConfig = { ...UPTO, settle: "metered" };
const LONG = "x".repeat(2000);
const ID = "0123456789abcdef0123456789abcdef";

/** A row of a table: the status, what `error` is or begins with, and the headers besides. */
interface Row {
  readonly status: number;
  readonly error: string;
  readonly headers: readonly string[];
}

interface Shop {
  readonly facilitator: ReturnType<typeof createTestFacilitator>;
  buy(options?: PayOptions): Promise<PayResult>;
  ask(options?: PayOptions): Promise<PayResult>;
}

interface Plan {
  readonly route?: RouteConfig;
  readonly routes?: RoutesConfig;
  readonly options?: Partial<PaymentsOptions>;
  readonly handler?: RequestHandler;
  /** In front of the payments. */
  readonly before?: RequestHandler;
  readonly build?: (app: Express) => void;
}

/** Failures are on purpose here. */
const QUIET = { info() {}, warn() {}, error() {} };

const answer: RequestHandler = (_req, res) => void res.json({ weather: "sunny" });

function open({
  route = PRICED,
  routes = { "GET /paid": route },
  options,
  handler = answer,
  before,
  build,
}: Plan = {}): Shop {
  const facilitator = createTestFacilitator();
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 1_000_000n);
  const app = express();
  if (before !== undefined) app.use(before);
  app.use(paymentMiddleware(routes, { facilitator, logger: QUIET, ...options }));
  build?.(app);
  app.all("/paid", handler);
  return {
    facilitator,
    buy: (given) => pay(app, { path: "/paid", payer, ...given }),
    ask: (given) => pay(app, { path: "/paid", ...given }),
  };
}

/** A payment with an id of its client's. */
const withId = (id: string): Pick<PayOptions, "mutate"> => ({
  mutate: (payment) => ({ ...payment, extensions: { "payment-identifier": { info: { id }, schema: {} } } }),
});

/** A facilitator that takes everything, of some schemes. */
function agreeable(kinds: readonly object[]): Facilitator {
  return {
    supported: async () => ({ kinds, extensions: [], signers: {} }),
    verify: async () => ({ isValid: true, payer: PAY_TO }),
    settle: async () => ({ success: true, transaction: "0x1", network: "eip155:84532", payer: PAY_TO }),
  } as never;
}

/** The same, of `upto`. */
function agreeableToUpto(): Facilitator {
  const extra = { facilitatorAddress: PAY_TO };
  return agreeable([{ x402Version: 2, scheme: "upto", network: "eip155:84532", extra }]);
}

/** A node of Base Sepolia, where nobody has anything. */
async function startPoorNode(): Promise<string> {
  const block = { number: "0x1", hash: `0x${"1".repeat(64)}`, timestamp: "0x1" };
  const results = { eth_chainId: "0x14a34", eth_getBlockByNumber: block, eth_call: `0x${"0".repeat(64)}` };
  const server = createServer(
    listener(async (req, res) => {
      const { id, method } = JSON.parse(await text(req)) as { id: number; method: keyof typeof results };
      res.setHeader("Content-Type", "application/json");
      res.end(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }));
    }),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Says that its body is longer than what it sends, until the time for it is over. */
async function sendSlowly(): Promise<PayResult> {
  let isSlow = false;
  const timer: StartTimer = (act, delayMs) => {
    if (!isSlow || delayMs !== 60_000) return () => {};
    const soon = setImmediate(act);
    return () => clearImmediate(soon);
  };
  const shop = open({ routes: { "POST /paid": PRICED }, options: { timer } });
  const { payment } = await shop.buy({ method: "POST", payer: createPayer() });
  isSlow = true;
  return shop.ask({ method: "POST", payment: payment!, body: "x", headers: { "Content-Length": "2" } });
}

/** Lets one request wait in its handler while another is made. */
async function whileOneWaits(plan: Plan, second: (shop: Shop, first: PayResult["payment"]) => Promise<PayResult>) {
  let enter!: () => void;
  let leave!: () => void;
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const handler: RequestHandler = async (_req, res) => {
    enter();
    await left;
    res.json({});
  };
  const shop = open({ ...plan, handler });
  let payment: PayResult["payment"];
  const first = shop.buy({
    mutate: (signed) => {
      payment = signed;
      return signed;
    },
  });
  await entered;
  const result = await second(shop, payment);
  leave();
  await first;
  return result;
}

/** Sends one payment, whose connection is lost each time while the handler runs, and then once more. */
async function afterLeaving(times: number, plan: Plan = {}): Promise<PayResult> {
  const shop = open({ ...plan, handler: (req) => void req.socket.destroy() });
  let payment: PayResult["payment"];
  const mutate: PayOptions["mutate"] = (signed) => {
    payment = signed;
    return signed;
  };
  await expect(shop.buy({ mutate })).rejects.toThrow();
  for (let time = 1; time < times; time++) await expect(shop.ask({ payment: payment! })).rejects.toThrow();
  return shop.ask({ payment: payment! });
}

const CHALLENGES: readonly (readonly [error: string, bring: () => Promise<PayResult>])[] = [
  ["Payment required", () => open().ask()],
  ["invalid_x402_version", () => open().ask({ headers: { "X-PAYMENT": "e30=" } })],
  ["invalid_payload", () => open().ask({ payment: "no base64" })],
  ["invalid_x402_version", () => open().buy({ mutate: (payment) => ({ ...payment, x402Version: 1 }) as never })],
  ["payment_identifier_required", () => open({ route: { ...PRICED, paymentIdentifier: "required" } }).buy()],
  ["invalid_payment_identifier", () => open().buy(withId("short"))],
  [
    "invalid_payment_requirements",
    () => open().buy({ mutate: (payment) => ({ ...payment, accepted: { ...payment.accepted, amount: "1" } }) }),
  ],
  [
    "unsupported_scheme",
    () => {
      const elsewhere = { price: "$0.01", network: "eip155:8453", payTo: PAY_TO } as const;
      const shop = open({ route: { accepts: [PRICED.accepts as typeof elsewhere, elsewhere] } });
      const asset = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
      return shop.buy({
        mutate: (payment) => ({ ...payment, accepted: { ...payment.accepted, network: "eip155:8453", asset } }),
      });
    },
  ],
  [
    "a reason of the scheme",
    () => {
      const steal = { to: "0x0000000000000000000000000000000000000001" };
      return open().buy({
        mutate: ({ payload, ...rest }) => {
          const authorization = { ...(payload["authorization"] as object), ...steal };
          return { ...rest, payload: { ...payload, authorization } } as never;
        },
      });
    },
  ],
  ["a reason of the facilitator", () => open().buy({ payer: createPayer() })],
  [
    "permit2_allowance_required",
    () => {
      const shop = open();
      const rewrite = () => ({ isValid: false, invalidReason: "permit2_allowance_required" });
      shop.facilitator.faults.next("verify", { kind: "rewrite", rewrite });
      return shop.buy();
    },
  ],
  [
    "payment_already_used",
    async () => {
      const shop = open();
      const { payment } = await shop.buy();
      return shop.ask({ payment: payment! });
    },
  ],
  [
    "payment_due",
    async () => {
      const refusal = { success: false, errorReason: "insufficient_funds", transaction: "", network: "eip155:84532" };
      const facilitator = { ...agreeableToUpto(), settle: async () => refusal as never };
      const handler: RequestHandler = (req, res) => {
        req.payment?.charge("1");
        res.write("one ");
        res.end("two");
      };
      const shop = open({ route: METERED, options: { facilitator }, handler });
      expect((await shop.buy()).text).toBe("one two");
      return shop.buy();
    },
  ],
  [
    "insufficient_funds",
    async () => {
      const rpc = { "eip155:84532": await startPoorNode() };
      return open({ route: METERED, options: { facilitator: agreeableToUpto(), rpc } }).buy();
    },
  ],
  [
    "a reason of the settlement",
    () => {
      const shop = open();
      const rewrite = () => ({ success: false, errorReason: "insufficient_funds", transaction: "", network: "" });
      shop.facilitator.faults.next("settle", { kind: "rewrite", rewrite });
      return shop.buy();
    },
  ],
];

const ERRORS: readonly (readonly [error: string, bring: () => Promise<PayResult>])[] = [
  [
    "ambiguous_path",
    () =>
      open({
        routes: {
          "GET /u/:id": PRICED,
          "GET /u/vip": { accepts: { ...PRICED.accepts, price: "$1" } } as RouteConfig,
        },
        build: (app) => void app.get("/u/:id", (_req, res) => void res.send("never")),
      }).ask({ path: "/u/%76ip" }),
  ],
  ["invalid_input", () => open({ route: { ...PRICED, validate: () => "no such city" } }).buy()],
  [
    "invalid_input",
    () => {
      const price = ({ body }: { readonly body: unknown }) => (Array.isArray(body) ? "$0.01" : "$0.02");
      const route = { accepts: { ...PRICED.accepts, price } } as RouteConfig;
      const body = `${"[".repeat(300)}${"]".repeat(300)}`;
      const headers = { "Content-Type": "application/json" };
      return open({ routes: { "POST /paid": route }, before: express.json() }).ask({ body, headers });
    },
  ],
  [
    "denied",
    () =>
      open({
        routes: { "GET /a": PRICED, "GET /b": { accepts: { ...PRICED.accepts, price: "$1" } } as RouteConfig },
        build: (app) => void app.get(["/a", "/b", "/c"], (_req, res) => void res.send("never")),
      }).ask({ path: "/c" }),
  ],
  ["denied", () => open({ options: { hooks: { onRequest: () => ({ deny: true }) } } }).ask()],
  ["invalid_input", sendSlowly],
  [
    "payment_in_progress",
    () => whileOneWaits({ options: { copyWaitMs: 0 } }, (shop, payment) => shop.ask({ payment: payment! })),
  ],
  [
    "payment_identifier_conflict",
    async () => {
      const shop = open();
      await shop.buy(withId(ID));
      return shop.buy(withId(ID));
    },
  ],
  [
    "answer_not_kept",
    async () => {
      const shop = open({ options: { holdBytes: 1000 }, handler: (_req, res) => void res.send(LONG) });
      const { payment } = await shop.buy(withId(ID));
      return shop.ask({ payment: payment! });
    },
  ],
  ["invalid_input", () => open({ routes: { "POST /paid": PRICED } }).buy({ body: Buffer.alloc(16_777_217) })],
  [
    "too_many_copies",
    async () => {
      const shop = open();
      const { payment } = await shop.buy(withId(ID));
      for (let copies = 0; copies < 16; copies++) await shop.ask({ payment: payment! });
      return shop.ask({ payment: payment! });
    },
  ],
  ["too_many_payments", () => whileOneWaits({ options: { maxRunsPerPayer: 1 } }, (shop) => shop.buy())],
  [
    "too_many_payments",
    () => {
      const options = { facilitator: agreeableToUpto(), exposure: { perPayer: "$0.01" } } as const;
      return whileOneWaits({ route: METERED, options }, (shop) => shop.buy());
    },
  ],
  ["too_many_payments", () => afterLeaving(4)],
  ["too_many_payments", () => afterLeaving(2, { route: UPTO, options: { facilitator: agreeableToUpto() } })],
  [
    "unexpected_verify_error",
    () => {
      const bazaar = { inputSchema: { properties: { text: { type: "string" } }, required: ["text"] } };
      const route = { ...PRICED, validate: true, extensions: { bazaar } };
      return open({ routes: { "POST /paid": route } }).buy({ body: { text: "hello" } });
    },
  ],
  ["unexpected_settle_error", () => open({ route: { ...PRICED, chargeable: () => undefined as never } }).buy()],
  [
    "unexpected_settle_error",
    () => open({ route: { ...UPTO, unmetered: "error" }, options: { facilitator: agreeableToUpto() } }).buy(),
  ],
  [
    "unexpected_settle_error",
    () => {
      const handler: RequestHandler = (req, res) => {
        try {
          req.payment?.settle("0");
        } catch {
          res.send("sold");
        }
      };
      return open({ handler }).buy();
    },
  ],
  [
    "unexpected_settle_error",
    () => open({ handler: (_req, res) => void res.set("Settlement-Overrides", '{"amount":"7"}').send("sold") }).buy(),
  ],
  [
    "unexpected_settle_error",
    () => open({ handler: (_req, res) => void res.set("Content-Length", "1000").end("short") }).buy(),
  ],
  [
    "unexpected_verify_error",
    () => {
      const shop = open();
      shop.facilitator.faults.next("verify", { kind: "status", status: 500 });
      return shop.buy();
    },
  ],
  [
    "unexpected_verify_error",
    async () => {
      const facilitator = createTestFacilitator();
      const payer = createPayer();
      facilitator.ledger.fund(payer.address, 1_000_000n);
      const payments = createPayments({ facilitator, logger: QUIET });
      const app = express().use(payments.routes({ "GET /paid": PRICED }));
      app.get("/paid", answer);
      await payments.close({ drainMs: 1000 });
      return pay(app, { path: "/paid", payer });
    },
  ],
  ["unexpected_verify_error", () => open({ options: { facilitator: agreeable([]) } }).ask()],
  [
    "unexpected_settle_error",
    () => {
      const failure = { code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE", operation: "settle", outcome: "none" } as const;
      const settle = () => Promise.reject(new FacilitatorError("connection refused", failure));
      const kinds = [{ x402Version: 2, scheme: "exact", network: "eip155:84532" }];
      return open({ options: { facilitator: { ...agreeable(kinds), settle } } }).buy();
    },
  ],
  [
    "unexpected_settle_error",
    () => {
      const exposure = { perPayer: "$0.01", total: "$0.01" } as const;
      const options = { facilitator: agreeableToUpto(), exposure };
      return whileOneWaits({ route: METERED, options }, (shop) => shop.buy({ payer: createPayer() }));
    },
  ],
  [
    "settlement_pending",
    () => {
      const shop = open();
      shop.facilitator.faults.next("settle", { kind: "drop", when: "after" });
      return shop.buy();
    },
  ],
  [
    "payment_expired",
    () => {
      let aheadMs = 0;
      const now = () => Date.now() + aheadMs;
      const timer: PaymentsOptions["timer"] = (act) => {
        const immediate = setImmediate(() => {
          aheadMs = 3_600_000;
          act();
        });
        return () => clearImmediate(immediate);
      };
      return open({ options: { now, timer }, handler: () => {} }).buy();
    },
  ],
];

/** Its client has disconnected. */
const UNREAD = "400 invalid_payload";

describe.each([
  ["Challenges", CHALLENGES, []],
  ["Errors", ERRORS, [UNREAD]],
] as const)("%s", (heading, scenarios, unread) => {
  const rows = rowsOf(heading);

  test("each response has the status and headers of its row, and those of all", async () => {
    const seen: Row[] = [];
    for (const [error, bring] of scenarios) seen.push(toRow(error, await bring()));
    const written = (row: Row) => `${row.status} ${row.error} ${row.headers.join(", ")}`.trim();
    const expected = rows.map(written).filter((text) => !(unread as readonly string[]).includes(text));
    expect(seen.map(written)).toEqual(expected);
  });

  function toRow(error: string, { status, headers, json }: PayResult): Row {
    const body = json() as { error: string; message?: string };
    if (!error.startsWith("a reason of")) expect(body.error).toMatch(new RegExp(`^${error}(:|$)`));
    expect(body.error).toMatch(/^([a-z0-9_]+|Payment required)(:|$)/);
    expect(headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "access-control-expose-headers": "PAYMENT-REQUIRED, PAYMENT-RESPONSE, EXTENSION-RESPONSES, PAYMENT-RETRY-TOKEN",
    });
    if (heading === "Challenges") expect(decodePaymentRequired(String(headers["payment-required"]))).toEqual(body);
    else expect([headers["payment-required"], typeof body.message]).toEqual([undefined, "string"]);
    const retry = headers["retry-after"];
    const row = rows.find(
      (one) => one.status === status && one.error === error && one.headers.includes(`Retry-After: ${retry}`),
    );
    return {
      status,
      error,
      headers: [
        ...(retry === undefined ? [] : [row === undefined ? "Retry-After" : `Retry-After: ${retry}`]),
        ...(headers["payment-response"] === undefined ? [] : ["PAYMENT-RESPONSE"]),
        ...(headers["payment-retry-token"] === undefined ? [] : ["PAYMENT-RETRY-TOKEN"]),
      ],
    };
  }
});

/** The rows of the table below a heading. */
function rowsOf(heading: string): Row[] {
  const section = DOCUMENT.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const lines = section.split("\n").filter((line) => /^\| `\d{3}` \|/.test(line));
  return lines.map((line) => {
    const [, status = "", error = "", , headers = ""] = line.split("|").map((cell) => cell.trim().replaceAll("`", ""));
    return { status: Number(status), error, headers: headers === "" ? [] : headers.split(", ") };
  });
}
