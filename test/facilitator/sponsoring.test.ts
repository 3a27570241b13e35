/** Allowances that the payer signs by EIP-2612, passed to the token together with the payment. */
import type { FacilitatorRequest } from "@farebox/core";
import { createPayer } from "@farebox/testing";
import { type Hex, maxUint256, parseAbi } from "viem";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  balancesOf,
  createPermitOffer,
  expectNothingMoves,
  type Kind,
  openScheme,
  PERMIT2,
  signPermitFor,
  taking,
} from "./permit2-stage.js";
import { AMOUNT, newAddress, openStage, type Stage } from "./stage.js";

const TOKEN = parseAbi([
  "function allowance(address, address) view returns (uint256)",
  "function nonces(address) view returns (uint256)",
]);

let stage: Stage;
let privateKey: Hex;

beforeAll(async () => {
  stage = await openStage();
  privateKey = await stage.signer();
});

afterAll(() => stage.close());

interface Allowed {
  readonly spender: Hex;
  readonly value: bigint;
  readonly nonce: bigint;
  readonly deadline: bigint;
}

const LATER = BigInt(Math.floor(Date.now() / 1000) + 600);
const ALLOWED: Allowed = { spender: PERMIT2, value: AMOUNT, nonce: 0n, deadline: LATER };

async function allow(owner: PrivateKeyAccount, changes: Partial<Allowed> = {}) {
  const message = { ...ALLOWED, ...changes };
  const signature = await owner.signTypedData({
    domain: { name: "USDC", version: "2", chainId: 84532, verifyingContract: stage.chain.asset },
    types: {
      Permit: [
        { name: "owner", type: "address" },
        { name: "spender", type: "address" },
        { name: "value", type: "uint256" },
        { name: "nonce", type: "uint256" },
        { name: "deadline", type: "uint256" },
      ],
    },
    primaryType: "Permit",
    message: { owner: owner.address, ...message },
  });
  return {
    from: owner.address,
    asset: stage.chain.asset,
    spender: message.spender,
    amount: String(message.value),
    nonce: String(message.nonce),
    deadline: String(message.deadline),
    signature,
    version: "1",
  };
}

/** A payment of a payer without an allowance. */
async function openPayment(kind: Kind) {
  const key = generatePrivateKey();
  const account = privateKeyToAccount(key);
  await stage.chain.fund(account.address, { usdc: AMOUNT });
  const payment = await signPermitFor(createPayer({ privateKey: key }), createPermitOffer(kind, privateKey));
  return { account, payment };
}

function sponsored(request: FacilitatorRequest, info: unknown): FacilitatorRequest {
  const extensions = { eip2612GasSponsoring: { info } };
  return { ...request, paymentPayload: { ...request.paymentPayload, extensions } };
}

function read(functionName: "allowance" | "nonces", owner: Hex): Promise<bigint> {
  const contract = { address: stage.chain.asset, abi: TOKEN } as const;
  return functionName === "nonces"
    ? stage.client.readContract({ ...contract, functionName, args: [owner] })
    : stage.client.readContract({ ...contract, functionName, args: [owner, PERMIT2] });
}

describe.each<Kind>(["exact", "upto"])("%s with a signed allowance", (kind) => {
  const open = () => openScheme(stage, kind, { privateKey });

  test("a payment is verified, settled once, and then reported with its transaction", async () => {
    const { account, payment } = await openPayment(kind);
    const request = sponsored(payment, await allow(account));
    expect(await open().verify(request)).toMatchObject({ isValid: true });
    const { success, transaction } = await open().settle(request);
    expect(success).toBe(true);
    expect(await balancesOf(stage, request)).toEqual([0n, AMOUNT]);
    for (const again of [request, payment]) {
      expect(await open().settle(again)).toMatchObject({ errorReason: "payment_already_settled", transaction });
    }
  });

  test("a signed allowance is not used if an allowance exists already", async () => {
    const { account, payment } = await openPayment(kind);
    await stage.chain.approvePermit2(account.address);
    expect(await open().settle(sponsored(payment, await allow(account)))).toMatchObject({ success: true });
    expect(await read("nonces", account.address)).toBe(0n);
  });

  const ALLOWANCE = "permit2_allowance_required";
  const STATE = "invalid_transaction_state";
  const OTHERS: readonly (readonly [what: string, changes: Partial<Allowed>, reason: string])[] = [
    ["for another spender than Permit2", { spender: newAddress() }, ALLOWANCE],
    ["for less", { value: AMOUNT - 1n }, ALLOWANCE],
    ["for more, which the proxies do not accept", { value: maxUint256 }, ALLOWANCE],
    ["that has expired", { deadline: 1n }, ALLOWANCE],
    ["that expires too soon", { deadline: LATER - 597n }, ALLOWANCE],
    ["of another nonce", { nonce: 1n }, STATE],
  ];

  test("a signed allowance for something else, or of another account, is refused", async () => {
    const { account, payment } = await openPayment(kind);
    const stranger = await allow(privateKeyToAccount(generatePrivateKey()));
    const others = OTHERS.map(async ([what, changes, reason]) => {
      return { request: sponsored(payment, await allow(account, changes)), reason, what };
    });
    await expectNothingMoves(
      stage,
      open(),
      { request: sponsored(payment, stranger), reason: ALLOWANCE },
      { request: sponsored(payment, { ...stranger, from: account.address }), reason: STATE },
      ...(await Promise.all(others)),
    );
    expect(await read("allowance", account.address)).toBe(0n);
    expect(await open().settle(sponsored(payment, await allow(account)))).toMatchObject({ success: true });
  });

  test("a malformed signed allowance does not count, and nothing is thrown", async () => {
    const { account, payment } = await openPayment(kind);
    const info: Record<string, unknown> = await allow(account);
    const { signature } = info;
    // `packages/evm/src/facilitator/approvals.test.ts` changes each field in many ways.
    const fields = ["from", "asset", "spender", "amount", "deadline", "signature"];
    const wrong = [
      ...[null, [], { ...info, asset: newAddress() }, { ...info, signature: `${String(signature)}00` }],
      ...fields.map((field) => ({ ...info, [field]: `${String(info[field])}x` })),
    ];
    const [first, ...others] = wrong.map((other) => ({ request: sponsored(payment, other), reason: ALLOWANCE }));
    await expectNothingMoves(stage, open(), first!, ...others);
  });
});

test("upto takes a part with an allowance for the whole", async () => {
  const { account, payment } = await openPayment("upto");
  const request = taking(sponsored(payment, await allow(account)), 30n);
  const scheme = openScheme(stage, "upto", { privateKey });
  expect(await scheme.settle(request)).toMatchObject({ success: true, amount: "30" });
  expect(await balancesOf(stage, request)).toEqual([AMOUNT - 30n, 30n]);
});

test("a settlement at zero does not use the signed allowance", async () => {
  const { account, payment } = await openPayment("upto");
  const scheme = openScheme(stage, "upto", { privateKey });
  expect(await scheme.settle(taking(sponsored(payment, await allow(account)), 0n))).toMatchObject({ success: true });
  expect(await read("nonces", account.address)).toBe(0n);
});
