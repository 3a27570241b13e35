/**
 * A facilitator without a chain: the real verification and settlement, with a ledger in memory.
 *
 * @module
 */
import type { Catalog } from "@farebox/bazaar/facilitator";
import { ConfigError, type Facilitator, type FacilitatorRequest } from "@farebox/core";
import { ASSETS } from "@farebox/evm";
import { createExactEvmScheme, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { createFacilitator } from "@farebox/facilitator";
import { createFaultPlan, type Faults } from "./faults.js";
import { withFaults } from "./faulty-facilitator.js";
import { createToken, type Ledger, type LedgerAsset } from "./ledger.js";
import { createLedgerChain } from "./ledger-chain.js";

/** Options of `createTestFacilitator`. */
export interface TestFacilitatorOptions {
  /** CAIP-2, an eip155 network. Default `eip155:84532`, Base Sepolia. */
  readonly network?: `eip155:${number}`;
  /** The only token of the ledger. Default: the token of a `$` price on the network. */
  readonly asset?: LedgerAsset;
  /** The clock of facilitator and ledger, in Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
  /** Lists what is paid for, e.g. `createCatalog(…)` of `@farebox/catalog`. Default: nothing is listed. */
  readonly catalog?: Catalog;
}

/** All calls, including those that a fault kept from the facilitator. Oldest first. */
export interface FacilitatorCalls {
  readonly verify: readonly FacilitatorRequest[];
  readonly settle: readonly FacilitatorRequest[];
  /** Number of calls. */
  readonly supported: number;
}

/** A facilitator for tests, of `exact` and `upto`. Checks signatures, and moves money in {@link TestFacilitator.ledger} only. */
export interface TestFacilitator extends Facilitator {
  readonly ledger: Ledger;
  readonly faults: Faults;
  readonly calls: FacilitatorCalls;
}

/**
 * Creates a facilitator with an empty ledger, ready at once.
 *
 * @throws {@link ConfigError} when the network is not an eip155 network, or has no known stablecoin and `asset` is absent
 */
export function createTestFacilitator(options: TestFacilitatorOptions = {}): TestFacilitator {
  const { network = "eip155:84532", now = Date.now, catalog } = options;
  const asset = options.asset ?? stablecoinOn(network);
  const token = createToken({ asset, chainId: chainIdOf(network), now });
  const chain = createLedgerChain(network, token);
  // Every account of the ledger allows Permit2, so no extension is needed.
  const schemes = [createExactEvmScheme({ chain, now }), createUptoEvmScheme({ chain, now })].map((scheme) => ({
    ...scheme,
    extensions: [],
  }));
  const plan = createFaultPlan();
  const { facilitator, calls } = counting(
    withFaults(createFacilitator({ schemes, ...(catalog === undefined ? {} : { catalog }) }), plan),
  );
  return Object.freeze({ ...facilitator, ledger: token.ledger, faults: plan.faults, calls });
}

function chainIdOf(network: string): number {
  const chainId = /^eip155:([1-9]\d{0,14})$/.exec(network)?.[1];
  if (chainId !== undefined) return Number(chainId);
  throw new ConfigError([{ path: "network", expected: 'an eip155 network, "eip155:<chain id>"', received: network }]);
}

function stablecoinOn(network: string): LedgerAsset {
  const asset = ASSETS.find((known) => known.network === network);
  if (asset !== undefined) return asset;
  const expected = `{ address, name, version }, because no stablecoin is known on ${network}`;
  throw new ConfigError([{ path: "asset", expected, received: "nothing" }]);
}

function counting(facilitator: Facilitator): { readonly facilitator: Facilitator; readonly calls: FacilitatorCalls } {
  const calls = { verify: [] as FacilitatorRequest[], settle: [] as FacilitatorRequest[], supported: 0 };
  return {
    calls,
    facilitator: {
      verify: (request, options) => {
        calls.verify.push(request);
        return facilitator.verify(request, options);
      },
      settle: (request, options) => {
        calls.settle.push(request);
        return facilitator.settle(request, options);
      },
      supported: (options) => {
        calls.supported += 1;
        return facilitator.supported(options);
      },
    },
  };
}
