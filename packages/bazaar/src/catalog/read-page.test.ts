import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { affordable, type CatalogEntry, matchesFilter } from "./entry.js";
import { readEntry } from "./read-page.js";

const SEED = Number(process.env["FAREBOX_SEED"]);
console.info(`entries: seed ${SEED}`);

const OFFER = { scheme: "exact", network: "eip155:8453", asset: "0xAbC", payTo: "0xDeF", amount: "1000" };
/** An offer of version 1: it holds all fields, and the amount has its older name. */
const V1_OFFER = {
  scheme: "exact",
  network: "base-sepolia",
  maxAmountRequired: "200",
  resource: "https://a.example/x",
  description: "A thing",
  mimeType: "",
  payTo: "0x1",
  maxTimeoutSeconds: 60,
  asset: "0x2",
  outputSchema: { input: { type: "http", method: "GET" }, output: null },
  extra: { name: "USDC", version: "2" },
};
const ENTRY = {
  resource: "https://a.example/x",
  type: "http",
  x402Version: 2,
  accepts: [OFFER],
  lastUpdated: "2026-01-31T12:00:00.000Z",
};

describe("readEntry", () => {
  test("an entry of version 1 is read", () => {
    const entry = readEntry({
      resource: "https://a.example/x",
      type: "http",
      x402Version: 1,
      accepts: [V1_OFFER],
      lastUpdated: "2025-08-09T01:07:04.005Z",
      metadata: {},
    });
    expect(entry).toMatchObject({ x402Version: 1, method: "GET", discoveryInfo: { input: { method: "GET" } } });
    expect(entry?.accepts[0]).toEqual({ ...V1_OFFER, amount: "200" });
  });

  test("an entry of the reference implementation is read", () => {
    const bazaar = { info: { input: { type: "mcp", tool: "add", inputSchema: {} } }, schema: {} };
    const entry = readEntry({
      ...ENTRY,
      resource: "mcp://tool/add",
      type: "mcp",
      description: "Adds",
      tags: ["maths", 7],
      extensions: { bazaar },
    });
    expect(entry).toMatchObject({
      toolName: "add",
      discoveryInfo: bazaar.info,
      tags: ["maths"],
      metadata: {},
      description: "Adds",
    });
    expect(entry?.accepts[0]).toMatchObject({
      amount: "1000",
      maxAmountRequired: "1000",
      description: "Adds",
      outputSchema: { input: bazaar.info.input },
    });
  });

  const FORMS: readonly (readonly [why: string, changes: object, expected: object])[] = [
    [
      "with its own discoveryInfo before any other",
      { discoveryInfo: { input: { type: "http", method: "PUT" } }, accepts: [V1_OFFER] },
      { method: "PUT" },
    ],
    ["with seconds for a time", { lastUpdated: 1_769_860_800 }, { lastUpdated: "2026-01-31T12:00:00.000Z" }],
    ["with milliseconds for a time", { lastUpdated: 1_769_860_800_007 }, { lastUpdated: "2026-01-31T12:00:00.007Z" }],
    ["without a time", { lastUpdated: undefined }, { lastUpdated: "1970-01-01T00:00:00.000Z" }],
    ["with an invalid time", { lastUpdated: "soon" }, { lastUpdated: "1970-01-01T00:00:00.000Z" }],
    ["with one offer and no list", { accepts: OFFER }, { accepts: [{ amount: "1000" }] }],
    ["with a number for an amount", { accepts: [{ ...OFFER, amount: 5 }] }, { accepts: [{ amount: "5" }] }],
    [
      "without the invalid offers",
      { accepts: [null, {}, ...["-1", "0", "00", "07", 0, 1.5].map((amount) => ({ ...OFFER, amount })), OFFER] },
      { accepts: [{ amount: "1000" }] },
    ],
    [
      "with nulls for absent fields",
      { description: null, metadata: null, extensions: null, mimeType: null },
      { metadata: {} },
    ],
    ["without its type", { type: undefined, resource: "mcp://tool/x" }, { type: "mcp" }],
    ["without its version", { x402Version: undefined }, { x402Version: 1 }],
  ];
  test.each(FORMS)("an entry is read %s", (_why, changes, expected) => {
    expect(readEntry({ ...ENTRY, ...changes })).toMatchObject(expected);
  });

  test("methods are read, without those that have no name, no input or no offer", () => {
    const post = { method: "POST", accepts: [OFFER], discoveryInfo: { input: { type: "http", method: "POST" } } };
    const entry = readEntry({
      ...ENTRY,
      methods: [post, { ...post, method: 7 }, { ...post, discoveryInfo: 1 }, { ...post, accepts: [] }, null],
      verified: true,
      verifiedAt: "2026-01-31T12:00:00.000Z",
    });
    expect(entry).toMatchObject({ verified: true, verifiedAt: "2026-01-31T12:00:00.000Z" });
    expect(entry?.methods).toMatchObject([
      { method: "POST", accepts: [{ amount: "1000", maxAmountRequired: "1000" }] },
    ]);
    expect(readEntry({ ...ENTRY, methods: "POST", verified: "yes" })).not.toHaveProperty("methods");
    expect(readEntry({ ...ENTRY, verified: "yes" })).not.toHaveProperty("verified");
  });

  const NONE: readonly (readonly [why: string, json: unknown])[] = [
    ["undefined", undefined],
    ["a list", [ENTRY]],
    ["no resource", { ...ENTRY, resource: undefined }],
    ["no offers", { ...ENTRY, accepts: [] }],
    ["an offer of nothing", { ...ENTRY, accepts: [{ ...OFFER, amount: "0" }] }],
    ["an unknown type", { ...ENTRY, type: "grpc" }],
    ["only offers without a valid amount", { ...ENTRY, accepts: [{ ...OFFER, amount: "1e3" }] }],
    ["a prototype", JSON.parse('{"resource":"x","accepts":[{"__proto__":{}}]}')],
    ["more than 256 KB", { ...ENTRY, metadata: { x: "x".repeat(270_000) } }],
  ];
  test.each(NONE)("no entry is read from %s", (_why, json) => {
    expect(readEntry(json)).toBeUndefined();
  });

  test("readEntry never throws", () => {
    const offers = fc.array(
      fc.record({
        scheme: fc.string(),
        network: fc.string(),
        asset: fc.string(),
        payTo: fc.string(),
        amount: fc.anything(),
      }),
    );
    const entries = fc.record({
      resource: fc.string(),
      accepts: offers,
      discoveryInfo: fc.anything(),
      lastUpdated: fc.anything(),
      extensions: fc.anything(),
    });
    fc.assert(
      fc.property(fc.oneof(fc.anything(), entries), (json) => {
        const entry = readEntry(json);
        if (entry !== undefined) expect(new Date(entry.lastUpdated).toISOString()).toBe(entry.lastUpdated);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });
});

describe("filters", () => {
  const entry = readEntry({
    ...ENTRY,
    accepts: [OFFER, { ...OFFER, scheme: "upto", network: "eip155:1", amount: "9" }],
  })!;

  test("matchesFilter matches all fields against one offer", () => {
    expect(matchesFilter(entry, { scheme: "upto", network: "eip155:1", payTo: "0XDEF" })).toBe(true);
    expect(matchesFilter(entry, { scheme: "upto", network: "eip155:8453" })).toBe(false);
    expect(matchesFilter(entry, { extensions: ["bazaar"] })).toBe(false);
  });

  test("matchesFilter compares prices of known stablecoins only, exactly", () => {
    const base = { ...OFFER, asset: "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", amount: "1000" };
    const priced = readEntry({ ...ENTRY, accepts: [base, { ...OFFER, amount: "1" }], verified: true }) as CatalogEntry;
    expect(matchesFilter(priced, { maxPrice: "0.001", scheme: "exact" })).toBe(true);
    expect(matchesFilter(priced, { maxPrice: "0.001", network: "eip155:1" })).toBe(false);
    const dearer = readEntry({ ...ENTRY, accepts: [{ ...base, amount: "1001" }] }) as CatalogEntry;
    expect(matchesFilter(dearer, { maxPrice: "0.001" })).toBe(false);
    expect(matchesFilter(dearer, { maxPrice: "0.01" })).toBe(true);
    expect(matchesFilter(entry, { maxPrice: "10" })).toBe(false);
    expect([priced, dearer].map((some) => matchesFilter(some, { verified: true }))).toEqual([true, false]);
    expect([priced, dearer].map((some) => matchesFilter(some, { verified: false }))).toEqual([false, true]);
  });

  test("affordable selects by asset and amount", () => {
    expect(affordable([entry], { asset: "0xabc", maxAmount: "1000" })).toEqual([entry]);
    expect(affordable([entry], { asset: "0xabc", maxAmount: 999n, network: "eip155:8453" })).toEqual([]);
    expect(affordable([entry], { asset: "0xother", maxAmount: "1000" })).toEqual([]);
    expect(() => affordable([entry], { asset: "0xabc", maxAmount: "1.5" })).toThrow(SyntaxError);
  });
});
