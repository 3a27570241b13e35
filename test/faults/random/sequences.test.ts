/**
 * Sequences of payments, faults, departures and deaths, in any order: a payer is debited at most once, gets the response, and
 * nothing is left behind. `draws.ts` says from which seeds sequences are generated.
 *
 * @module
 */
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { readDraws, USUAL_SEED } from "../../draws.js";
import { VERSIONS } from "../../express/shop.js";
import { judge } from "./judge.js";
import { KNOWN } from "./known.js";
import {
  ALL_CHANGES,
  ALL_HANDLERS,
  ALL_SETTLE_FAULTS,
  CLIENTS,
  DOINGS,
  describeSequence,
  MOMENTS,
  PRICINGS,
  sequences,
  VERIFY_FAULTS,
} from "./plan.js";
import { play } from "./play.js";
import { openStage, type Stage } from "./stage.js";

/** In one draw, for each version of Express. */
const SEQUENCES = 24;

const draws = readDraws("payments with faults, in sequences");

afterEach(() => void vi.useRealTimers());

describe.each(VERSIONS.map((version, at) => [...version, at] as const))("on %s", (name, express, at) => {
  test(
    "a payer is debited at most once, for a response that it gets, and nothing is left",
    async () => {
      const stage = await openStage(express);
      try {
        for (const seed of draws.seeds()) {
          const tally = await playMany(stage, seed, at);
          console.log(`${name}: ${JSON.stringify(tally)}`);
          // A run in which nothing was sold, or nothing went wrong, would prove nothing.
          expect(Math.min(tally.debits, tally.reruns, tally.unpaid)).toBeGreaterThan(0);
        }
      } finally {
        await stage.close();
      }
    },
    draws.timeoutMs,
  );
});

test("the usual draw has every handler, client, moment, fault and change", () => {
  const drawn = VERSIONS.flatMap((_, at) => fc.sample(fc.tuple(sequences), settingsOf(USUAL_SEED, at)));
  const steps = drawn.flatMap(([sequence]) => sequence.steps);
  const sent = steps.flatMap((step) => (step.kind === "send" ? [step] : []));
  expect(new Set(steps.map(({ kind }) => kind))).toEqual(new Set(["send", "pass", "die", "turn", "refuse"]));
  expect(new Set(drawn.map(([{ seller }]) => seller.pricing))).toEqual(new Set(PRICINGS));
  expect(new Set(sent.map(({ handler }) => handler))).toEqual(new Set(ALL_HANDLERS));
  expect(new Set(sent.map(({ client }) => client))).toEqual(new Set(CLIENTS));
  expect(new Set(sent.map(({ moment }) => moment?.when))).toEqual(new Set([undefined, ...MOMENTS]));
  expect(new Set(sent.map(({ moment }) => moment?.doing))).toEqual(new Set([undefined, ...DOINGS]));
  expect(new Set(sent.map(({ verify }) => verify))).toEqual(new Set([undefined, ...VERIFY_FAULTS]));
  expect(new Set(sent.map(({ settle }) => settle))).toEqual(new Set([undefined, ...ALL_SETTLE_FAULTS]));
  expect(new Set(sent.map(({ change }) => change))).toEqual(new Set(ALL_CHANGES));
  expect(new Set(sent.map(({ copyChange }) => copyChange))).toEqual(new Set(ALL_CHANGES));
});

/** Each version of Express plays sequences of its own, after those that are known. */
function settingsOf(seed: number, at: number) {
  const examples = KNOWN.map((one): [typeof one] => [one]);
  // Examples count as runs.
  return { seed: seed + at, numRuns: SEQUENCES + examples.length, examples };
}

/** Fails with the smallest sequence that something is wrong with, in words. */
async function playMany(stage: Stage, seed: number, at: number) {
  const tally = {
    sequences: 0,
    requests: 0,
    answers: {} as Record<number, number>,
    runs: 0,
    reruns: 0,
    debits: 0,
    unpaid: 0,
  };
  const property = fc.asyncProperty(sequences, async (sequence) => {
    const stray: unknown[] = [];
    const listen = (error: unknown) => stray.push(error);
    process.on("unhandledRejection", listen);
    try {
      const shop = await play(stage, sequence);
      const found = await judge(shop);
      const { runs, requests, payments } = shop.notes;
      tally.sequences++;
      tally.requests += requests.length;
      for (const { answer } of requests)
        tally.answers[answer?.status ?? 0] = (tally.answers[answer?.status ?? 0] ?? 0) + 1;
      tally.runs += runs.length;
      tally.reruns += runs.filter(({ isPaid, request }) => isPaid && request.id > 0).length;
      tally.debits += payments.filter(shop.isPaid).length;
      tally.unpaid += payments.filter((payment) => !shop.isPaid(payment)).length;
      if (found.length > 0 || stray.length > 0) throw new FoundError([...found, ...stray.map(String)].join("\n"));
    } finally {
      process.off("unhandledRejection", listen);
    }
  });
  const { failed, errorInstance, counterexample } = await fc.check(property, settingsOf(seed, at));
  if (!failed) return tally;
  const [sequence] = counterexample ?? [];
  const words = sequence === undefined ? "" : describeSequence(sequence);
  const reason = errorInstance instanceof Error ? (errorInstance.stack ?? "") : "";
  return expect.fail(`${reason}\n${words}\n  repeat with FAREBOX_SEED=${seed}`);
}

/** Tells a finding from a mistake in the test itself. */
class FoundError extends Error {}
