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

test("the scheme says what it is, and cannot be changed", () => {
  expect(scheme).toMatchObject({ scheme: "exact", networks: "algorand:*" });
  expect(Object.isFrozen(scheme)).toBe(true);
});

describe("a price in dollars", () => {
  test("is in the network's USDC, and needs nothing of the seller", () => {
    const asset = { id: USDC, symbol: "USDC", decimals: 6, extra: {} };
    expect(compile({})).toEqual({ ok: true, asset, amount: 10_000n, payTo: ADDRESS });
  });

  test.each([NETWORK, WHOLE_NETWORK, MAINNET] as const)("is understood on %s", (network) => {
    const terms = compile({ network });
    expect(terms.ok && terms.asset.symbol).toBe("USDC");
  });

  test.each<[change: Partial<OfferTerms>, issue: string, why: string]>([
    [{ price: "0.01" }, 'price: a dollar price such as "$0.01"', "no currency"],
    [{ price: "1.5 EURC" }, "price: one of what is known there: USDC", "a ticker that nobody knows there"],
    [{ price: "1.5USDC" }, "price: a dollar price such as", "no space"],
    [{ price: "$0.0000001" }, "price: at most 6 decimals", "would be rounded"],
    [{ price: "$100000000000000" }, "price: an amount below 2^64", "more than an asset can have"],
    [{ network: ELSEWHERE }, "price: { asset, amount }, because no stablecoin is known", "no stablecoin"],
  ])("of %j is refused: %s (%s)", (change, issue) => {
    expect(issuesOf(change)).toEqual([expect.stringContaining(issue)]);
  });
});

describe("a price by a ticker", () => {
  test.each(ASSETS)("is in $symbol on $networkName", ({ network, asset: id, symbol }) => {
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
  test.each(ASSETS)("that is known has its name: $symbol on $networkName", ({ network, asset: id, symbol }) => {
    const terms = compile({ network, price: { asset: id, amount: "7" } });
    expect(terms).toMatchObject({ ok: true, amount: 7n, asset: { id, symbol, decimals: 6, extra: {} } });
  });

  test.each([TERMS.network, ELSEWHERE])("that is unknown on %s needs no more than its id", (network) => {
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
  ])("of %j is refused: %s (%s)", (price, issue) => {
    expect(issuesOf({ price })).toEqual([expect.stringContaining(issue)]);
  });

  test("of all that a token account can hold is taken", () => {
    expect(compile({ price: { asset: USDC, amount: (2n ** 64n - 1n).toString() } }).ok).toBe(true);
  });
});

test.each(["algorand:testnet", `algorand:${"-".repeat(32)}`, `algorand:${"7".repeat(31)}`, `${NETWORK}a`] as const)(
  "%s is no network",
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
  ])("%s is refused: %s (%s)", (payTo, issue) => {
    expect(issuesOf({ payTo })).toEqual([expect.stringContaining(issue)]);
    expect(issuesOf({ payTo })[0]).toMatch(/^payTo: /);
  });

  test("is checked whatever is wrong with the price", () => {
    expect(issuesOf({ payTo: "nobody", price: "1" })).toHaveLength(2);
  });
});

describe("what an offer gets of a facilitator", () => {
  test("is the address that pays fees, and nothing else", () => {
    expect(scheme.completeExtra?.({ feePayer: ADDRESS, memo: "x", features: {} })).toEqual({ feePayer: ADDRESS });
  });

  test("may be nothing, for a payer may pay the fee", () => {
    expect(scheme.completeExtra?.({})).toEqual({});
  });

  test.each([{ feePayer: "" }, { feePayer: 1 }, { feePayer: null }, { feePayer: ADDRESS.toLowerCase() }])(
    "is nothing of %j, so that it cannot be offered",
    (kindExtra) => {
      expect(scheme.completeExtra?.(kindExtra)).toBeUndefined();
    },
  );
});

test("addresses are the same only letter by letter", () => {
  expect(scheme.sameAddress(ADDRESS, ADDRESS)).toBe(true);
  expect(scheme.sameAddress(ADDRESS, ADDRESS.toLowerCase())).toBe(false);
});

test("compiling is total over texts, and what it sells is never below zero", () => {
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

/** A node by what it says of the holding, and of itself. */
function check(holding: unknown, change: Change = {}): Promise<PayeeCheck> {
  const { state = stateOf(GENESIS_HASH), ...query } = change;
  const rpc: RpcNode = {
    call: () => Promise.reject(new TypeError("nothing is asked by JSON-RPC")),
    async get(path) {
      const answer = path === HOLDING ? holding : state;
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  const checked = scheme.checkPayee?.({ network: NETWORK, asset: USDC, payTo: ADDRESS, rpc, ...query });
  return checked ?? Promise.reject(new TypeError("payees are not checked"));
}

const status = (code: number) => new RpcError(`node answered with status ${code}`, "status", code);

test.each<[what: string, holding: unknown, kind: PayeeCheck["kind"]]>([
  ["has some", { "asset-holding": { amount: 5, "is-frozen": false } }, "payable"],
  ["has none", { "asset-holding": { amount: 0 } }, "payable"],
  ["has some that is frozen", { "asset-holding": { amount: 5, "is-frozen": true } }, "unpayable"],
  ["has not opted in", status(404), "unpayable"],
  ["has only created it", { "created-asset": {} }, "unpayable"],
  ["cannot be asked about", status(500), "unclear"],
  ["has what is no holding", { "asset-holding": 5 }, "unclear"],
  ["is answered with a list", [], "unclear"],
  ["is answered with an error of its own", new TypeError("https://node.example/secret"), "unclear"],
])("a payee who %s", async (_, holding, kind) => {
  const checked = await check(holding);
  expect(checked.kind).toBe(kind);
  expect(JSON.stringify(checked)).not.toContain("secret");
});

test("the command that helps is said, in whatever spelling the network is written", async () => {
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
  ["a node that says no network", { state: {} }],
  ["a node that wants a token", { state: status(401) }],
  ["a node without parameters", { state: status(404) }],
  ["a network of others", { network: "eip155:1" }],
  ["an asset of others", { asset: "0x1" }],
  ["a payee of others", { payTo: "0x1" }],
])("%s makes it unclear", async (_, change) => {
  expect(await check(status(404), change)).toMatchObject({ kind: "unclear" });
});

test("whatever a node says, there is an answer", async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.anything(), fc.record({ "asset-holding": fc.anything() })), async (holding) => {
      expect(["payable", "unpayable", "unclear"]).toContain((await check(holding)).kind);
    }),
  );
});
