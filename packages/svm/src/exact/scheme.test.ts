import { type CompiledTerms, type OfferTerms, type PayeeCheck, RpcError, type RpcNode } from "@farebox/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TOKEN, TOKEN_2022, tokenAccountOf } from "../address.js";
import { ASSETS } from "../assets.js";
import { exactSvm } from "./scheme.js";

const PAY_TO = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4";
const USDC = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU";
const UNKNOWN = "So11111111111111111111111111111111111111112";
const ELSEWHERE = `solana:${"7".repeat(32)}` as const;

const TERMS: OfferTerms = { network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", price: "$0.01", payTo: PAY_TO };
const scheme = exactSvm();

function compile(change: Partial<OfferTerms>): CompiledTerms {
  return scheme.compileTerms({ ...TERMS, ...change });
}

/** Issues as `term: expected`. */
function issuesOf(change: Partial<OfferTerms>): readonly string[] {
  const terms = compile(change);
  return terms.ok ? [] : terms.issues.map(({ term, expected }) => `${term}: ${expected}`);
}

test("the scheme names its networks, and is frozen", () => {
  expect(scheme).toMatchObject({ scheme: "exact", networks: "solana:*" });
  expect(Object.isFrozen(scheme)).toBe(true);
});

describe("a price in dollars", () => {
  test("a price in dollars is in the network's USDC", () => {
    const asset = { id: USDC, symbol: "USDC", decimals: 6, extra: {} };
    expect(compile({})).toEqual({ ok: true, asset, amount: 10_000n, payTo: PAY_TO });
  });

  test.each([
    "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
    "EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
    "4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z",
  ])("a price in dollars is known on %s", (reference) => {
    const terms = compile({ network: `solana:${reference}` });
    expect(terms.ok && terms.asset.symbol).toBe("USDC");
  });

  test.each<[change: Partial<OfferTerms>, issue: string, why: string]>([
    [{ price: "0.01" }, 'price: a dollar price such as "$0.01"', "no currency"],
    [{ price: "1.5 EURC" }, "price: one of the tickers on this network: USDC", "a ticker that is not known there"],
    [{ price: "1.5USDC" }, "price: a dollar price such as", "no space"],
    [{ price: "$0.0000001" }, "price: at most 6 decimals", "would be rounded"],
    [{ price: "$100000000000000" }, "price: an amount below 2^64", "more than a token account can hold"],
    [{ network: ELSEWHERE }, "price: { asset, amount }, because no stablecoin is known", "no stablecoin"],
  ])("terms with %j are refused: %s (%s)", (change, issue) => {
    expect(issuesOf(change)).toEqual([expect.stringContaining(issue)]);
  });
});

describe("a price by a ticker", () => {
  test.each(ASSETS)("a price in $symbol is in that token of $program on $networkName", ({ network, mint, symbol }) => {
    for (const ticker of [symbol, symbol.toLowerCase()]) {
      expect(compile({ network, price: `0.10 ${ticker}` })).toMatchObject({
        ok: true,
        asset: { id: mint, symbol, decimals: 6 },
        amount: 100_000n,
      });
    }
  });

  test("a ticker that only another network knows is refused, with the tickers of this one", () => {
    expect(issuesOf({ price: "1 USDT" })).toEqual(["price: one of the tickers on this network: USDC, USDG, PYUSD"]);
  });

  test("each ticker names one token on each network", () => {
    const tickers = ASSETS.map(({ network, symbol }) => `${network} ${symbol.toUpperCase()}`);
    expect(new Set(tickers).size).toBe(tickers.length);
  });
});

describe("a price in an asset", () => {
  test.each(ASSETS)("a known asset is named $symbol on $networkName", ({ network, mint, symbol }) => {
    const terms = compile({ network, price: { asset: mint, amount: "7" } });
    expect(terms).toMatchObject({ ok: true, amount: 7n, asset: { id: mint, symbol, decimals: 6, extra: {} } });
  });

  test.each([TERMS.network, ELSEWHERE])("an unknown asset on %s needs only its mint", (network) => {
    const asset = { id: UNKNOWN, symbol: UNKNOWN, decimals: undefined, extra: {} };
    expect(compile({ network, price: { asset: UNKNOWN, amount: "7" } })).toMatchObject({ ok: true, asset, amount: 7n });
  });

  test.each<[price: OfferTerms["price"], issue: string, why: string]>([
    [{ asset: "USDC", amount: "7" }, "price.asset: a token's mint", "a ticker"],
    [{ asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", amount: "7" }, "price.asset: a token's mint", "of Base"],
    [{ asset: "11111111111111111111111111111111", amount: "7" }, "price.asset: a token's mint, not a program", "SOL"],
    [{ asset: USDC, amount: "0.01" }, "price.amount: atomic units", "a point"],
    [{ asset: USDC, amount: (2n ** 64n).toString() }, "price.amount: an amount below 2^64", "too much"],
  ])("terms with %j are refused: %s (%s)", (price, issue) => {
    expect(issuesOf({ price })).toEqual([expect.stringContaining(issue)]);
  });

  test("a price may be as high as 2^64 - 1", () => {
    expect(compile({ price: { asset: USDC, amount: (2n ** 64n - 1n).toString() } }).ok).toBe(true);
  });
});

test.each(["solana:devnet", "solana:mainnet-beta", `solana:${"0".repeat(32)}`, `solana:${"7".repeat(31)}`] as const)(
  "%s is not a network",
  (network) => {
    expect(issuesOf({ network, price: { asset: UNKNOWN, amount: "7" } })).toEqual([
      "network: solana and 32 characters, as in solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
    ]);
  },
);

describe("payTo", () => {
  test.each<[payTo: string, issue: string, why: string]>([
    ["", "a Solana address", "empty"],
    ["toly.sol", "a Solana address", "a name"],
    [PAY_TO.slice(0, -1), "a Solana address", "a digit short"],
    [`${PAY_TO}1`, "a Solana address", "a digit long"],
    [PAY_TO.replace("w", "0"), "a Solana address", "a digit that base58 lacks"],
    ["0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "a Solana address", "of another family"],
    ["11111111111111111111111111111111", "not a program", "the system program, and zero"],
    ["TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "not a program", "the token program"],
    [USDC, "not the token's own mint", "lost for good"],
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
    expect(scheme.completeExtra?.({ feePayer: PAY_TO, memo: "x", features: {} })).toEqual({ feePayer: PAY_TO });
  });

  test.each([
    {},
    { feePayer: "" },
    { feePayer: 1 },
    { feePayer: "0x1" },
    { feePayer: "11111111111111111111111111111111" },
  ])("an offer cannot be completed with %j", (kindExtra) => {
    expect(scheme.completeExtra?.(kindExtra)).toBeUndefined();
  });
});

test("addresses that differ in case are different", () => {
  expect(scheme.sameAddress(PAY_TO, PAY_TO)).toBe(true);
  expect(scheme.sameAddress(PAY_TO, PAY_TO.toLowerCase())).toBe(false);
});

test("compileTerms yields an amount of zero or more, or issues, for any text", () => {
  const price = fc.oneof(fc.string(), fc.record({ asset: fc.constantFrom(USDC, UNKNOWN, "x"), amount: fc.string() }));
  fc.assert(
    fc.property(fc.string(), price, fc.oneof(fc.string(), fc.constant(PAY_TO)), (reference, some, payTo) => {
      const terms = scheme.compileTerms({ network: `solana:${reference}`, price: some, payTo });
      if (terms.ok) expect(terms.amount >= 0n).toBe(true);
      else expect(terms.issues.length).toBeGreaterThan(0);
    }),
  );
});

const GENESIS = `${TERMS.network.slice("solana:".length)}wcaWoxPkrZBG`;
const SYSTEM = "11111111111111111111111111111111";

type Owners = Readonly<Record<string, string | undefined>>;

/** A node with these owners of accounts, or these responses. */
function check(
  owners: Owners,
  responses: Readonly<Record<string, unknown>> = {},
  change: object = {},
): Promise<PayeeCheck> {
  const rpc: RpcNode = {
    get: () => Promise.reject(new TypeError("nothing is asked by GET")),
    async call(method, [addresses]) {
      const response = responses[method];
      if (response instanceof Error) throw response;
      if (response !== undefined) return response;
      if (method === "getGenesisHash") return GENESIS;
      const value = (addresses as string[]).map((address) => {
        const owner = owners[address];
        return owner === undefined ? null : { owner, data: ["", "base64"], lamports: 1 };
      });
      return { context: { slot: 1 }, value };
    },
  };
  const checked = scheme.checkPayee?.({ network: TERMS.network, asset: USDC, payTo: PAY_TO, rpc, ...change });
  return checked ?? Promise.reject(new TypeError("payees are not checked"));
}

const ACCOUNT = tokenAccountOf(PAY_TO, USDC);
const ACCOUNT_2022 = tokenAccountOf(PAY_TO, USDC, "token-2022");
const CREATE = `spl-token create-account ${USDC} --owner ${PAY_TO} --fee-payer <keypair file> --url devnet`;

test.each<[what: string, owners: Owners, kind: PayeeCheck["kind"], said: string | undefined]>([
  ["has the token account", { [USDC]: TOKEN.address, [ACCOUNT]: TOKEN.address }, "payable", undefined],
  [
    "has the token account and exists as a wallet",
    { [USDC]: TOKEN.address, [ACCOUNT]: TOKEN.address, [PAY_TO]: SYSTEM },
    "payable",
    undefined,
  ],
  [
    "has the token account under Token-2022",
    { [USDC]: TOKEN_2022.address, [ACCOUNT_2022]: TOKEN_2022.address },
    "payable",
    undefined,
  ],
  ["lacks the token account", { [USDC]: TOKEN.address, [PAY_TO]: SYSTEM }, "unpayable", CREATE],
  [
    "has only the account under the other program",
    { [USDC]: TOKEN_2022.address, [ACCOUNT]: TOKEN.address },
    "unpayable",
    CREATE,
  ],
  ["has only SOL at the address", { [USDC]: TOKEN.address, [ACCOUNT]: SYSTEM }, "unpayable", CREATE],
  ["is a token account", { [USDC]: TOKEN.address, [PAY_TO]: TOKEN.address }, "unpayable", "account-info --address"],
  ["is paid in an asset that is not a mint", { [USDC]: SYSTEM }, "unclear", "not a token's mint"],
  ["is paid in a token that does not exist", {}, "unclear", "not a token's mint"],
])("checkPayee judges a payee who %s", async (_, owners, kind, said) => {
  const checked = await check(owners);
  expect(checked.kind).toBe(kind);
  if (said !== undefined) expect(JSON.stringify(checked)).toContain(said);
});

test("checkPayee names the missing token account", async () => {
  expect(await check({ [USDC]: TOKEN.address })).toMatchObject({
    problem: `its token account ${ACCOUNT} does not exist`,
  });
});

test.each<[what: string, responses: Readonly<Record<string, unknown>>]>([
  ["is of another network", { getGenesisHash: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d" }],
  ["does not respond", { getMultipleAccounts: new RpcError("node is silent", "timeout") }],
  ["breaks", { getMultipleAccounts: new TypeError("https://node.example/secret") }],
  ["responds for too few accounts", { getMultipleAccounts: { context: { slot: 1 }, value: [] } }],
  ["responds with accounts without owners", { getMultipleAccounts: { context: { slot: 1 }, value: [{}, {}] } }],
])("checkPayee is unclear when the node %s, and does not quote it", async (_, responses) => {
  const checked = await check({}, responses);
  expect(checked).toMatchObject({ kind: "unclear" });
  expect(JSON.stringify(checked)).not.toContain("secret");
});

test.each([{ payTo: "x" }, { asset: "x" }, { payTo: "" }])("checkPayee is unclear with %j", async (change) => {
  expect(await check({}, {}, change)).toMatchObject({ kind: "unclear" });
});

test("checkPayee never throws for any response of a node", async () => {
  const value = fc.oneof(fc.anything(), fc.array(fc.oneof(fc.anything(), fc.record({ owner: fc.anything() }))));
  await fc.assert(
    fc.asyncProperty(value, async (accounts) => {
      const checked = await check({}, { getMultipleAccounts: { context: { slot: 1 }, value: accounts } });
      expect(["payable", "unpayable", "unclear"]).toContain(checked.kind);
    }),
  );
});
