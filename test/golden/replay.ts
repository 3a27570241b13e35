/**
 * Golden sequences: {@link COUNTS} seeded sequences of payments, faults, departures and deaths, each with a transcript of what happened.
 *
 *   plan.ts        what a sequence is, drawn from its seed, and in words
 *   play.ts        plays one: stage.ts, wire.ts, seller.ts, handler.ts, hooks.ts, payers.ts, client.ts, bank.ts, wallet.ts, stores.ts, servers.ts, clock.ts
 *   transcript.ts  what is written down: responses.ts, records.ts
 *   recording.ts   the recorded transcripts, in `recorded/`
 *   compare.ts     what differs, in two grades
 *
 * They are the same on every machine, however busy it is, and on every version of Node: `wire.ts` is the network, a store gets one call at
 * a time, and the clock is the sequence's. `pnpm test` replays a fifth of those in memory, and `pnpm test:stores` all others.
 *
 * `pnpm golden:record` records them anew, and prints what is different by kind: do that only for a change that is meant. `pnpm golden:record --list`
 * compares, and changes no file.
 *
 * @module
 */
import { appendFileSync } from "node:fs";
import { afterAll, beforeAll, expect, describe as group, test } from "vitest";
import { compare, type Difference } from "./compare.js";
import { COUNTS, describe, draw, type Kind } from "./plan.js";
import { play } from "./play.js";
import { readRecording, writeRecording } from "./recording.js";
import { openStage, type Stage } from "./stage.js";

/** Sequences of one test. */
const TOGETHER = 20;

/** For 20 sequences, which take a second or two: time is no subject of these tests. */
const PATIENCE_MS = 600_000;

/** `pnpm test` replays one in so many of those in memory. */
const SHARE = 5;

/**
 * `record`: write what is played. `list`: write nothing, and fail nothing. `all`: replay all. `others`: replay those that `pnpm test` leaves
 * out. `memory 17`: replay this one alone.
 */
const wish = process.env["FAREBOX_GOLDEN"] ?? "";

/** Where differences are told, for `record.mjs`. */
const report = process.env["FAREBOX_GOLDEN_REPORT"];

const isRecording = wish === "record" || wish === "list";

/** Replays the sequences of a kind, in tests of their own. */
export function replay(kind: Kind): void {
  const recorded = readRecording(kind);
  const seeds = seedsOf(kind, recorded.length);
  const played: string[] = [];
  let stage: Stage | undefined;
  // A test that ran out of time goes on beside the next one, and spoils it.
  let isAtWork = false;

  group(`sequences of kind ${kind}`, () => {
    beforeAll(async () => {
      stage = await openStage(kind);
    }, PATIENCE_MS);
    afterAll(async () => {
      await stage?.close();
      if (wish === "record" && played.length === COUNTS[kind]) writeRecording(kind, played);
    }, PATIENCE_MS);

    test.skipIf(isRecording)("there is a transcript of each", () => {
      expect(recorded.length).toBe(COUNTS[kind]);
    });

    for (let from = 0; from < seeds.length; from += TOGETHER) {
      const some = seeds.slice(from, from + TOGETHER);
      test(`${some[0]} to ${some.at(-1)} are as they were recorded`, { timeout: PATIENCE_MS }, async () => {
        if (stage === undefined || isAtWork) throw new Error("an earlier sequence never came to an end");
        isAtWork = true;
        const found: Found[] = [];
        try {
          for (const seed of some) {
            const transcript = await play(stage, draw(kind, seed));
            played.push(transcript);
            const difference = compare(recorded[seed - 1] ?? transcript, transcript);
            if (difference !== undefined) found.push({ kind, seed, ...difference });
          }
        } finally {
          isAtWork = false;
        }
        conclude(found, some.length);
      });
    }
  });
}

interface Found extends Difference {
  readonly kind: Kind;
  readonly seed: number;
}

function seedsOf(kind: Kind, recorded: number): readonly number[] {
  const [onlyKind, onlySeed] = wish.split(" ");
  if (onlySeed !== undefined) return onlyKind === kind ? [Number(onlySeed)] : [];
  const all = Array.from({ length: isRecording ? COUNTS[kind] : recorded }, (_, at) => at + 1);
  if (kind !== "memory" || isRecording || wish === "all") return all;
  return all.filter((seed) => (seed % SHARE === 0) === (wish === ""));
}

/** Fails with the first sequence that differs; or tells `record.mjs` of all. */
function conclude(found: readonly Found[], count: number): void {
  const [first] = found;
  if (first === undefined) return;
  if (report !== undefined) appendFileSync(report, found.map((one) => `${JSON.stringify(one)}\n`).join(""));
  if (!isRecording) expect.fail(`${found.length} of ${count} sequences differ. The first one:\n${tell(first)}`);
}

function tell({ kind, seed, grade, kinds, excerpt }: Found): string {
  const { head, lines } = describe(draw(kind, seed));
  const what =
    grade === "store"
      ? "Only other calls of the store differ. If that is meant, record anew."
      : `What others see differs: ${kinds.filter((one) => one !== "store").join(", ") || "the order"}.`;
  const words = lines.map((line, at) => `  ${at + 1}. ${line}`);
  const again = `FAREBOX_GOLDEN="${kind} ${seed}" npx vitest run --config test/vitest.config.ts test/golden/${kind}.test.ts`;
  return [`${what}\n${head}`, ...words, "", excerpt, "", `Alone: ${again}`].join("\n");
}
