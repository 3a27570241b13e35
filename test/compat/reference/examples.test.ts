/**
 * The reference's example servers, unchanged but for their imports, are paid by the reference's clients on local chains. To a client and
 * to the ledger, Farebox and the reference differ only where `docs/reference/compat-differences.md` says so.
 *
 * Starts forty servers, so `pnpm test:compat` runs it and `pnpm test` does not.
 */
import { createPayer } from "@farebox/testing";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { fetchReference, PATHS } from "../../scripts/fetch-reference.mjs";
import { normalize, type Observation, observe } from "../differential/compare.js";
import { unexplained } from "../differential/differences.js";
import { type ExampleServer, type Side, startExample } from "./servers.js";
import { type Chain, openTown, type Town } from "./town.js";

const SERVERS = "examples/typescript/servers";

/** One purchase: the path, how it is paid, and what else is known. */
interface Purchase {
  readonly path: string;
  readonly by?: Chain;
  readonly price?: bigint;
  readonly approvesPermit2?: boolean;
  /** Why `@x402/axios`, of which 2.11 is the newest, cannot buy it of the reference. */
  readonly notByAxios?: "it does not echo the declaration of an extension";
}

interface Example {
  readonly file: string;
  readonly purchases: readonly Purchase[];
  readonly hooks?: readonly string[];
}

const WEATHER: Purchase = { path: "/weather" };
const SPONSORED = { notByAxios: "it does not echo the declaration of an extension" } as const;

const EXAMPLES: readonly Example[] = [
  { file: `${SERVERS}/express/index.ts`, purchases: [WEATHER, { ...WEATHER, by: "solana" }] },
  { file: `${SERVERS}/advanced/all_networks.ts`, purchases: [WEATHER, { ...WEATHER, by: "solana" }] },
  { file: `${SERVERS}/advanced/bazaar.ts`, purchases: [WEATHER, { path: "/weather?city=Tokyo" }] },
  { file: `${SERVERS}/advanced/custom-money-definition.ts`, purchases: [WEATHER] },
  { file: `${SERVERS}/advanced/dynamic-pay-to.ts`, purchases: [WEATHER, { path: "/weather?country=FR" }] },
  {
    file: `${SERVERS}/advanced/dynamic-price.ts`,
    purchases: [WEATHER, { path: "/weather?tier=premium", price: 5_000n }],
  },
  {
    file: `${SERVERS}/advanced/eip2612-gas-sponsoring.ts`,
    purchases: [{ path: "/premium-data", approvesPermit2: true }],
  },
  {
    file: `${SERVERS}/advanced/hooks.ts`,
    purchases: [WEATHER],
    hooks: ["Before verify hook", "After verify hook", "Before settle hook", "After settle hook"],
  },
  {
    file: `${SERVERS}/bazaar/index.ts`,
    purchases: [{ path: "/weather/tokyo" }, { path: "/weather/jp/osaka", by: "solana" }],
  },
  { file: `${SERVERS}/offer-receipt/index.ts`, purchases: [WEATHER] },
  { file: `${SERVERS}/payment-identifier/index.ts`, purchases: [WEATHER] },
  { file: `${SERVERS}/self-facilitation/index.ts`, purchases: [WEATHER] },
  { file: `${SERVERS}/upto/index.ts`, purchases: [{ path: "/api/generate", price: 50_000n, ...SPONSORED }] },
  {
    file: "e2e/servers/express/index.ts",
    purchases: [
      { path: "/exact/evm/eip3009" },
      { path: "/exact/svm", by: "solana" },
      { path: "/exact/avm", by: "algorand" },
      { path: "/exact/evm/permit2", approvesPermit2: true },
      { path: "/exact/evm/permit2-eip2612GasSponsoring", ...SPONSORED },
      { path: "/upto/evm/permit2", approvesPermit2: true },
      { path: "/upto/evm/permit2-eip2612GasSponsoring", ...SPONSORED },
    ],
  },
];

