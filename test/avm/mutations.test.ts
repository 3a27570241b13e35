/**
 * Payments with one change at a time: seller and facilitator refuse them for the same reason, and nothing moves. The ledger
 * would apply each of them, unless its signatures or its group are wrong.
 */
import { msgpackRawDecode, msgpackRawEncode } from "algosdk";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  algos,
  base64,
  encode,
  FEE_PAYER,
  MAINNET_HASH,
  PAY_TO,
  PAYER,
  type Parts,
  type Plan,
  payload,
  ROUND,
  requirements,
  STRANGER,
  type TransferParts,
  transfer,
  USDC,
} from "../../packages/avm/src/payments.fixture.js";
import { BothSides, NOW, OTHER_ASSET, scheme, toRequest } from "./both-sides.js";

const AVM = "invalid_exact_avm_";
const BAD = `${AVM}invalid_transaction`;
const GIVING = `${AVM}facilitator_transferring`;

let sides: BothSides;

beforeAll(async () => {
  sides = await BothSides.open();
});

afterAll(() => sides.local.close());

afterEach(() => sides.expectNothingMoved());

test("both sides accept the payment unchanged", async () => {
  expect(scheme.readPayment(payload(), requirements(), NOW)).toMatchObject({ kind: "readable" });
  expect(await sides.facilitator.verify(toRequest(payload()))).toMatchObject({ isValid: true });
});

describe("the transfer", () => {
  test.each<[what: string, change: Partial<TransferParts>, reason: string]>([
    ["of less", { amount: 999n }, `${AVM}amount_mismatch`],
    ["of more", { amount: 1001n }, `${AVM}amount_mismatch`],
    ["of nothing", { amount: 0n }, `${AVM}amount_mismatch`],
    ["of another asset", { asset: OTHER_ASSET }, `${AVM}asset_mismatch`],
    ["to a stranger", { receiver: STRANGER.addr }, `${AVM}receiver_mismatch`],
    ["to the payer", { receiver: PAYER.addr }, `${AVM}receiver_mismatch`],
    ["to the fee payer", { receiver: FEE_PAYER.addr }, `${AVM}receiver_mismatch`],
    ["from the payee", { sender: PAY_TO }, `${AVM}receiver_mismatch`],
    ["from the fee payer", { sender: FEE_PAYER.addr }, GIVING],
    ["by a stranger who does not sign", { sender: STRANGER.addr }, `${AVM}payment_not_signed`],
    ["out of a stranger's account", { clawedBackFrom: STRANGER.addr }, BAD],
    ["out of the payee's account", { clawedBackFrom: PAY_TO }, BAD],
    ["closing the payer's account", { close: STRANGER.addr }, BAD],
    ["closing the payer's account to the payee", { close: PAY_TO }, BAD],
    ["rekeying the payer", { rekeyTo: STRANGER.addr }, BAD],
    ["on another network", { genesisHash: MAINNET_HASH }, `${AVM}network_mismatch`],
    ["valid for too long", { lastValid: ROUND + 1001 }, BAD],
    ["valid in no round", { firstValid: ROUND, lastValid: ROUND - 1 }, BAD],
  ])("both sides refuse a transfer %s", async (_, change, reason) => {
    await sides.expectRefused(payload({ transactions: [algos(), transfer(change)] }), reason);
  });

  test("both sides refuse a payment of Algos", async () => {
    const transactions = [algos(), algos({ sender: PAYER.addr, receiver: PAY_TO, amount: 1000n })];
    await sides.expectRefused(payload({ transactions, index: 1 }), `${AVM}not_asset_transfer`);
  });
});

describe("the fee payer's transaction", () => {
  test.each<[what: string, change: Partial<Parts>, reason: string]>([
    ["pays the payer", { receiver: PAYER.addr, amount: 1n }, GIVING],
    ["pays itself", { amount: 1n }, GIVING],
    ["closes", { close: PAYER.addr }, GIVING],
    ["rekeys", { rekeyTo: PAYER.addr }, GIVING],
    ["costs more than the protocol allows", { fee: 1_000_001n }, `${AVM}fee_too_high`],
    ["is of another network", { genesisHash: MAINNET_HASH }, `${AVM}network_mismatch`],
    ["is valid for too long", { lastValid: ROUND + 1001 }, BAD],
    ["is a stranger's, who does not sign", { sender: STRANGER.addr }, `${AVM}unsigned_non_facilitator`],
  ])("both sides refuse a group when the fee payer's transaction %s", async (_, change, reason) => {
    await sides.expectRefused(payload({ transactions: [algos(change), transfer()] }), reason);
  });

  test.each<[what: string, plan: () => Partial<Plan>, reason: string]>([
    [
      "transfers an asset",
      () => ({ transactions: [transfer(), transfer({ sender: FEE_PAYER.addr, receiver: PAYER.addr })], index: 0 }),
      GIVING,
    ],
    [
      "comes twice",
      () => ({ transactions: [algos(), algos({ note: Buffer.from("again") }), transfer()] }),
      `${AVM}invalid_fee_payer`,
    ],
    ["is signed already", () => ({ signers: [PAYER, FEE_PAYER] }), `${AVM}invalid_fee_payer`],
  ])("both sides refuse a group when the fee payer's transaction %s", async (_, plan, reason) => {
    await sides.expectRefused(payload(plan()), reason);
  });

  test("the facilitator refuses a group above its own fee limit", async () => {
    const paid = payload({ transactions: [algos({ fee: 16_001n }), transfer()] });
    await sides.expectUnsettled(toRequest(paid), `${AVM}fee_too_high`);
  });
});

