/**
 * The `exact` scheme on `solana:*`, seller's side. The payer signs a transaction that transfers exactly the price. The fee
 * payer can carry it out, once.
 *
 * @see x402 v2, scheme `exact` on SVM
 * @module
 */
import type {
  BalanceReading,
  ConfirmationReading,
  FactsQuery,
  OfferTerms,
  PayeeCheck,
  PayeeQuery,
  PaymentQuery,
  Scheme,
  TermsIssue,
  TransactionQuery,
} from "@farebox/core";
import type { JsonObject } from "@farebox/core/protocol";
import { askAtMost, compileTerms, orUnclear, pricingById, SIGNATURE_BYTES, unclear } from "@farebox/core/scheme";
import {
  associatedTokenAccount,
  decodeAddress,
  decodeBase58,
  encodeBase58,
  isAddress,
  isProgram,
  type Program,
  sameAddress,
  TOKEN,
  TOKEN_2022,
} from "../address.js";
import { assetsOn } from "../assets.js";
import { DEVNET, isSvmNetwork, MAINNET, TESTNET } from "../networks.js";
import { findTransferPayment } from "./find-payment.js";
import { readBlockhash, readDepth, readMintFacts, readNetwork, readOwners, readTokenAmount } from "./node-questions.js";
import { readSvmPayment, readTransferPayment } from "./payment.js";
import { createDeadlineReader } from "./read-deadline.js";
import { MEMO_EXPECTED, readMemo, readTerms } from "./terms.js";

/** Creates the scheme. It needs no key and no chain library. Only the methods that get an `rpc` ask a node. */
export function exactSvm(): Scheme {
  return Object.freeze({
    scheme: "exact",
    networks: "solana:*",
    compileTerms: (terms: OfferTerms) => compileTerms(terms, PRICING, (mint) => checkTerms(terms, mint)),
    sameAddress,
    readPayment: readTransferPayment,
    completeExtra,
    findPayment: findTransferPayment,
    readConfirmations: (query: TransactionQuery) => orUnclear(() => readTransactionDepth(query)),
    readDeadline: createDeadlineReader(),
    readBalance: (query: PaymentQuery) => orUnclear(() => readSource(query)),
    checkPayee: (query: PayeeQuery) => orUnclear(() => checkTokenAccount(query)),
    readPayerFacts: (query: FactsQuery) => readPayerFacts(query).catch(() => undefined),
  } as const);
}

async function readTransactionDepth(query: TransactionQuery): Promise<ConfirmationReading> {
  const { transaction, network } = query;
  if (decodeBase58(transaction, SIGNATURE_BYTES) === undefined) return unclear("the transaction is not one of Solana");
  const node = askAtMost(2, query);
  if ((await readNetwork(node)) !== network) return unclear(`the node is not of ${network}`);
  return readDepth(node, transaction);
}

function checkTerms({ network, payTo, extra }: OfferTerms, mint: string | undefined): readonly TermsIssue[] {
  const issues: TermsIssue[] = [];
  if (!isSvmNetwork(network)) {
    issues.push({ term: "network", expected: `solana and 32 characters, as in ${DEVNET}` });
  }
  if (!isAddress(payTo)) issues.push({ term: "payTo", expected: "a Solana address: 32 bytes in base58" });
  else if (isProgram(payTo)) issues.push({ term: "payTo", expected: "a wallet's address, not a program" });
  else if (payTo === mint) issues.push({ term: "payTo", expected: "a wallet's address, not the token's own mint" });
  const memo = extra?.["memo"];
  if (memo !== undefined && readMemo(memo) === undefined) issues.push({ term: "extra.memo", expected: MEMO_EXPECTED });
  return issues;
}

const PRICING = pricingById({
  assetsOn: (network) => assetsOn(network).map(({ mint, symbol, decimals }) => ({ id: mint, symbol, decimals })),
  checkId(mint) {
    if (!isAddress(mint)) return "a token's mint: 32 bytes in base58";
    return isProgram(mint) ? "a token's mint, not a program" : undefined;
  },
});

/** Payers sign for one fee payer, so an offer must name it. */
function completeExtra({ feePayer }: Readonly<Record<string, unknown>>): { readonly feePayer: string } | undefined {
  return isAddress(feePayer) && !isProgram(feePayer) ? { feePayer } : undefined;
}

/** Whether the payee's token account exists. The layout of a payment has no room for an instruction that creates it. */
async function checkTokenAccount(query: PayeeQuery): Promise<PayeeCheck> {
  const { network, asset, payTo } = query;
  const [owner, mint] = [decodeAddress(payTo), decodeAddress(asset)];
  if (owner === undefined || mint === undefined) return unclear("payTo or asset is not an address");
  const node = askAtMost(3, query);
  if ((await readNetwork(node)) !== network) return unclear(`the node is not of ${network}`);
  const [programOfMint, programOfPayee] = await readOwners(node, [asset, payTo]);
  const program = asTokenProgram(programOfMint);
  if (program === undefined) return unclear("the asset is not a token's mint");
  if (asTokenProgram(programOfPayee) !== undefined) return notAWallet(payTo);
  const account = encodeBase58(associatedTokenAccount({ owner, mint, program }));
  const [programOfAccount] = await readOwners(node, [account]);
  return programOfAccount === program.address ? { kind: "payable" } : withoutAccount(query, account);
}

/** What the token account has that the payment takes from. */
async function readSource(query: PaymentQuery): Promise<BalanceReading> {
  const { network } = query.requirements;
  const terms = readTerms(query.requirements);
  const payment = terms.ok ? readSvmPayment(query.payload, terms.value) : terms;
  if (!payment.ok) return unclear("the payment is not one of this scheme, or not for these terms");
  const node = askAtMost(2, query);
  if ((await readNetwork(node)) !== network) return unclear(`the node is not of ${network}`);
  return { kind: "known", amount: await readTokenAmount(node, encodeBase58(payment.value.transfer.source)) };
}

/** A wallet in a browser signs a transaction, and does not say on which block it can build, or which program a token has. */
async function readPayerFacts({ requirements, rpc }: FactsQuery): Promise<JsonObject | undefined> {
  const { network, asset } = requirements;
  const node = askAtMost(3, { rpc });
  if ((await readNetwork(node)) !== network) return undefined;
  const [blockhash, mint] = await Promise.all([readBlockhash(node), readMintFacts(node, asset)]);
  return mint === undefined ? undefined : { blockhash, ...mint };
}

function asTokenProgram(address: string | undefined): Program | undefined {
  return [TOKEN, TOKEN_2022].find((program) => program.address === address);
}

/** A token account cannot have a token account: no key exists for it. */
function notAWallet(payTo: string): PayeeCheck {
  const remedy = `Set payTo to the wallet that owns it; spl-token account-info --address ${payTo} shows it`;
  return { kind: "unpayable", problem: "it is a token account, not a wallet", remedy };
}

/** The command line's names of the networks. */
const CLUSTERS: Readonly<Record<string, string>> = {
  [MAINNET]: " --url mainnet-beta",
  [DEVNET]: " --url devnet",
  [TESTNET]: " --url testnet",
};

/** Any wallet can create the account, for some 0.002 SOL. */
function withoutAccount({ network, asset, payTo }: PayeeQuery, account: string): PayeeCheck {
  const create = `spl-token create-account ${asset} --owner ${payTo} --fee-payer <keypair file>`;
  return {
    kind: "unpayable",
    problem: `its token account ${account} does not exist`,
    remedy: `Create it with any wallet that has SOL: ${create}${CLUSTERS[network] ?? ""}`,
  };
}
