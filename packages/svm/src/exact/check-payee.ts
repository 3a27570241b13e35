/**
 * Whether a payee has the account that a token is paid into. A payment cannot create it: the layout has no room for that.
 *
 * @module
 */
import type { PayeeCheck, PayeeQuery } from "@farebox/core";
import { orUnclear, unclear } from "@farebox/core/scheme";
import { decodeAddress } from "../address.js";
import { associatedTokenAccount } from "../associated-token-account.js";
import { encodeBase58 } from "../base58.js";
import { type Program, TOKEN, TOKEN_2022 } from "../programs.js";
import { createAsk, readNetwork, readOwners } from "./node-questions.js";

/** Implements `checkPayee` of the `exact` scheme. Total. */
export function checkTokenAccount(query: PayeeQuery): Promise<PayeeCheck> {
  return orUnclear(() => check(query));
}

async function check(query: PayeeQuery): Promise<PayeeCheck> {
  const { network, asset, payTo } = query;
  const [owner, mint] = [decodeAddress(payTo), decodeAddress(asset)];
  if (owner === undefined || mint === undefined) return unclear("payTo or asset is no address");
  const ask = createAsk(query, 3);
  if ((await readNetwork(ask)) !== network) return unclear(`the node is not of ${network}`);
  const [programOfMint, programOfPayee] = await readOwners(ask, [asset, payTo]);
  const program = tokenProgram(programOfMint);
  if (program === undefined) return unclear("the asset is not a token's mint");
  if (tokenProgram(programOfPayee) !== undefined) return notAWallet(payTo);
  const account = encodeBase58(associatedTokenAccount({ owner, mint, program }));
  const [programOfAccount] = await readOwners(ask, [account]);
  return programOfAccount === program.address ? { kind: "payable" } : withoutAccount(query, account);
}

function tokenProgram(owner: string | undefined): Program | undefined {
  return [TOKEN, TOKEN_2022].find(({ address }) => address === owner);
}

/** The account of an account would be one that nobody has the key of. */
function notAWallet(payTo: string): PayeeCheck {
  const remedy = `Write the wallet that owns it as payTo: spl-token account-info --address ${payTo} says which that is`;
  return { kind: "unpayable", problem: "that is an account of a token program, not a wallet", remedy };
}

/** The networks that the command line tools have a name for. */
const CLUSTERS: Readonly<Record<string, string>> = {
  "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp": " --url mainnet-beta",
  "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1": " --url devnet",
  "solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z": " --url testnet",
};

/** Anybody can create it, and pays some 0.002 SOL for that. */
function withoutAccount({ network, asset, payTo }: PayeeQuery, account: string): PayeeCheck {
  const create = `spl-token create-account ${asset} --owner ${payTo} --fee-payer <keypair file>`;
  return {
    kind: "unpayable",
    problem: `its token account ${account} does not exist`,
    remedy: `Create it, with any wallet that has SOL: ${create}${CLUSTERS[network] ?? ""}`,
  };
}
