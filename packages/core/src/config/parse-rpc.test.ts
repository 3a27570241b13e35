import { describe, expect, test } from "vitest";
import { createIssues } from "../issues.js";
import { parseRpc } from "./parse-endpoints.js";

const SECRET = "hunter2";

/** The networks that were read, and the issues as `path: expected, received`. */
function parse(given: unknown) {
  const issues = createIssues();
  const networks = [...parseRpc(given, issues).keys()];
  return { networks, issues: issues.found.map(({ path, expected, received }) => `${path}: ${expected}, ${received}`) };
}

describe("options.rpc that are good", () => {
  test.each<[given: unknown, networks: readonly string[], why: string]>([
    [undefined, [], "nothing"],
    [{}, [], "no networks"],
    [{ "eip155:84532": undefined }, [], "a network that is not set"],
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
  ])("%j: %j, %s", (given, networks) => {
    expect(parse(given)).toEqual({ networks, issues: [] });
  });
});

describe("options.rpc that are not", () => {
  test.each<[given: unknown, path: string, why: string]>([
    [`https://node.example/${SECRET}`, "options.rpc", "a URL for all networks"],
    [new URL(`https://node.example/${SECRET}`), "options.rpc", "a URL object for all networks"],
    [[`https://node.example/${SECRET}`], "options.rpc", "a list"],
    [null, "options.rpc", "null"],
    [{ "eip155:*": "https://node.example" }, 'options.rpc["eip155:*"]', "a pattern: nodes are of one network"],
    [{ base: "https://node.example" }, "options.rpc.base", "a name of version 1"],
    [
      {
        "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe": `https://node.example/${SECRET}`,
        "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=": "https://node.example",
      },
      "options.rpc",
      "two nodes for one network",
    ],
    [{ [`https://node.example/${SECRET}`]: "eip155:84532" }, "options.rpc", "the wrong way round"],
    [{ [SECRET.repeat(10)]: "eip155:84532" }, "options.rpc", "a long key"],
    [{ "eip155:1": `https://key:${SECRET}@node.example` }, 'options.rpc["eip155:1"]', "credentials"],
    [{ "eip155:1": `https://node.example/#${SECRET}` }, 'options.rpc["eip155:1"]', "a fragment"],
    [{ "eip155:1": `wss://node.example/${SECRET}` }, 'options.rpc["eip155:1"]', "no HTTP"],
    [{ "eip155:1": `node.example/${SECRET}` }, 'options.rpc["eip155:1"]', "no scheme"],
    [
      { "eip155:1": { href: `https://node.example/${SECRET}`, url: "http://a" } },
      'options.rpc["eip155:1"].href',
      "a key",
    ],
    [{ "eip155:1": { url: `wss://node.example/${SECRET}` } }, 'options.rpc["eip155:1"].url', "no HTTP, in an object"],
    [{ "eip155:1": {} }, 'options.rpc["eip155:1"].url', "an object without URL"],
    ...[SECRET, [SECRET], { a: 1 }, { a: `${SECRET}\nb` }, { [`${SECRET} x`]: "" }, { a: undefined }, new Map()].map(
      (headers): [unknown, string, string] => [
        { "eip155:1": { url: "https://node.example", headers } },
        'options.rpc["eip155:1"].headers',
        "headers that cannot be sent",
      ],
    ),
  ])("%j: an issue at %s that quotes no URL, %s", (given, path) => {
    const { issues } = parse(given);
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatch(new RegExp(`^${path.replace(/[[\].*]/g, "\\$&")}: (?!.*${SECRET})`));
  });

  test("are all named at once", () => {
    expect(parse({ base: "https://node.example", "eip155:1": "", "eip155:2": "http://localhost" })).toEqual({
      networks: ["eip155:2"],
      issues: [
        'options.rpc.base: a CAIP-2 network such as "eip155:84532" as key, another key',
        'options.rpc["eip155:1"]: an http or https URL without credentials and fragment; a query is allowed, something else',
      ],
    });
  });
});
