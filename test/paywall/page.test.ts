/**
 * The page in Chromium. One stage and one window serve all cases, because to start them takes longer than the cases.
 */
import { afterAll, beforeAll, describe } from "vitest";
import { testOutcomes } from "./outcomes.js";
import { testPaying } from "./paying.js";
import { testShowing } from "./showing.js";
import { CHROMIUM, Stage, type Window } from "./stage.js";

describe.skipIf(CHROMIUM === undefined)("the page", () => {
  let stage: Stage;
  let window: Window;
  beforeAll(async () => {
    stage = await Stage.start();
    window = await stage.window();
  });
  afterAll(() => stage?.close());

  const scene = () => ({ stage, window });
  describe("a person", () => testPaying(scene));
  describe("while an outcome is not known", () => testOutcomes(scene));
  describe("a response that was paid for", () => testShowing(scene));
});
