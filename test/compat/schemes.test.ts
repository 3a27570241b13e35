/**
 * Schemes and facilitators that are not Farebox's own: money parsers, subclasses, other chains, clients in the process.
 *
 * @module
 */
import {
  type AssetAmount,
  ExactEvmScheme,
  type FacilitatorClient,
  HTTPFacilitatorClient,
  type Network,
  BatchSettlementEvmScheme as OwnBatchSettlementEvmScheme,
  UptoSvmScheme as OwnUptoSvmScheme,
  type PaymentPayload,
  type Price,
  paymentMiddleware,
  paymentMiddlewareFromConfig,
  type RoutesConfig,
  type SchemeNetworkServer,
  SettleError,
  type SettleResponse,
  VerifyError,
  type VerifyResponse,
  x402ResourceServer,
} from "@farebox/compat";
import { SettleError as ForeignSettleError, VerifyError as ForeignVerifyError } from "@x402/core/types";
import { BatchSettlementEvmScheme } from "@x402/evm/batch-settlement/server";
import { ExactEvmScheme as ForeignScheme } from "@x402/evm/exact/server";
import { UptoSvmScheme } from "@x402/svm/upto/server";
import { describe, expect, test } from "vitest";
import { decode, NETWORK, openStage, PAY_TO, PAY_TO_SVM, QUIET, quietApp, SOLANA, type Stage } from "./stage.js";

const OPTION = { scheme: "exact", price: "$0.01", network: NETWORK, payTo: PAY_TO } as const;
const ROUTES: RoutesConfig = { "GET /paid": { accepts: OPTION } };
const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const STELLAR = "stellar:testnet";

interface Plan {
  readonly scheme: SchemeNetworkServer;
  readonly network?: Network;
  readonly routes?: RoutesConfig;
  readonly client?: FacilitatorClient;
}

async function openShop({ scheme, network = NETWORK, routes = ROUTES, client }: Plan) {
  const stage: Stage = await openStage();
  const facilitator = client ?? new HTTPFacilitatorClient({ url: stage.facilitatorServer.url });
  const app = quietApp().use(
    paymentMiddlewareFromConfig(routes, facilitator, [{ network, server: scheme }], undefined, undefined, true, QUIET),
  );
  let runs = 0;
  app.get("/paid", (_req, res) => {
    runs += 1;
    res.json({ runs });
  });
  const url = `${await stage.serve(app)}/paid`;
  const challenge = async () => decode((await fetch(url)).headers.get("PAYMENT-REQUIRED"));
  return { ...stage, url, challenge, runs: () => runs };
}

describe("a money parser", () => {
  test("that knows no price leaves it to the default, as in the reference's example", async () => {
    const asked: unknown[] = [];
    const scheme = new ExactEvmScheme().registerMoneyParser(async (amount, network) => {
      asked.push([amount, network]);
      return network === "eip155:100" ? { amount: BigInt(Math.round(amount * 1e18)).toString(), asset: USDC } : null;
    });
    const { pay, url, income } = await openShop({ scheme });
    expect((await pay(url)).status).toBe(200);
    expect(income()).toBe(10_000n);
    expect(asked[0]).toEqual(["0.01", NETWORK]);
  });

  test.each([
    ["ours", ExactEvmScheme],
    ["the reference's", ForeignScheme],
  ])("of a scheme of %s prices the route", async (_name, Scheme) => {
    const doubled = { amount: "20000", asset: USDC, extra: { name: "USDC", version: "2" } };
    const scheme: SchemeNetworkServer = new Scheme().registerMoneyParser(async () => doubled);
    const { pay, url, income } = await openShop({ scheme });
    expect((await pay(url)).status).toBe(200);
    expect(income()).toBe(20_000n);
  });

  test.each([
    ["ours", ExactEvmScheme],
    ["the reference's", ForeignScheme],
  ])("of a scheme of %s is asked for a price that names a token, too", async (_name, Scheme) => {
    const asked: unknown[] = [];
    const doubled = { amount: "20000", asset: USDC, extra: { name: "USDC", version: "2" } };
    const scheme: SchemeNetworkServer = new Scheme().registerMoneyParser(async (amount) => {
      asked.push(amount);
      return doubled;
    });
    const routes: RoutesConfig = { "GET /paid": { accepts: { ...OPTION, price: "0.01 USDC" } } };
    const { pay, url, income } = await openShop({ scheme, routes });
    expect((await pay(url)).status).toBe(200);
    expect([income(), asked[0]]).toEqual([20_000n, "0.01"]);
  });

  test("is asked for its own network only", async () => {
    const stage = await openStage();
    const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: stage.facilitatorServer.url }))
      .register(
        "eip155:8453",
        new ExactEvmScheme().registerMoneyParser(async () => ({ amount: "5", asset: USDC })),
      )
      .register("eip155:*", new ExactEvmScheme());
    const app = quietApp().use(paymentMiddleware(ROUTES, server, undefined, undefined, true, QUIET));
    const response = await fetch(`${await stage.serve(app)}/paid`);
    expect(decode(response.headers.get("PAYMENT-REQUIRED"))).toMatchObject({ accepts: [{ amount: "10000" }] });
  });
});

