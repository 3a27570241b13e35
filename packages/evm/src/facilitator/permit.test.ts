import { expect, test } from "vitest";
import type { Permit2Chain, SignedApproval, SignedPermit } from "./chain.js";
import { PermitPayment } from "./permit.js";

const HASH = `0x${"1".repeat(64)}` as const;

const APPROVAL: SignedApproval = { value: 5n, deadline: 1_000n, signature: "0x11" };

const SIGNED: SignedPermit = {
  chainId: 84532,
  kind: "exact",
  approval: APPROVAL,
  permit: {
    from: "0xaa",
    token: "0xbb",
    amount: 5n,
    spender: "0xcc",
    nonce: 1n,
    deadline: 1_000n,
    to: "0xdd",
    facilitator: undefined,
    validAfter: 0n,
    signature: "0x22",
  },
};

/** A chain on which Permit2 may move what `allowances` say, one after the other, and what it is sent. */
function openChain(allowances: bigint[]) {
  const sent: SignedPermit[] = [];
  const chain: Permit2Chain = {
    verifySignature: async () => true,
    balanceOf: async () => 5n,
    allowanceOf: async () => allowances.shift() ?? 0n,
    isNonceUsed: async () => false,
    simulate: async () => ({ ok: true }),
    submit: async (signed) => {
      sent.push(signed);
      return HASH;
    },
    findTransfer: async () => undefined,
  };
  return { chain, sent };
}

test.each([
  { why: "is used when the allowance is gone", allowances: [5n, 0n], approvals: [undefined, APPROVAL] },
  { why: "is not used when an allowance has come", allowances: [0n, 5n], approvals: [APPROVAL, undefined] },
])("a payment that is sent again: its approval $why meanwhile", async ({ allowances, approvals }) => {
  const { chain, sent } = openChain(allowances);
  const payment = new PermitPayment({ payer: "0xaa", amount: 5n, signed: SIGNED }, chain, async () => "confirmed");
  for (const _ of approvals) {
    expect(await payment.verify(500)).toBeUndefined();
    await payment.submit();
  }
  expect(sent.map(({ approval }) => approval)).toEqual(approvals);
});
