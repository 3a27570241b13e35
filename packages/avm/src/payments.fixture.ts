/**
 * Builds payments with `algosdk`, which no seller's code here uses. So the tests read what another library wrote.
 *
 * @module
 */
import type { PaymentRequirements } from "@farebox/core";
import {
  type Account,
  type Address,
  assignGroupID,
  encodeUnsignedSimulateTransaction,
  makeAssetTransferTxnWithSuggestedParamsFromObject,
  makePaymentTxnWithSuggestedParamsFromObject,
  mnemonicFromSeed,
  mnemonicToSecretKey,
  type SuggestedParams,
  type Transaction,
} from "algosdk";

export type { Account, Address, Transaction };

export const NETWORK = "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe";
export const WHOLE_NETWORK = "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=";
export const MAINNET = "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k";
export const GENESIS_HASH: Buffer = Buffer.from("SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=", "base64");
export const MAINNET_HASH: Buffer = Buffer.from("wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=", "base64");
export const USDC = 10458941n;

const accounts = new Map<number, Account>();

/** An account by number, the same in each run. The library derives it slowly. */
export function account(seed: number): Account {
  const made = accounts.get(seed) ?? mnemonicToSecretKey(mnemonicFromSeed(Buffer.alloc(32, seed)));
  accounts.set(seed, made);
  return made;
}

export const PAYER: Account = account(1);
export const FEE_PAYER: Account = account(2);
export const PAY_TO: Address = account(3).addr;
export const STRANGER: Account = account(4);

/** The present round in these tests. */
export const ROUND = 50_000;

/** The terms, with the given changes. */
export function requirements(change: Partial<PaymentRequirements> = {}): PaymentRequirements {
  return {
    scheme: "exact",
    network: NETWORK,
    amount: "1000",
    asset: USDC.toString(),
    payTo: PAY_TO.toString(),
    maxTimeoutSeconds: 300,
    extra: { feePayer: FEE_PAYER.addr.toString() },
    ...change,
  };
}

/** The fields that every transaction has. */
export interface Parts {
  readonly sender: Address;
  readonly receiver: Address;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly firstValid: number;
  readonly lastValid: number;
  readonly genesisHash: Uint8Array;
  readonly close: Address | undefined;
  readonly rekeyTo: Address | undefined;
  readonly note: Uint8Array;
  readonly lease: Uint8Array | undefined;
}

/** The other fields of a transfer. */
export interface TransferParts extends Parts {
  readonly asset: bigint;
  readonly clawedBackFrom: Address | undefined;
}

/** A transfer of an asset: the ordinary payment, with the given changes. */
export function transfer(change: Partial<TransferParts> = {}): Transaction {
  const { sender = PAYER.addr, receiver = PAY_TO, amount = 1000n, asset = USDC, clawedBackFrom, close } = change;
  return makeAssetTransferTxnWithSuggestedParamsFromObject({
    ...{ sender, receiver, amount, assetIndex: asset },
    suggestedParams: paramsOf({ fee: 0n, ...change }),
    ...(close === undefined ? {} : { closeRemainderTo: close }),
    ...(clawedBackFrom === undefined ? {} : { assetSender: clawedBackFrom }),
    ...rest(change),
  });
}

/** A payment of Algos: by default the fee payer's, of nothing to itself. */
export function algos(change: Partial<Parts> = {}): Transaction {
  const { sender = FEE_PAYER.addr, amount = 0n, close } = change;
  return makePaymentTxnWithSuggestedParamsFromObject({
    ...{ sender, receiver: change.receiver ?? sender, amount },
    suggestedParams: paramsOf({ fee: 2000n, ...change }),
    ...(close === undefined ? {} : { closeRemainderTo: close }),
    ...rest(change),
  });
}

function paramsOf(parts: Partial<Parts> & { readonly fee: bigint }): SuggestedParams {
  const { fee, firstValid = ROUND, lastValid = firstValid + 1000, genesisHash = GENESIS_HASH } = parts;
  return { flatFee: true, fee, minFee: 1000n, firstValid, lastValid, genesisHash, genesisID: "testnet-v1.0" };
}

function rest({ note, lease, rekeyTo }: Partial<Parts>): {
  readonly note?: Uint8Array;
  readonly lease?: Uint8Array;
  readonly rekeyTo?: Address;
} {
  return {
    ...(note === undefined ? {} : { note }),
    ...(lease === undefined ? {} : { lease }),
    ...(rekeyTo === undefined ? {} : { rekeyTo }),
  };
}

/** The parts of a group. */
export interface Plan {
  readonly transactions: readonly Transaction[];
  readonly index: number;
  /** Each signs the transactions that it sends. */
  readonly signers: readonly Account[];
  readonly grouped: boolean;
}

/** A payload. */
export type GroupPayload = { readonly paymentGroup: readonly string[]; readonly paymentIndex: number };

/** The payload of a payment: by default the fee payer's transaction and the payer's. */
export function payload(change: Partial<Plan> = {}): GroupPayload {
  const { transactions = [algos(), transfer()], signers = [PAYER], grouped = true } = change;
  const index = change.index ?? transactions.findIndex(({ type }) => type === "axfer");
  if (grouped && transactions.length > 1) assignGroupID([...transactions]);
  const paymentGroup = transactions.map((transaction) => encode(transaction, signers));
  return { paymentGroup, paymentIndex: index };
}

/** One transaction, signed by its sender if that is among the signers. */
export function encode(transaction: Transaction, signers: readonly Account[] = [PAYER]): string {
  const signer = signers.find(({ addr }) => addr.toString() === transaction.sender.toString());
  return base64(signer === undefined ? encodeUnsignedSimulateTransaction(transaction) : transaction.signTxn(signer.sk));
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
