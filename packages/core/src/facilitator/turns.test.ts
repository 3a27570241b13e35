import { expect, test } from "vitest";
import { createTurns } from "./pool.js";

/** A task that the test ends. */
function task(log: string[], name: string) {
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const run = async () => {
    log.push(`${name} begins`);
    await ended;
    log.push(`${name} ends`);
    return name;
  };
  return { run, end };
}

test("tasks of one key run one after the other, and tasks of other keys at once", async () => {
  const log: string[] = [];
  const [a, b, c, other] = ["a", "b", "c", "other"].map((name) => task(log, name));
  const take = createTurns();
  const turns = [take("k", a!.run), take("k", b!.run), take("k", c!.run), take("l", other!.run)];
  for (const each of [other, c, b, a]) each!.end();
  expect(await Promise.all(turns)).toEqual(["a", "b", "c", "other"]);
  const ofOneKey = log.filter((line) => !line.startsWith("other"));
  expect(ofOneKey).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
  expect(log.slice(0, 2)).toEqual(["a begins", "other begins"]);
});

test("a failed task does not stop the next one", async () => {
  const take = createTurns();
  const first = take("k", () => Promise.reject(new RangeError("first")));
  const second = take("k", async () => "second");
  await expect(first).rejects.toThrow("first");
  await expect(second).resolves.toBe("second");
  await expect(take("k", async () => "third")).resolves.toBe("third");
});
