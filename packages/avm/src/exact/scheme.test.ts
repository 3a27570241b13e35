import { type CompiledTerms, type OfferTerms, type PayeeCheck, RpcError, type RpcNode } from "@farebox/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ASSETS } from "../assets.js";
import { GENESIS_HASH, MAINNET, MAINNET_HASH, NETWORK, PAY_TO, WHOLE_NETWORK } from "../payments.fixture.js";
import { exactAvm } from "./scheme.js";

const USDC = "10458941";
const UNKNOWN = "7";
const ELSEWHERE = `algorand:${"7".repeat(32)}` as const;
const ADDRESS = PAY_TO.toString();

const TERMS: OfferTerms = { network: NETWORK, price: "$0.01", payTo: ADDRESS };
const scheme = exactAvm();

function compile(change: Partial<OfferTerms>): CompiledTerms {
  return scheme.compileTerms({ ...TERMS, ...change });
}

/** Issues as `term: expected`. */
function issuesOf(change: Partial<OfferTerms>): readonly string[] {
  const terms = compile(change);
  return terms.ok ? [] : terms.issues.map(({ term, expected }) => `${term}: ${expected}`);
}

test("the scheme names its networks, and is frozen", () => {
  expect(scheme).toMatchObject({ scheme: "exact", networks: "algorand:*" });
  expect(Object.isFrozen(scheme)).toBe(true);
});

describe("a price in dollars", () => {
  test("a price in dollars is in the network's USDC", () => {
    const asset = { id: USDC, symbol: "USDC", decimals: 6, extra: {} };
    expect(compile({})).toEqual({ ok: true, asset, amount: 10_000n, payTo: ADDRESS });
  });

  test.each([NETWORK, WHOLE_NETWORK, MAINNET] as const)("a price in dollars is known on %s", (network) => {
    const terms = compile({ network });
    expect(terms.ok && terms.asset.symbol).toBe("USDC");
  });

  test.each<[change: Partial<OfferTerms>, issue: string, why: string]>([
    [{ price: "0.01" }, 'price: a dollar price such as "$0.01"', "no currency"],
    [{ price: "1.5 EURC" }, "price: one of the tickers on this network: USDC", "a ticker that is not known there"],
    [{ price: "1.5USDC" }, "price: a dollar price such as", "no space"],
    [{ price: "$0.0000001" }, "price: at most 6 decimals", "would be rounded"],
    [{ price: "$100000000000000" }, "price: an amount below 2^64", "more than an asset can have"],
    [{ network: ELSEWHERE }, "price: { asset, amount }, because no stablecoin is known", "no stablecoin"],
  ])("terms with %j are refused: %s (%s)", (change, issue) => {
    expect(issuesOf(change)).toEqual([expect.stringContaining(issue)]);
  });
});

describe("a price by a ticker", () => {
  test.each(ASSETS)("a price in $symbol is in that asset on $networkName", ({ network, asset: id, symbol }) => {
    for (const ticker of [symbol, symbol.toLowerCase()]) {
      expect(compile({ network, price: `0.10 ${ticker}` })).toMatchObject({
        ok: true,
        asset: { id, symbol, decimals: 6 },
        amount: 100_000n,
      });
    }
  });
});