describe.each([
  ["ours", ExactEvmScheme],
  ["the reference's", ForeignScheme],
])("a scheme made of %s", (_name, Scheme) => {
  test("by a subclass prices, and its payments are read as those of the scheme", async () => {
    class HalfPrice extends (Scheme as typeof ExactEvmScheme) {
      override async parsePrice(price: Price, network: Network): Promise<AssetAmount> {
        const parsed = await super.parsePrice(price, network);
        return { ...parsed, amount: (BigInt(parsed.amount) / 2n).toString() };
      }
    }
    const { pay, url, income, facilitator } = await openShop({ scheme: new HalfPrice() });
    expect((await pay(url)).status).toBe(200);
    expect(income()).toBe(5000n);
    expect(facilitator.calls.verify).toHaveLength(1);
  });

  test.each<[string, RoutesConfig]>([
    ["a text", { "GET /paid": { accepts: { ...OPTION, price: "2 credits" } } }],
    ["a function's text", { "GET /paid": { accepts: { ...OPTION, price: () => "2 credits" } } }],
  ])("by an object around it prices %s in units of its own", async (_what, routes) => {
    const asked: unknown[] = [];
    const inner = new Scheme();
    const credits: SchemeNetworkServer = {
      scheme: "exact",
      defaultAssetTransferMethod: "eip3009",
      paymentFlows: { eip3009: { supported: ["authorization"], default: "authorization" } },
      parsePrice(price, network) {
        asked.push(price);
        return inner.parsePrice(`$${Number.parseFloat(String(price)) / 1000}`, network);
      },
      async enhancePaymentRequirements(requirements, kind, keys) {
        const enhanced = await (inner as ExactEvmScheme).enhancePaymentRequirements(requirements, kind, keys);
        return { ...enhanced, extra: { ...enhanced.extra, unit: "credit" } };
      },
    };
    const { pay, url, income } = await openShop({ scheme: credits, routes });
    expect((await pay(url)).status).toBe(200);
    expect([income(), asked[0]]).toEqual([2000n, "2 credits"]);
  });

  test.each(["$0.01", 0.01, "0.01 USD", "0.01 USDC"])("reads the price %s as the reference does", async (price) => {
    expect(await new Scheme().parsePrice(price, NETWORK)).toEqual(await new ForeignScheme().parsePrice(price, NETWORK));
  });
});

/** As `ExactStellarScheme` is written. */
const stellar: SchemeNetworkServer = {
  scheme: "exact",
  defaultAssetTransferMethod: "default",
  paymentFlows: { default: { supported: ["authorization"], default: "authorization" } },
  getAssetDecimals: () => 7,
  async parsePrice(price) {
    return {
      asset: "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA",
      amount: `${Number(String(price).slice(1)) * 1e7}`,
    };
  },
  async enhancePaymentRequirements(requirements, { extra }, extensions) {
    return { ...requirements, extra: { ...requirements.extra, ...extra, extensions } };
  },
};

