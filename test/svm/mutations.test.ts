/**
 * An ordinary payment with one change at a time: seller and facilitator refuse it for the same reason, and nothing moves. The
 * chain below would execute most of these, if the fee payer signed them.
 */
import { createPrivateKey, sign } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  ComputeBudgetProgram,
  FEE_PAYER,
  instruction,
  keypair,
  LIGHTHOUSE,
  LIMIT,
  MEMO,
  memo,
  ordinary,
  PAY_TO,
  PAYER,
  type Plan,
  PRICE,
  payload,
  requirements,
  STRANGER,
  SystemProgram,
  TOKEN,
  TOKEN_2022,
  type TransactionInstruction,
  tokenAccount,
  transfer,
} from "../../packages/svm/src/payments.fixture.js";
import { requestFor } from "../facilitator/unsettled.js";
import { BothSides, NOW, OTHER_MINT, scheme } from "./both-sides.js";

const SVM = "invalid_exact_svm_payload_";
const LENGTH = `${SVM}transaction_instructions_length`;
const LIMIT_REASON = `${SVM}transaction_instructions_compute_limit_instruction`;
const PRICE_REASON = `${SVM}transaction_instructions_compute_price_instruction`;
const NO_TRANSFER = `${SVM}no_transfer_instruction`;
const DRAINS = `${SVM}transaction_fee_payer_transferring_funds`;
const UNSIGNED = `${SVM}signature_invalid`;

let sides: BothSides;

beforeAll(async () => {
  sides = await BothSides.open();
});

afterAll(() => sides.local.close());

afterEach(() => sides.expectNothingMoved());

type Change = () => Partial<Plan>;

function instead(at: number, replacement: TransactionInstruction): Change {
  return () => ({ instructions: ordinary().with(at, replacement) });
}

function besides(...more: TransactionInstruction[]): Change {
  return () => ({ instructions: [LIMIT, PRICE, transfer(), ...more] });
}

const writable = (pubkey = PAYER.publicKey, isSigner = false) => ({ pubkey, isSigner, isWritable: true });
const MINE = tokenAccount(PAYER.publicKey);
const move = SystemProgram.transfer({
  fromPubkey: FEE_PAYER.publicKey,
  toPubkey: STRANGER.publicKey,
  lamports: 1_000_000,
});
const drain = transfer({ authority: FEE_PAYER.publicKey, destination: tokenAccount(STRANGER.publicKey) });
const approve = instruction(
  TOKEN,
  [4, 1, 0, 0, 0, 0, 0, 0, 0],
  [writable(MINE), writable(STRANGER.publicKey), writable(PAYER.publicKey, true)],
);
const setAuthority = instruction(TOKEN, [6, 2, 0], [writable(MINE), writable(PAYER.publicKey, true)]);
const closeAccount = instruction(
  TOKEN,
  [9],
  [writable(MINE), writable(STRANGER.publicKey), writable(PAYER.publicKey, true)],
);
const advanceNonce = SystemProgram.nonceAdvance({
  noncePubkey: keypair(51).publicKey,
  authorizedPubkey: PAYER.publicKey,
});
const unitPrice = (microLamports: number | bigint) => ComputeBudgetProgram.setComputeUnitPrice({ microLamports });

