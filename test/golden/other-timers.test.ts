/**
 * A request that never ends waits for as long on every machine: timers of the test's runner, which pass with the sequence's time, change
 * nothing.
 */
import { expect, test } from "vitest";
import { draw } from "./plan.js";
import { play } from "./play.js";
import { readRecording } from "./recording.js";
import { openStage } from "./stage.js";

/** Its first request never ends. */
const SEED = 375;

test("timers of others change nothing", async () => {
  const stage = await openStage("memory");
  try {
    const playing = play(stage, draw("memory", SEED));
    // The sequence's clock has taken the place of the system's.
    setInterval(() => {}, 33_337);
    expect(await playing).toBe(readRecording("memory")[SEED - 1]);
  } finally {
    await stage.close();
  }
});
