/**
 * Does a payment store keep the contract of `PaymentStore`? The answer, as a list of checks for any test runner.
 *
 * @module
 */
import { CLAIM_CHECKS } from "./claim-checks.js";
import { EXPIRY_CHECKS, KEEPING_CHECKS } from "./expiry-checks.js";
import { FIELD_CHECKS } from "./field-checks.js";
import { IDENTIFIER_CHECKS } from "./identifier-checks.js";
import { RELEASE_CHECKS } from "./release-checks.js";
import { REOPEN_CHECKS, REOPEN_EXPIRY_CHECKS, SHARED_CHECKS } from "./reopen-checks.js";
import { MINUTE_MS } from "./sample-payments.js";
import type { Check, OpenedStore, Stage, StoreClock, StoreTraits } from "./stage.js";
import { StoreError } from "./store-error.js";
import { TRANSITION_CHECKS } from "./transition-checks.js";
import { UNFINISHED_CHECKS } from "./unfinished-checks.js";

/** One check: a test of its own, in whatever runner. */
export interface StoreCheck {
  /** What is asked of the store, e.g. `release: is for the owner alone`. Unique in the list. */
  readonly name: string;
  /**
   * Opens a store, checks it and closes it.
   *
   * @throws {@link StoreError} when the store does not conform, or fails
   */
  run(): Promise<void>;
}

/**
 * Creates the checks that every implementation of `PaymentStore` has to pass. They share nothing: they can run in any
 * order, or at once.
 *
 * @param open - Opens an empty store. The clock is for stores that can be given one.
 */
export function createStoreConformance(
  open: (clock: StoreClock) => Promise<OpenedStore>,
  traits: StoreTraits = {},
): readonly StoreCheck[] {
  return checksFor(traits).map(({ name, run }) => ({
    name,
    async run() {
      try {
        await runOnStage(open, traits, run);
      } catch (error) {
        if (error instanceof StoreError) throw error;
        throw new StoreError(`the store failed: ${error instanceof Error ? error.message : error}`, { cause: error });
      }
    },
  }));
}

function checksFor({ durable = false, shared = false, ownClock = false }: StoreTraits): readonly Check[] {
  return [
    ...CLAIM_CHECKS,
    ...TRANSITION_CHECKS,
    ...RELEASE_CHECKS,
    ...IDENTIFIER_CHECKS,
    ...FIELD_CHECKS,
    ...UNFINISHED_CHECKS,
    ...KEEPING_CHECKS,
    ...(ownClock ? [] : EXPIRY_CHECKS),
    ...(durable ? REOPEN_CHECKS : []),
    ...(durable && !ownClock ? REOPEN_EXPIRY_CHECKS : []),
    ...(shared ? SHARED_CHECKS : []),
  ];
}

async function runOnStage(
  open: (clock: StoreClock) => Promise<OpenedStore>,
  traits: StoreTraits,
  run: Check["run"],
): Promise<void> {
  const clock = createClock();
  const opened = await open(clock);
  try {
    await run(await createStage(opened, clock, traits));
  } finally {
    await opened.close();
  }
}

async function createStage(opened: OpenedStore, clock: StoreClock, traits: StoreTraits): Promise<Stage> {
  const { durable = false, shared = false } = traits;
  demandTrait({ trait: "durable", declared: durable, method: "reopen", present: opened.reopen !== undefined });
  demandTrait({ trait: "shared", declared: shared, method: "join", present: opened.join !== undefined });
  const { store } = opened;
  const joined = await opened.join?.();
  return {
    clock,
    store,
    stores: joined === undefined ? [store] : [store, joined],
    // Only the checks of durable stores ask for it.
    reopen: async () => (await opened.reopen?.()) ?? store,
  };
}

/** Else a check that was meant to be made would be left out, and nobody would notice. */
function demandTrait(of: { trait: string; declared: boolean; method: string; present: boolean }): void {
  if (of.declared === of.present) return;
  const [has, lacks] = of.present
    ? [`the opened store has "${of.method}"`, `the traits do not say ${of.trait}: true`]
    : [`the traits say ${of.trait}: true`, `the opened store has no "${of.method}"`];
  throw new StoreError(`${has}, but ${lacks}`);
}

/** Starts near the real time, for stores that have a clock of their own, and always at the same second of a minute. */
function createClock(): StoreClock {
  let ms = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS + 30_500;
  return {
    now: () => ms,
    advance(by) {
      ms += by;
    },
  };
}
