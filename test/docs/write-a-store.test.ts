/**
 * docs/guides/write-a-store.md says what a store does in which state; so does the code.
 */
import { readFileSync } from "node:fs";
import { type PaymentState, RELEASABLE, TRANSITIONS, UNFINISHED, UNLEASED } from "@farebox/core";
import { expect, test } from "vitest";

const DOCUMENT = readFileSync(new URL("../../docs/guides/write-a-store.md", import.meta.url), "utf8");

test("the table of states is the one in the code", () => {
  const rows = DOCUMENT.matchAll(/^\| `(\w+)` \|(.*)\|(.*)\|(.*)\|(.*)\|$/gm);
  const documented = [...rows].map(([, state, next = "", release, unfinished, renew]) => ({
    state,
    next: [...next.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    isReleased: release?.trim() === "deletes it",
    isListed: unfinished?.trim() === "yields it",
    isRenewed: renew?.trim() === "sets its lease",
  }));
  const states = Object.keys(TRANSITIONS) as PaymentState[];
  expect(documented).toEqual(
    states.map((state) => ({
      state,
      next: TRANSITIONS[state],
      isReleased: RELEASABLE.includes(state),
      isListed: UNFINISHED.includes(state),
      isRenewed: !UNLEASED.includes(state),
    })),
  );
});
