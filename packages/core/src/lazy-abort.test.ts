import { expect, test } from "vitest";
import { LazyAbort } from "./lazy-abort.js";

test("a signal that is asked for before hears of the abort, with its reason", () => {
  const abort = new LazyAbort();
  const { signal } = abort;
  expect(signal.aborted).toBe(false);
  const reason = new RangeError("why");
  abort.abort(reason);
  expect(signal.reason).toBe(reason);
});

test("a signal that is asked for afterwards was aborted, for the first reason", () => {
  const abort = new LazyAbort();
  const reason = new RangeError("why");
  abort.abort(reason);
  abort.abort(new RangeError("another"));
  expect([abort.signal.aborted, abort.signal.reason]).toEqual([true, reason]);
  expect(abort.signal).toBe(abort.signal);
});

test("without a reason it is Node's own", () => {
  const abort = new LazyAbort();
  abort.abort();
  expect(abort.signal.reason).toMatchObject({ name: "AbortError" });
});
