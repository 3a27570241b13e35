import type { Facilitator, FacilitatorRequest, PaymentPayload, PaymentRequirements } from "@farebox/core";
import { createExactEvmScheme, createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { createFacilitator } from "@farebox/facilitator";
import { anvilAccounts, createPayer, createTestFacilitator, type LocalChain, type Payer } from "@farebox/testing";
import { concatHex, type Hex, numberToHex, parseSignature, toHex } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PATIENT } from "../facilitator/stage.js";
import { borrowChain } from "../worker-chain.js";

/** A facilitator with its balances: a local chain, or a ledger. */
interface World {
  readonly facilitator: Facilitator;
  /** Also lets Permit2 move it. */
  fund(address: Hex, amount: bigint): Promise<void>;
  balanceOf(address: Hex): Promise<bigint>;
}

const OFFER: PaymentRequirements = {
  scheme: "exact",
  network: "eip155:84532",
  amount: "100",
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
  maxTimeoutSeconds: 60,
  extra: { name: "USDC", version: "2" },
};
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const NONCE = toHex(1n, { size: 32 });

let local: LocalChain;
let onChain: World;

beforeAll(async () => {
  local = await borrowChain();
  const { network, rpcUrl } = local;
  const { privateKey } = anvilAccounts[0]!;
  const chain = createRpcChain({ network, rpcUrl, privateKey, ...PATIENT });
  onChain = {
    facilitator: createFacilitator({ schemes: [createExactEvmScheme({ chain }), createUptoEvmScheme({ chain })] }),
    fund: async (address, usdc) => {
      await local.fund(address, { usdc });
      await local.approvePermit2(address);
    },
    balanceOf: (address) => local.balanceOf(address),
  };
});

afterAll(() => local.close());

function inLedger(): World {
  const facilitator = createTestFacilitator();
  return {
    facilitator,
    fund: async (address, amount) => facilitator.ledger.fund(address, amount),
    balanceOf: async (address) => facilitator.ledger.balanceOf(address),
  };
}

type Pay = (payer: Payer) => Promise<readonly PaymentPayload[]>;

const sign: Pay = async (payer) => [await payer.signExact(OFFER)];
const signTwice: Pay = async (payer) => [await payer.signExact(OFFER), await payer.signExact(OFFER)];
const signOneNonceTwice: Pay = async (payer) => [
  await payer.signExact(OFFER, { nonce: NONCE }),
  await payer.signExact(OFFER, { nonce: NONCE, now: () => Date.now() + 60_000 }),
];
const signOffer =
  (offer: Partial<PaymentRequirements>): Pay =>
  async (payer) => [await payer.signExact({ ...OFFER, ...offer })];
const resign =
  (change: (signature: ReturnType<typeof parseSignature>) => Hex): Pay =>
  async (payer) => {
    const payment = await payer.signExact(OFFER);
    const signature = change(parseSignature(payment.payload["signature"] as Hex));
    return [{ ...payment, payload: { ...payment.payload, signature } }];
  };
const otherSignature: Pay = resign(({ r, s, yParity }) =>
  concatHex([r, numberToHex(ORDER - BigInt(s), { size: 32 }), yParity === 0 ? "0x1c" : "0x1b"]),
);
const compactSignature: Pay = resign(({ r, s, yParity }) =>
  concatHex([r, numberToHex(BigInt(s) | (BigInt(yParity) << 255n), { size: 32 })]),
);

/** The outcomes of verify, settle, and a second settle. */
type Outcomes = readonly [verified: string | true, settled: string | true, again: string];

const GOOD: Outcomes = [true, true, "payment_already_settled"];
const never = (reason: string): Outcomes => [reason, reason, reason];
const STATE = never("invalid_transaction_state");
const FUNDS = never("insufficient_funds");
const SIGNATURE = never("invalid_exact_evm_payload_signature");
const EXPIRED = never("invalid_exact_evm_payload_authorization_valid_before");

