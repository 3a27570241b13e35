/**
 * The policy of a facilitator: whom it lets be paid, in which tokens, and from which amount on. The request alone decides, so
 * a refusal costs no call to a node. Each scheme then checks that the payment says what its terms say.
 *
 * @module
 */
import type { FacilitatorRequest } from "@farebox/core";
import { type Issues, issuePath } from "@farebox/core/issues";
import { canonicalNetwork, isJsonObject, isNetwork } from "@farebox/core/protocol";

/** Who may be paid: addresses by network, or a function. */
export type Payees =
  | { readonly [network: string]: readonly string[] }
  | ((payment: PolicyPayment) => boolean | Promise<boolean>);

/** The tokens of each network, with the least amount that is worth settling, in atomic units: digits or a bigint. */
export type Assets = {
  readonly [network: string]: { readonly [asset: string]: string | bigint };
};

/** The terms of a payment, for a function that decides about it. */
export interface PolicyPayment {
  readonly scheme: string;
  readonly network: string;
  readonly payTo: string;
  readonly asset: string;
  /** Atomic units. */
  readonly amount: bigint;
  /** The name of the credential; `undefined` without credentials, and for calls in the process. */
  readonly seller: string | undefined;
}

/** Why a payment is not served. */
export interface PolicyRefusal {
  readonly reason: string;
  readonly message: string;
}

/** Limits on payments, checked. */
export interface Limits {
  readonly payees: ReadonlyMap<string, ReadonlySet<string>> | Extract<Payees, (...args: never) => unknown> | undefined;
  readonly assets: ReadonlyMap<string, ReadonlyMap<string, bigint>> | undefined;
}

/** Looks for the rule that a request breaks. Never rejects: a function of the operator's that fails refuses. */
export async function findRefusal(
  { payees, assets }: Limits,
  request: FacilitatorRequest,
  seller: string | undefined,
): Promise<PolicyRefusal | undefined> {
  if (payees === undefined && assets === undefined) return undefined;
  const payment = readPayment(request, seller);
  if (payment === undefined) {
    return { reason: "invalid_payment_requirements", message: "network, payTo, asset or amount is not of its form" };
  }
  const network = canonicalNetwork(payment.network);
  if (assets !== undefined) {
    const least = assets.get(network)?.get(fold(payment.asset));
    if (least === undefined) return { reason: "asset_not_served", message: "this token is not settled here" };
    // Zero is settled without a transaction.
    if (payment.amount < least && payment.amount > 0n) {
      return { reason: "amount_too_small", message: `less than ${least} atomic units is not settled here` };
    }
  }
  if (payees === undefined || (await isPayee(payees, network, payment))) return undefined;
  return { reason: "payee_not_served", message: "payments to this address are not settled here" };
}

async function isPayee(
  payees: NonNullable<Limits["payees"]>,
  network: string,
  payment: PolicyPayment,
): Promise<boolean> {
  if (typeof payees !== "function") return payees.get(network)?.has(fold(payment.payTo)) === true;
  try {
    return (await payees(payment)) === true;
  } catch {
    return false;
  }
}

const AMOUNT = /^\d{1,78}$/;

/** The request is unchecked. */
function readPayment(request: unknown, seller: string | undefined): PolicyPayment | undefined {
  const requirements = isJsonObject(request) ? request["paymentRequirements"] : undefined;
  if (!isJsonObject(requirements)) return undefined;
  const { scheme, network, payTo, asset, amount } = requirements;
  if (typeof scheme !== "string" || !isNetwork(network)) return undefined;
  if (typeof payTo !== "string" || typeof asset !== "string") return undefined;
  if (typeof amount !== "string" || !AMOUNT.test(amount)) return undefined;
  return { scheme, network, payTo, asset, amount: BigInt(amount), seller };
}

/** Hexadecimal addresses have no case; others do. */
function fold(address: string): string {
  return /^0x/i.test(address) ? address.toLowerCase() : address;
}

/** Reads `payees` and `assets`. The result counts only if nothing was added to `issues`. */
export function parseLimits(
  { payees, assets }: { readonly payees?: unknown; readonly assets?: unknown },
  { path, networks, issues }: PolicyContext,
): Limits {
  const at = { networks, issues };
  const isFunction = typeof payees === "function";
  return {
    payees: isFunction
      ? (payees as Extract<Payees, (...args: never) => unknown>)
      : readByNetwork(payees, { ...at, path: `${path}.payees` }, parsePayees),
    assets: readByNetwork(assets, { ...at, path: `${path}.assets` }, parseAssets),
  };
}

/** Where in the options something is, and the networks of the schemes. */
export interface PolicyContext {
  readonly path: string;
  /** In their canonical spelling. */
  readonly networks: ReadonlySet<string>;
  readonly issues: Issues;
}

/** Reads an object whose keys are networks of the schemes. A misspelled network would otherwise be a rule for nothing. */
export function readByNetwork<T>(
  value: unknown,
  { path, networks, issues }: PolicyContext,
  read: (entry: unknown, path: string, issues: Issues) => T | undefined,
): ReadonlyMap<string, T> | undefined {
  if (value === undefined) return undefined;
  const entries = new Map<string, T>();
  if (!isJsonObject(value) || Object.keys(value).length === 0) {
    issues.add(path, "an object with networks as keys", value);
    return entries;
  }
  for (const [key, entry] of Object.entries(value)) {
    const network = isNetwork(key) ? canonicalNetwork(key) : key;
    if (!networks.has(network)) {
      issues.addText(issuePath(path, key), `a network of the schemes: ${[...networks].join(", ")}`, "another");
      continue;
    }
    const parsed = read(entry, issuePath(path, key), issues);
    if (parsed !== undefined) entries.set(network, parsed);
  }
  return entries;
}

function parsePayees(value: unknown, path: string, issues: Issues): ReadonlySet<string> | undefined {
  const isList = Array.isArray(value) && value.every((address) => typeof address === "string" && address !== "");
  if (isList && value.length > 0) return new Set(value.map(fold));
  issues.add(path, "a list of addresses", value);
  return undefined;
}

function parseAssets(value: unknown, path: string, issues: Issues): ReadonlyMap<string, bigint> | undefined {
  if (!isJsonObject(value) || Object.keys(value).length === 0) {
    issues.add(path, "an object with tokens as keys and least amounts as values", value);
    return undefined;
  }
  return new Map(
    Object.entries(value).map(([asset, least]) => [
      fold(asset),
      parseAtomicUnits(least, issuePath(path, asset), issues),
    ]),
  );
}

/** Reads atomic units, of a token or of a network's coin. */
export function parseAtomicUnits(value: unknown, path: string, issues: Issues): bigint {
  if (typeof value === "bigint" && value >= 0n) return value;
  if (typeof value === "string" && AMOUNT.test(value)) return BigInt(value);
  // JSON cannot show a bigint.
  const received = typeof value === "bigint" ? value.toString() : value;
  issues.add(path, "atomic units as digits or a bigint", received);
  return 0n;
}
