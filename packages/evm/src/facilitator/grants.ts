/**
 * What payers were given to pay for gas: kept within limits, for a stranger can ask for it any number of times.
 *
 * @module
 */
import type { ParsedSponsoring } from "./sponsoring-options.js";

/** Keeps count of what was given. In memory: a facilitator that is restarted begins anew. */
export interface Grants {
  /** Why a payer is not given so much now, for a log; `undefined` when it can be. */
  findFault(payer: string, cost: Cost): string | undefined;
  /** Notes what a payer is given. Yields what takes the note back when nothing was given after all. */
  note(payer: string, cost: Cost): () => void;
}

/** Wei. */
export interface Cost {
  readonly given: bigint;
  /** For the gas that giving takes. */
  readonly fees: bigint;
}

const HOUR_MS = 60 * 60 * 1000;

/** Where gas costs next to nothing, the limits in wei do not limit how much has to be remembered. */
const MAX_GRANTS = 10_000;

/**
 * Creates an empty memory.
 *
 * @param now - Unix milliseconds.
 */
export function createGrants(
  { maxGrantWei, maxGrantWeiPerHour }: Pick<ParsedSponsoring, "maxGrantWei" | "maxGrantWeiPerHour">,
  now: () => number,
): Grants {
  /** Oldest first. */
  const grants = new Map<string, { readonly wei: bigint; readonly untilMs: number }>();

  function forgetOld(): void {
    for (const [payer, { untilMs }] of grants) {
      if (untilMs > now()) return;
      grants.delete(payer);
    }
  }

  return {
    findFault(payer, { given, fees }) {
      forgetOld();
      if (given > maxGrantWei) return `the payer lacks ${given} wei for gas, and maxGrantWei is ${maxGrantWei}`;
      if (grants.has(payer)) return "the payer was given something for gas within the last hour";
      const sum = [...grants.values()].reduce((total, { wei }) => total + wei, given + fees);
      if (sum > maxGrantWeiPerHour || grants.size >= MAX_GRANTS) return "what is given within an hour is used up";
      return undefined;
    },
    note(payer, { given, fees }) {
      const grant = { wei: given + fees, untilMs: now() + HOUR_MS };
      grants.set(payer, grant);
      return () => {
        if (grants.get(payer) === grant) grants.delete(payer);
      };
    },
  };
}