const CASES: readonly (readonly [string, bigint, Pay, readonly Outcomes[]])[] = [
  ["a good payment", 100n, sign, [GOOD]],
  ["two payments", 500n, signTwice, [GOOD, GOOD]],
  ["the second use of a nonce", 500n, signOneNonceTwice, [GOOD, STATE]],
  ["more than the payer has", 99n, sign, [FUNDS]],
  ["two payments with money for one", 199n, signTwice, [GOOD, FUNDS]],
  ["an expired authorization", 100n, async (payer) => [await payer.signExact(OFFER, { now: () => 1e6 })], [EXPIRED]],
  ["another name of the token", 100n, signOffer({ extra: { name: "USD Coin", version: "2" } }), [SIGNATURE]],
  ["another chain", 100n, signOffer({ network: "eip155:8453" }), [SIGNATURE]],
  ["a signature by another key", 100n, (payer) => sign(createPayer({ wallet: payer.address })), [SIGNATURE]],
  ["the other signature of the same key", 100n, otherSignature, [STATE]],
  [
    "a signature that ends in 0 or 1",
    100n,
    resign(({ r, s, yParity }) => concatHex([r, s, toHex(yParity, { size: 1 })])),
    [STATE],
  ],
  ["a compact signature", 100n, compactSignature, [SIGNATURE]],
  ["a signature of zeros", 100n, resign(() => `0x${"00".repeat(65)}`), [SIGNATURE]],
];

function toRequest({ payload }: PaymentPayload): FacilitatorRequest {
  return { x402Version: 2, paymentPayload: { x402Version: 2, accepted: OFFER, payload }, paymentRequirements: OFFER };
}

async function play({ facilitator }: World, requests: readonly FacilitatorRequest[]): Promise<Outcomes[]> {
  const outcomes: Outcomes[] = [];
  for (const request of requests) {
    const { isValid, invalidReason } = await facilitator.verify(request);
    const settled = await facilitator.settle(request);
    const again = await facilitator.settle(request);
    expect(again.transaction).toBe(settled.transaction);
    outcomes.push([
      isValid || String(invalidReason),
      settled.success || String(settled.errorReason),
      String(again.errorReason),
    ]);
  }
  return outcomes;
}

describe("the ledger and the chain", () => {
  test.each(CASES)("the ledger and the chain have equal outcomes for %s", async (_what, funds, pay, expected) => {
    const payer = createPayer();
    const requests = (await pay(payer)).map(toRequest);
    for (const world of [inLedger(), onChain]) {
      await world.fund(payer.address, funds);
      expect(await play(world, requests)).toEqual(expected);
      const settled = expected.filter(([, success]) => success === true).length;
      expect(await world.balanceOf(payer.address)).toBe(funds - BigInt(settled) * 100n);
    }
  });

  test("the ledger and the chain refuse a token name that only payer and seller agree on", async () => {
    const payer = createPayer();
    const wrong = { ...OFFER, extra: { name: "USD Coin", version: "2" } };
    const { payload } = await payer.signExact(wrong);
    const request = { ...toRequest({ x402Version: 2, accepted: wrong, payload }), paymentRequirements: wrong };
    for (const world of [inLedger(), onChain]) {
      await world.fund(payer.address, 100n);
      expect(await play(world, [request])).toEqual([STATE]);
    }
  });

  test("the ledger and the chain have equal outcomes for a pending transaction", async () => {
    const payer = createPayer();
    await onChain.fund(payer.address, 100n);
    const facilitator = createTestFacilitator();
    facilitator.ledger.fund(payer.address, 100n);
    const [payment] = (await sign(payer)).map(toRequest);
    const quick = createRpcChain({
      network: local.network,
      rpcUrl: local.rpcUrl,
      privateKey: anvilAccounts[2]!.privateKey,
      ...PATIENT,
      // While mining is paused, this alone ends the wait.
      receiptTimeoutMs: 100,
    });
    const chain = createFacilitator({ schemes: [createExactEvmScheme({ chain: quick })] });

    facilitator.ledger.pauseMining();
    await local.pauseMining();
    const pending = [await facilitator.settle(payment!), await chain.settle(payment!)];
    facilitator.ledger.resumeMining();
    await local.resumeMining();
    const settled = [await facilitator.settle(payment!), await chain.settle(payment!)];

    for (const outcome of pending) expect(outcome).toMatchObject({ success: false, errorReason: "settlement_pending" });
    for (const outcome of settled) expect(outcome).toMatchObject({ success: true, amount: "100" });
    expect(settled.map(({ transaction }) => transaction)).toEqual(pending.map(({ transaction }) => transaction));
  });
});

/** A payment by Permit2, and the amounts to settle, one after the other. */
interface PermitCase {
  readonly scheme?: "exact";
  readonly funds?: bigint;
  /** Of the offer to sign. */
  readonly signed?: Partial<PaymentRequirements>;
  readonly payer?: (payer: Payer) => Payer;
  readonly change?: (signature: Hex) => Hex;
  readonly now?: () => number;
  readonly amounts: readonly bigint[];
  readonly outcomes: readonly (true | string)[];
}

