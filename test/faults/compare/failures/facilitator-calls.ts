/**
 * Verifications and settlements that go wrong, or whose answer is lost.
 *
 * @module
 */
import type { Fault } from "@farebox/testing";
import type { Facts, Failure } from "../failure.js";
import { obey } from "../scene.js";

/** A fault that strikes the first call. */
interface Strike {
  readonly failure: string;
  readonly operation: "verify" | "settle";
  readonly fault: Fault;
  /** Default: the client is told to send the same payment again, and gets the goods for it. */
  readonly expected?: Facts;
  readonly patienceMs?: number;
}

const HTML = { headers: { "Content-Type": "text/html" }, body: "<html><body><h1>Bad Gateway</h1></body></html>" };

const JSON_TYPE = { "Content-Type": "application/json" };
const REFUSAL = { success: false, errorReason: "insufficient_funds", transaction: "", network: "eip155:84532" };
const EMPTY_SUCCESS = { success: true, transaction: "", network: "eip155:84532" };

const STRIKES: readonly Strike[] = [
  {
    failure: "settle: refused, the payer has spent the money elsewhere",
    operation: "settle",
    fault: { kind: "status", status: 200, headers: JSON_TYPE, body: JSON.stringify(REFUSAL) },
    expected: { answers: [402, 200], runs: 2, debits: 1 },
  },
  {
    failure: "settle: the money moves, the connection is reset",
    operation: "settle",
    fault: { kind: "drop", when: "after" },
  },
  {
    failure: "settle: the money moves, the answer is 502",
    operation: "settle",
    fault: { kind: "status", when: "after", status: 502, ...HTML },
  },
  {
    failure: "settle: the money moves, a gateway answers 429",
    operation: "settle",
    fault: { kind: "status", when: "after", status: 429, ...HTML },
  },
  {
    failure: "settle: nothing happens, a success without a transaction is answered",
    operation: "settle",
    fault: { kind: "status", status: 200, headers: JSON_TYPE, body: JSON.stringify(EMPTY_SUCCESS) },
  },
  {
    failure: "settle: the money moves, half a JSON is answered",
    operation: "settle",
    fault: { kind: "garbage", when: "after" },
  },
  {
    failure: "settle: the money moves, nothing is answered; given 2 s",
    operation: "settle",
    fault: { kind: "hold", when: "after" },
    patienceMs: 2_000,
  },
  {
    failure: "settle: nothing happens, nothing is answered; given 2 s",
    operation: "settle",
    fault: { kind: "hold" },
    patienceMs: 2_000,
  },
  { failure: "verify: 500", operation: "verify", fault: { kind: "status", status: 500 } },
  { failure: "verify: 200 with HTML", operation: "verify", fault: { kind: "status", status: 200, ...HTML } },
  { failure: "verify: half a JSON", operation: "verify", fault: { kind: "garbage" } },
  { failure: "verify: nothing is answered", operation: "verify", fault: { kind: "hold" } },
];

const ONCE: Facts = { answers: [503, 200], runs: 1, debits: 1 };

export const FACILITATOR_CALLS: readonly Failure[] = STRIKES.map(
  ({ failure, operation, fault, expected = ONCE, patienceMs }) => ({
    failure,
    expected,
    plan: { patienceMs },
    act: async (scene) => {
      scene.faults.next(operation, fault);
      const first = await scene.buy();
      const second = await obey(scene, first);
      return { answers: [first, second].flatMap((reply) => (reply === undefined ? [] : [reply.status])) };
    },
  }),
);