describe("a price in an asset", () => {
  test.each(ASSETS)("a known asset is named $symbol on $networkName", ({ network, asset: id, symbol }) => {
    const terms = compile({ network, price: { asset: id, amount: "7" } });
    expect(terms).toMatchObject({ ok: true, amount: 7n, asset: { id, symbol, decimals: 6, extra: {} } });
  });

  test.each([TERMS.network, ELSEWHERE])("an unknown asset on %s needs only its id", (network) => {
    const asset = { id: UNKNOWN, symbol: UNKNOWN, decimals: undefined, extra: {} };
    expect(compile({ network, price: { asset: UNKNOWN, amount: "7" } })).toMatchObject({ ok: true, asset, amount: 7n });
  });

  test.each<[price: OfferTerms["price"], issue: string, why: string]>([
    [{ asset: "USDC", amount: "7" }, "price.asset: an asset's id", "a ticker"],
    [{ asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", amount: "7" }, "price.asset: an asset's id", "of Base"],
    [{ asset: "0", amount: "7" }, "price.asset: an asset's id", "Algos"],
    [{ asset: `0${USDC}`, amount: "7" }, "price.asset: an asset's id", "another spelling"],
    [{ asset: (2n ** 64n).toString(), amount: "7" }, "price.asset: an asset's id", "too much"],
    [{ asset: USDC, amount: "0.01" }, "price.amount: atomic units", "a point"],
    [{ asset: USDC, amount: (2n ** 64n).toString() }, "price.amount: an amount below 2^64", "too much"],
  ])("terms with %j are refused: %s (%s)", (price, issue) => {
    expect(issuesOf({ price })).toEqual([expect.stringContaining(issue)]);
  });

  test("a price may be as high as 2^64 - 1", () => {
    expect(compile({ price: { asset: USDC, amount: (2n ** 64n - 1n).toString() } }).ok).toBe(true);
  });
});

test.each(["algorand:testnet", `algorand:${"-".repeat(32)}`, `algorand:${"7".repeat(31)}`, `${NETWORK}a`] as const)(
  "%s is not a network",
  (network) => {
    expect(issuesOf({ network, price: { asset: UNKNOWN, amount: "7" } })).toEqual([
      "network: algorand and 32 or all 44 characters, as in algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe",
    ]);
  },
);

describe("payTo", () => {
  test.each<[payTo: string, issue: string, why: string]>([
    ["", "an Algorand address", "empty"],
    ["pera.algo", "an Algorand address", "a name"],
    [ADDRESS.slice(0, -1), "an Algorand address", "a letter short"],
    [`${ADDRESS.slice(0, -1)}${ADDRESS.endsWith("A") ? "E" : "A"}`, "its checksum", "another checksum"],
    ["0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "an Algorand address", "of another family"],
    ["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ", "not the zero address", "the zero address"],
  ])("payTo %s is refused: %s (%s)", (payTo, issue) => {
    expect(issuesOf({ payTo })).toEqual([expect.stringContaining(issue)]);
    expect(issuesOf({ payTo })[0]).toMatch(/^payTo: /);
  });

  test("payTo is checked even if the price is wrong", () => {
    expect(issuesOf({ payTo: "unknown", price: "1" })).toHaveLength(2);
  });
});

describe("the extra of an offer", () => {
  test("an offer gets the fee payer from the facilitator's kind, and no other field", () => {
    expect(scheme.completeExtra?.({ feePayer: ADDRESS, memo: "x", features: {} })).toEqual({ feePayer: ADDRESS });
  });

  test("an offer needs no fee payer, because the payer can pay the fee", () => {
    expect(scheme.completeExtra?.({})).toEqual({});
  });

  test.each([{ feePayer: "" }, { feePayer: 1 }, { feePayer: null }, { feePayer: ADDRESS.toLowerCase() }])(
    "an offer cannot be completed with %j",
    (kindExtra) => {
      expect(scheme.completeExtra?.(kindExtra)).toBeUndefined();
    },
  );
});

test("addresses that differ in case are different", () => {
  expect(scheme.sameAddress(ADDRESS, ADDRESS)).toBe(true);
  expect(scheme.sameAddress(ADDRESS, ADDRESS.toLowerCase())).toBe(false);
});

test("compileTerms yields an amount of zero or more, or issues, for any text", () => {
  const price = fc.oneof(fc.string(), fc.record({ asset: fc.constantFrom(USDC, UNKNOWN, "x"), amount: fc.string() }));
  fc.assert(
    fc.property(fc.string(), price, fc.oneof(fc.string(), fc.constant(ADDRESS)), (reference, some, payTo) => {
      const terms = scheme.compileTerms({ network: `algorand:${reference}`, price: some, payTo });
      if (terms.ok) expect(terms.amount >= 0n).toBe(true);
      else expect(terms.issues.length).toBeGreaterThan(0);
    }),
  );
});

const HOLDING = `/v2/accounts/${ADDRESS}/assets/${USDC}?format=json`;

const stateOf = (hash: Buffer) => ({ "genesis-hash": hash.toString("base64"), "last-round": 5 });

interface Change {
  readonly state?: unknown;
  readonly network?: string;
  readonly asset?: string;
  readonly payTo?: string;
}

/** A node with this response about the holding, and this state. */
function check(holding: unknown, change: Change = {}): Promise<PayeeCheck> {
  const { state = stateOf(GENESIS_HASH), ...query } = change;
  const rpc: RpcNode = {
    call: () => Promise.reject(new TypeError("nothing is asked by JSON-RPC")),
    async get(path) {
      const response = path === HOLDING ? holding : state;
      if (response instanceof Error) throw response;
      return response;
    },
  };
  const checked = scheme.checkPayee?.({ network: NETWORK, asset: USDC, payTo: ADDRESS, rpc, ...query });
  return checked ?? Promise.reject(new TypeError("payees are not checked"));
}

const status = (code: number) => new RpcError(`node answered with status ${code}`, "status", code);

test.each<[what: string, holding: unknown, kind: PayeeCheck["kind"]]>([
  ["holds some of the asset", { "asset-holding": { amount: 5, "is-frozen": false } }, "payable"],
  ["has opted in, and holds nothing", { "asset-holding": { amount: 0 } }, "payable"],
  ["has a frozen holding", { "asset-holding": { amount: 5, "is-frozen": true } }, "unpayable"],
  ["has not opted in", status(404), "unpayable"],
  ["has only created the asset", { "created-asset": {} }, "unpayable"],
  ["the node fails for", status(500), "unclear"],
  ["has a holding of another type", { "asset-holding": 5 }, "unclear"],
  ["is a list in the response", [], "unclear"],
  ["causes an error of another kind", new TypeError("https://node.example/secret"), "unclear"],
])("checkPayee judges a payee that %s", async (_, holding, kind) => {
  const checked = await check(holding);
  expect(checked.kind).toBe(kind);
  expect(JSON.stringify(checked)).not.toContain("secret");
});

test("checkPayee names the command that opts in, for either spelling of the network", async () => {
  for (const network of [NETWORK, WHOLE_NETWORK]) {
    expect(await check(status(404), { network })).toEqual({
      kind: "unpayable",
      problem: `it has not opted in to asset ${USDC}`,
      remedy: expect.stringMatching(new RegExp(`: goal asset optin --assetid ${USDC} --account ${ADDRESS}$`)),
    });
  }
});

test.each<[what: string, change: Change]>([
  ["a node of another network", { state: stateOf(MAINNET_HASH) }],
  ["a node that does not tell its network", { state: {} }],
  ["a node that demands a token", { state: status(401) }],
  ["a node without parameters", { state: status(404) }],
  ["a network of another family", { network: "eip155:1" }],
  ["an asset of another family", { asset: "0x1" }],
  ["a payee of another family", { payTo: "0x1" }],
])("checkPayee is unclear with %s", async (_, change) => {
  expect(await check(status(404), change)).toMatchObject({ kind: "unclear" });
});

test("checkPayee never throws for any response of a node", async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.anything(), fc.record({ "asset-holding": fc.anything() })), async (holding) => {
      expect(["payable", "unpayable", "unclear"]).toContain((await check(holding)).kind);
    }),
  );
});
