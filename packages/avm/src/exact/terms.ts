/**
 * Reads the terms of a payment, `paymentRequirements`, in the form in which they are compared with a group of transactions.
 *
 * @see x402 v2, scheme `exact` on Algorand, "paymentRequirements for Payment Required Response"
 * @module
 */
import { accept, fieldsOf, type Reading, readUint64, refuse } from "@farebox/core/scheme";
import { decodeAddress } from "../address.js";
import { type AvmNetwork, isAvmNetwork } from "../networks.js";

/** The terms, with addresses as bytes. */
export interface Terms {
  readonly network: AvmNetwork;
  readonly asset: bigint;
  readonly payTo: Buffer;
  /** Atomic units, 1 to 2^64 - 1. */
  readonly amount: bigint;
  /** May pay the group's fees. Without one, the payer does. */
  readonly feePayer: Buffer | undefined;
}

const INVALID = "invalid_payment_requirements";

/** Reads the terms. Total: a seller's terms were checked, but a facilitator's come from a client. */
export function readTerms(requirements: unknown): Reading<Terms> {
  const { network, asset, payTo, amount, extra } = fieldsOf(requirements);
  if (!isAvmNetwork(network)) return refuse("invalid_network", "the network is not one of Algorand's");
  const id = readUint64(asset);
  if (id === undefined) return refuse(INVALID, "asset is not the id of an asset");
  const payee = decodeAddress(payTo);
  if (payee === undefined) return refuse(INVALID, "payTo is not an address");
  const atomic = readUint64(amount);
  if (atomic === undefined) return refuse(INVALID, "amount is not a decimal string above zero and below 2^64");
  const { feePayer } = fieldsOf(extra);
  const payer = decodeAddress(feePayer);
  if (feePayer !== undefined && payer === undefined) return refuse(INVALID, "extra.feePayer is not an address");
  return accept({ network, asset: id, payTo: payee, amount: atomic, feePayer: payer });
}
