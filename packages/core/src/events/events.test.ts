import diagnostics from "node:diagnostics_channel";
import { expect, onTestFinished, test, vi } from "vitest";
import { createPaymentEvents, isPaymentEventType, type PaymentEvent } from "./events.js";
import { errorName, type LogFields } from "./logger.js";

function createEvents(now: () => number = () => 5) {
  const log: { event: string; fields: LogFields }[] = [];
  const note = (event: string, fields: LogFields) => void log.push({ event, fields });
  return { log, events: createPaymentEvents({ info: note, warn: note, error: note }, now) };
}

function subscribe(type: string): unknown[] {
  const heard: unknown[] = [];
  const hear = (message: unknown) => void heard.push(message);
  diagnostics.subscribe(`farebox:${type}`, hear);
  onTestFinished(() => void diagnostics.unsubscribe(`farebox:${type}`, hear));
  return heard;
}

const DOWN = { facilitator: "a", code: undefined };

test("emit calls the listeners of its type in their order, with type, time and fields", () => {
  const { events } = createEvents();
  const heard: unknown[] = [];
  events.on("granted", (event) => heard.push([1, event]));
  events.on("granted", (event) => heard.push([2, event]));
  events.on("challenged", (event) => heard.push(event));
  events.emit("granted", () => ({ route: "GET /a" }));
  const event = { type: "granted", atMs: 5, route: "GET /a" };
  expect(heard).toEqual([
    [1, event],
    [2, event],
  ]);
});

test("subscribers of the diagnostics channel get the same frozen object as listeners", () => {
  const { events } = createEvents();
  const subscribed = subscribe("granted");
  const heard: PaymentEvent[] = [];
  events.on("granted", (event) => heard.push(event));
  events.emit("granted", () => ({ route: "GET /a" }));
  expect(heard).toHaveLength(1);
  expect(subscribed[0]).toBe(heard[0]);
  expect(Object.isFrozen(heard[0])).toBe(true);
});

test("subscribers of the diagnostics channel get events without any listener", () => {
  const subscribed = subscribe("facilitator_down");
  createEvents().events.emit("facilitator_down", () => DOWN);
  expect(subscribed).toEqual([{ type: "facilitator_down", atMs: 5, ...DOWN }]);
});

test("emit neither describes the event nor reads the clock without a listener", () => {
  const now = vi.fn(() => 5);
  const { events } = createEvents(now);
  const describe = vi.fn(() => ({ route: "GET /a" }));
  events.on("challenged", () => {});
  events.on("granted", () => {})();
  events.emit("granted", describe);
  expect([now.mock.calls, describe.mock.calls]).toEqual([[], []]);
});

test("a function can listen twice, and be removed once, also during an event", () => {
  const { events } = createEvents();
  let count = 0;
  const listener = () => void count++;
  const off = events.on("granted", listener);
  events.on("granted", listener);
  const offSelf = events.on("granted", () => offSelf());
  const tell = () => events.emit("granted", () => ({ route: "" }));
  tell();
  expect(count).toBe(2);
  off();
  off();
  tell();
  expect(count).toBe(3);
});

const HOSTILE = new Proxy(
  {},
  {
    get() {
      throw new Error("get");
    },
    getPrototypeOf() {
      throw new Error("getPrototypeOf");
    },
  },
);

test.each<[string, () => unknown, string]>([
  [
    "throws",
    () => {
      throw new TypeError("a secret");
    },
    "TypeError",
  ],
  ["rejects", async () => Promise.reject(new RangeError("a secret")), "RangeError"],
  ["rejects with a hostile proxy", () => Promise.reject(HOSTILE), "unknown"],
  ["returns a hostile proxy", () => HOSTILE, "Error"],
])("a listener that %s is logged without its message, and the next one is called", async (_how, fail, error) => {
  const { events, log } = createEvents();
  const heard: unknown[] = [];
  events.on("granted", fail as () => void);
  events.on("granted", (event) => heard.push(event.route));
  events.emit("granted", () => ({ route: "GET /a" }));
  await new Promise(setImmediate);
  expect(heard).toEqual(["GET /a"]);
  expect(log).toEqual([{ event: "listener_failed", fields: { type: "granted", error } }]);
});

test("a failing clock is logged, and emit does not throw", () => {
  const { events, log } = createEvents(() => {
    throw new RangeError("a secret");
  });
  events.on("granted", () => {});
  events.emit("granted", () => ({ route: "GET /a" }));
  expect(log).toEqual([{ event: "event_failed", fields: { type: "granted", error: "RangeError" } }]);
});

test("isPaymentEventType accepts the types of events only", () => {
  expect(["settled", "facilitator_up"].every(isPaymentEventType)).toBe(true);
  expect(["Settled", "toString", "__proto__", "", undefined, 1, {}].some(isPaymentEventType)).toBe(false);
});

test("errorName returns one short line, and never throws", () => {
  const named = (name: unknown) => Object.defineProperty(new Error(), "name", { value: name });
  const getter = Object.defineProperty(new Error(), "name", {
    get() {
      throw new Error("no name");
    },
  });
  expect([named("A\r\nB"), named("x".repeat(9999)), named(1), getter, HOSTILE, null, "text"].map(errorName)).toEqual([
    "A B",
    "x".repeat(200),
    ...Array(5).fill("unknown"),
  ]);
});
