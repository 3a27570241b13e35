import { type BalanceReading, createRpcNode } from "@farebox/core";
import { toHex } from "viem";
import { afterEach, describe, expect, test } from "vitest";
import { uptoEvm } from "../upto/upto-evm.js";
import { exactEvm } from "./exact-evm.js";
import {
  AUTHORIZATION,
  closeNodes,
  HEAD,
  hashOf,
  type Methods,
  PAYLOAD,
  REQUIREMENTS,
  startNode,
} from "./node.fixture.js";

afterEach(closeNodes);

const PERMIT = {
  signature: PAYLOAD.signature,
  permit2Authorization: {
    from: AUTHORIZATION.from,
    permitted: { token: REQUIREMENTS.asset, amount: "10000" },
    spender: "0x402085c248EeA27D92E8b30b2C58ed07f9E20001",
    nonce: "7",
    deadline: "1800000300",
    witness: { to: REQUIREMENTS.payTo, validAfter: "0", facilitator: REQUIREMENTS.payTo },
  },
};
const BY_PERMIT = { ...REQUIREMENTS, extra: { assetTransferMethod: "permit2" } };
const HAS_42: Methods = { eth_call: () => ({ result: toHex(42n, { size: 32 }) }) };

describe("readBalance", () => {
  test.each([
    ["an authorization", exactEvm(), PAYLOAD, REQUIREMENTS],
    ["a permit of exact", exactEvm(), PERMIT, BY_PERMIT],
    ["a permit of upto", uptoEvm(), PERMIT, { ...BY_PERMIT, scheme: "upto" }],
  ] as const)(
    "readBalance asks what the payer of %s has at the newest block",
    async (_, scheme, payload, requirements) => {
      const node = await startNode(HAS_42);
      const found = await scheme.readBalance?.({
        payload,
        requirements,
        rpc: createRpcNode(node.url, { deadlineMs: 120_000 }),
      });
      expect(found).toEqual({ kind: "known", amount: 42n });
      const data = `0x70a08231${AUTHORIZATION.from.slice(2).toLowerCase().padStart(64, "0")}`;
      expect(node.calls.at(-1)?.params).toEqual([{ to: REQUIREMENTS.asset, data }, { blockHash: hashOf(HEAD) }]);
    },
  );

  test.each<[why: string, methods: Methods]>([
    ["is of another network", { ...HAS_42, eth_chainId: () => ({ result: "0x1" }) }],
    ["has no such token", { eth_call: () => ({ result: "0x" }) }],
    ["fails", { eth_call: () => ({ error: { code: -32_000, message: "secret" } }) }],
  ])("readBalance is unclear when the node %s, and does not quote it", async (_, methods) => {
    const node = await startNode(methods);
    const query = {
      payload: PAYLOAD,
      requirements: REQUIREMENTS,
      rpc: createRpcNode(node.url, { deadlineMs: 120_000 }),
    };
    const found: BalanceReading | undefined = await exactEvm().readBalance?.(query);
    expect(found).toMatchObject({ kind: "unclear" });
    expect(JSON.stringify(found)).not.toContain("secret");
  });

  test("readBalance is unclear for a payload of another form, and asks nothing", async () => {
    const node = await startNode();
    for (const payload of [undefined, {}, PERMIT]) {
      const query = { payload, requirements: REQUIREMENTS, rpc: createRpcNode(node.url, { deadlineMs: 120_000 }) };
      expect(await exactEvm().readBalance?.(query)).toMatchObject({ kind: "unclear" });
    }
    expect(node.calls).toEqual([]);
  });
});
