/**
 * Pays with a Solana wallet: connects, and has the wallet sign a transfer whose fee the facilitator pays.
 *
 * @see Wallet Standard, `standard:connect` and `solana:signTransaction`
 * @module
 */
import { bytesToBase64, type Option, PayError, randomHex, type Signed, type Signing } from "./challenge.js";
import { fill } from "./dom.js";
import { isRejection, messageOf } from "./evm.js";
import { buildTransaction } from "./solana-message.js";
import { type StandardAccount, type StandardWallet, standardChain } from "./wallets.js";

interface Connect {
  connect(): Promise<{ readonly accounts: readonly StandardAccount[] }>;
}
interface SignTransaction {
  signTransaction(input: {
    readonly account: StandardAccount;
    readonly transaction: Uint8Array;
    readonly chain: string;
  }): Promise<readonly { readonly signedTransaction: Uint8Array }[]>;
}

/** Why the page cannot pay this offer on Solana, as the name of a text; `undefined`: it can. */
export function hindranceOf({ requirements, data }: Option): string | undefined {
  if (requirements.scheme !== "exact" || typeof requirements.extra["feePayer"] !== "string") return "unpayable";
  if (data.solana === null) return "noNode";
  return globalThis.crypto?.subtle === undefined ? "insecure" : undefined;
}

/** Whether a wallet is for the network of an offer. */
export function isWalletFor(wallet: StandardWallet, network: string): boolean {
  const chain = standardChain(network);
  return chain !== undefined && wallet.chains.includes(chain);
}

/** Signs a payment. @throws PayError with what the person can do */
export async function signBySvm(wallet: StandardWallet, option: Option, signing: Signing): Promise<Signed> {
  const { requirements, data } = option;
  const { network, amount, asset, payTo, extra } = requirements;
  const { texts, onStep, wallet: name } = signing;
  const chain = standardChain(network);
  if (chain === undefined || data.solana === null) throw new PayError(fill(texts["unpayable"]));
  const account = await ask(async () => {
    onStep("connect", fill(texts["waitConnect"], { wallet: name }));
    const { connect } = wallet.features["standard:connect"] as Connect;
    const { accounts } = await connect();
    const all = accounts.length > 0 ? accounts : wallet.accounts;
    return all.find(({ chains }) => chains.includes(chain)) ?? all[0];
  }, signing);
  if (account === undefined) throw failed("no account", signing);
  const memo = typeof extra["memo"] === "string" ? extra["memo"] : randomHex(16);
  const transaction = await buildTransaction({
    ...data.solana,
    payer: account.address,
    feePayer: String(extra["feePayer"]),
    payTo,
    mint: asset,
    amount: BigInt(amount),
    memo,
  });
  const signed = await ask(async () => {
    onStep("sign", fill(texts["waitSign"], { wallet: name }));
    const { signTransaction } = wallet.features["solana:signTransaction"] as SignTransaction;
    const [output] = await signTransaction({ account, transaction, chain });
    return output?.signedTransaction;
  }, signing);
  if (!(signed instanceof Uint8Array)) throw failed("no transaction", signing);
  return { payer: account.address, payload: { transaction: bytesToBase64(signed) }, extensions: {} };
}

async function ask<T>(question: () => Promise<T>, signing: Signing): Promise<T> {
  try {
    return await question();
  } catch (error) {
    if (isRejection(error)) throw new PayError(fill(signing.texts["rejected"], { wallet: signing.wallet }));
    throw failed(messageOf(error), signing);
  }
}

function failed(reason: string, { texts, wallet }: Signing): PayError {
  return new PayError(fill(texts["walletFailed"], { wallet, reason }));
}