describe("the group", () => {
  const own = (change: Partial<Parts>) => algos({ sender: STRANGER.addr, ...change });
  const BOTH = [PAYER, STRANGER];
  test.each<[what: string, plan: () => Partial<Plan>, reason: string]>([
    ["has another sender that closes its account", () => with3(own({ close: PAYER.addr })), BAD],
    ["has another sender that rekeys its account", () => with3(own({ rekeyTo: PAYER.addr })), BAD],
    ["pays the payee twice", () => with3(transfer({ sender: STRANGER.addr })), BAD],
    ["also pays the payee Algos", () => with3(own({ receiver: PAY_TO, amount: 1n })), BAD],
    [
      "takes from the payee what it is paid",
      () => with3(transfer({ sender: STRANGER.addr, clawedBackFrom: PAY_TO, receiver: PAYER.addr })),
      BAD,
    ],
    [
      "has a bystander who does not sign",
      () => ({ ...with3(own({})), signers: [PAYER] }),
      `${AVM}unsigned_non_facilitator`,
    ],
    ["lacks its id", () => ({ grouped: false }), `${AVM}invalid_group_id`],
    ["has 17 transactions", () => many(15), `${AVM}group_size_exceeded`],
    ["has an index beyond the group", () => ({ index: 2 }), `${AVM}payment_index`],
    ["has the index of the fee payer's transaction", () => ({ index: 0 }), GIVING],
    ["is not signed by the payer", () => ({ signers: [] }), `${AVM}payment_not_signed`],
  ])("both sides refuse a group that %s", async (_, plan, reason) => {
    await sides.expectRefused(payload(plan()), reason);
  });

  test.each<[what: string, change: (group: string[]) => string[], reason: string]>([
    ["in another order", ([a = "", b = ""]) => [b, a], `${AVM}facilitator_transferring`],
    ["without the fee payer's transaction", ([, b = ""]) => [b], `${AVM}payment_index`],
    [
      "with another transaction",
      ([a = "", b = ""]) => [a, b, encode(own({ fee: 1000n }), BOTH)],
      `${AVM}invalid_group_id`,
    ],
    [
      "with another transaction of the fee payer",
      ([, b = ""]) => [encode(algos({ note: Buffer.of(1) })), b],
      `${AVM}invalid_group_id`,
    ],
    ["with the transfer twice", ([, b = ""]) => [b, b], `${AVM}invalid_group_id`],
  ])("both sides refuse a group %s", async (_, change, reason) => {
    const { paymentGroup, paymentIndex } = payload();
    await sides.expectRefused({ paymentGroup: change([...paymentGroup]), paymentIndex }, reason);
  });

  test("both sides refuse a group that lacks a transaction of the signed group", async () => {
    const [, alone] = payload().paymentGroup;
    await sides.expectRefused({ paymentGroup: [alone], paymentIndex: 0 }, `${AVM}invalid_group_id`);
  });

  function with3(third: Plan["transactions"][number]): Partial<Plan> {
    return { transactions: [algos({ fee: 3000n }), transfer(), third], index: 1, signers: BOTH };
  }

  function many(bystanders: number): Partial<Plan> {
    const others = Array.from({ length: bystanders }, (_, nth) => own({ amount: BigInt(nth), receiver: PAYER.addr }));
    return { transactions: [algos(), transfer(), ...others], signers: BOTH, grouped: false };
  }
});

