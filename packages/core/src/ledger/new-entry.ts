/**
 * What the ledger records of a payment.
 *
 * Texts may come from a payer or a facilitator. They are cleaned, because a database that refuses one would lose the outcome of the payment.
 *
 * @module
 */
import { createHash, createHmac } from "node:crypto";
import { errorName, type Logger } from "../events/logger.js";
import type { LedgerSale } from "../options.js";
import { canonicalNetwork, type Network } from "../protocol/caip2.js";
import type { PaymentRequirements, SettlementResponse } from "../protocol/documents.js";
import type { Scheme } from "../scheme/scheme.js";
import type { KeptSale } from "../store/memory-ledger.js";
import type { NewLedgerEntry } from "../store/shared-ledger.js";

/** How payers are recorded. */
export interface PayerNames {
  /** Keys the hash; `undefined`: payers are recorded as they are. */
  readonly secret: Uint8Array | undefined;
}

/** What making an entry takes. */
export interface NewEntryDeps extends PayerNames {
  readonly feeOf: ((sale: LedgerSale) => string | undefined) | undefined;
  readonly logger: Logger;
}

/** How a payment settled. */
export interface SettledHow {
  readonly receipt: SettlementResponse;
  readonly settledAtMs: number;
  readonly latencyMs: number;
  readonly attempt: number;
  readonly facilitator: string | undefined;
}

/** What a payment has sold: all that its entry is made from. It keeps nothing of the request alive. */
export interface Sold extends KeptSale {
  readonly identity: string;
  readonly payer: string;
  readonly scheme: Scheme;
  readonly decimals: number | undefined;
  readonly requirements: PaymentRequirements;
  readonly resource: string | undefined;
  readonly maximum: string;
  readonly how: SettledHow;
  readonly deps: NewEntryDeps;
}

/** Makes the entry of a sale, as a method of it. Never throws. */
export function toEntry(this: Sold): NewLedgerEntry {
  const { scheme, requirements, resource, deps } = this;
  const { receipt, settledAtMs, latencyMs, attempt, facilitator } = this.how;
  const decimals = this.decimals ?? knownDecimals(scheme, requirements);
  const facts = {
    route: clean(this.routeKey),
    payee: clean(requirements.payTo),
    scheme: clean(requirements.scheme),
    network: canonicalNetwork(requirements.network),
    asset: clean(requirements.asset),
    amount: requirements.amount,
  };
  const fee = feeOf({ ...facts, facilitator }, deps);
  return Object.freeze({
    id: idOf(this.identity),
    settledAtMs,
    ...facts,
    ...(resource !== undefined && { resource: clean(resource) }),
    payer: payerName(receipt.payer ?? this.payer, deps),
    ...(decimals !== undefined && { decimals }),
    ...(scheme.allowsLess === true && { maximum: this.maximum }),
    ...(fee !== undefined && { fee }),
    transaction: clean(receipt.transaction, MOST_TRANSACTION),
    ...(facilitator !== undefined && { facilitator: clean(facilitator) }),
    latencyMs: Math.max(0, Math.round(latencyMs)),
    attempt,
  });
}

/** The id of an entry, from the identity of its payment. */
export function idOf(identity: string): string {
  return createHash("sha256").update(identity).digest("hex").slice(0, 32);
}

/** Whether a text is the id of an entry. */
export function isEntryId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

/** A payer as the ledger has it: EVM addresses in lower case, or a keyed hash of that. */
export function payerName(payer: string, { secret }: PayerNames): string {
  const one = /^0x[0-9a-f]{40}$/i.test(payer) ? payer.toLowerCase() : clean(payer);
  if (secret === undefined) return one;
  return `${HASHED}${createHmac("sha256", secret).update("farebox-payer-1").update(one).digest("base64url")}`;
}

/** Begins the hash of a payer. No address begins like it. */
const HASHED = "hmac:";

const MOST_TRANSACTION = 200;
const MOST_TEXT = 2_000;

/** A text that every database takes. */
function clean(text: string, most = MOST_TEXT): string {
  return text.slice(0, most).replace(UNPRINTABLE, "\ufffd");
}

/** Control characters, halves of surrogate pairs, and the byte order mark, which some drivers drop. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\ufeff]/gu;

/** What the seller says that the facilitator keeps. A function that fails leaves it open. */
function feeOf(sale: LedgerSale, { feeOf, logger }: NewEntryDeps): string | undefined {
  if (feeOf === undefined) return undefined;
  try {
    const fee: unknown = feeOf(Object.freeze(sale));
    if (fee === undefined || (typeof fee === "string" && /^(0|[1-9]\d{0,77})$/.test(fee))) return fee;
    logger.error("ledger_fee_unknown", { route: sale.route, error: "feeOf returned no atomic units as digits" });
  } catch (error) {
    logger.error("ledger_fee_unknown", { route: sale.route, error: errorName(error) });
  }
  return undefined;
}

/** Decimals of the asset, if the scheme knows them. */
function knownDecimals(scheme: Scheme, requirements: PaymentRequirements): number | undefined {
  const { network, asset, amount, payTo, extra } = requirements;
  try {
    const terms = scheme.compileTerms({ network: network as Network, price: { asset, amount }, payTo, extra });
    return terms.ok ? terms.asset.decimals : undefined;
  } catch {
    return undefined;
  }
}
