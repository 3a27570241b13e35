/** Approvals that the payer signs as transactions, for a plain ERC-20 token: carried out before the payment. */
import { serializeTransaction } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ApprovalStage,
  allowanceOf,
  approveData,
  balanceOf,
  describeApproval,
  expectNothingIsSpent,
  fillApproval,
  GENEROUS,
  openApprovalStage,
  openPayment,
  openSponsor,
  payBy,
  purseOf,
  signApproval,
  sponsored,
} from "./approval-stage.js";
import { type Kind, openScheme, PERMIT2, permitOf, taking } from "./permit2-stage.js";
import { AMOUNT, newAddress, openStage, type Stage } from "./stage.js";

const ALLOWANCE = "permit2_allowance_required";

let stage: Stage;
let at: ApprovalStage;

beforeAll(async () => {
  stage = await openStage();
  at = await openApprovalStage(stage);
});

afterAll(() => stage.close());

describe.each<Kind>(["exact", "upto"])("%s with a signed approval transaction", (kind) => {
  test("a sponsored payment is verified for free, settled once, and then named with its transaction", async () => {
    const { account, payment } = await openPayment(at, kind);
    const request = sponsored(payment, await signApproval(at, account));
    const before = await purseOf(at);
    expect(await openSponsor(at, kind).verify(request)).toMatchObject({ isValid: true });
    expect(await purseOf(at)).toEqual(before);
    const { success, transaction } = await openSponsor(at, kind).settle(request);
    expect(success).toBe(true);
    expect(await balanceOf(at, account.address)).toBe(AMOUNT);
    expect(await balanceOf(at, permitOf(request).permit2Authorization.witness.to)).toBe(AMOUNT);
    for (const again of [request, payment]) {
      expect(await openSponsor(at, kind).settle(again)).toMatchObject({
        errorReason: "payment_already_settled",
        transaction,
      });
    }
  });

  test("an approval is refused by a facilitator without sponsoring", async () => {
    const { account, payment } = await openPayment(at, kind);
    const request = sponsored(payment, await signApproval(at, account));
    const scheme = openScheme(stage, kind, { privateKey: at.privateKey });
    expect(scheme.extensions).toEqual(["eip2612GasSponsoring"]);
    await expectNothingIsSpent(at, scheme, { request, reason: ALLOWANCE });
  });
});

// Both schemes carry approvals out by the same code, so each of these tests takes one of them.
describe("an approval transaction", () => {
  test("a sponsor gives only the missing coin, and the payer's own coin is used first", async () => {
    const { account, payment } = await openPayment(at, "upto");
    const approval = await fillApproval(at);
    const { client } = stage;
    const needed = approval.gas * approval.maxFeePerGas;
    await stage.chain.fund(account.address, { eth: needed - 1_000n });
    const signedTransaction = await account.signTransaction({ type: "eip1559", ...approval });
    const request = sponsored(payment, describeApproval(at, account.address, signedTransaction));
    const scheme = openSponsor(at, "upto", { ...GENEROUS, maxGrantWei: 1_000n });
    expect(await scheme.settle(request)).toMatchObject({ success: true });
    expect(await client.getBalance({ address: account.address })).toBeLessThan(needed);
  });

  test("an approval of a payer with enough coin is sent without a grant", async () => {
    const { account, payment } = await openPayment(at, "exact");
    await stage.chain.fund(account.address, { eth: 10n ** 18n });
    const request = sponsored(payment, await signApproval(at, account));
    const [, before] = await purseOf(at);
    const scheme = openSponsor(at, "exact", { maxGrantWei: 0n, maxGrantWeiPerHour: 0n });
    expect(await scheme.settle(request)).toMatchObject({ success: true });
    const [, after] = await purseOf(at);
    expect(after - before).toBe(1);
  });

  test("an approval is not sent if the allowance exists already", async () => {
    const { account, key, payment } = await openPayment(at, "exact");
    const first = sponsored(payment, await signApproval(at, account));
    expect(await openSponsor(at, "exact").settle(first)).toMatchObject({ success: true });
    const count = () => stage.client.getTransactionCount({ address: account.address });
    const before = await count();
    const request = sponsored(await payBy(at, "exact", key), await signApproval(at, account, { nonce: before }));
    expect(await openSponsor(at, "exact").settle(request)).toMatchObject({ success: true });
    expect(await count()).toBe(before);
  });

  test.each([
    ["legacy", "exact"],
    ["eip2930", "upto"],
  ] as const)("an approval of the type %s is carried out for %s", async (type, kind) => {
    const { account, payment } = await openPayment(at, kind);
    const { maxFeePerGas: gasPrice, maxPriorityFeePerGas: _, ...approval } = await fillApproval(at);
    const signedTransaction = await account.signTransaction({ ...approval, type, gasPrice });
    const request = sponsored(payment, describeApproval(at, account.address, signedTransaction));
    expect(await openSponsor(at, kind).settle(request)).toMatchObject({ success: true });
    expect(await allowanceOf(at, account.address)).toBeGreaterThan(0n);
  });
});

