/**
 * Options of the schemes, checked once.
 *
 * @module
 */
import { createIssues } from "@farebox/core";
import type { EvmChain } from "./chain.js";

/** What a scheme works with. */
export interface EvmSchemeOptions {
  readonly chain: EvmChain;
  /** Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

/** The options, checked. @throws ConfigError with every issue at once. */
export function parseSchemeOptions(
  options: EvmSchemeOptions,
  isChain: (chain: EvmChain) => boolean = () => true,
): Required<EvmSchemeOptions> {
  const { chain, now = Date.now } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["chain", "now"]);
  if (typeof chain !== "object" || chain === null)
    issues.add("options.chain", "a chain, e.g. createRpcChain(…)", chain);
  else if (!isChain(chain)) issues.addText("options.chain", "a chain with permit2 and a signer", "one without");
  if (typeof now !== "function") issues.add("options.now", "a function that yields Unix milliseconds", now);
  issues.throwIfAny();
  return { chain, now };
}

/** The number in `eip155:84532`. */
export function chainIdOf({ network }: Pick<EvmChain, "network">): number {
  return Number(network.slice("eip155:".length));
}

/** The extensions that a chain can carry out, by which payers need not send a transaction of their own. */
export function extensionsOf({ permit2 }: EvmChain): readonly string[] {
  if (permit2 === undefined) return [];
  const sponsored = permit2.approvals === undefined ? [] : ["erc20ApprovalGasSponsoring"];
  return Object.freeze(["eip2612GasSponsoring", ...sponsored]);
}
