/**
 * How much a facilitator gives payers to pay for their approvals, checked once.
 *
 * @module
 */
import type { Issues } from "@farebox/core";
import { isAddressShaped } from "../address.js";
import type { Address } from "./chain.js";

/**
 * How far approvals that payers have signed as transactions are carried out (extension `erc20ApprovalGasSponsoring`). A payer
 * keeps what it was given and did not use, and one who is quick enough keeps it all: what is lost to payers is at most this.
 */
export interface SponsoringOptions {
  /** The most that one payer is given within an hour, in wei. `0n`: nothing; payers pay for the gas themselves. */
  readonly maxGrantWei: bigint;
  /** The most that all payers are given within an hour, in wei, with the gas that giving it takes. */
  readonly maxGrantWeiPerHour: bigint;
  /** Tokens whose approvals are carried out. Default: any. */
  readonly assets?: readonly Address[];
}

/** The options, checked. */
export interface ParsedSponsoring {
  readonly maxGrantWei: bigint;
  readonly maxGrantWeiPerHour: bigint;
  /** In lower case; `undefined`: any. */
  readonly assets: ReadonlySet<string> | undefined;
}

/** Checks the options. What it returns is only good if nothing was added to `issues`. */
export function parseSponsoring(options: unknown, issues: Issues): ParsedSponsoring | undefined {
  if (options === undefined) return undefined;
  const path = "options.sponsoring";
  if (!issues.checkKeys(path, options, ["maxGrantWei", "maxGrantWeiPerHour", "assets"])) return undefined;
  const { maxGrantWei, maxGrantWeiPerHour, assets } = options;
  return {
    maxGrantWei: parseWei(maxGrantWei, `${path}.maxGrantWei`, issues),
    maxGrantWeiPerHour: parseWei(maxGrantWeiPerHour, `${path}.maxGrantWeiPerHour`, issues),
    assets: parseAssets(assets, `${path}.assets`, issues),
  };
}

function parseWei(value: unknown, path: string, issues: Issues): bigint {
  if (typeof value === "bigint" && value >= 0n) return value;
  const received = typeof value === "bigint" ? "a negative one" : typeof value;
  issues.addText(path, "wei as a bigint that is not negative, such as 10n ** 14n", received);
  return 0n;
}

function parseAssets(assets: unknown, path: string, issues: Issues): ReadonlySet<string> | undefined {
  if (assets === undefined) return undefined;
  if (Array.isArray(assets) && assets.every(isAddressShaped)) {
    return new Set(assets.map((asset) => asset.toLowerCase()));
  }
  issues.addText(path, "a list of token addresses", "something else");
  return undefined;
}