describe("the transaction", () => {
  test.each<[what: string, change: Change, reason: string]>([
    ["names no instruction", () => ({ instructions: [], signers: [] }), LENGTH],
    ["has no transfer", () => ({ instructions: [LIMIT, PRICE], signers: [] }), LENGTH],
    ["has seven instructions", besides(memo("1"), memo("2"), memo("3"), memo("4")), LENGTH],
    ["lacks the limit", () => ({ instructions: [PRICE, transfer(), memo("")] }), LIMIT_REASON],
    ["has the price first", () => ({ instructions: [PRICE, LIMIT, transfer()] }), LIMIT_REASON],
    ["has a limit of another program", instead(0, instruction(MEMO, LIMIT.data)), LIMIT_REASON],
    [
      "has a limit that is too short",
      instead(0, instruction(LIMIT.programId, LIMIT.data.subarray(0, 4))),
      LIMIT_REASON,
    ],
    ["has a limit with an account", instead(0, instruction(LIMIT.programId, LIMIT.data, [writable()])), LIMIT_REASON],
    [
      "asks for heap in place of a limit",
      instead(0, ComputeBudgetProgram.requestHeapFrame({ bytes: 65_536 })),
      LIMIT_REASON,
    ],
    ["has a durable nonce", () => ({ instructions: [advanceNonce, ...ordinary()] }), LIMIT_REASON],
    ["lacks the price", () => ({ instructions: [LIMIT, transfer(), memo("")] }), PRICE_REASON],
    ["has the limit twice", instead(1, LIMIT), PRICE_REASON],
    ["has a price that is too long", instead(1, instruction(PRICE.programId, [...PRICE.data, 0])), PRICE_REASON],
    ["has a price above the bound", instead(1, unitPrice(5_000_001)), `${PRICE_REASON}_too_high`],
    ["has the highest price", instead(1, unitPrice(2n ** 64n - 1n)), `${PRICE_REASON}_too_high`],
    ["transfers second", () => ({ instructions: [LIMIT, transfer(), PRICE, memo("")] }), PRICE_REASON],
    ["transfers fourth", () => ({ instructions: [LIMIT, PRICE, memo(""), transfer()] }), NO_TRANSFER],
    [
      "transfers by another program",
      instead(2, transfer({ program: STRANGER.publicKey, source: MINE, destination: tokenAccount(PAY_TO) })),
      NO_TRANSFER,
    ],
    ["transfers without a check of the decimals", instead(2, transfer({ kind: 3 })), NO_TRANSFER],
    ["burns", instead(2, transfer({ kind: 15 })), NO_TRANSFER],
    ["approves", instead(2, transfer({ kind: 13 })), NO_TRANSFER],
    [
      "has a transfer with a byte more",
      instead(2, instruction(TOKEN, [...transfer().data, 0], transfer().keys)),
      NO_TRANSFER,
    ],
    [
      "has a transfer with a byte less",
      instead(2, instruction(TOKEN, transfer().data.subarray(0, 9), transfer().keys)),
      NO_TRANSFER,
    ],
    [
      "has a transfer without authority",
      () => ({
        instructions: ordinary().with(2, instruction(TOKEN, transfer().data, transfer().keys.slice(0, 3))),
        signers: [],
      }),
      NO_TRANSFER,
    ],
    [
      "has a transfer of several owners",
      instead(2, instruction(TOKEN, transfer().data, [...transfer().keys, writable(PAYER.publicKey, true)])),
      NO_TRANSFER,
    ],
    ["transfers another token", instead(2, transfer({ mint: OTHER_MINT })), `${SVM}mint_mismatch`],
    [
      "names another token beside the right accounts",
      instead(2, transfer({ mint: OTHER_MINT, source: MINE, destination: tokenAccount(PAY_TO) })),
      `${SVM}mint_mismatch`,
    ],
    ["is for the other token program", instead(2, transfer({ program: TOKEN_2022 })), `${SVM}mint_mismatch`],
    [
      "pays a stranger",
      instead(2, transfer({ destination: tokenAccount(STRANGER.publicKey) })),
      `${SVM}recipient_mismatch`,
    ],
    ["pays the payer", instead(2, transfer({ destination: MINE })), `${SVM}recipient_mismatch`],
    [
      "pays payTo itself, which is not a token account",
      instead(2, transfer({ destination: PAY_TO })),
      `${SVM}recipient_mismatch`,
    ],
    [
      "pays payTo's account of another token",
      instead(2, transfer({ destination: tokenAccount(PAY_TO, OTHER_MINT) })),
      `${SVM}recipient_mismatch`,
    ],
    [
      "pays from the account that is paid",
      instead(2, transfer({ source: tokenAccount(PAY_TO) })),
      `${SVM}recipient_mismatch`,
    ],
    ["pays one unit less", instead(2, transfer({ amount: 999n })), `${SVM}amount_mismatch`],
    ["pays one unit more", instead(2, transfer({ amount: 1001n })), `${SVM}amount_mismatch`],
    ["pays nothing", instead(2, transfer({ amount: 0n })), `${SVM}amount_mismatch`],
    ["pays the largest amount", instead(2, transfer({ amount: 2n ** 64n - 1n })), `${SVM}amount_mismatch`],
    ["has other decimals", instead(2, transfer({ decimals: 5 })), `${SVM}amount_mismatch`],
    [
      "pays with the fee payer's money",
      () => ({ instructions: ordinary({ authority: FEE_PAYER.publicKey }), signers: [] }),
      DRAINS,
    ],
    ["pays from the fee payer's address", instead(2, transfer({ source: FEE_PAYER.publicKey })), DRAINS],
    ["names the fee payer in a memo", instead(3, memo("x", [writable(FEE_PAYER.publicKey, true)])), DRAINS],
    [
      "names the fee payer in an assertion",
      besides(instruction(LIGHTHOUSE, [0], [writable(FEE_PAYER.publicKey)])),
      DRAINS,
    ],
    ["moves the fee payer's SOL fourth", besides(move), `${SVM}unknown_fourth_instruction`],
    ["moves the fee payer's tokens fifth", besides(memo(""), drain), `${SVM}unknown_fifth_instruction`],
    ["moves the fee payer's SOL sixth", besides(memo(""), memo(""), move), `${SVM}unknown_sixth_instruction`],
    ["pays twice", besides(transfer()), `${SVM}unknown_fourth_instruction`],
    ["also approves a delegate", besides(approve), `${SVM}unknown_fourth_instruction`],
    ["also gives the account away", besides(memo(""), setAuthority), `${SVM}unknown_fifth_instruction`],
    ["also closes the account", besides(memo(""), memo(""), closeAccount), `${SVM}unknown_sixth_instruction`],
    ["sets the price again", besides(PRICE), `${SVM}unknown_fourth_instruction`],
    ["asserts sixth", besides(memo(""), memo(""), instruction(LIGHTHOUSE, [0])), `${SVM}unknown_sixth_instruction`],
    ["has another fee payer", () => ({ feePayer: STRANGER.publicKey }), "invalid_exact_svm_fee_payer_mismatch"],
    ["has the payer as its fee payer", () => ({ feePayer: PAYER.publicKey }), "invalid_exact_svm_fee_payer_mismatch"],
    ["is not signed", () => ({ signers: [] }), UNSIGNED],
    [
      "is to be signed by a stranger too",
      () => ({
        instructions: ordinary().with(3, memo("x", [writable(STRANGER.publicKey, true)])),
        signers: [PAYER, STRANGER],
      }),
      `${SVM}excessive_signers`,
    ],
    [
      "needs no signature of the authority",
      () => ({ instructions: ordinary().with(2, unsignedTransfer()), signers: [] }),
      UNSIGNED,
    ],
    [
      "is signed by another than the authority",
      () => ({
        instructions: ordinary()
          .with(2, unsignedTransfer())
          .with(3, memo("x", [writable(STRANGER.publicKey, true)])),
        signers: [STRANGER],
      }),
      UNSIGNED,
    ],
  ])("both sides refuse a transaction that %s", async (_, change, reason) => {
    await sides.expectRefused(sides.payload(change()), reason);
  });

  function unsignedTransfer(): TransactionInstruction {
    const { keys, data } = transfer();
    return instruction(
      TOKEN,
      data,
      keys.map((key) => ({ ...key, isSigner: false })),
    );
  }

  test("both sides refuse a transaction with the payer's signature over another message", async () => {
    const wire = Buffer.from(sides.payload().transaction, "base64");
    const other = sides.payload({ instructions: [LIMIT, PRICE, transfer(), memo("another")] });
    Buffer.from(other.transaction, "base64").copy(wire, 65, 65, 129);
    await sides.expectRefused({ transaction: wire.toString("base64") }, UNSIGNED);
  });

  test("both sides refuse a transaction with the payer's signature in another signer's place", async () => {
    const instructions = ordinary()
      .with(2, unsignedTransfer())
      .with(3, memo("x", [writable(STRANGER.publicKey, true)]));
    const wire = Buffer.from(sides.payload({ instructions, signers: [] }).transaction, "base64");
    const seed = Buffer.concat([
      Buffer.from("302e020100300506032b657004220420", "hex"),
      PAYER.secretKey.subarray(0, 32),
    ]);
    const key = createPrivateKey({ key: seed, format: "der", type: "pkcs8" });
    sign(null, wire.subarray(129), key).copy(wire, 65);
    await sides.expectRefused({ transaction: wire.toString("base64") }, UNSIGNED);
  });

  test("the facilitator refuses a transaction above its own fee limit, within the protocol's limit", async () => {
    const instructions = [
      ComputeBudgetProgram.setComputeUnitLimit({ units: 1_400_000 }),
      unitPrice(5_000_000),
      transfer(),
    ];
    const paid = sides.payload({ instructions });
    expect(scheme.readPayment(paid, requirements(), NOW)).toMatchObject({ kind: "readable" });
    await sides.expectUnsettled(requestFor(paid, requirements()), `${PRICE_REASON}_too_high`);
  });
});

