import type { RpcNode } from "@farebox/core";
import { describe, expect, test } from "vitest";
import { NETWORK, PAYER, payload, requirements, tokenAccount } from "../payments.fixture.js";
import { exactSvm } from "./scheme.js";

const GENESIS = `${NETWORK.slice("solana:".length)}wcaWoxPkrZBG`;

/** An account with this amount, or these bytes. */
function accountOf(amount: bigint, bytes = 165) {
  const data = Buffer.alloc(bytes);
  if (bytes >= 72) data.writeBigUInt64LE(amount, 64);
  return { data: [data.toString("base64"), "base64"], owner: "any" };
}

/** What a node with this account says about the payer of a payment. */
async function read(value: unknown, { genesis = GENESIS, paid = payload() as unknown } = {}) {
  const asked: unknown[] = [];
  const rpc: RpcNode = {
    get: () => Promise.reject(new TypeError("nothing is asked by GET")),
    async call(method, [account]) {
      if (method === "getGenesisHash") return genesis;
      asked.push(account);
      if (value instanceof Error) throw value;
      return { context: { slot: 1 }, value };
    },
  };
  return { found: await exactSvm().readBalance?.({ payload: paid, requirements: requirements(), rpc }), asked };
}

describe("readBalance", () => {
  test("readBalance asks what the account has that the payment takes from", async () => {
    const { found, asked } = await read(accountOf(2n ** 64n - 1n));
    expect(found).toEqual({ kind: "known", amount: 2n ** 64n - 1n });
    expect(asked).toEqual([tokenAccount(PAYER.publicKey).toBase58()]);
  });

  test("readBalance finds nothing in an account that does not exist", async () => {
    expect((await read(null)).found).toEqual({ kind: "known", amount: 0n });
  });

  test.each<[why: string, value: unknown, change: { genesis?: string; paid?: unknown }]>([
    ["when the node is of another network", accountOf(1n), { genesis: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d" }],
    ["when the node breaks", new TypeError("secret"), {}],
    ["when the account is no token account", accountOf(1n, 71), {}],
    ["when the account has no data", {}, {}],
    ["for a payload of another form", accountOf(1n), { paid: {} }],
  ])("readBalance is unclear %s", async (_, value, change) => {
    const { found } = await read(value, change);
    expect(found).toMatchObject({ kind: "unclear" });
    expect(JSON.stringify(found)).not.toContain("secret");
  });
});