test("a sponsored upto payment can settle for a part, and spends nothing at zero", async () => {
  const { account, payment } = await openPayment(at, "upto");
  const request = sponsored(payment, await signApproval(at, account));
  const scheme = openSponsor(at, "upto");
  expect(await scheme.settle(taking(request, 30n))).toMatchObject({ success: true, amount: "30" });
  const other = await openPayment(at, "upto");
  const zero = taking(sponsored(other.payment, await signApproval(at, other.account)), 0n);
  const before = await purseOf(at);
  expect(await scheme.settle(zero)).toMatchObject({ success: true, amount: "0", transaction: "" });
  expect(await purseOf(at)).toEqual(before);
});

test("two payments at once with one approval are both settled, with one grant", async () => {
  const { account, key, payment } = await openPayment(at, "exact");
  const info = await signApproval(at, account);
  const scheme = openSponsor(at, "exact");
  const requests = [sponsored(payment, info), sponsored(await payBy(at, "exact", key), info)];
  const [, before] = await purseOf(at);
  const responses = await Promise.all(requests.map((request) => scheme.settle(request)));
  expect(responses).toMatchObject([{ success: true }, { success: true }]);
  const [, after] = await purseOf(at);
  expect(after - before).toBe(3);
});

describe("a wrong approval", () => {
  type Info = Readonly<Record<string, unknown>>;
  interface Case {
    readonly what: string;
    readonly change: (info: Info, account: ReturnType<typeof privateKeyToAccount>) => Info | Promise<Info>;
    readonly reason?: string;
  }
  const signed = (changes: Parameters<typeof signApproval>[2]): Case["change"] => {
    return (_info, account) => signApproval(at, account, changes);
  };
  const CASES: readonly Case[] = [
    { what: "of another chain", change: signed({ chainId: 8453 }) },
    { what: "of another token", change: signed({ to: newAddress() }) },
    { what: "for another spender", change: signed({ data: approveData(newAddress()) }) },
    { what: "for another amount than it says", change: signed({ data: approveData(PERMIT2, 10n ** 9n) }) },
    { what: "with more data behind it", change: signed({ data: `${approveData()}00` }) },
    { what: "that calls something else", change: signed({ data: `0xa9059cbb${approveData().slice(10)}` }) },
    { what: "that sends coin", change: signed({ value: 1n }) },
    { what: "with a nonce to come", change: signed({ nonce: 1 }) },
    { what: "with more gas than an approval takes", change: signed({ gas: 300_001n }) },
    { what: "with less gas than it takes", change: signed({ gas: 30_000n }), reason: "invalid_transaction_state" },
    { what: "that pays too little for gas", change: signed({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }) },
    { what: "that pays far too much for gas", change: signed({ maxFeePerGas: 10n ** 12n, gas: 70_000n }) },
    {
      what: "for less than the payment",
      async change(_info, account) {
        const info = await signApproval(at, account, { data: approveData(PERMIT2, AMOUNT - 1n) });
        return { ...info, amount: String(AMOUNT - 1n) };
      },
    },
    {
      what: "signed by another account",
      async change(info) {
        const stranger = await signApproval(at, privateKeyToAccount(generatePrivateKey()));
        return { ...info, signedTransaction: stranger.signedTransaction };
      },
    },
    {
      what: "of another account",
      change: () => signApproval(at, privateKeyToAccount(generatePrivateKey())),
    },
    {
      what: "that is not signed",
      async change(info) {
        const approval = await fillApproval(at);
        return { ...info, signedTransaction: serializeTransaction({ type: "eip1559", ...approval }) };
      },
    },
    {
      what: "with an access list",
      async change(info, account) {
        const accessList = [{ address: newAddress(), storageKeys: [] }];
        const approval = { type: "eip1559", ...(await fillApproval(at)), accessList } as const;
        return { ...info, signedTransaction: await account.signTransaction(approval) };
      },
    },
    {
      what: "that is good on every chain",
      async change(info, account) {
        const { maxFeePerGas: gasPrice, chainId: _, maxPriorityFeePerGas: __, ...rest } = await fillApproval(at);
        return { ...info, signedTransaction: await account.signTransaction({ ...rest, type: "legacy", gasPrice }) };
      },
    },
    {
      what: "with one digit changed",
      change: (info) => ({ ...info, signedTransaction: `${String(info["signedTransaction"]).slice(0, -2)}00` }),
    },
    {
      what: "with the other of the two possible signatures",
      change: (info) => ({ ...info, signedTransaction: mirrored(String(info["signedTransaction"])) }),
    },
  ];

  test("an approval that is wrong in any way is refused, nothing is spent, and the right one is carried out", async () => {
    const { account, payment } = await openPayment(at, "exact");
    const right = await signApproval(at, account);
    const [first, ...others] = CASES.map(async ({ what, change, reason = ALLOWANCE }) => {
      return { request: sponsored(payment, await change(right, account)), reason, what };
    });
    const scheme = openSponsor(at, "exact");
    await expectNothingIsSpent(at, scheme, await first!, ...(await Promise.all(others)));
    expect(await scheme.settle(sponsored(payment, right))).toMatchObject({ success: true });
  });

  // `packages/evm/src/facilitator/approvals.test.ts` changes each field and each digit in many ways.
  test("an approval with any field of another form is refused, and nothing is thrown", async () => {
    const { account, payment } = await openPayment(at, "exact");
    const info: Info = await signApproval(at, account);
    const scheme = openSponsor(at, "exact");
    const refuse = (changed: unknown) => ({
      ...{ request: sponsored(payment, changed), reason: ALLOWANCE },
      what: JSON.stringify(changed),
    });
    const wrong = [
      null,
      "x",
      [],
      {},
      7,
      ...Object.keys(info).map((field) => ({ ...info, [field]: `${info[field]}x` })),
    ].map(refuse);
    await expectNothingIsSpent(at, scheme, refuse(undefined), ...wrong);
    expect(await scheme.settle(sponsored(payment, info))).toMatchObject({ success: true });
  });

  test("an approval is not carried out if the payer has less of the token than the amount", async () => {
    const { account, payment, key } = await openPayment(at, "exact");
    const info = await signApproval(at, account);
    expect(await openSponsor(at, "exact").settle(sponsored(payment, info))).toMatchObject({ success: true });
    expect(await openSponsor(at, "exact").settle(await payBy(at, "exact", key))).toMatchObject({ success: true });
    const request = sponsored(await payBy(at, "exact", key), info);
    await expectNothingIsSpent(at, openSponsor(at, "exact"), { request, reason: "insufficient_funds" });
  });

  test("an approval is not carried out if the payer's account has code", async () => {
    const { account, payment } = await openPayment(at, "exact");
    const info = await signApproval(at, account);
    await stage.rpc("anvil_setCode", account.address, `0xef0100${newAddress().slice(2)}`);
    await expectNothingIsSpent(at, openSponsor(at, "exact"), { request: sponsored(payment, info), reason: ALLOWANCE });
  });

  test("an approval is not carried out above the limit for one payer, for all payers, or for another token", async () => {
    const { account, payment } = await openPayment(at, "exact");
    const request = sponsored(payment, await signApproval(at, account));
    const { maxGrantWei, maxGrantWeiPerHour } = GENEROUS;
    for (const sponsoring of [
      { maxGrantWei: 1n, maxGrantWeiPerHour },
      { maxGrantWei, maxGrantWeiPerHour: 1n },
      { ...GENEROUS, assets: [stage.chain.asset] },
      { ...GENEROUS, assets: [] },
    ]) {
      await expectNothingIsSpent(at, openSponsor(at, "exact", sponsoring), { request, reason: ALLOWANCE });
    }
    const scheme = openSponsor(at, "exact", { ...GENEROUS, assets: [at.token] });
    expect(await scheme.settle(request)).toMatchObject({ success: true });
  });
});

/** The same signature with the other `s`, which nodes refuse: EIP-2. */
function mirrored(serialized: string): string {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const s = BigInt(`0x${serialized.slice(-64)}`);
  const parityAt = serialized.length - 64 - 2 - 64 - 2 - 2;
  const parity = serialized.slice(parityAt, parityAt + 2) === "80" ? "01" : "80";
  return serialized.slice(0, parityAt) + parity + serialized.slice(parityAt + 2, -64) + (order - s).toString(16);
}
