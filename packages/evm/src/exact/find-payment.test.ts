import type { ChainFinding, PaymentQuery } from "@farebox/core";
import { toHex } from "viem";
import { afterEach, describe, expect, test } from "vitest";
import {
  blockOf,
  CANCELLATION,
  changed,
  closeNodes,
  find,
  findAt,
  HEAD,
  hashOf,
  type Method,
  type Methods,
  MOVED,
  OTHER,
  PAYLOAD,
  REQUIREMENTS,
  receipt,
  STRANGER,
  transfer,
  USE,
} from "./node.fixture.js";

afterEach(closeNodes);

const UNUSED: Method = () => ({ result: toHex(0n, { size: 32 }) });

describe("an unused nonce", () => {
  /** The newest block has this time. */
  const at = (seconds: number): Methods => ({
    eth_call: UNUSED,
    eth_getBlockByNumber: () => ({ result: { ...blockOf(HEAD), timestamp: toHex(seconds) } }),
  });

  test.each<[seconds: number, kind: string, why: string]>([
    [1_800_000_000, "open", "there is time"],
    [1_800_000_299, "open", "there is a second"],
    [1_800_000_300, "never", "the token demands a time before"],
    [1_900_000_000, "never", "it is long over"],
  ])("an unused nonce at %i means %s: %s", async (seconds, kind) => {
    expect((await find(at(seconds))).finding).toEqual({ kind });
  });

  test("the nonce is asked for at the block whose time counts, and nothing else is asked", async () => {
    const { node } = await find({ eth_call: UNUSED });
    const [to, data] = [REQUIREMENTS.asset, expect.stringMatching(/^0xe94a0102[0-9a-f]{128}$/)];
    expect(node.calls).toEqual([
      { method: "eth_chainId", params: [] },
      { method: "eth_getBlockByNumber", params: ["latest", false] },
      { method: "eth_call", params: [{ to, data }, { blockHash: hashOf(HEAD) }] },
    ]);
  });
});

describe("a used nonce", () => {
  const says = (...logs: readonly unknown[]): Methods => ({
    eth_getTransactionReceipt: () => ({ result: receipt(logs) }),
  });
  const byOther = transfer({ from: STRANGER, logIndex: "0x4" });
  const second = { ...USE, topics: [...USE.topics.slice(0, 2), OTHER], logIndex: "0x7" };

  test("the payment has moved the money if the transfer follows the use", async () => {
    const { finding, node } = await find();
    expect(finding).toEqual(MOVED);
    expect(node.calls.slice(3).map(({ method }) => method)).toEqual(["eth_getLogs", "eth_getTransactionReceipt"]);
  });

  test.each<[finding: ChainFinding | "unclear", logs: readonly unknown[], why: string]>([
    [MOVED, [byOther, USE, transfer()], "another payer's transfer is before"],
    [
      MOVED,
      [USE, { ...byOther, address: STRANGER, logIndex: "0x6" }, transfer({ logIndex: "0x8" })],
      "another token's log is between",
    ],
    [
      MOVED,
      [USE, transfer(), second, transfer({ to: STRANGER, logIndex: "0x8" })],
      "another authorization comes behind",
    ],
    [{ kind: "never" }, [USE, transfer({ value: 9_999n })], "the value differs"],
    [{ kind: "never" }, [USE, transfer({ value: 10_001n })], "the value differs the other way"],
    [{ kind: "never" }, [USE, transfer({ to: STRANGER })], "the recipient differs"],
    [
      { kind: "never" },
      [USE, transfer({ to: STRANGER }), second, transfer({ logIndex: "0x8" })],
      "the money was moved by another authorization",
    ],
    ["unclear", [USE], "there is no transfer"],
    ["unclear", [transfer({ logIndex: "0x4" }), USE], "the transfer is before"],
    ["unclear", [USE, { ...transfer(), address: STRANGER }], "the transfer is another token's"],
    ["unclear", [USE, transfer({ from: STRANGER })], "the transfer is another payer's"],
    ["unclear", [USE, { ...transfer(), topics: transfer().topics.slice(0, 2) }], "the transfer has no recipient"],
    [
      "unclear",
      [USE, { ...transfer(), topics: [...transfer().topics, OTHER] }],
      "the transfer is of one thing, not of an amount",
    ],
    ["unclear", [transfer()], "the use is not in the receipt"],
    ["unclear", [{ ...USE, logIndex: "0x4" }, transfer()], "the use is elsewhere in the block"],
    ["unclear", [{ ...USE, topics: [...USE.topics.slice(0, 2), OTHER] }, transfer()], "the use is of another nonce"],
    ["unclear", [USE, transfer({ logIndex: "0x4" })], "the transfer was before, and the logs are in no order"],
    ["unclear", [USE, transfer({ logIndex: "0x5" })], "two logs have one place"],
  ])("a used nonce means %j: %j %s", async (finding, logs) => {
    const expected = finding === "unclear" ? { kind: "unclear", problem: expect.any(String) } : finding;
    expect((await find(says(...logs))).finding).toEqual(expected);
  });

  test("a cancelled authorization has moved nothing and never will", async () => {
    const eth_getLogs: Method = () => ({ result: [CANCELLATION] });
    expect((await find({ eth_getLogs, ...says(CANCELLATION) })).finding).toEqual({ kind: "never" });
    expect((await find({ eth_getLogs, ...says(USE, transfer()) })).finding).toMatchObject({ kind: "unclear" });
  });

  test("the transfer is found with addresses and hashes in any case", async () => {
    const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`;
    const loud = (log: typeof USE) => ({
      ...log,
      address: upper(log.address),
      topics: log.topics.map(upper),
      transactionHash: upper(log.transactionHash),
    });
    const eth_getLogs: Method = () => ({ result: [loud(USE)] });
    expect((await find({ eth_getLogs, ...says(loud(USE), loud(transfer())) })).finding).toEqual(MOVED);
  });
});

describe("a query without a definite outcome", () => {
  test.each<[query: Partial<PaymentQuery>, why: string]>([
    [{ payload: undefined }, "there is no payment"],
    [{ payload: { ...PAYLOAD, authorization: null } }, "nothing was signed"],
    [{ payload: changed({ nonce: "0x1" }) }, "the nonce is not 32 bytes"],
    [{ payload: changed({ to: STRANGER }) }, "the payment is for another account"],
    [{ payload: changed({ value: "1" }) }, "the payment is of another amount"],
    [{ requirements: { ...REQUIREMENTS, asset: "USDC" } }, "the asset is not an address"],
    [{ requirements: {} as never }, "there are no terms"],
    [{ requirements: null as never }, "there are no terms at all"],
  ])("findPayment does not ask the node: %j, %s", async (query) => {
    const { finding, node } = await find({}, query);
    expect(finding).toMatchObject({ kind: "unclear" });
    expect(node.calls).toEqual([]);
  });

  test("findPayment is unclear if its signal is aborted", async () => {
    expect((await find({}, { signal: AbortSignal.abort() })).finding).toMatchObject({ kind: "unclear" });
  });

  test("findPayment is unclear if its RPC client throws, and does not quote the error", async () => {
    const fail = async () => {
      throw new RangeError("https://node.example/secret");
    };
    const rpc = { call: fail, get: fail };
    const finding = await findAt("http://localhost", { rpc });
    expect(finding).toEqual({ kind: "unclear", problem: "the node could not be asked" });
  });
});
