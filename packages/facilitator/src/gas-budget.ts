/**
 * The gas that each signer may spend within an hour. A chain books the most that a transaction can cost before it signs, and
 * corrects that when the real cost is known. So settlements at the same time cannot spend more than is left.
 *
 * The memory is in this process. A restarted facilitator begins with a full budget.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { FacilitatorScheme, Logger } from "@farebox/core";
import { canonicalNetwork } from "@farebox/core/protocol";
import { writeLine } from "./log.js";

/**
 * Books the most that a transaction can cost, in the smallest unit of the network's coin. `undefined`: it must not be signed.
 * The result corrects the booking, once.
 */
export type BookGas = (most: bigint) => ((cost: bigint) => void) | undefined;

/** A scheme whose chain asks before it spends. */
export interface MeteredScheme extends FacilitatorScheme {
  /** Sets whom the chain asks. The chains of `@farebox/evm`, `/svm` and `/avm` do. */
  meterGas?(book: BookGas): void;
}

/** The budget of one signer. */
export interface GasBudget {
  readonly book: BookGas;
  readonly perHour: bigint;
  /** Not booked within the last hour. */
  left(): bigint;
  /** `undefined`: there is enough for a usual transaction. Otherwise the seconds until there may be. */
  exhaustedForSeconds(): number | undefined;
}

type Alarm = "gas_budget_low" | "gas_budget_used_up";

/** A share of the budget at which the operator is told. */
const LOW_PERCENT = 80n;

const MINUTE_MS = 60_000;
/** One more than an hour, because the first and the last are not whole. */
const WINDOW_MINUTES = 61;

/** The bookings of one minute. */
interface Minute {
  readonly number: number;
  booked: bigint;
  /** The smallest that was asked for. */
  least: bigint | undefined;
}

/** @param now - Milliseconds, never backwards. */
export function createGasBudget(
  perHour: bigint,
  onAlarm: (event: Alarm, booked: bigint) => void,
  now: () => number = () => performance.now(),
): GasBudget {
  /** Oldest first. */
  const minutes: Minute[] = [];
  const quietUntil = new Map<Alarm, number>();

  function minute(): Minute {
    const number = Math.floor(now() / MINUTE_MS);
    while (minutes[0] !== undefined && minutes[0].number <= number - WINDOW_MINUTES) minutes.shift();
    const last = minutes.at(-1);
    if (last?.number === number) return last;
    const next: Minute = { number, booked: 0n, least: undefined };
    minutes.push(next);
    return next;
  }

  function booked(): bigint {
    minute();
    return minutes.reduce((sum, { booked: part }) => sum + part, 0n);
  }

  /** Tells each alarm about once an hour: callers must not be able to fill a log. */
  function tell(event: Alarm, total: bigint): void {
    const { number } = minute();
    if (number < (quietUntil.get(event) ?? 0)) return;
    quietUntil.set(event, number + WINDOW_MINUTES);
    onAlarm(event, total);
  }

  function tellIfLow(): void {
    const total = booked();
    if (total * 100n >= perHour * LOW_PERCENT) tell("gas_budget_low", total);
  }

  return {
    perHour,
    book(most) {
      const current = minute();
      // A payer that pays the fee itself asks for nothing.
      if (most > 0n && (current.least === undefined || most < current.least)) current.least = most;
      const total = booked();
      if (total + most > perHour) {
        tell("gas_budget_used_up", total);
        return undefined;
      }
      current.booked += most;
      tellIfLow();
      let isOpen = true;
      return (cost) => {
        if (isOpen) current.booked += cost - most;
        isOpen = false;
        tellIfLow();
      };
    },
    left() {
      const left = perHour - booked();
      return left > 0n ? left : 0n;
    },
    exhaustedForSeconds() {
      let total = booked();
      // The smallest of the hour: a transaction that asked for more says nothing about the others.
      let usual: bigint | undefined;
      for (const { least } of minutes) if (usual === undefined || (least !== undefined && least < usual)) usual = least;
      usual ??= 1n;
      if (total + usual <= perHour) return undefined;
      for (const { number, booked: part } of minutes) {
        total -= part;
        if (total + usual > perHour) continue;
        return Math.max(1, Math.ceil(((number + WINDOW_MINUTES) * MINUTE_MS - now()) / 1000));
      }
      return 3600;
    },
  };
}

/** A call of `settle`, as far as the budget is concerned. */
interface SettleCall {
  hasBooked: boolean;
  isRefused: boolean;
}

/** The settlement that a chain books for. One for the process: each storage costs every promise of it time and memory. */
const calls = new AsyncLocalStorage<SettleCall>();

/** The budgets of a facilitator's schemes. */
export interface GasBudgets {
  of(scheme: FacilitatorScheme): GasBudget | undefined;
  /** Runs a settlement, and says whether the budget is the reason that it sent nothing. */
  settle<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly isRefused: boolean }>;
}

/** Creates the budgets, one per network and signer, and has the chains ask them. */
export function createGasBudgets(
  schemes: readonly MeteredScheme[],
  perHour: ReadonlyMap<string, bigint>,
  logger: Logger | undefined,
): GasBudgets {
  const budgets = new Map<string, GasBudget>();

  function create(network: string, signers: readonly string[], most: bigint): GasBudget {
    return createGasBudget(most, (event, spent) => {
      const level = event === "gas_budget_low" ? "warn" : "error";
      const fields = { network, signer: signers.join(" "), booked: spent.toString(), perHour: most.toString() };
      writeLine(logger, level, event, fields);
    });
  }

  for (const scheme of schemes) {
    const network = canonicalNetwork(scheme.network);
    const most = perHour.get(network);
    if (most === undefined || scheme.meterGas === undefined) continue;
    const key = keyOf(scheme);
    const budget = budgets.get(key) ?? create(network, scheme.signers, most);
    budgets.set(key, budget);
    scheme.meterGas((cost) => {
      const correct = budget.book(cost);
      const call = calls.getStore();
      if (call !== undefined && correct === undefined) call.isRefused = true;
      if (call !== undefined && correct !== undefined) call.hasBooked = true;
      return correct;
    });
  }

  return {
    of: (scheme) => budgets.get(keyOf(scheme)),
    async settle(work) {
      if (budgets.size === 0) return { result: await work(), isRefused: false };
      const call: SettleCall = { hasBooked: false, isRefused: false };
      const result = await calls.run(call, work);
      return { result, isRefused: call.isRefused && !call.hasBooked };
    },
  };
}

function keyOf({ network, signers }: FacilitatorScheme): string {
  return [canonicalNetwork(network), ...signers].join(" ");
}
