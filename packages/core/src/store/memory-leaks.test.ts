import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createPaymentMemory } from "../facilitator/payment-memory.js";
import { MemoryExposure } from "./memory-exposure.js";
import { ANSWER, CLAIM } from "./memory-store.fixture.js";
import { createMemoryStore } from "./memory-store.js";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const PAYMENTS = 50_000;

test.each<[string, () => (payment: string) => void]>([
  [
    "the payment store",
    () => {
      const store = createMemoryStore(() => 0);
      const serve = (identity: string) => {
        store.claim({ ...CLAIM, identity, identifier: `id of ${identity}` });
        store.transition({ identity, from: "claimed", to: "settling", owner: "run", answer: ANSWER });
        store.transition({ identity, from: "settling", to: "rejected", owner: "run" });
      };
      serve("stays");
      return (payment) => {
        serve(payment);
        store.release(payment, "run");
      };
    },
  ],
  [
    "the memory of facilitators",
    () => {
      const memory = createPaymentMemory({ now: () => 0 });
      memory.sent("stays", "a.example");
      return (payment) => {
        memory.sent(payment, "a.example");
        memory.unsent(payment);
      };
    },
  ],
  [
    "the exposure",
    () => {
      const exposure = new MemoryExposure();
      const put = (identity: string) => {
        const entry = { identity, payer: `payer of ${identity}`, micros: "5", untilMs: 60_000, isDue: true };
        exposure.put(entry, 0);
        exposure.put({ ...entry, untilMs: 61_000 }, 0);
        return entry;
      };
      put("stays");
      return (payment) => exposure.remove(put(payment));
    },
  ],
])("payments that come and go leave nothing behind in %s, even if an older one stays", (_where, create) => {
  const comeAndGo = create();
  const pass = () => {
    for (let at = 0; at < PAYMENTS; at++) comeAndGo(`payment ${at}`);
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = pass();
  // A leak of twenty bytes for each payment would show.
  expect(pass() - before).toBeLessThan(PAYMENTS * 20);
});
