import type { SignedAuthorization } from "@farebox/evm/facilitator";
import { concatHex, numberToHex, parseSignature, toHex } from "viem";
import { type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { AUTHORIZATION_TYPES } from "../payer/sign.js";
import { createToken } from "./ledger.js";
import { createLedgerChain } from "./ledger-chain.js";

const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const NOW_SECONDS = 1_800_000_000;

const payer = privateKeyToAccount(toHex(5n, { size: 32 }));
const stranger = privateKeyToAccount(toHex(6n, { size: 32 }));
const payTo = stranger.address;

function setUp() {
  const clock = { seconds: NOW_SECONDS };
  const asset = { address: USDC, name: "USDC", version: "2" } as const;
  const token = createToken({ asset, chainId: 84532, now: () => clock.seconds * 1000 });
  token.ledger.fund(payer.address, 100n);
  return { clock, ledger: token.ledger, chain: createLedgerChain("eip155:84532", token) };
}

interface Wish {
  readonly value?: bigint;
  readonly validAfter?: bigint;
  readonly validBefore?: bigint;
  readonly nonce?: bigint;
  readonly name?: string;
  readonly by?: PrivateKeyAccount;
}

async function sign(wish: Wish = {}): Promise<SignedAuthorization> {
  const { value = 40n, validAfter = 0n, validBefore = BigInt(NOW_SECONDS + 60), nonce = 1n, name = "USDC" } = wish;
  const domain = { name, version: "2", chainId: 84532 };
  const from = payer.address;
  const authorization = { from, to: payTo, value, validAfter, validBefore, nonce: toHex(nonce, { size: 32 }) };
  const signature = await (wish.by ?? payer).signTypedData({
    domain: { ...domain, verifyingContract: USDC },
    types: AUTHORIZATION_TYPES,
    primaryType: "TransferWithAuthorization",
    message: authorization,
  });
  return { asset: USDC, domain, authorization, signature };
}

describe("the ledger as a chain", () => {
  test("a transfer moves money once, and is recorded", async () => {
    const { chain, ledger } = setUp();
    const signed = await sign();
    const { from, nonce } = signed.authorization;
    expect(await chain.isAuthorizationUsed(USDC, from, nonce)).toBe(false);
    expect(await chain.findTransfer(signed)).toBeUndefined();

    const first = await chain.submit(signed);
    const second = await chain.submit(signed);

    expect(await chain.outcomeOf(first)).toBe("confirmed");
    expect(await chain.outcomeOf(second)).toBe("reverted");
    expect(await chain.isAuthorizationUsed(USDC, from, nonce)).toBe(true);
    expect(await chain.findTransfer(signed)).toBe(first);
    expect([ledger.balanceOf(payer.address), ledger.balanceOf(payTo)]).toEqual([60n, 40n]);
    expect(ledger.transfers).toMatchObject([{ transaction: first, amount: 40n, from: from.toLowerCase() }]);
  });

  test.each<[string, Wish, string]>([
    ["the amount exceeds the balance", { value: 101n }, "transfer amount exceeds balance"],
    ["the authorization is not yet valid", { validAfter: BigInt(NOW_SECONDS) }, "authorization is not yet valid"],
    ["the authorization is expired", { validBefore: BigInt(NOW_SECONDS) }, "authorization is expired"],
    ["another key signed", { by: stranger }, "invalid signature"],
    ["it was signed for another token name", { name: "USD Coin" }, "invalid signature"],
  ])("a transfer is refused, and reverts when it is sent, when %s", async (_why, wish, problem) => {
    const { chain, ledger } = setUp();
    const signed = await sign(wish);
    expect(await chain.simulate(signed)).toEqual({ ok: false, problem });
    expect(await chain.outcomeOf(await chain.submit(signed))).toBe("reverted");
    expect(ledger.transfers).toEqual([]);
    expect(ledger.balanceOf(payer.address)).toBe(100n);
  });

  test("only the canonical signature is accepted", async () => {
    const { chain } = setUp();
    const signed = await sign();
    const { r, s, yParity } = parseSignature(signed.signature);
    const other = concatHex([r, numberToHex(ORDER - BigInt(s), { size: 32 }), yParity === 0 ? "0x1c" : "0x1b"]);
    const parity = concatHex([r, s, numberToHex(yParity, { size: 1 })]);
    const invalid = concatHex([toHex(0n, { size: 32 }), s, "0x1b"]);
    expect(await chain.simulate(signed)).toEqual({ ok: true });
    for (const signature of [other, parity, invalid, "0x", "0x00", concatHex([signed.signature, "0x00"])] as const) {
      expect(await chain.simulate({ ...signed, signature })).toEqual({ ok: false, problem: "invalid signature" });
    }
  });

  test("verifySignature accepts any form of the payer's signature, and no other signature", async () => {
    const { chain } = setUp();
    const signed = await sign();
    const { r, s, yParity } = parseSignature(signed.signature);
    const parity = concatHex([r, s, numberToHex(yParity, { size: 1 })]);
    expect(await chain.verifySignature(signed)).toBe(true);
    expect(await chain.verifySignature({ ...signed, signature: parity })).toBe(true);
    expect(await chain.verifySignature(await sign({ by: stranger }))).toBe(false);
    for (const signature of ["0x", "0x00", concatHex([toHex(0n, { size: 32 }), s, "0x1b"])] as const) {
      expect(await chain.verifySignature({ ...signed, signature })).toBe(false);
    }
  });

  test("the ledger has one token", async () => {
    const { chain } = setUp();
    const signed = { ...(await sign()), asset: payTo };
    expect(await chain.balanceOf(payTo, payer.address)).toBe(0n);
    expect(await chain.balanceOf(USDC, payer.address)).toBe(100n);
    expect(await chain.simulate(signed)).toMatchObject({ ok: false });
    expect(await chain.findTransfer(signed)).toBeUndefined();
  });

  test("findTransfer compares amount and receiver, not only the nonce", async () => {
    const { chain } = setUp();
    await chain.submit(await sign());
    const more = await sign({ value: 41n });
    expect(await chain.findTransfer(more)).toBeUndefined();
    const elsewhere = { ...more.authorization, value: 40n, to: payer.address };
    expect(await chain.findTransfer({ ...more, authorization: elsewhere })).toBeUndefined();
  });

  test("transactions stay pending while mining is paused, and then run in order", async () => {
    const { chain, ledger, clock } = setUp();
    ledger.pauseMining();
    const first = await chain.submit(await sign({ value: 70n, nonce: 1n }));
    const tooMuch = await chain.submit(await sign({ value: 40n, nonce: 2n }));
    expect([await chain.outcomeOf(first), await chain.outcomeOf(tooMuch)]).toEqual(["pending", "pending"]);
    clock.seconds += 1;
    ledger.resumeMining();
    expect([await chain.outcomeOf(first), await chain.outcomeOf(tooMuch)]).toEqual(["confirmed", "reverted"]);
    expect(ledger.balanceOf(payer.address)).toBe(30n);
  });

  test("an unknown transaction is pending", async () => {
    expect(await setUp().chain.outcomeOf(toHex(1n, { size: 32 }))).toBe("pending");
  });
});

describe("fund", () => {
  test("fund adds and removes, and ignores the case of the address", () => {
    const { ledger } = setUp();
    ledger.fund(payer.address, 5n);
    ledger.fund(`0x${payer.address.slice(2).toLowerCase()}`, -105n);
    expect(ledger.balanceOf(payer.address)).toBe(0n);
    expect(() => ledger.fund(payer.address, -1n)).toThrow(expect.objectContaining({ code: "ERR_FAREBOX_STATE" }));
  });
});
