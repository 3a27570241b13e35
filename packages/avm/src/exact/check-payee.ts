/**
 * Whether a payee has opted in to an asset. Nobody can send it to an account that has not.
 *
 * @module
 */
import type { PayeeCheck, PayeeQuery } from "@farebox/core";
import { orUnclear, unclear } from "@farebox/core/scheme";
import { isAddress } from "../address.js";
import { isAvmNetwork, isNetworkOf } from "../networks.js";
import { createAsk, readHolding, readState } from "./node-questions.js";
import { readUint64 } from "./terms.js";

/** Implements `checkPayee` of the `exact` scheme. Total. */
export function checkOptIn(query: PayeeQuery): Promise<PayeeCheck> {
  return orUnclear(() => check(query));
}

async function check(query: PayeeQuery): Promise<PayeeCheck> {
  const { network, asset, payTo } = query;
  if (!isAvmNetwork(network) || !isAddress(payTo) || readUint64(asset) === undefined) {
    return unclear("network, payTo or asset is none of Algorand's");
  }
  const ask = createAsk(query, 2);
  const { genesisHash } = await readState(ask);
  if (!isNetworkOf(network, genesisHash)) return unclear(`the node is not of ${network}`);
  const holding = await readHolding(ask, payTo, asset);
  if (holding === undefined) return notOptedIn(payTo, asset);
  return holding.isFrozen ? FROZEN : { kind: "payable" };
}

function notOptedIn(payTo: string, asset: string): PayeeCheck {
  return {
    kind: "unpayable",
    problem: `it has not opted in to asset ${asset}`,
    remedy: `Opt in, with its key and 0.1 Algo more than it has to keep: goal asset optin --assetid ${asset} --account ${payTo}`,
  };
}

const FROZEN: PayeeCheck = Object.freeze({
  kind: "unpayable",
  problem: "what it holds of it is frozen",
  remedy: "Have the asset's issuer unfreeze it, or name another payTo",
});
