import { encodeFunctionData, maxUint256, parseAbi } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { PERMIT2, type Permit } from "../permit2/permit2.js";
import { isSignedByPayer, readApproval, readApprovalTransaction } from "./approvals.js";

const PAYER = privateKeyToAccount(`0x${"7".repeat(64)}`);
const STRANGER = `0x${"12".repeat(20)}` as const;
const TOKEN = `0x${"ab".repeat(20)}` as const;
const CHAIN_ID = 84532;

const PERMIT: Permit = {
  from: PAYER.address.toLowerCase() as `0x${string}`,
  token: TOKEN,
  amount: 100n,
  spender: "0xcc",
  nonce: 1n,
  deadline: 1_000n,
  to: "0xdd",
  facilitator: undefined,
  validAfter: 0n,
  signature: "0x22",
};

type Info = Readonly<Record<string, unknown>>;

/** An allowance with each of some fields changed in many ways. */
function changesOf(info: Info, fields: readonly string[]): readonly unknown[] {
  return fields.flatMap((field) => {
    const text = String(info[field]);
    const spoilt = [`${text}x`, ` ${text}`, text.slice(0, -1), `${text}00`, [text], STRANGER];
    const others = [undefined, null, true, {}, 5, -1, "", "0x", "0x0", "2", ...spoilt];
    return others.map((other) => ({ ...info, [field]: other }));
  });
}

const NO_INFO = [undefined, null, "x", [], {}, 7];

describe("an allowance by EIP-2612", () => {
  const INFO = {
    from: PAYER.address,
    asset: TOKEN,
    spender: PERMIT2,
    amount: "100",
    nonce: "0",
    deadline: "1000",
    signature: `0x${"11".repeat(65)}`,
    version: "1",
  };
  const read = (info: unknown) => readApproval({ eip2612GasSponsoring: { info } }, PERMIT);

  test("an allowance for the amount of the permit is read", () => {
    expect(read(INFO)).toEqual({ value: 100n, deadline: 1_000n, signature: INFO.signature });
  });

  test("an allowance with any field of another form is none, and nothing is thrown", () => {
    const wrong = changesOf(INFO, ["from", "asset", "spender", "amount", "signature"]);
    for (const info of [...NO_INFO, ...wrong]) expect(read(info), JSON.stringify(info)).toBeUndefined();
    // Any number is a time. The payment's margin decides about it.
    for (const deadline of [undefined, null, true, {}, 5, -1, "", "0x", "0x0", "1000x", " 1000", ["1000"], STRANGER])
      expect(read({ ...INFO, deadline }), JSON.stringify(deadline)).toBeUndefined();
    for (const all of [undefined, null, "x", [], {}, { info: [INFO] }])
      expect(readApproval({ eip2612GasSponsoring: all }, PERMIT)).toBeUndefined();
  });
});

describe("an allowance as a transaction", () => {
  const data = encodeFunctionData({
    abi: parseAbi(["function approve(address, uint256)"]),
    args: [PERMIT2, maxUint256],
  });
  const signing = PAYER.signTransaction({
    type: "eip1559",
    ...{ chainId: CHAIN_ID, to: TOKEN, data, nonce: 0, gas: 70_000n },
    ...{ maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 1n },
  });
  const infoOf = async (): Promise<Info & { readonly signedTransaction: string }> => ({
    ...{ from: PAYER.address, asset: TOKEN, spender: PERMIT2, amount: String(maxUint256), version: "1" },
    signedTransaction: await signing,
  });
  const read = (info: unknown) => readApprovalTransaction({ erc20ApprovalGasSponsoring: { info } }, PERMIT, CHAIN_ID);

  test("an approval of the payer is read, with its limits", async () => {
    const approval = read(await infoOf());
    expect(approval).toMatchObject({
      from: PERMIT.from,
      token: TOKEN,
      nonce: 0,
      gas: 70_000n,
      maxFeePerGas: 10n ** 9n,
    });
    expect(approval && (await isSignedByPayer(approval))).toBe(true);
  });

  test("an approval with any field of another form is none, and nothing is thrown", async () => {
    const info = await infoOf();
    const wrong = changesOf(info, Object.keys(info));
    for (const one of [...NO_INFO, ...wrong]) expect(read(one), JSON.stringify(one)).toBeUndefined();
    for (const all of [undefined, null, "x", [], {}, { info: [info] }])
      expect(readApprovalTransaction({ erc20ApprovalGasSponsoring: all }, PERMIT, CHAIN_ID)).toBeUndefined();
  });

  test("an approval with any digit changed is none, or is not the payer's", async () => {
    const info = await infoOf();
    const text = info.signedTransaction;
    for (let place = 2; place < text.length; place += 7) {
      const digit = text[place] === "f" ? "0" : "f";
      const signedTransaction = text.slice(0, place) + digit + text.slice(place + 1);
      const approval = read({ ...info, signedTransaction });
      expect(approval !== undefined && (await isSignedByPayer(approval)), signedTransaction).toBe(false);
    }
  });
});
