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

/** A chain with these allowances, one after the other, and the payments that are sent to it. */
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
  { why: "is used if the allowance is gone meanwhile", allowances: [5n, 0n], approvals: [undefined, APPROVAL] },
  { why: "is not used if there is an allowance meanwhile", allowances: [0n, 5n], approvals: [APPROVAL, undefined] },
])("the approval of a payment that is sent again $why", async ({ allowances, approvals }) => {
  const { chain, sent } = openChain(allowances);
  const payment = new PermitPayment({ payer: "0xaa", amount: 5n, signed: SIGNED }, chain, async () => "confirmed");
  for (const _ of approvals) {
    expect(await payment.verify(500)).toBeUndefined();
    await payment.submit();
  }
  expect(sent.map(({ approval }) => approval)).toEqual(approvals);
});