/** These sell at depth 2 only: one has no middleware, and one has a name that 2.27 dropped. */
const BY_THEMSELVES = [`${SERVERS}/custom/index.ts`, `${SERVERS}/sign-in-with-x/index.ts`];

const isWanted = process.env["FAREBOX_PLANS"] !== undefined;
const reference = isWanted ? await fetchReference() : { reason: "only pnpm test:compat runs the example servers" };
if (reference.folder === undefined) console.warn(`skipped: ${reference.reason}`);

let town: Town;
let servers: ExampleServer[] = [];

describe.skipIf(reference.folder === undefined)("the reference's example servers", () => {
  test("are all sold by", () => {
    const isServer = (path: string) => !/-signer\.ts$/.test(path);
    expect([...EXAMPLES.map(({ file }) => file), ...BY_THEMSELVES].sort()).toEqual(PATHS.filter(isServer).sort());
  });

  beforeAll(async () => {
    town = await openTown();
  });

  afterAll(() => town.close());

  describe.each(EXAMPLES.map((each) => [each.file, each] as const))("%s", (file, { purchases, hooks }) => {
    const seen = new Map<Side, readonly Observation[]>();

    afterAll(async () => {
      for (const server of servers) await server.close();
      servers = [];
    });

    async function sell(side: Side): Promise<readonly Observation[]> {
      const already = seen.get(side);
      if (already !== undefined) return already;
      const server = await startExample(reference.folder as string, file, side, environment());
      servers.push(server);
      const observed: Observation[] = [];
      for (const purchase of purchases) observed.push(...(await buy(server, purchase)));
      seen.set(side, observed);
      return observed;
    }

    test("sells on the reference", async () => {
      const observed = await sell("reference");
      expectSold(observed, purchases, hooks);
    });

    test.each(["depth 1", "depth 2"] as const)("sells the same at %s", async (side) => {
      const [theirs, ours] = [await sell("reference"), await sell(side)];
      expectSold(ours, purchases, hooks);
      expect(unexplained(theirs, ours)).toEqual([]);
    });
  });
});

/** It calls the resource server by hand, and forgets to wait for its challenge: the header is that of an empty object. */
describe.skipIf(reference.folder === undefined)("the reference's server without a middleware", () => {
  const file = `${SERVERS}/custom/index.ts`;

  beforeAll(async () => {
    town = await openTown();
  });

  afterAll(() => town.close());

  async function sell(side: Side): Promise<readonly Observation[]> {
    const server = await startExample(reference.folder as string, file, side, environment());
    const payer = createPayer();
    await town.chain.fund(payer.address, { usdc: 5_000n });
    const { network, asset } = town.chain;
    const terms = { scheme: "exact", network, asset, amount: "1000", payTo: town.payees.evm, maxTimeoutSeconds: 300 };
    const payment = await payer.signExact({ ...terms, extra: { name: "USDC", version: "2" } });
    const headers = { "PAYMENT-SIGNATURE": Buffer.from(JSON.stringify(payment)).toString("base64") };
    const before = await town.earned();
    const unpaid = await observe(await fetch(`${server.url}/weather`));
    const paid = await observe(await fetch(`${server.url}/weather`, { headers }));
    const facts = { earned: String((await town.earned()) - before) };
    const observed = [unpaid, { ...paid, facts }].map((each) => withoutRuns(each, server));
    await server.close();
    return normalize(observed, { [payer.address]: "(payer)" });
  }

  test("sells the same with the reference and with Farebox", async () => {
    const [theirs, ours] = [await sell("reference"), await sell("depth 2")];
    const sold = [
      { status: 402, challenge: {} },
      { status: 200, receipt: { success: true }, facts: { earned: "1000" } },
    ];
    expect(theirs).toMatchObject(sold);
    expect(ours).toMatchObject(sold);
    expect(unexplained(theirs, ours)).toEqual([]);
  });
});

