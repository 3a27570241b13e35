import type { FacilitatorRequest, PaymentRequirements } from "@farebox/core";
import { createPayer, createTestFacilitator, type Payer } from "@farebox/testing";
import { describe, expect, test } from "vitest";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const OFFER: PaymentRequirements = {
  scheme: "exact",
  network: "eip155:84532",
  amount: "10000",
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: PAY_TO,
  maxTimeoutSeconds: 60,
  extra: { name: "USDC", version: "2" },
};

async function request(payer: Payer, offer = OFFER, now = Date.now): Promise<FacilitatorRequest> {
  const { payload } = await payer.signExact(offer, { now });
  return { x402Version: 2, paymentPayload: { x402Version: 2, accepted: offer, payload }, paymentRequirements: offer };
}

function setUp(amount = 10_000n) {
  const facilitator = createTestFacilitator();
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, amount);
  return { facilitator, payer };
}

describe("a test facilitator", () => {
  test("verifies a payment and settles it into the ledger, once", async () => {
    const { facilitator, payer } = setUp();
    const payment = await request(payer);
    expect(await facilitator.verify(payment)).toMatchObject({ isValid: true, payer: payer.address });
    expect(facilitator.ledger.transfers).toEqual([]);

    const settled = await facilitator.settle(payment);
    expect(settled).toMatchObject({ success: true, payer: payer.address, network: "eip155:84532", amount: "10000" });
    expect(facilitator.ledger.transfers).toMatchObject([{ transaction: settled.transaction, amount: 10_000n }]);
    expect(facilitator.ledger.balanceOf(PAY_TO)).toBe(10_000n);

    expect(await facilitator.settle(payment)).toMatchObject({
      success: false,
      errorReason: "payment_already_settled",
      transaction: settled.transaction,
    });
    expect(facilitator.ledger.balanceOf(PAY_TO)).toBe(10_000n);
  });

  test("refuses a payer without funds", async () => {
    const { facilitator, payer } = setUp(9_999n);
    expect(await facilitator.verify(await request(payer))).toMatchObject({
      isValid: false,
      invalidReason: "insufficient_funds",
    });
  });

  test("refuses a signature of somebody else", async () => {
    const { facilitator, payer } = setUp();
    const forger = createPayer({ wallet: payer.address });
    expect(await facilitator.verify(await request(forger))).toMatchObject({
      isValid: false,
      invalidReason: "invalid_exact_evm_payload_signature",
    });
  });

  test("refuses to settle what was verified but has been spent since", async () => {
    const { facilitator, payer } = setUp();
    const payment = await request(payer);
    expect(await facilitator.verify(payment)).toMatchObject({ isValid: true });
    facilitator.ledger.fund(payer.address, -1n);
    expect(await facilitator.settle(payment)).toMatchObject({ success: false, errorReason: "insufficient_funds" });
  });

  test("has its own clock", async () => {
    let now = 1_800_000_000_000;
    const facilitator = createTestFacilitator({ now: () => now });
    const payer = createPayer();
    facilitator.ledger.fund(payer.address, 10_000n);
    const payment = await request(payer, OFFER, () => now);
    expect(await facilitator.verify(payment)).toMatchObject({ isValid: true });
    now += 61_000;
    expect(await facilitator.verify(payment)).toMatchObject({
      isValid: false,
      invalidReason: "invalid_exact_evm_payload_authorization_valid_before",
    });
  });

  test("supports exact on its network, with the network's stablecoin or a given asset", async () => {
    const base = createTestFacilitator({ network: "eip155:8453" });
    expect((await base.supported()).kinds).toMatchObject([{ x402Version: 2, scheme: "exact", network: "eip155:8453" }]);
    expect(base.ledger.asset.name).toBe("USD Coin");
    const asset = { address: PAY_TO, name: "Own", version: "1" } as const;
    expect(createTestFacilitator({ network: "eip155:999999", asset }).ledger.asset).toEqual(asset);
  });

  test.each<[string, object]>([
    ["no stablecoin is known on the network", { network: "eip155:999999" }],
    ["the network is not an eip155 one", { network: "solana:x", asset: { address: PAY_TO, name: "", version: "" } }],
  ])("throws a ConfigError when %s", (_why, options) => {
    expect(() => createTestFacilitator(options)).toThrow(expect.objectContaining({ code: "ERR_FAREBOX_CONFIG" }));
  });

  test("records what it is sent, also where a fault keeps it from seeing the call", async () => {
    const { facilitator, payer } = setUp();
    const payment = await request(payer);
    facilitator.faults.next("settle", { kind: "drop" });
    await facilitator.verify(payment);
    await expect(facilitator.settle(payment)).rejects.toMatchObject({ outcome: "unknown" });
    await facilitator.supported();
    expect(facilitator.calls).toEqual({ verify: [payment], settle: [payment], supported: 1 });
    expect(facilitator.ledger.transfers).toEqual([]);
  });

  test("moves the money although the answer is lost", async () => {
    const { facilitator, payer } = setUp();
    facilitator.faults.next("settle", { kind: "drop", when: "after" });
    await expect(facilitator.settle(await request(payer))).rejects.toMatchObject({ outcome: "unknown" });
    expect(facilitator.ledger.balanceOf(PAY_TO)).toBe(10_000n);
  });
});
