/**
 * The `exact` scheme on `algorand:*`, seller's side. The payer signs a group of transactions that transfers exactly the
 * price. The fee payer can carry it out, once.
 *
 * @see x402 v2, scheme `exact` on Algorand
 * @module
 */
import type {
  BalanceReading,
  ConfirmationReading,
  OfferTerms,
  PayeeCheck,
  PayeeQuery,
  PaymentQuery,
  Scheme,
  TermsIssue,
  TransactionQuery,
} from "@farebox/core";
import { askAtMost, compileTerms, orUnclear, pricingById, readUint64, unclear } from "@farebox/core/scheme";
import { isAddress, sameAddress } from "../address.js";
import { assetsOn } from "../assets.js";
import { isAvmNetwork, isNetworkOf } from "../networks.js";
import { findTransferPayment } from "./find-payment.js";
import { readConfirmedRound, readHolding, readState } from "./node-questions.js";
import { readAvmPayment, readTransferPayment } from "./payment.js";
import { readTransferDeadline } from "./read-deadline.js";
import { readTerms } from "./terms.js";

/** Creates the scheme. It needs no key and no chain library. Only the methods that get an `rpc` ask a node. */
export function exactAvm(): Scheme {
  return Object.freeze({
    scheme: "exact",
    networks: "algorand:*",
    compileTerms: (terms: OfferTerms) => compileTerms(terms, PRICING, () => checkTerms(terms)),
    sameAddress,
    readPayment: readTransferPayment,
    completeExtra,
    findPayment: findTransferPayment,
    readConfirmations: (query: TransactionQuery) => orUnclear(() => readTransactionDepth(query)),
    readDeadline: readTransferDeadline,
    readBalance: (query: PaymentQuery) => orUnclear(() => readPayersHolding(query)),
    checkPayee: (query: PayeeQuery) => orUnclear(() => checkOptIn(query)),
  } as const);
}

/** A transaction that is in a round stays there: Algorand has no forks. */
async function readTransactionDepth(query: TransactionQuery): Promise<ConfirmationReading> {
  const { transaction, network } = query;
  if (!/^[A-Z2-7]{52}$/.test(transaction)) return unclear("the transaction is not one of Algorand");
  const node = askAtMost(2, query);
  const { genesisHash } = await readState(node);
  if (!isAvmNetwork(network) || !isNetworkOf(network, genesisHash)) return unclear(`the node is not of ${network}`);
  const round = await readConfirmedRound(node, transaction);
  return round === undefined ? { kind: "absent" } : { kind: "confirmed", confirmations: Number.POSITIVE_INFINITY };
}

function checkTerms({ network, payTo }: OfferTerms): readonly TermsIssue[] {
  const issues: TermsIssue[] = [];
  if (!isAvmNetwork(network)) {
    const expected = "algorand and 32 or all 44 characters, as in algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe";
    issues.push({ term: "network", expected });
  }
  if (!isAddress(payTo)) {
    const expected = "an Algorand address, not the zero address: 58 characters, the last of them its checksum";
    issues.push({ term: "payTo", expected });
  }
  return issues;
}

const PRICING = pricingById({
  assetsOn: (network) => assetsOn(network).map(({ asset, symbol, decimals }) => ({ id: asset, symbol, decimals })),
  checkId: (id) => (readUint64(id) === undefined ? "an asset's id: a decimal number below 2^64" : undefined),
});

/** A facilitator may name no fee payer, because the payer can pay the fee. If it names one, that must be an address. */
function completeExtra({ feePayer }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  if (feePayer === undefined) return {};
  return isAddress(feePayer) ? { feePayer } : undefined;
}

/** Whether the payee has opted in to the asset. Without that, it cannot receive the asset. */
async function checkOptIn(query: PayeeQuery): Promise<PayeeCheck> {
  const { network, asset, payTo } = query;
  if (!isAvmNetwork(network) || !isAddress(payTo) || readUint64(asset) === undefined) {
    return unclear("network, payTo or asset is not one of Algorand's");
  }
  const node = askAtMost(2, query);
  const { genesisHash } = await readState(node);
  if (!isNetworkOf(network, genesisHash)) return unclear(`the node is not of ${network}`);
  const holding = await readHolding(node, payTo, asset);
  if (holding === undefined) return notOptedIn(payTo, asset);
  return holding.isFrozen ? FROZEN : { kind: "payable" };
}

async function readPayersHolding(query: PaymentQuery): Promise<BalanceReading> {
  const terms = readTerms(query.requirements);
  const payment = terms.ok ? readAvmPayment(query.payload, terms.value) : terms;
  if (!terms.ok || !payment.ok) return unclear("the payment is not one of this scheme, or not for these terms");
  const node = askAtMost(2, query);
  const { network } = terms.value;
  const { genesisHash } = await readState(node);
  if (!isNetworkOf(network, genesisHash)) return unclear(`the node is not of ${network}`);
  const holding = await readHolding(node, payment.value.payer, query.requirements.asset);
  return { kind: "known", amount: holding?.amount ?? 0n };
}

function notOptedIn(payTo: string, asset: string): PayeeCheck {
  return {
    kind: "unpayable",
    problem: `it has not opted in to asset ${asset}`,
    remedy: `Opt in with its key; that raises its minimum balance by 0.1 Algo: goal asset optin --assetid ${asset} --account ${payTo}`,
  };
}

const FROZEN: PayeeCheck = Object.freeze({
  kind: "unpayable",
  problem: "its holding of the asset is frozen",
  remedy: "Have the asset's issuer unfreeze it, or name another payTo",
});