describe.skipIf(reference.folder === undefined)("the reference's server for signing in, of 2.10", () => {
  const file = `${SERVERS}/sign-in-with-x/index.ts`;

  beforeAll(async () => {
    town = await openTown();
  });

  afterAll(() => town.close());

  test("has a name that 2.27 dropped: it does not start on the reference", async () => {
    const starting = startExample(reference.folder as string, file, "reference", environment());
    await expect(starting).rejects.toThrow("siwxResourceServerExtension");
  });

  test("sells at depth 2, and asks for a signature where nothing is sold", async () => {
    const server = await startExample(reference.folder as string, file, "depth 2", environment());
    servers.push(server);
    expectSold(await buy(server, WEATHER), [WEATHER]);
    const profile = await observe(await fetch(`${server.url}/profile`));
    expect(profile).toMatchObject({ status: 402, challenge: { accepts: [], extensions: { "sign-in-with-x": {} } } });
    await server.close();
  });
});

/** A server's environment. The address of the payee is the same for all, so that challenges can be compared. */
function environment(): Record<string, string> {
  const { evm, svm, avm } = town.payees;
  return {
    ADDRESS: evm,
    FACILITATOR_URL: town.facilitator,
    SIGNING_FORMAT: "eip712",
    SIGNING_PRIVATE_KEY: `0x${"42".repeat(32)}`,
    EVM_ADDRESS: evm,
    EVM_PRIVATE_KEY: town.payeeKey,
    RPC_URL: town.chain.rpcUrl,
    SVM_ADDRESS: svm,
    EVM_PAYEE_ADDRESS: evm,
    SVM_PAYEE_ADDRESS: svm,
    AVM_PAYEE_ADDRESS: avm,
    AVM_NETWORK: "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe",
    EVM_PERMIT2_ASSET: town.chain.asset,
    PORT: "0",
  };
}

/** Asks for the price, and buys it once with each client. */
async function buy(server: ExampleServer, purchase: Purchase): Promise<Observation[]> {
  const { path, by, approvesPermit2 = false } = purchase;
  const url = server.url + path;
  const unpaid = await observe(await fetch(url));
  const observed = [unpaid];
  for (const client of clientsOf(purchase)) {
    // Waits for the next block of Solana: the same payment would be made again.
    town.svm.expire();
    const buyer = await town.createBuyer({ approvesPermit2 });
    const [before, logged] = [await town.earned(), server.logged.length];
    // `upto` charges a random part of what it may.
    const random = path === "/api/generate" ? vi.spyOn(Math, "random").mockReturnValue(0.5) : undefined;
    const response = client === "fetch" ? await buyer.fetch(url, {}, by) : await buyer.axios(url, by);
    random?.mockRestore();
    const facts = {
      earned: String((await town.earned()) - before),
      hooks: server.logged.slice(logged).filter((each) => each.endsWith("hook")),
    };
    observed.push(normalize(await observe(response, facts), { [buyer.address]: "(payer)" }));
  }
  return observed.map((each) => withoutRuns(each, server));
}

function clientsOf({ notByAxios }: Purchase): readonly ("fetch" | "axios")[] {
  return notByAxios === undefined ? ["fetch", "axios"] : ["fetch"];
}

/** What differs between two runs of the same server. */
function withoutRuns(observation: Observation, { url }: ExampleServer): Observation {
  const receipt = observation.receipt as Record<string, unknown>;
  const isReceipt = typeof receipt === "object" && receipt !== null;
  return normalize(
    { ...observation, receipt: isReceipt ? { ...receipt, transaction: typeof receipt["transaction"] } : receipt },
    {
      [url]: "http://seller",
      // Signed anew for each request.
      "0x[0-9a-f]{130}": "(signature)",
      '(?<="(validUntil|issuedAt)":)\\d+': "0",
    },
  );
}

function expectSold(observed: readonly Observation[], purchases: readonly Purchase[], hooks: readonly string[] = []) {
  const expected = purchases.flatMap((purchase) => {
    const sold = {
      status: 200,
      receipt: { success: true },
      facts: { earned: String(purchase.price ?? 1_000n), hooks },
    };
    return [{ status: 402 }, ...clientsOf(purchase).map(() => sold)];
  });
  expect(observed).toMatchObject(expected);
}
