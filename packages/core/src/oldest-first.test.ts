import fc from "fast-check";
import { expect, test } from "vitest";
import { createOldestFinder } from "./oldest-first.js";

const seed = Math.floor(Date.now() / 86_400_000);

test("an empty map has no oldest entry, and has one as soon as there is one", () => {
  const entries = new Map<string, object>();
  const findOldest = createOldestFinder(entries);
  expect(findOldest()).toBeUndefined();
  entries.set("a", {});
  expect(findOldest()?.[0]).toBe("a");
  entries.delete("a");
  expect(findOldest()).toBeUndefined();
  entries.set("b", {});
  expect(findOldest()?.[0]).toBe("b");
});

test("an entry that was set anew is the youngest", () => {
  const entries = new Map<string, object>([
    ["a", {}],
    ["b", {}],
  ]);
  const findOldest = createOldestFinder(entries);
  expect(findOldest()?.[0]).toBe("a");
  entries.delete("a");
  entries.set("a", {});
  expect(findOldest()?.[0]).toBe("b");
});

test(`whatever is set and deleted, the oldest is the one a new iteration begins with (seed ${seed})`, () => {
  const step = fc.record({ key: fc.integer({ min: 0, max: 9 }), isSet: fc.boolean(), isAsked: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const entries = new Map<number, object>();
      const findOldest = createOldestFinder(entries);
      for (const { key, isSet, isAsked } of steps) {
        entries.delete(key);
        if (isSet) entries.set(key, {});
        if (isAsked) expect(findOldest()).toEqual(entries.entries().next().value);
      }
      expect(findOldest()?.[1]).toBe(entries.entries().next().value?.[1]);
    }),
    { seed, numRuns: 300 },
  );
});
