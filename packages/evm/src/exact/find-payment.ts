/**
 * Looks on chain for what became of an EIP-3009 payment. That its nonce was used proves nothing: a payer can cancel an
 * authorization, or use its nonce for another one. So the transfer itself is looked for.
 *
 * @see EIP-3009, "Use of Unique Random Nonce, Instead of Sequential Nonce"
 * @module
 */
import type { ChainFinding, PaymentQuery, PaymentRequirements } from "@farebox/core";
import { orUnclear, unclear } from "@farebox/core/scheme";
import { addressWord, TRANSFER, uintWord } from "../abi-words.js";
import { isAddressShaped, sameAddress } from "../address.js";
import {
  type Ask,
  createAsk,
  type Log,
  readAuthorizationState,
  readBlock,
  readLogsBeside,
  readNetwork,
} from "../node/node-questions.js";
import { AUTHORIZATION_CANCELED } from "./eip3009-wire.js";
import { findUse } from "./find-use.js";
import { type Authorization, readAuthorization } from "./read-payment.js";

/** Enough for a day's blocks on most chains; where blocks are many, for the window of most payments. */
const MAX_QUESTIONS = 60;

/** No payment is accepted longer than 25 hours before it expires; the hour more is for clocks that disagree. */
const LONGEST_WINDOW_SECONDS = 26n * 60n * 60n;

/** Implements `findPayment` of the `exact` scheme. Total. */
export function findAuthorizationPayment(query: PaymentQuery): Promise<ChainFinding> {
  return orUnclear(async () => {
    const payment = readSought(query);
    if (payment === undefined) return unclear("the payment is not one of this scheme, or not for these terms");
    return find(createAsk(query, MAX_QUESTIONS), payment);
  });
}

/** What was signed, and where it is worth something. */
interface SoughtPayment {
  readonly network: string;
  readonly asset: string;
  readonly authorization: Authorization;
}

/** Whether the payment is for the terms has been checked when it was accepted; this is about money, so it is again. */
function readSought({ payload, requirements }: PaymentQuery): SoughtPayment | undefined {
  const authorization = readAuthorization(payload);
  const { network, asset }: PaymentRequirements = requirements;
  if (authorization === undefined || !isAddressShaped(asset)) return undefined;
  const isForTerms = sameAddress(authorization.to, requirements.payTo) && authorization.value === requirements.amount;
  return isForTerms ? { network, asset, authorization } : undefined;
}

async function find(ask: Ask, payment: SoughtPayment): Promise<ChainFinding> {
  const { network, asset, authorization } = payment;
  if ((await readNetwork(ask)) !== network) return unclear(`the node is not of ${network}`);
  const nonce = { asset, authorizer: authorization.from, nonce: authorization.nonce };
  const head = await readBlock(ask, "latest");
  if (!(await readAuthorizationState(ask, nonce, head))) {
    // From this block on no transaction can carry it out: the token demands a time before `validBefore`.
    return { kind: head.timestamp >= BigInt(authorization.validBefore) ? "never" : "open" };
  }
  const use = await findUse(ask, { ...nonce, head, since: earliestUse(authorization) });
  if (use === undefined) return unclear("the nonce was used, but the log of that was not found");
  return judge(use, await readLogsBeside(ask, use), payment);
}

/** Unix seconds before which the payment cannot have been carried out. */
function earliestUse({ validAfter, validBefore }: Authorization): bigint {
  const [after, before] = [BigInt(validAfter), BigInt(validBefore) - LONGEST_WINDOW_SECONDS];
  return after > before ? after : before;
}

/**
 * Circle's token, and EIP-3009's own, write a transfer right behind the use of its authorization. No other transfer is
 * taken for it: one transaction can carry out several authorizations of one payer.
 */
function judge(use: Log, beside: readonly Log[], { asset, authorization }: SoughtPayment): ChainFinding {
  const ofAsset = beside.filter(({ address }) => sameAddress(address, asset));
  const at = ofAsset.findIndex((log) => isSameLog(log, use));
  if (at < 0) return unclear("the nonce was used, but the transaction has no log of that");
  if (use.topics[0] === AUTHORIZATION_CANCELED) return { kind: "never" };
  const [event, from, to, ...more] = ofAsset[at + 1]?.topics ?? [];
  if (event !== TRANSFER || from !== addressWord(authorization.from) || to === undefined || more.length > 0) {
    return unclear("the nonce was used, but no transfer follows that");
  }
  const isOurs =
    to === addressWord(authorization.to) && ofAsset[at + 1]?.data === uintWord(BigInt(authorization.value));
  // Otherwise another authorization had the same nonce, and this one can never be carried out.
  return isOurs ? { kind: "moved", transaction: use.transactionHash } : { kind: "never" };
}

function isSameLog(log: Log, { logIndex, topics }: Log): boolean {
  return (
    log.logIndex === logIndex && log.topics.length === topics.length && log.topics.every((t, at) => t === topics[at])
  );
}
