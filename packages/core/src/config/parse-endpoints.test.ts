import { describe, expect, test } from "vitest";
import { createTill } from "../gate/shop.fixture.js";
import { createIssues } from "../issues.js";
import { parseFacilitators } from "./parse-endpoints.js";

const TILL = createTill();
const SECRET = "s3cr3t-7f3a";

function parse(given: unknown) {
  const issues = createIssues();
  const entries = parseFacilitators(given, issues);
  return { names: entries.map(({ name }) => name), entries, issues: issues.found };
}

describe("who verifies and settles", () => {
  test.each<[given: unknown, names: readonly string[], why: string]>([
    ["https://x402.org/facilitator", ["x402.org"], "by its host"],
    [new URL("http://localhost:4022"), ["localhost:4022"], "by its host and port"],
    [{ url: "https://x402.org", name: "public" }, ["public"], "as the seller says"],
    [{ url: "https://x402.org", headers: {}, networks: ["eip155:*"] }, ["x402.org"], "with all that can be said"],
    [TILL, ["facilitator-1"], "by its position"],
    [{ facilitator: TILL, name: "own" }, ["own"], "as the seller says"],
    [["https://a.example", TILL, { facilitator: TILL }], ["a.example", "facilitator-2", "facilitator-3"], "in order"],
    [[{ url: "https://a.example", name: undefined, networks: undefined }], ["a.example"], "undefined is left out"],
  ])("%o is called %j: %s", (given, names) => {
    expect(parse(given)).toMatchObject({ names, issues: [] });
  });

  test("is given as an object, that object", () => {
    expect(parse([{ facilitator: TILL }]).entries[0]?.facilitator).toBe(TILL);
    expect(parse(TILL).entries[0]?.facilitator).toBe(TILL);
  });

  test("serves the networks it was chosen for, whatever becomes of the seller's list", () => {
    const networks = ["eip155:8453", "solana:*"];
    const [entry] = parse({ facilitator: TILL, networks }).entries;
    networks.push("eip155:1");
    expect(entry?.networks).toEqual(["eip155:8453", "solana:*"]);
    expect(parse(TILL).entries[0]?.networks).toBeUndefined();
  });
});

describe("what is wrong", () => {
  test.each<[given: unknown, path: string, why: string]>([
    [[], "options.facilitator", "nobody"],
    [["https://a.example", "a"], "options.facilitator[1]", "no URL"],
    [["https://a.example", { url: "a" }], "options.facilitator[1].url", "no URL, in an object"],
    [{ url: "a" }, "options.facilitator.url", "no URL, in the only one"],
    [["https://a.example", { headers: {} }], "options.facilitator[1]", "neither URL nor object"],
    [["https://a.example", null], "options.facilitator[1]", "null"],
    [[["https://a.example"]], "options.facilitator[0]", "a list in a list"],
    [[{ url: "https://a.example", headers: { a: 1 } }], "options.facilitator[0].headers", "a number"],
    [[{ url: "https://a.example", header: {} }], "options.facilitator[0].header", "an unknown key"],
    [[{ facilitator: TILL, headers: {} }], "options.facilitator[0].headers", "headers for nobody"],
    [[{ facilitator: "https://a.example" }], "options.facilitator[0].facilitator", "a URL where an object is due"],
    [[{ facilitator: undefined }], "options.facilitator[0].facilitator", "nothing"],
    [[{ facilitator: TILL, networks: [] }], "options.facilitator[0].networks", "for no network"],
    [[{ facilitator: TILL, networks: "eip155:*" }], "options.facilitator[0].networks", "no list"],
    [[{ facilitator: TILL, networks: ["base"] }], "options.facilitator[0].networks", "no network"],
    [[{ facilitator: TILL, networks: ["*"] }], "options.facilitator[0].networks", "no namespace"],
    [[{ facilitator: TILL, networks: [8453] }], "options.facilitator[0].networks", "a number"],
    [[{ facilitator: TILL, name: "" }], "options.facilitator[0].name", "an empty name"],
    [[{ facilitator: TILL, name: 5 }], "options.facilitator[0].name", "a number"],
    [[{ facilitator: TILL, name: "x".repeat(101) }], "options.facilitator[0].name", "a long name"],
    [["https://a.example/1", "https://a.example/2"], "options.facilitator[1].name", "two of one host"],
    [[TILL, { facilitator: TILL, name: "facilitator-1" }], "options.facilitator[1].name", "a name that is taken"],
  ])("of %o is at %s: %s", (given, path) => {
    expect(parse(given).issues.map((issue) => issue.path)).toEqual([path]);
  });

  test("is named all at once, and who is good is kept", () => {
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
    [{ facilitator: TILL, name: { secret: SECRET } }],
    [{ facilitator: SECRET }],
  ])("never quotes a secret: %#", (given) => {
    const { issues } = parse(given);
    expect(issues).not.toEqual([]);
    expect(JSON.stringify(issues)).not.toContain(SECRET);
  });
});