describe("the payer's envelope", () => {
  type Envelope = Record<string, unknown> & { txn: Record<string, unknown>; sig?: Uint8Array };

  /** Any value, in its canonical form. */
  function changed(change: (envelope: Envelope) => unknown): unknown {
    const { paymentGroup, paymentIndex } = payload();
    const envelope = msgpackRawDecode(Buffer.from(paymentGroup[1] ?? "", "base64")) as Envelope;
    const written = msgpackRawEncode(change(envelope));
    return { paymentGroup: [paymentGroup[0], base64(written)], paymentIndex };
  }

  test("both sides accept the envelope unchanged", async () => {
    expect(await sides.facilitator.verify(toRequest(changed((same) => same)))).toMatchObject({ isValid: true });
  });

  const INVALID_SIGNATURE = `${AVM}invalid_signature`;
  const stranger = Buffer.from(STRANGER.addr.publicKey);
  test.each<[what: string, change: (envelope: Envelope) => unknown, reason: string]>([
    ["the signature is cut", ({ sig, txn }) => ({ sig: sig?.subarray(1), txn }), INVALID_SIGNATURE],
    ["the signature is zeros", ({ txn }) => ({ sig: Buffer.alloc(64), txn }), INVALID_SIGNATURE],
    ["it is signed by another", ({ txn }) => ({ sig: signedBy(STRANGER), txn }), INVALID_SIGNATURE],
    ["it is signed for a rekeyed account", (same) => ({ ...same, sgnr: stranger }), INVALID_SIGNATURE],
    ["a program signs", ({ txn }) => ({ lsig: { l: Buffer.of(1) }, txn }), INVALID_SIGNATURE],
    ["a malformed program signs", ({ txn }) => ({ lsig: Buffer.of(1), txn }), INVALID_SIGNATURE],
    ["it has an unknown field", (same) => ({ ...same, zzz: 1 }), INVALID_SIGNATURE],
    ["it has no transaction", ({ sig }) => ({ sig }), BAD],
    ["it is a number", () => 7, BAD],
    ["it is a list", (same) => [same], BAD],
    ["the type is another", field({ type: "acfg" }), BAD],
    ["the type is missing", field({ type: undefined }), BAD],
    ["the sender is missing", field({ snd: undefined }), BAD],
    ["the sender is too short", field({ snd: Buffer.alloc(31, 1) }), BAD],
    ["the receiver is missing", field({ arcv: undefined }), `${AVM}receiver_mismatch`],
    ["the receiver is the zero address", field({ arcv: Buffer.alloc(32) }), BAD],
    ["the asset is missing", field({ xaid: undefined }), `${AVM}asset_mismatch`],
    ["the asset is a text", field({ xaid: USDC.toString() }), BAD],
    ["the amount is missing", field({ aamt: undefined }), `${AVM}amount_mismatch`],
    ["the amount is a text", field({ aamt: "1000" }), BAD],
    ["the amount is negative", field({ aamt: -1000 }), BAD],
    ["the amount is a fraction", field({ aamt: 1000.5 }), BAD],
    ["the fee is changed", field({ fee: 1 }), `${AVM}invalid_group_id`],
    ["the fee is written though it is zero", field({ fee: 0 }), BAD],
    ["the note is changed", field({ note: Buffer.of(1) }), `${AVM}invalid_group_id`],
    ["the note is a text", field({ note: "note" }), BAD],
    ["the note is empty", field({ note: Buffer.alloc(0) }), BAD],
    ["the note is too long", field({ note: Buffer.alloc(1025, 1) }), BAD],
    ["the lease is changed", field({ lx: Buffer.alloc(32, 1) }), `${AVM}invalid_group_id`],
    ["the lease is too short", field({ lx: Buffer.alloc(31, 1) }), BAD],
    ["the genesis hash is missing", field({ gh: undefined }), BAD],
    ["the genesis id is changed", field({ gen: "mainnet-v1.0" }), `${AVM}invalid_group_id`],
    ["the group is changed", field({ grp: Buffer.alloc(32, 1) }), `${AVM}invalid_group_id`],
    ["the group is missing", field({ grp: undefined }), `${AVM}invalid_group_id`],
    ["the first round is changed", field({ fv: ROUND + 1 }), `${AVM}invalid_group_id`],
    ["the last round is changed", field({ lv: ROUND + 999 }), `${AVM}invalid_group_id`],
    ["the last round is missing", field({ lv: undefined }), BAD],
    ["it closes the account", field({ aclose: stranger }), `${AVM}invalid_group_id`],
    ["it pays Algos as well", field({ amt: 1 }), BAD],
    ["its transaction has an unknown field", field({ zz: 1 }), BAD],
    ["it calls a program", field({ apid: 1 }), BAD],
  ])("both sides refuse an envelope when %s", async (_, change, reason) => {
    await sides.expectRefused(changed(change), reason);
  });

  function field(change: Record<string, unknown>): (envelope: Envelope) => unknown {
    return ({ sig, txn }) => {
      const all = Object.entries({ ...txn, ...change }).filter(([, value]) => value !== undefined);
      return { sig, txn: Object.fromEntries(all) };
    };
  }

  function signedBy(signer: typeof STRANGER): Uint8Array {
    const other = transfer({ sender: signer.addr });
    const envelope = msgpackRawDecode(other.signTxn(signer.sk)) as Envelope;
    return envelope.sig ?? Buffer.alloc(64, 1);
  }
});
