/**
 * Golden sequences: {@link COUNTS} seeded sequences of payments, faults, departures and deaths, each with a transcript of what happened.
 *
 *   plan.ts        what a sequence is, drawn from its seed, and in words
 *   play.ts        plays one: stage.ts, seller.ts, handler.ts, hooks.ts, client.ts, bank.ts, wallet.ts, stores.ts, servers.ts, clock.ts
 *   transcript.ts  what is written down: responses.ts, records.ts
 *   recording.ts   the recorded transcripts, in `recorded/`
 *   compare.ts     what differs, in two grades
 *
 * `pnpm test` replays those of a store in memory, `pnpm test:stores` the others. `pnpm golden:record` records them anew, and prints what
 * is different by kind: do that only for a change that is meant. `pnpm golden:record --list` changes no file.
 *
 * A line depends on the seed alone, not on the machine, the version of Node or the load: time passes when a sequence says so (clock.ts),
 * and the next thing is done when nothing happens any more (`rest` in play.ts). What is random is written as the order in which it
 * appeared. Each sequence has an app, a store and a chain of its own, so that it can be replayed alone.
 *
 * @module
 */
import { appendFileSync } from "node:fs";
import { afterAll, beforeAll, expect, describe as group, test } from "vitest";
import { compare } from "./compare.js";
import { COUNTS, describe, draw, type Kind } from "./plan.js";
import { play } from "./play.js";
import { readRecording, writeRecording } from "./recording.js";
import { openStage, type Stage } from "./stage.js";

/** Sequences of one test. */
const TOGETHER = 50;

/** Hours, on a machine that stands still. It is no subject of these tests. */
const PATIENCE_MS = 600_000;

/** `record`: write what is played. `list`: write nothing. `memory 17`: play this one alone. */
const wish = process.env["FAREBOX_GOLDEN"] ?? "";

/** Where differences are told, for `record.mjs`. */
const report = process.env["FAREBOX_GOLDEN_REPORT"];

/** Replays the sequences of a kind, in tests of their own. */
export function replay(kind: Kind, file: string): void {
  const recorded = readRecording(kind);
  const isRecording = wish === "record" || wish === "list";
  const count = isRecording ? COUNTS[kind] : recorded.length;
  const [onlyKind, onlySeed] = wish.split(" ");
  const isAlone = onlySeed !== undefined;
  const seeds = isAlone
    ? [Number(onlySeed)].filter(() => onlyKind === kind)
    : Array.from({ length: count }, (_, at) => at + 1);
  const played: string[] = [];
  let stage: Stage | undefined;

  group(`sequences of kind ${kind}`, () => {
    beforeAll(async () => {
      stage = await openStage(kind);
    }, PATIENCE_MS);
    afterAll(async () => {
      await stage?.close();
      if (wish === "record" && played.length === count) writeRecording(kind, played);
    }, PATIENCE_MS);

    test.runIf(!isRecording && !isAlone)("there is a transcript of each", () => {
      expect(recorded.length).toBe(COUNTS[kind]);
    });

    for (let from = 0; from < seeds.length; from += TOGETHER) {
      const some = seeds.slice(from, from + TOGETHER);
      test(
        `${some[0]} to ${some.at(-1)} are as they were recorded`,
        async () => {
          if (stage === undefined) throw new Error("there is no stage");
          const problems: string[] = [];
          for (const seed of some) {
            const transcript = await play(stage, draw(kind, seed));
            if (isRecording) played.push(transcript);
            const before = recorded[seed - 1];
            if (isRecording && before === undefined) continue;
            const difference = compare(before ?? "", transcript);
            if (difference === undefined) continue;
            if (report !== undefined) appendFileSync(report, `${JSON.stringify({ kind, seed, ...difference })}\n`);
            if (!isRecording) problems.push(tell(kind, seed, difference, file));
          }
          if (problems.length > 0)
            expect.fail(`${problems.length} of ${some.length} sequences differ. The first one:\n${problems[0]}`);
        },
        PATIENCE_MS,
      );
    }
  });
}

function tell(
  kind: Kind,
  seed: number,
  { grade, kinds, excerpt }: NonNullable<ReturnType<typeof compare>>,
  file: string,
): string {
  const { head, lines } = describe(draw(kind, seed));
  const what =
    grade === "store"
      ? "Only other calls of the store differ. If that is meant, record anew."
      : `What others see differs: ${kinds.filter((one) => one !== "store").join(", ") || "the order"}.`;
  const words = lines.map((line, at) => `  ${at + 1}. ${line}`);
  const again = `FAREBOX_GOLDEN="${kind} ${seed}" npx vitest run --config test/vitest.config.ts test/golden/${file}`;
  return [`${what}\n${head}`, ...words, "", excerpt, "", `Alone: ${again}`].join("\n");
}
