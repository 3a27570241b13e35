import { describe, expect, test } from "vitest";
import { createIssues } from "../issues.js";
import { createFakeFacilitator } from "../sale/shop.fixture.js";
import { parseFacilitators, parseRpc } from "./parse-endpoints.js";

const FACILITATOR = createFakeFacilitator();
const SECRET = "s3cr3t-7f3a";

function parse(given: unknown) {
  const issues = createIssues();
  const entries = parseFacilitators(given, issues);
  return { names: entries.map(({ name }) => name), entries, issues: issues.found };
}

describe("options.facilitator", () => {
  test.each<[given: unknown, names: readonly string[], why: string]>([
    ["https://x402.org/facilitator", ["x402.org"], "by its host"],
    [new URL("http://localhost:4022"), ["localhost:4022"], "by its host and port"],
    [{ url: "https://x402.org", name: "public" }, ["public"], "by its own name"],
    [{ url: "https://x402.org", headers: {}, networks: ["eip155:*"] }, ["x402.org"], "with headers and networks"],
    [FACILITATOR, ["facilitator-1"], "by its position"],
    [{ facilitator: FACILITATOR, name: "own" }, ["own"], "by its own name"],
    [
      ["https://a.example", FACILITATOR, { facilitator: FACILITATOR }],
      ["a.example", "facilitator-2", "facilitator-3"],
      "in order",
    ],
    [[{ url: "https://a.example", name: undefined, networks: undefined }], ["a.example"], "undefined is ignored"],
  ])("parseFacilitators names %o as %j: %s", (given, names) => {
    expect(parse(given)).toMatchObject({ names, issues: [] });
  });

  test("parseFacilitators keeps a facilitator that is given as an object", () => {
    expect(parse([{ facilitator: FACILITATOR }]).entries[0]?.facilitator).toBe(FACILITATOR);
    expect(parse(FACILITATOR).entries[0]?.facilitator).toBe(FACILITATOR);
  });

  test("a facilitator keeps its networks even if the seller's list changes later", () => {
    const networks = ["eip155:8453", "solana:*"];
    const [entry] = parse({ facilitator: FACILITATOR, networks }).entries;
    networks.push("eip155:1");
    expect(entry?.networks).toEqual(["eip155:8453", "solana:*"]);
    expect(parse(FACILITATOR).entries[0]?.networks).toBeUndefined();
  });
});

describe("an invalid options.facilitator", () => {
  test.each<[given: unknown, path: string, why: string]>([
    [[], "options.facilitator", "an empty list"],
    [["https://a.example", "a"], "options.facilitator[1]", "not a URL"],
    [["https://a.example", { url: "a" }], "options.facilitator[1].url", "not a URL, in an object"],
    [{ url: "a" }, "options.facilitator.url", "not a URL, without a list"],
    [["https://a.example", { headers: {} }], "options.facilitator[1]", "neither URL nor object"],
    [["https://a.example", null], "options.facilitator[1]", "null"],
    [[["https://a.example"]], "options.facilitator[0]", "a list in a list"],
    [[{ url: "https://a.example", headers: { a: 1 } }], "options.facilitator[0].headers", "a number"],
    [[{ url: "https://a.example", header: {} }], "options.facilitator[0].header", "an unknown key"],
    [[{ facilitator: FACILITATOR, headers: {} }], "options.facilitator[0].headers", "headers without a URL"],
    [[{ facilitator: "https://a.example" }], "options.facilitator[0].facilitator", "a URL in place of an object"],
    [[{ facilitator: undefined }], "options.facilitator[0].facilitator", "undefined"],
    [[{ facilitator: FACILITATOR, networks: [] }], "options.facilitator[0].networks", "an empty list"],
    [
      [{ facilitator: FACILITATOR, networks: "eip155:*" }],
      "options.facilitator[0].networks",
      "a text in place of a list",
    ],
    [[{ facilitator: FACILITATOR, networks: ["base"] }], "options.facilitator[0].networks", "not a network"],
    [
      [{ facilitator: FACILITATOR, networks: ["*"] }],
      "options.facilitator[0].networks",
      "a pattern without a namespace",
    ],
    [[{ facilitator: FACILITATOR, networks: [8453] }], "options.facilitator[0].networks", "a number"],
    [[{ facilitator: FACILITATOR, name: "" }], "options.facilitator[0].name", "an empty name"],
    [[{ facilitator: FACILITATOR, name: 5 }], "options.facilitator[0].name", "a number"],
    [[{ facilitator: FACILITATOR, name: "x".repeat(101) }], "options.facilitator[0].name", "a long name"],
    [["https://a.example/1", "https://a.example/2"], "options.facilitator[1].name", "two with one host"],
    [
      [FACILITATOR, { facilitator: FACILITATOR, name: "facilitator-1" }],
      "options.facilitator[1].name",
      "a name that is taken",
    ],
  ])("options.facilitator has an issue for %o at %s: %s", (given, path) => {
    expect(parse(given).issues.map((issue) => issue.path)).toEqual([path]);
  });

  test("parseFacilitators reports all issues at once and keeps the valid facilitators", () => {
    const given = ["?", { url: "?", networks: [], name: "" }, "https://a.example", { facilitator: 5, x: 1 }];
    const { issues, names } = parse(given);
    expect(issues.map(({ path }) => path)).toEqual([
      "options.facilitator[0]",
      "options.facilitator[1].url",
      "options.facilitator[1].name",
      "options.facilitator[1].networks",
      "options.facilitator[3].x",
      "options.facilitator[3].facilitator",
    ]);
    expect(names).toEqual(["a.example"]);
  });

  test.each<[given: unknown]>([
    [`https://user:${SECRET}@a.example`],
    [[{ url: `https://a.example/?key=${SECRET}` }]],
    [{ url: "https://a.example", headers: { authorization: `${SECRET}\nx` } }],
    [{ url: "?", headers: { authorization: SECRET } }],
    [{ facilitator: { url: "https://a.example", headers: { authorization: SECRET } } }],
    [[{ headers: { authorization: SECRET } }]],
    [{ facilitator: FACILITATOR, name: { secret: SECRET } }],
    [{ facilitator: SECRET }],
  ])("parseFacilitators never quotes a secret in an issue: %#", (given) => {
    const { issues } = parse(given);
    expect(issues).not.toEqual([]);
    expect(JSON.stringify(issues)).not.toContain(SECRET);
  });
});

