/**
 * Looks on chain for the outcome of an EIP-3009 payment. A used nonce proves nothing: a payer can cancel an authorization,
 * or use its nonce for another one. So this looks for the transfer itself.
 *
 * @see EIP-3009, "Use of Unique Random Nonce, Instead of Sequential Nonce", `AuthorizationUsed`, `AuthorizationCanceled`
 * @module
 */
import { type ChainFinding, type PaymentQuery, type PaymentRequirements, RpcError } from "@farebox/core";
import { orUnclear, unclear } from "@farebox/core/scheme";
import { isAddressShaped, sameAddress } from "../address.js";
import {
  type Ask,
  addressWord,
  type Block,
  createAsk,
  type Log,
  readBlock,
  readFlag,
  readLogsBeside,
  readNetwork,
  TRANSFER,
  uintWord,
} from "../node/node-questions.js";
import { scanLogs } from "../node/scan-logs.js";
import { earliestUse } from "../payload-fields.js";
import {
  AUTHORIZATION_CANCELED,
  AUTHORIZATION_USED,
  type Authorization,
  encodeAuthorizationState,
  readAuthorization,
} from "./eip3009.js";

/** Enough for a day's blocks on most chains; on chains with many blocks, for the window of most payments. */
const MAX_QUESTIONS = 60;

/** A signed authorization, and the token it is for. */
interface SoughtPayment {
  readonly network: string;
  readonly asset: string;
  readonly authorization: Authorization;
}

/** Implements `findPayment` of the `exact` scheme for EIP-3009. Total. */
export function findAuthorizationPayment(query: PaymentQuery): Promise<ChainFinding> {
  return orUnclear(async () => {
    const payment = readSought(query);
    if (payment === undefined) return unclear("the payment is not one of this scheme, or not for these terms");
    return find(createAsk(query, MAX_QUESTIONS), payment);
  });
}

/** Checks the payment against its terms once more: it was checked when it was accepted, but this decides about money. */
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
  const head = await readBlock(ask, "latest");
  const data = encodeAuthorizationState(authorization.from, authorization.nonce);
  if (!(await readFlag(ask, { to: asset, data }, head))) {
    // From this block on no transaction can carry it out: the token demands a time before `validBefore`.
    return { kind: head.timestamp >= BigInt(authorization.validBefore) ? "never" : "open" };
  }
  const use = await findUse(ask, payment, head);
  if (use === undefined) return unclear("the nonce was used, but the log of that was not found");
  return judge(use, await readLogsBeside(ask, use), payment);
}

/** Finds the one log by which the nonce was used or cancelled; `undefined` when these blocks have none. */
async function findUse(ask: Ask, { asset, authorization }: SoughtPayment, head: Block): Promise<Log | undefined> {
  const { from, nonce, validAfter, validBefore } = authorization;
  const topics = [[AUTHORIZATION_USED, AUTHORIZATION_CANCELED], addressWord(from), nonce.toLowerCase()];
  const since = earliestUse(BigInt(validAfter), BigInt(validBefore));
  for await (const logs of scanLogs(ask, { address: asset, topics }, { head, since })) {
    // A nonce is used or cancelled once. A token or a node that says otherwise cannot be believed.
    if (logs.length > 1) throw new RpcError("node says that one nonce was used more than once", "unreadable");
    if (logs.length === 1) return logs[0];
  }
  return undefined;
}

/**
 * Circle's token, and EIP-3009's own, write a transfer right after the use of its authorization. No other transfer counts:
 * one transaction can carry out several authorizations of one payer.
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
  // If not, another authorization had the same nonce, and this one can never be carried out.
  return isOurs ? { kind: "moved", transaction: use.transactionHash } : { kind: "never" };
}

function isSameLog(log: Log, { logIndex, topics }: Log): boolean {
  return (
    log.logIndex === logIndex && log.topics.length === topics.length && log.topics.every((t, at) => t === topics[at])
  );
}