function stellarClient(settle?: () => Promise<SettleResponse>) {
  const calls: string[] = [];
  const client: FacilitatorClient = {
    async verify({ payload }): Promise<VerifyResponse> {
      calls.push("verify");
      return payload["isGood"] === true
        ? { isValid: true, payer: "GPAYER" }
        : { isValid: false, invalidReason: "bad_envelope" };
    },
    async settle(): Promise<SettleResponse> {
      calls.push("settle");
      if (settle !== undefined) return await settle();
      return { success: true, transaction: "tx1", network: STELLAR, payer: "GPAYER" };
    },
    async getSupported() {
      const kind = { x402Version: 2, scheme: "exact", network: STELLAR, extra: { areFeesSponsored: true } } as const;
      return { kinds: [kind], extensions: ["notes"], signers: {} };
    },
  };
  return { client, calls };
}

const STELLAR_ROUTES: RoutesConfig = {
  "GET /paid": { accepts: { scheme: "exact", price: "$0.01", network: STELLAR, payTo: "GPAYEE" } },
};

function sign(challenge: Record<string, unknown>, payload: Record<string, unknown>): RequestInit {
  const { accepts, resource } = challenge as {
    accepts: PaymentPayload["accepted"][];
    resource: PaymentPayload["resource"];
  };
  const payment = { x402Version: 2, accepted: accepts[0], resource, payload };
  return { headers: { "PAYMENT-SIGNATURE": Buffer.from(JSON.stringify(payment)).toString("base64") } };
}

describe("a scheme of another chain", () => {
  test("prices each challenge with what the facilitator says, and is paid once for each payment", async () => {
    const { client, calls } = stellarClient();
    const { url, challenge, runs } = await openShop({
      scheme: stellar,
      network: STELLAR,
      routes: STELLAR_ROUTES,
      client,
    });
    const asked = await challenge();
    expect(asked).toMatchObject({
      accepts: [
        {
          scheme: "exact",
          network: STELLAR,
          amount: "100000",
          payTo: "GPAYEE",
          extra: { areFeesSponsored: true, extensions: ["notes"] },
        },
      ],
    });
    const payment = sign(asked, { isGood: true, transaction: "AAAA" });
    const first = await fetch(url, payment);
    expect([first.status, await first.json()]).toEqual([200, { runs: 1 }]);
    expect(decode(first.headers.get("PAYMENT-RESPONSE"))).toMatchObject({
      ...{ success: true, transaction: "tx1", payer: "GPAYER" },
    });
    const again = await fetch(url, payment);
    expect(await again.json()).not.toEqual({ runs: 2 });
    expect([runs(), calls]).toEqual([1, ["verify", "settle"]]);
  });

  test("is refused as its facilitator refuses it", async () => {
    const { client } = stellarClient();
    const { url, challenge, runs } = await openShop({
      scheme: stellar,
      network: STELLAR,
      routes: STELLAR_ROUTES,
      client,
    });
    const response = await fetch(url, sign(await challenge(), { isGood: false }));
    expect(response.status).toBe(402);
    expect(decode(response.headers.get("PAYMENT-REQUIRED"))["error"]).toContain("bad_envelope");
    expect(runs()).toBe(0);
  });
});

