import type { ChainFinding, RpcNode } from "@farebox/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeBase58 } from "../address.js";
import { FEE_PAYER, NETWORK, PAYER, payload, requirements, transaction } from "../payments.fixture.js";
import { findTransferPayment } from "./find-payment.js";

const GENESIS = `${NETWORK.slice("solana:".length)}wcaWoxPkrZBG`;
const EXPIRES = 1_800_000_000;

/** The fee payer's signature over the ordinary payment, and another signature. */
const OURS = encodeBase58(transaction({ signers: [PAYER, FEE_PAYER] }).signatures[0] ?? new Uint8Array());
const OTHER = encodeBase58(Buffer.alloc(64, 7));

const entry = (signature: string, change: object = {}) => ({
  signature,
  err: null,
  blockTime: EXPIRES,
  confirmationStatus: "finalized",
  ...change,
});

/** A node with these responses. For other methods it responds like a node that has seen no payment. */
function node(responses: Readonly<Record<string, (params: readonly unknown[]) => unknown>> = {}) {
  const asked: { readonly method: string; readonly params: readonly unknown[] }[] = [];
  const usual: typeof responses = {
    getGenesisHash: () => GENESIS,
    isBlockhashValid: () => ({ context: { slot: 1000 }, value: false }),
    getSignaturesForAddress: () => [],
    getBlockTime: () => EXPIRES,
  };
  const rpc: RpcNode = {
    get: () => Promise.reject(new TypeError("nothing is asked by GET")),
    async call(method, params) {
      asked.push({ method, params });
      return { ...usual, ...responses }[method]?.(params);
    },
  };
  const find = (): Promise<ChainFinding> =>
    findTransferPayment({ payload: payload(), requirements: requirements(), rpc, expiresAtSeconds: EXPIRES });
  return { asked, find };
}

describe("a payment", () => {
  test.each<[what: string, history: unknown[], finding: ChainFinding]>([
    ["that is not in the history", [], { kind: "never" }],
    ["that is not among others", [entry(OTHER)], { kind: "never" }],
    ["that is in the history", [entry(OTHER), entry(OURS)], { kind: "moved", transaction: OURS }],
    [
      "that is there, not final",
      [entry(OURS, { confirmationStatus: "confirmed" })],
      { kind: "moved", transaction: OURS },
    ],
    ["that failed", [entry(OURS, { err: { InstructionError: [2, { Custom: 1 }] } })], { kind: "never" }],
    ["that failed, not final", [entry(OURS, { err: "x", confirmationStatus: "confirmed" })], { kind: "open" }],
  ])("findPayment looks for a payment %s", async (_, history, finding) => {
    expect(await node({ getSignaturesForAddress: () => history }).find()).toEqual(finding);
  });

  test("findPayment searches blocks up to the one at which the blockhash had expired", async () => {
    const { asked, find } = node();
    await find();
    const history = asked.find(({ method }) => method === "getSignaturesForAddress");
    expect(history?.params[1]).toMatchObject({ minContextSlot: 1000, commitment: "confirmed" });
    expect(asked.map(({ method }) => method).indexOf("isBlockhashValid")).toBeLessThan(
      asked.map(({ method }) => method).indexOf("getSignaturesForAddress"),
    );
  });

  test("findPayment searches page by page", async () => {
    const page = Array.from({ length: 200 }, (_, at) => entry(encodeBase58(Buffer.alloc(64, at + 1))));
    const { asked, find } = node({
      getSignaturesForAddress: ([, options]) =>
        (options as { before?: string }).before === undefined ? page : [entry(OURS)],
    });
    expect(await find()).toEqual({ kind: "moved", transaction: OURS });
    expect(asked.at(-1)?.params[1]).toMatchObject({ before: page.at(-1)?.signature });
  });

  test("findPayment is unclear when a node yields the same page again", async () => {
    const { asked, find } = node({ getSignaturesForAddress: () => Array.from({ length: 200 }, () => entry(OTHER)) });
    expect(await find()).toMatchObject({ kind: "unclear" });
    expect(asked).toHaveLength(4);
  });

  test("findPayment is unclear when the account's history is too long", async () => {
    let count = 0;
    const fresh = () => entry(encodeBase58(Buffer.alloc(64, 1 + (count++ % 250))), { blockTime: null });
    const { asked, find } = node({ getSignaturesForAddress: () => Array.from({ length: 200 }, fresh) });
    expect(await find()).toMatchObject({ kind: "unclear" });
    expect(asked.length).toBeLessThanOrEqual(12);
  });

  test("findPayment ends its search at the earliest time of the payment", async () => {
    let count = 0;
    const old = () => entry(encodeBase58(Buffer.alloc(64, 1 + (count++ % 250))), { blockTime: EXPIRES - 4201 });
    expect(await node({ getSignaturesForAddress: () => Array.from({ length: 200 }, old) }).find()).toEqual({
      kind: "never",
    });
  });
});

test.each<[what: string, responses: Parameters<typeof node>[0]]>([
  ["is of another network", { getGenesisHash: () => "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d" }],
  ["does not tell its network", { getGenesisHash: () => 7 }],
  ["does not know blockhashes", { isBlockhashValid: () => undefined }],
  ["does not tell its slot", { isBlockhashValid: () => ({ value: false }) }],
  ["has no history", { getSignaturesForAddress: () => null }],
  ["has null in the history", { getSignaturesForAddress: () => [null] }],
  ["has a history without outcomes", { getSignaturesForAddress: () => [{ signature: OURS }] }],
  ["is behind", { getBlockTime: () => EXPIRES - 1 }],
  ["does not know the time", { getBlockTime: () => null }],
])("findPayment is unclear when the node %s", async (_, responses) => {
  expect(await node(responses).find()).toMatchObject({ kind: "unclear" });
});

test("findPayment never throws, and reports a moved payment only with the fee payer's signature", async () => {
  const response = fc.oneof(
    fc.anything(),
    fc.record({ context: fc.record({ slot: fc.anything() }), value: fc.anything() }),
  );
  await fc.assert(
    fc.asyncProperty(response, response, response, async (first, second, third) => {
      const found = await node({
        isBlockhashValid: () => first,
        getSignaturesForAddress: () => second,
        getBlockTime: () => third,
      }).find();
      expect(["never", "open", "unclear"]).toContain(found.kind);
    }),
  );
});