/** The networks that were read, and the issues as `path: expected, received`. */
function parseRpcOption(given: unknown) {
  const issues = createIssues();
  const networks = [...parseRpc(given, issues).keys()];
  return { networks, issues: issues.found.map(({ path, expected, received }) => `${path}: ${expected}, ${received}`) };
}

describe("options.rpc", () => {
  test.each<[given: unknown, networks: readonly string[], why: string]>([
    [undefined, [], "undefined"],
    [{}, [], "no networks"],
    [{ "eip155:84532": undefined }, [], "a network with undefined"],
    [{ "eip155:84532": `https://node.example/${SECRET}?key=${SECRET}` }, ["eip155:84532"], "keys in path and query"],
    [
      {
        "eip155:1": new URL("http://localhost:8545"),
        "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1": "https://node.example",
      },
      ["eip155:1", "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"],
      "two networks",
    ],
    [
      {
        "eip155:1": { url: "https://node.example", headers: { authorization: `Bearer ${SECRET}` } },
        "eip155:2": { url: new URL("https://node.example") },
      },
      ["eip155:1", "eip155:2"],
      "with headers, and an object without",
    ],
    [
      { "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=": "https://node.example" },
      ["algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe"],
      "a network in its other spelling",
    ],
  ])("parseRpc accepts %j and has nodes for %j: %s", (given, networks) => {
    expect(parseRpcOption(given)).toEqual({ networks, issues: [] });
  });
});

describe("an invalid options.rpc", () => {
  test.each<[given: unknown, path: string, why: string]>([
    [`https://node.example/${SECRET}`, "options.rpc", "a URL for all networks"],
    [new URL(`https://node.example/${SECRET}`), "options.rpc", "a URL object for all networks"],
    [[`https://node.example/${SECRET}`], "options.rpc", "a list"],
    [null, "options.rpc", "null"],
    [{ "eip155:*": "https://node.example" }, 'options.rpc["eip155:*"]', "a pattern, but a node belongs to one network"],
    [{ base: "https://node.example" }, "options.rpc.base", "a name of version 1"],
    [
      {
        "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe": `https://node.example/${SECRET}`,
        "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=": "https://node.example",
      },
      "options.rpc",
      "two nodes for one network",
    ],
    [{ [`https://node.example/${SECRET}`]: "eip155:84532" }, "options.rpc", "URL and network exchanged"],
    [{ [SECRET.repeat(10)]: "eip155:84532" }, "options.rpc", "a long key"],
    [{ "eip155:1": `https://key:${SECRET}@node.example` }, 'options.rpc["eip155:1"]', "credentials"],
    [{ "eip155:1": `https://node.example/#${SECRET}` }, 'options.rpc["eip155:1"]', "a fragment"],
    [{ "eip155:1": `wss://node.example/${SECRET}` }, 'options.rpc["eip155:1"]', "not HTTP"],
    [{ "eip155:1": `node.example/${SECRET}` }, 'options.rpc["eip155:1"]', "no URL scheme"],
    [
      { "eip155:1": { href: `https://node.example/${SECRET}`, url: "http://a" } },
      'options.rpc["eip155:1"].href',
      "an unknown key",
    ],
    [{ "eip155:1": { url: `wss://node.example/${SECRET}` } }, 'options.rpc["eip155:1"].url', "not HTTP, in an object"],
    [{ "eip155:1": {} }, 'options.rpc["eip155:1"].url', "an object without a URL"],
    ...[SECRET, [SECRET], { a: 1 }, { a: `${SECRET}\nb` }, { [`${SECRET} x`]: "" }, { a: undefined }, new Map()].map(
      (headers): [unknown, string, string] => [
        { "eip155:1": { url: "https://node.example", headers } },
        'options.rpc["eip155:1"].headers',
        "headers that cannot be sent",
      ],
    ),
  ])("options.rpc has an issue for %j at %s that quotes no URL: %s", (given, path) => {
    const { issues } = parseRpcOption(given);
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatch(new RegExp(`^${path.replace(/[[\].*]/g, "\\$&")}: (?!.*${SECRET})`));
  });

  test("parseRpc reports all issues at once and keeps the valid nodes", () => {
    expect(parseRpcOption({ base: "https://node.example", "eip155:1": "", "eip155:2": "http://localhost" })).toEqual({
      networks: ["eip155:2"],
      issues: [
        'options.rpc.base: "eip155:8453", as CAIP-2 writes "base", another key',
        'options.rpc["eip155:1"]: an http or https URL without credentials and fragment; a query is allowed, something else',
      ],
    });
  });
});
