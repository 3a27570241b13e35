import { type PayeeCheck, RpcError, type RpcNode } from "@farebox/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { TOKEN, TOKEN_2022 } from "../programs.js";
import { tokenAccountOf } from "../token-account-of.js";
import { NETWORK, PAY_TO, USDC } from "../transactions.fixture.js";
import { checkTokenAccount } from "./check-payee.js";

const GENESIS = `${NETWORK.slice("solana:".length)}wcaWoxPkrZBG`;
const [PAYEE, MINT] = [PAY_TO.toBase58(), USDC.toBase58()];
const SYSTEM = "11111111111111111111111111111111";

type Owners = Readonly<Record<string, string | undefined>>;

/** A node by the programs that accounts belong to; or by what it answers. */
function check(owners: Owners, answers: Readonly<Record<string, unknown>> = {}, change: object = {}) {
  const rpc: RpcNode = {
    get: () => Promise.reject(new TypeError("nothing is asked by GET")),
    async call(method, [addresses]) {
      const answer = answers[method];
      if (answer instanceof Error) throw answer;
      if (answer !== undefined) return answer;
      if (method === "getGenesisHash") return GENESIS;
      const value = (addresses as string[]).map((address) => {
        const owner = owners[address];
        return owner === undefined ? null : { owner, data: ["", "base64"], lamports: 1 };
      });
      return { context: { slot: 1 }, value };
    },
  };
  return checkTokenAccount({ network: NETWORK, asset: MINT, payTo: PAYEE, rpc, ...change });
}

const ACCOUNT = tokenAccountOf(PAYEE, MINT);
const ACCOUNT_2022 = tokenAccountOf(PAYEE, MINT, "token-2022");
const CREATE = `spl-token create-account ${MINT} --owner ${PAYEE} --fee-payer <keypair file> --url devnet`;

test.each<[what: string, owners: Owners, kind: PayeeCheck["kind"], said: string | undefined]>([
  ["has the account", { [MINT]: TOKEN.address, [ACCOUNT]: TOKEN.address }, "payable", undefined],
  ["and is a wallet", { [MINT]: TOKEN.address, [ACCOUNT]: TOKEN.address, [PAYEE]: SYSTEM }, "payable", undefined],
  ["of Token-2022", { [MINT]: TOKEN_2022.address, [ACCOUNT_2022]: TOKEN_2022.address }, "payable", undefined],
  ["lacks it", { [MINT]: TOKEN.address, [PAYEE]: SYSTEM }, "unpayable", CREATE],
  ["has that of the other program", { [MINT]: TOKEN_2022.address, [ACCOUNT]: TOKEN.address }, "unpayable", CREATE],
  ["has only SOL there", { [MINT]: TOKEN.address, [ACCOUNT]: SYSTEM }, "unpayable", CREATE],
  ["is a token account", { [MINT]: TOKEN.address, [PAYEE]: TOKEN.address }, "unpayable", "account-info --address"],
  ["is to be paid in what is no token", { [MINT]: SYSTEM }, "unclear", "not a token's mint"],
  ["is to be paid in what does not exist", {}, "unclear", "not a token's mint"],
])("a payee who %s", async (_, owners, kind, said) => {
  const checked = await check(owners);
  expect(checked.kind).toBe(kind);
  if (said !== undefined) expect(JSON.stringify(checked)).toContain(said);
});

test("the account that lacks is named", async () => {
  expect(await check({ [MINT]: TOKEN.address })).toMatchObject({
    problem: `its token account ${ACCOUNT} does not exist`,
  });
});

test.each<[what: string, answers: Readonly<Record<string, unknown>>]>([
  ["is of another network", { getGenesisHash: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d" }],
  ["does not answer", { getMultipleAccounts: new RpcError("node is silent", "timeout") }],
  ["breaks", { getMultipleAccounts: new TypeError("https://node.example/secret") }],
  ["answers too little", { getMultipleAccounts: { context: { slot: 1 }, value: [] } }],
  ["answers accounts without owners", { getMultipleAccounts: { context: { slot: 1 }, value: [{}, {}] } }],
])("a node that %s makes it unclear, and is not quoted", async (_, answers) => {
  const checked = await check({}, answers);
  expect(checked).toMatchObject({ kind: "unclear" });
  expect(JSON.stringify(checked)).not.toContain("secret");
});

test.each([{ payTo: "x" }, { asset: "x" }, { payTo: "" }])("%j makes it unclear", async (change) => {
  expect(await check({}, {}, change)).toMatchObject({ kind: "unclear" });
});

test("whatever a node says, there is an answer", async () => {
  const value = fc.oneof(fc.anything(), fc.array(fc.oneof(fc.anything(), fc.record({ owner: fc.anything() }))));
  await fc.assert(
    fc.asyncProperty(value, async (accounts) => {
      const checked = await check({}, { getMultipleAccounts: { context: { slot: 1 }, value: accounts } });
      expect(["payable", "unpayable", "unclear"]).toContain(checked.kind);
    }),
  );
});
