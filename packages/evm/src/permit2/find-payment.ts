/**
 * Looks on chain for the outcome of a Permit2 payment. A used nonce proves nothing: a payer can take the nonce back, or use
 * it for another payment. Permit2 writes no event for a payment. So this reads the token's transfers from the payer to the
 * recipient, and the call that made each of them.
 *
 * @see x402 v2, scheme `exact` on EVM, Annex; scheme `upto` on EVM, Annex
 * @module
 */
import type { ChainFinding, PaymentQuery } from "@farebox/core";
import { orUnclear, unclear } from "@farebox/core/scheme";
import { isAddressShaped, sameAddress } from "../address.js";
import {
  type Ask,
  addressWord,
  type Block,
  createAsk,
  type Log,
  readBlock,
  readCallOf,
  readLogs,
  readNetwork,
  readWord,
  TRANSFER,
} from "../node/node-questions.js";
import { scanLogs } from "../node/scan-logs.js";
import { earliestUse } from "../payload-fields.js";
import {
  encodeNonceBitmap,
  hasNonce,
  NONCE_INVALIDATION,
  PERMIT2,
  type Permit,
  PROXIES,
  type ProxyKind,
  readPermit,
} from "./permit2.js";
import { isCallFor, readSettleCall } from "./settle-call.js";

/** Enough to scan a day's blocks twice on most chains, and for some dozens of transfers between the same two accounts. */
const MAX_QUESTIONS = 100;

/** A signed payment, and the amount to be taken. */
interface SoughtPayment {
  readonly kind: ProxyKind;
  readonly network: string;
  readonly permit: Permit;
  /** Atomic units. */
  readonly amount: bigint;
}

/** Implements `findPayment` of both schemes for Permit2. Total. */
export function findPermitPayment(kind: ProxyKind, query: PaymentQuery): Promise<ChainFinding> {
  return orUnclear(async () => {
    const payment = readSought(kind, query);
    if (payment === undefined) return unclear("the payment is not one of this scheme, or not for these terms");
    return find(createAsk(query, MAX_QUESTIONS), payment);
  });
}

/** Checks the payment against its terms once more: it was checked when it was accepted, but this decides about money. */
function readSought(kind: ProxyKind, { payload, requirements }: PaymentQuery): SoughtPayment | undefined {
  const permit = readPermit(payload, kind);
  const { network, asset, payTo } = requirements;
  if (permit === undefined || !isAddressShaped(asset) || !/^[1-9]\d{0,77}$/.test(requirements.amount)) return undefined;
  const amount = BigInt(requirements.amount);
  const isOfAmount = kind === "exact" ? amount === permit.amount : amount <= permit.amount;
  const isForTerms = sameAddress(permit.token, asset) && sameAddress(permit.to, payTo);
  const isByProxy = sameAddress(permit.spender, PROXIES[kind]);
  return isOfAmount && isForTerms && isByProxy ? { kind, network, permit, amount } : undefined;
}

async function find(ask: Ask, payment: SoughtPayment): Promise<ChainFinding> {
  const { network, permit } = payment;
  if ((await readNetwork(ask)) !== network) return unclear(`the node is not of ${network}`);
  const head = await readBlock(ask, "latest");
  if (!(await isNonceUsed(ask, permit, head))) {
    // Permit2 accepts a payment in the second of its deadline, and two blocks can have the same second.
    return { kind: head.timestamp > permit.deadline ? "never" : "open" };
  }
  return (await findTransfer(ask, payment, head)) ?? (await findInvalidation(ask, payment, head)) ?? UNEXPLAINED;
}

async function isNonceUsed(ask: Ask, { from, nonce }: Permit, block: Block): Promise<boolean> {
  return hasNonce(await readWord(ask, { to: PERMIT2, data: encodeNonceBitmap(from, nonce) }, block), nonce);
}

async function findTransfer(ask: Ask, payment: SoughtPayment, head: Block): Promise<ChainFinding | undefined> {
  const { permit, amount } = payment;
  const stretch = { head, since: earliestUse(permit.validAfter, permit.deadline) };
  for await (const logs of scanLogs(ask, transfersOf(permit), stretch)) {
    // A transaction can have several transfers, but has one call.
    const transactions = new Map(logs.map((log) => [log.transactionHash, log]));
    for (const log of [...transactions.values()].toReversed()) {
      const moved = await amountMoved(ask, payment, log);
      if (moved === amount) return { kind: "moved", transaction: log.transactionHash };
      if (moved !== undefined) return unclear("the payment was made, but of another amount");
    }
  }
  return undefined;
}

/** The amount that a transaction moved by this payment; `undefined` if it made another payment, or called another contract. */
async function amountMoved(ask: Ask, { kind, permit }: SoughtPayment, log: Log): Promise<bigint | undefined> {
  const { to, input } = await readCallOf(ask, log);
  const call = to !== undefined && sameAddress(to, PROXIES[kind]) ? readSettleCall(input, kind) : undefined;
  return call !== undefined && isCallFor(call, permit) ? call.amount : undefined;
}

/**
 * A nonce that was unused until the payer took it back has moved nothing, and never will. If the same block has a transfer,
 * their order is unknown, so nothing is concluded.
 */
async function findInvalidation(ask: Ask, { permit }: SoughtPayment, head: Block): Promise<ChainFinding | undefined> {
  const filter = { address: PERMIT2, topics: [NONCE_INVALIDATION, addressWord(permit.from)] };
  for await (const logs of scanLogs(ask, filter, { head, since: earliestUse(permit.validAfter, permit.deadline) })) {
    for (const { blockNumber } of logs.filter((log) => takesBack(log, permit)).toReversed()) {
      if (await isNonceUsed(ask, permit, await readBlock(ask, blockNumber - 1n))) continue;
      const beside = await readLogs(ask, transfersOf(permit), { from: blockNumber, to: blockNumber });
      return beside.length > 0 ? undefined : { kind: "never" };
    }
  }
  return undefined;
}

function transfersOf({ token, from, to }: Permit) {
  return { address: token, topics: [TRANSFER, addressWord(from), addressWord(to)] };
}

/** The event's data is the index of a bitmap, and the bits that were set in it. */
function takesBack({ data }: Log, { nonce }: Permit): boolean {
  if (data.length !== 2 + 2 * 64) return false;
  return BigInt(data.slice(0, 66)) === nonce >> 8n && hasNonce(BigInt(`0x${data.slice(66)}`), nonce);
}

const UNEXPLAINED = unclear("the nonce was used, but its transaction was not found");
