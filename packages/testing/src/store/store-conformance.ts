/**
 * The conformance checks for `PaymentStore`, as a list for any test runner.
 *
 * @module
 */
import { CLAIM_CHECKS, RELEASE_CHECKS } from "./claim-checks.js";
import {
  EXPIRY_CHECKS,
  KEEPING_CHECKS,
  REOPEN_CHECKS,
  REOPEN_EXPIRY_CHECKS,
  SHARED_CHECKS,
} from "./durability-checks.js";
import { EXPOSURE_CHECKS, REOPEN_EXPOSURE_CHECKS } from "./exposure-checks.js";
import { FIELD_CHECKS } from "./field-checks.js";
import { IDENTIFIER_CHECKS } from "./identifier-checks.js";
import { LEDGER_CHECKS, REOPEN_LEDGER_CHECKS } from "./ledger-checks.js";
import { KEEP_CHECKS, RENEW_CHECKS, REOPEN_KEEP_CHECKS, RUN_CHECKS, WATCH_CHECKS } from "./optional-checks.js";
import { roomChecks } from "./room-checks.js";
import { MINUTE_MS } from "./sample-payments.js";
import { type Check, type OpenedStore, type Stage, type StoreClock, StoreError, type StoreTraits } from "./stage.js";
import { TRANSACTION_CHECKS } from "./transaction-checks.js";
import { TRANSITION_CHECKS } from "./transition-checks.js";
import { UNFINISHED_CHECKS } from "./unfinished-checks.js";

/** One check, for any test runner. */
export interface StoreCheck {
  /** The requirement, e.g. `release: works for the owner only`. Unique in the list. */
  readonly name: string;
  /**
   * Opens a store, checks it, and closes it.
   *
   * @throws {@link StoreError} when the store does not conform, or throws
   */
  run(): Promise<void>;
}

/**
 * Creates the checks that every implementation of `PaymentStore` must pass. They are independent: run them in any order, or
 * concurrently.
 *
 * @param open - Opens an empty store. The clock is for stores that accept one.
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

function checksFor(traits: StoreTraits): readonly Check[] {
  const { durable = false, shared = false, ownClock = false } = traits;
  return [
    ...CLAIM_CHECKS,
    ...TRANSITION_CHECKS,
    ...RELEASE_CHECKS,
    ...IDENTIFIER_CHECKS,
    ...TRANSACTION_CHECKS,
    ...FIELD_CHECKS,
    ...UNFINISHED_CHECKS,
    ...KEEPING_CHECKS,
    ...(ownClock ? [] : EXPIRY_CHECKS),
    ...(durable ? REOPEN_CHECKS : []),
    ...(durable && !ownClock ? REOPEN_EXPIRY_CHECKS : []),
    ...(shared ? SHARED_CHECKS : []),
    ...(traits.renew ? RENEW_CHECKS : []),
    ...(traits.watch ? WATCH_CHECKS : []),
    ...(traits.runs ? RUN_CHECKS : []),
    ...(traits.exposure ? EXPOSURE_CHECKS : []),
    ...(traits.exposure && durable ? REOPEN_EXPOSURE_CHECKS : []),
    ...(traits.ledger ? LEDGER_CHECKS : []),
    ...(traits.ledger && durable ? REOPEN_LEDGER_CHECKS : []),
    ...(traits.keep ? KEEP_CHECKS : []),
    ...(traits.keep && durable ? REOPEN_KEEP_CHECKS : []),
    ...(traits.maxAnswerBytes === undefined ? [] : roomChecks(traits.maxAnswerBytes)),
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
  demandTrait("durable", durable, "reopen", opened.reopen !== undefined);
  demandTrait("shared", shared, "join", opened.join !== undefined);
  const { store } = opened;
  for (const part of ["renew", "watch", "runs", "exposure", "ledger", "keep"] as const) {
    demandTrait(part, traits[part] ?? false, part, store[part] !== undefined);
  }
  const joined = await opened.join?.();
  return {
    clock,
    store,
    stores: joined === undefined ? [store] : [store, joined],
    // Only the checks of durable stores call it.
    reopen: async () => (await opened.reopen?.()) ?? store,
  };
}

/** A trait and its method must agree, or a check would be left out unnoticed. */
function demandTrait(trait: string, declared: boolean, method: string, present: boolean): void {
  if (declared === present) return;
  const [has, lacks] = present
    ? [`the opened store has "${method}"`, `the traits do not say ${trait}: true`]
    : [`the traits say ${trait}: true`, `the opened store has no "${method}"`];
  throw new StoreError(`${has}, but ${lacks}`);
}

/** Starts near the real time, for stores with their own clock, and always at the same second of a minute. */
function createClock(): StoreClock {
  let ms = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS + 30_500;
  return {
    now: () => ms,
    advance(by) {
      ms += by;
    },
  };
}
