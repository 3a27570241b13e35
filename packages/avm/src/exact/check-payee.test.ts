import { type PayeeCheck, RpcError, type RpcNode } from "@farebox/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { GENESIS_HASH, MAINNET_HASH, NETWORK, PAY_TO, USDC, WHOLE_NETWORK } from "../groups.fixture.js";
import { checkOptIn } from "./check-payee.js";

const [PAYEE, ASSET] = [PAY_TO.toString(), USDC.toString()];
const HOLDING = `/v2/accounts/${PAYEE}/assets/${ASSET}?format=json`;

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
  return checkOptIn({ network: NETWORK, asset: ASSET, payTo: PAYEE, rpc, ...query });
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
      problem: `it has not opted in to asset ${ASSET}`,
      remedy: expect.stringMatching(new RegExp(`: goal asset optin --assetid ${ASSET} --account ${PAYEE}$`)),
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
