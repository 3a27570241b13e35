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

test("tells listeners of that type, in the order in which they came, what happened and when", () => {
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

test("subscribers of the diagnostics channel get the very object that listeners get, and nobody can change it", () => {
  const { events } = createEvents();
  const subscribed = subscribe("granted");
  const heard: PaymentEvent[] = [];
  events.on("granted", (event) => heard.push(event));
  events.emit("granted", () => ({ route: "GET /a" }));
  expect(heard).toHaveLength(1);
  expect(subscribed[0]).toBe(heard[0]);
  expect(Object.isFrozen(heard[0])).toBe(true);
});

test("subscribers are told when nobody else listens", () => {
  const subscribed = subscribe("facilitator_down");
  createEvents().events.emit("facilitator_down", () => DOWN);
  expect(subscribed).toEqual([{ type: "facilitator_down", atMs: 5, ...DOWN }]);
});

test("puts nothing together, and asks no clock, when nobody listens", () => {
  const now = vi.fn(() => 5);
  const { events } = createEvents(now);
  const describe = vi.fn(() => ({ route: "GET /a" }));
  events.on("challenged", () => {});
  events.on("granted", () => {})();
  events.emit("granted", describe);
  expect([now.mock.calls, describe.mock.calls]).toEqual([[], []]);
});

test("the same function may listen twice; each ends by itself, also while it is told", () => {
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
  ["throws what cannot be looked at", () => Promise.reject(HOSTILE), "unknown"],
  ["returns what cannot be looked at", () => HOSTILE, "Error"],
])("a listener that %s is logged without its words; the next one is told all the same", async (_how, fail, error) => {
  const { events, log } = createEvents();
  const heard: unknown[] = [];
  events.on("granted", fail as () => void);
  events.on("granted", (event) => heard.push(event.route));
  events.emit("granted", () => ({ route: "GET /a" }));
  await new Promise(setImmediate);
  expect(heard).toEqual(["GET /a"]);
  expect(log).toEqual([{ event: "listener_failed", fields: { type: "granted", error } }]);
});

test("a clock that fails is logged, and nothing is thrown at whoever settles", () => {
  const { events, log } = createEvents(() => {
    throw new RangeError("a secret");
  });
  events.on("granted", () => {});
  events.emit("granted", () => ({ route: "GET /a" }));
  expect(log).toEqual([{ event: "event_failed", fields: { type: "granted", error: "RangeError" } }]);
});

test("knows its types, and no others", () => {
  expect(["settled", "facilitator_up"].every(isPaymentEventType)).toBe(true);
  expect(["Settled", "toString", "__proto__", "", undefined, 1, {}].some(isPaymentEventType)).toBe(false);
});

test("the name of an error is one short line, and looking at it never throws", () => {
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