const PERMITS: readonly (readonly [string, PermitCase])[] = [
  ["a part of the maximum", { amounts: [40n, 40n], outcomes: [true, true, "payment_already_settled"] }],
  ["the maximum", { amounts: [100n, 40n], outcomes: [true, true, "payment_already_settled"] }],
  ["nothing", { amounts: [0n, 0n], outcomes: [true, true, "payment_already_settled"] }],
  [
    "more than the maximum",
    { amounts: [101n, 100n], outcomes: [true, "invalid_upto_evm_payload_settlement_exceeds_amount", true] },
  ],
  [
    "an exact payment by Permit2",
    { scheme: "exact", amounts: [100n, 100n], outcomes: [true, true, "payment_already_settled"] },
  ],
  ["more than the payer has", { funds: 99n, amounts: [100n], outcomes: ["insufficient_funds", "insufficient_funds"] }],
  [
    "a signature by another key",
    {
      payer: (payer) => createPayer({ wallet: payer.address }),
      amounts: [100n],
      outcomes: ["invalid_exact_evm_payload_signature", "invalid_exact_evm_payload_signature"],
    },
  ],
  [
    "another facilitator",
    {
      signed: { extra: { ...OFFER.extra, facilitatorAddress: OFFER.payTo } },
      amounts: [100n],
      outcomes: ["invalid_payload", "invalid_payload"],
    },
  ],
  [
    "another recipient",
    {
      signed: { payTo: OFFER.asset },
      amounts: [100n],
      outcomes: ["invalid_exact_evm_payload_recipient_mismatch", "invalid_exact_evm_payload_recipient_mismatch"],
    },
  ],
  [
    "an expired permit",
    {
      now: () => 1e6,
      amounts: [100n],
      outcomes: [
        "invalid_exact_evm_payload_authorization_valid_before",
        "invalid_exact_evm_payload_authorization_valid_before",
      ],
    },
  ],
  [
    "the other signature of the same key",
    {
      change: (signature) => {
        const { r, s, yParity } = parseSignature(signature);
        return concatHex([r, numberToHex(ORDER - BigInt(s), { size: 32 }), yParity === 0 ? "0x1c" : "0x1b"]);
      },
      amounts: [100n],
      outcomes: [true, true],
    },
  ],
  [
    "a signature that ends in 0 or 1",
    {
      change: (signature) => {
        const { r, s, yParity } = parseSignature(signature);
        return concatHex([r, s, toHex(yParity, { size: 1 })]);
      },
      amounts: [100n],
      outcomes: ["invalid_transaction_state", "invalid_transaction_state"],
    },
  ],
];

describe("payments by Permit2", () => {
  test.each(PERMITS)("the ledger and the chain have equal outcomes for %s", async (_what, permit) => {
    const { scheme = "upto", funds = 500n, signed, payer: change, now, amounts, outcomes } = permit;
    for (const world of [inLedger(), onChain]) {
      const owner = createPayer();
      await world.fund(owner.address, funds);
      const { kinds } = await world.facilitator.supported();
      const extra = {
        ...OFFER.extra,
        assetTransferMethod: "permit2",
        ...kinds.find((kind) => kind.scheme === scheme)?.extra,
      };
      const offer: PaymentRequirements = { ...OFFER, scheme, extra, payTo: createPayer().address };
      const payer = change?.(owner) ?? owner;
      const wished = { ...offer, ...signed, extra: { ...extra, ...signed?.extra } };
      const sign = scheme === "upto" ? payer.signUpto : payer.signExact;
      const { payload } = await sign(wished, now === undefined ? {} : { now });
      const signature = permit.change?.(payload["signature"] as Hex) ?? payload["signature"];
      const paid = { x402Version: 2, accepted: offer, payload: { ...payload, signature } } as const;
      const requestFor = (amount: bigint): FacilitatorRequest => ({
        x402Version: 2,
        paymentPayload: paid,
        paymentRequirements: { ...offer, amount: String(amount) },
      });
      const { isValid, invalidReason } = await world.facilitator.verify(requestFor(100n));
      const seen: (true | string)[] = [isValid || String(invalidReason)];
      let moved = 0n;
      for (const amount of amounts) {
        const { success, errorReason } = await world.facilitator.settle(requestFor(amount));
        seen.push(success || String(errorReason));
        if (success) moved += amount;
      }
      expect(seen).toEqual(outcomes);
      expect(await world.balanceOf(offer.payTo as Hex)).toBe(moved);
      expect(await world.balanceOf(owner.address)).toBe(funds - moved);
    }
  });
});
