import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createPaymentMemory } from "../facilitator/payment-memory.js";
import { createAnswerRoom } from "./answer-room.js";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const ANSWER = { status: 200, headers: [], body: new Uint8Array(1) };
const PAYMENTS = 200_000;

test.each<[string, () => (payment: string) => void]>([
  [
    "the room for answers",
    () => {
      const room = createAnswerRoom(1_000_000);
      room.keep("stays", ANSWER);
      return (payment) => {
        room.keep(payment, ANSWER);
        room.keep(payment, undefined);
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
])("payments that come and go leave nothing behind in %s, though an older one stays", (_where, create) => {
  const comeAndGo = create();
  const pass = () => {
    for (let at = 0; at < PAYMENTS; at++) comeAndGo(`payment ${at}`);
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = pass();
  // Twenty bytes for each payment would be seen.
  expect(pass() - before).toBeLessThan(PAYMENTS * 20);
});
