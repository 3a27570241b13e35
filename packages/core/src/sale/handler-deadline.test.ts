import { AsyncLocalStorage } from "node:async_hooks";
import { expect, test } from "vitest";
import { startTimer } from "../config/parse-options.js";
import { PaymentAbortedError } from "../errors.js";
import type { StartTimer } from "../options.js";
import {
  admissionOf,
  createShop,
  HANDLED,
  NETWORK,
  NOW_SECONDS,
  readResponse,
  responseOf,
  VALID,
} from "./shop.fixture.js";

const IDENTITY = `${NETWORK}|n1`;
/** A settlement may begin until six seconds before the payment expires. */
const DEADLINE_MS = (NOW_SECONDS + 294) * 1000 + 1;

/** Timers that the test fires. */
function createTimers() {
  const pending = new Map<() => void, number>();
  const timer: StartTimer = (act, delayMs) => {
    pending.set(act, delayMs);
    return () => void pending.delete(act);
  };
  const fire = () => {
    for (const act of [...pending.keys()]) {
      pending.delete(act);
      act();
    }
  };
  return { timer, fire, delays: () => [...pending.values()] };
}

async function admitted() {
  const timers = createTimers();
  const shop = createShop({ timer: timers.timer });
  const admission = admissionOf(await shop.pay());
  return { ...shop, ...timers, admission, signal: admission.payment.signal };
}

const reasonOf = ({ reason }: AbortSignal) => (reason as PaymentAbortedError).reason;

test("payment.signal exists and is left out of the payment's JSON", async () => {
  const { admission, signal } = await admitted();
  expect(signal.aborted).toBe(false);
  expect(JSON.parse(JSON.stringify(admission.payment))).not.toHaveProperty("signal");
});

test("a late handler's claim is released, then the client gets 504, then the signal aborts", async () => {
  const { admission, signal, clock, fire, delays, store, facilitator, pay } = await admitted();
  const order: string[] = [];
  const responses: Promise<ReturnType<typeof readResponse>>[] = [];
  admission.onExpired((instead) => {
    order.push("response");
    responses.push(instead.then(readResponse));
  });
  signal.addEventListener("abort", () => order.push("signal"));
  expect(delays()).toEqual([DEADLINE_MS - clock.ms]);
  clock.ms = DEADLINE_MS;
  fire();
  expect(order).toEqual(["response", "signal"]);
  expect(signal.reason).toBeInstanceOf(PaymentAbortedError);
  expect(signal.reason).toMatchObject({ code: "ERR_FAREBOX_PAYMENT_ABORTED", reason: "expired" });
  expect(await responses[0]).toMatchObject({ status: 504, json: { error: "payment_expired" } });
  expect(await store.find(IDENTITY)).toBeUndefined();
  expect(await admission.complete(HANDLED)).toMatchObject({ kind: "replace", response: { status: 504 } });
  expect(facilitator.count("settle")).toBe(0);
  expect(delays()).toEqual([]);
  // Too little of its time is left for another run.
  expect(responseOf(await pay()).json["error"]).toBe("payment_expired");
});

test("a deadline timer that fires early is started again", async () => {
  const { signal, clock, fire, delays } = await admitted();
  clock.ms = DEADLINE_MS - 1;
  fire();
  expect(signal.aborted).toBe(false);
  expect(delays()).toEqual([1]);
});

test("a deadline timer's delay stays between 0 and the longest that Node supports", async () => {
  const { timer, delays } = createTimers();
  const shop = createShop({ timer });
  admissionOf(await shop.pay({ payload: { expiresAtSeconds: NOW_SECONDS + 2 ** 32 } }));
  expect(delays()).toEqual([2 ** 31 - 1]);
  // The facilitator took all the time that was left.
  shop.facilitator.verifies = () => {
    shop.clock.ms = DEADLINE_MS + 1;
    return VALID;
  };
  admissionOf(await shop.pay({ payload: { nonce: "n2" } }));
  // One timer waits for the first of both.
  expect(delays()).toEqual([0]);
});

test.each([
  ["completed", "complete"],
  ["cancelled", "cancel"],
] as const)("a handler that is %s leaves no timer behind", async (_how, end) => {
  const { admission, delays } = await admitted();
  await admission[end](HANDLED);
  expect(delays()).toEqual([]);
});

test("a client that disconnects aborts the signal, once", async () => {
  const { admission, signal, delays } = await admitted();
  await admission.cancel();
  expect(reasonOf(signal)).toBe("client_gone");
  const { reason } = signal;
  admission.leave();
  expect(signal.reason).toBe(reason);
  expect(delays()).toEqual([]);
});

test("a client that disconnects after settlement aborts the signal and changes nothing else", async () => {
  const { admission, signal, store } = await admitted();
  await admission.complete(HANDLED);
  expect(signal.aborted).toBe(false);
  admission.leave();
  expect(reasonOf(signal)).toBe("client_gone");
  expect((await store.find(IDENTITY))?.state).toBe("settled");
});

test("a late handler's client gets 504 even if the store fails to release the claim", async () => {
  const { admission, clock, fire, store, log } = await admitted();
  store.release = () => Promise.reject(new Error("down"));
  const instead = new Promise<number>((resolve) =>
    admission.onExpired((response) => void response.then(({ status }) => resolve(status))),
  );
  clock.ms = DEADLINE_MS;
  fire();
  expect(await instead).toBe(504);
  expect(log.map(({ event }) => event)).toEqual(["claim_not_released"]);
});

test("the default timer calls back unless stopped, and keeps no process alive", async () => {
  const active = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = active();
  const stop = startTimer(() => expect.unreachable(), 0);
  expect(active()).toBe(before);
  stop();
  // Timers of the same length fire in the order in which they were started.
  const keepAlive = setTimeout(() => {}, 60_000);
  await new Promise<void>((resolve) => void startTimer(resolve, 0));
  clearTimeout(keepAlive);
});

test("each payment expires in the context of its own request, and the timer for all is of none", async () => {
  const requests = new AsyncLocalStorage<string>();
  const { timer, fire } = createTimers();
  const startedIn: unknown[] = [];
  const shop = createShop({
    timer(act, delayMs) {
      startedIn.push(requests.getStore());
      return timer(act, delayMs);
    },
  });
  const seen: string[] = [];
  for (const name of ["a", "b"]) {
    await requests.run(name, async () => {
      const { signal } = admissionOf(await shop.pay({ payload: { nonce: name } })).payment;
      signal.addEventListener("abort", () => seen.push(`${name} in ${requests.getStore()}`));
    });
  }
  shop.clock.ms = DEADLINE_MS;
  requests.run("timer", fire);
  expect(seen).toEqual(["a in a", "b in b"]);
  expect(startedIn).toEqual([undefined]);
});