describe("a facilitator client of the reference's shape", () => {
  test.each([
    ["ours", VerifyError],
    ["the reference's", ForeignVerifyError],
  ])("refuses a payment with VerifyError of %s", async (_name, Failure) => {
    const { client } = stellarClient();
    client.verify = async () => {
      throw new Failure(400, { isValid: false, invalidReason: "no_trustline" });
    };
    const { url, challenge } = await openShop({ scheme: stellar, network: STELLAR, routes: STELLAR_ROUTES, client });
    const response = await fetch(url, sign(await challenge(), { isGood: true }));
    expect(response.status).toBe(402);
    expect(decode(response.headers.get("PAYMENT-REQUIRED"))["error"]).toContain("no_trustline");
  });

  test.each([
    ["ours", SettleError],
    ["the reference's", ForeignSettleError],
  ])("refuses a settlement with SettleError of %s", async (_name, Failure) => {
    const refused = { success: false, errorReason: "no_balance", transaction: "", network: STELLAR } as const;
    const { client } = stellarClient(() => Promise.reject(new Failure(400, refused)));
    const { url, challenge } = await openShop({ scheme: stellar, network: STELLAR, routes: STELLAR_ROUTES, client });
    const response = await fetch(url, sign(await challenge(), { isGood: true }));
    expect(response.status).toBe(402);
    expect(decode(response.headers.get("PAYMENT-RESPONSE"))).toMatchObject({
      success: false,
      errorReason: "no_balance",
    });
  });

  test.each([
    [
      "a lost connection",
      () => new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) }),
    ],
    [
      "a transaction that may be on its way",
      () => new SettleError(500, { success: false, errorReason: "timeout", transaction: "tx9", network: STELLAR }),
    ],
  ])("leaves the outcome unknown after %s: 503, and the client keeps its payment", async (_name, failure) => {
    const { client } = stellarClient(() => Promise.reject(failure()));
    const { url, challenge } = await openShop({ scheme: stellar, network: STELLAR, routes: STELLAR_ROUTES, client });
    const response = await fetch(url, sign(await challenge(), { isGood: true }));
    expect(response.status).toBe(503);
    expect(response.headers.get("Retry-After")).toMatch(/^\d+$/);
  });

  test("may be a subclass of ours that makes its calls in its own way", async () => {
    const stage = await openStage();
    const called: string[] = [];
    class Counting extends HTTPFacilitatorClient {
      override verify(...args: Parameters<HTTPFacilitatorClient["verify"]>) {
        called.push("verify");
        return super.verify(...args);
      }
    }
    const client = new Counting({ url: stage.facilitatorServer.url });
    const server = new x402ResourceServer(client).register(NETWORK, new ExactEvmScheme());
    const app = quietApp().use(paymentMiddleware(ROUTES, server, undefined, undefined, true, QUIET));
    app.get("/paid", (_req, res) => void res.send("goods"));
    expect((await stage.pay(`${await stage.serve(app)}/paid`)).status).toBe(200);
    expect(called).toEqual(["verify"]);
  });

  test("sends the headers of createAuthHeaders with each call", async () => {
    const stage = await openStage();
    const client = new HTTPFacilitatorClient({
      url: `${stage.facilitatorServer.url}/`,
      createAuthHeaders: async () => ({
        verify: { authorization: "v" },
        settle: { authorization: "s" },
        supported: { authorization: "k" },
        bazaar: { authorization: "b" },
      }),
    });
    const server = new x402ResourceServer(client).register(NETWORK, new ExactEvmScheme());
    const app = quietApp().use(paymentMiddleware(ROUTES, server, undefined, undefined, true, QUIET));
    app.get("/paid", (_req, res) => void res.send("goods"));
    expect((await stage.pay(`${await stage.serve(app)}/paid`)).status).toBe(200);
    const sent = stage.facilitatorServer.requests.map(({ operation, headers }) => [operation, headers.authorization]);
    expect(sent).toEqual([
      ["supported", "k"],
      ["verify", "v"],
      ["settle", "s"],
    ]);
  });
});

test.each([OwnUptoSvmScheme, OwnBatchSettlementEvmScheme])("%o is there, and says why it is refused", (Refused) => {
  expect(() => new Refused({ rpcUrl: "https://node.example" })).toThrow(
    /does not settle by escrow, received \w+Scheme/,
  );
});

describe("a scheme that needs more of its server than prices", () => {
  const client = new HTTPFacilitatorClient({ url: "https://facilitator.example" });
  const escrow = { default: { supported: ["escrow"], default: "escrow" } } as const;

  test.each([
    ["UptoSvmScheme", SOLANA, PAY_TO_SVM, new UptoSvmScheme(), /has settleOnCancel/],
    ["BatchSettlementEvmScheme", NETWORK, PAY_TO, new BatchSettlementEvmScheme(PAY_TO), /has enrichSettlementPayload/],
    ["one of the seller's", STELLAR, PAY_TO, { ...stellar, paymentFlows: escrow }, /settles by escrow/],
  ] as const)("is refused at start: %s", (_name, network, payTo, server, why) => {
    const { scheme } = server;
    const routes = { "GET /paid": { accepts: { scheme, price: "$0.01", network, payTo } } };
    const start = () => paymentMiddlewareFromConfig(routes, client, [{ network, server }]);
    expect(start).toThrow(expect.objectContaining({ name: "RouteConfigurationError" }));
    expect(start).toThrow(why);
  });
});
