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
  test("the test facilitator verifies a payment, and settles it once into the ledger", async () => {
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

  test("the test facilitator refuses a payer without funds", async () => {
    const { facilitator, payer } = setUp(9_999n);
    expect(await facilitator.verify(await request(payer))).toMatchObject({
      isValid: false,
      invalidReason: "insufficient_funds",
    });
  });

  test("the test facilitator refuses a signature of another key", async () => {
    const { facilitator, payer } = setUp();
    const forger = createPayer({ wallet: payer.address });
    expect(await facilitator.verify(await request(forger))).toMatchObject({
      isValid: false,
      invalidReason: "invalid_exact_evm_payload_signature",
    });
  });

  test("settle is refused when the balance was spent after verify", async () => {
    const { facilitator, payer } = setUp();
    const payment = await request(payer);
    expect(await facilitator.verify(payment)).toMatchObject({ isValid: true });
    facilitator.ledger.fund(payer.address, -1n);
    expect(await facilitator.settle(payment)).toMatchObject({ success: false, errorReason: "insufficient_funds" });
  });

  test("the test facilitator uses the given clock", async () => {
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

  test("the test facilitator supports exact and upto on its network, with the stablecoin of the network or a given asset", async () => {
    const base = createTestFacilitator({ network: "eip155:8453" });
    expect((await base.supported()).kinds).toMatchObject([
      { x402Version: 2, scheme: "exact", network: "eip155:8453" },
      { x402Version: 2, scheme: "upto", network: "eip155:8453", extra: { facilitatorAddress: expect.any(String) } },
    ]);
    expect(base.ledger.asset.name).toBe("USD Coin");
    const asset = { address: PAY_TO, name: "Own", version: "1" } as const;
    expect(createTestFacilitator({ network: "eip155:999999", asset }).ledger.asset).toEqual(asset);
  });

  test.each<[string, object]>([
    ["no stablecoin is known on the network", { network: "eip155:999999" }],
    ["the network is not an eip155 one", { network: "solana:x", asset: { address: PAY_TO, name: "", version: "" } }],
  ])("createTestFacilitator throws a ConfigError when %s", (_why, options) => {
    expect(() => createTestFacilitator(options)).toThrow(expect.objectContaining({ code: "ERR_FAREBOX_CONFIG" }));
  });

  test("calls records every call, including those that a fault stops", async () => {
    const { facilitator, payer } = setUp();
    const payment = await request(payer);
    facilitator.faults.next("settle", { kind: "drop" });
    await facilitator.verify(payment);
    await expect(facilitator.settle(payment)).rejects.toMatchObject({ outcome: "unknown" });
    await facilitator.supported();
    expect(facilitator.calls).toEqual({ verify: [payment], settle: [payment], supported: 1 });
    expect(facilitator.ledger.transfers).toEqual([]);
  });

  test("the money moves when the response is lost", async () => {
    const { facilitator, payer } = setUp();
    facilitator.faults.next("settle", { kind: "drop", when: "after" });
    await expect(facilitator.settle(await request(payer))).rejects.toMatchObject({ outcome: "unknown" });
    expect(facilitator.ledger.balanceOf(PAY_TO)).toBe(10_000n);
  });
});
