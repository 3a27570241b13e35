/**
 * Test files share a process. Fails a file that leaves something behind in it: a clock that is not the real one, a listener to
 * errors, a variable of the environment, another working directory.
 *
 * @module
 */
import { afterAll, expect, vi } from "vitest";

const before = lookAround();

afterAll(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  const after = lookAround();
  vi.useRealTimers();
  expect(after).toEqual(before);
});

function lookAround(): object {
  return {
    hasRealTimers: !vi.isFakeTimers(),
    hasRealClock: vi.getMockedSystemTime() === null,
    listeners: ["uncaughtException", "unhandledRejection", "warning"].map((name) => process.listenerCount(name)),
    environment: { ...process.env },
    folder: process.cwd(),
  };
}