describe("a wallet", () => {
  test.each<[what: string, change: Change]>([
    ["nothing, not even a memo", besides()],
    ["two assertions and a memo", besides(instruction(LIGHTHOUSE, [0]), instruction(LIGHTHOUSE, [0]), memo("n"))],
    ["a memo that the payer signs", besides(memo("n", [writable(PAYER.publicKey, true)]))],
    ["a price at the bound", instead(1, unitPrice(5_000_000))],
    ["the fee payer's slot filled in", () => ({ signers: [PAYER, FEE_PAYER] })],
  ])("both sides accept the additions of a wallet: %s", (_, change) => {
    expect(scheme.readPayment(payload(change()), requirements(), NOW)).toMatchObject({ kind: "readable" });
  });
});

describe("a memo that the seller wants", () => {
  const offer = requirements({ extra: { feePayer: FEE_PAYER.publicKey.toBase58(), memo: "invoice 7" } });
  test.each<[what: string, memos: TransactionInstruction[], reason: string]>([
    ["is missing", [], `${SVM}memo_count`],
    ["comes twice", [memo("invoice 7"), memo("invoice 7")], `${SVM}memo_count`],
    ["is another", [memo("invoice 8")], `${SVM}memo_mismatch`],
    ["is longer", [memo("invoice 77")], `${SVM}memo_mismatch`],
    ["is empty", [memo("")], `${SVM}memo_mismatch`],
  ])("both sides refuse a payment whose memo %s", async (_, memos, reason) => {
    await sides.expectRefused(sides.payload({ instructions: [LIMIT, PRICE, transfer(), ...memos] }), reason, offer);
  });

  test("both sides accept a payment with the memo that the seller demands", async () => {
    const paid = sides.payload({ instructions: [LIMIT, PRICE, transfer(), memo("invoice 7")] });
    expect(scheme.readPayment(paid, offer, NOW)).toMatchObject({ kind: "readable" });
  });
});
