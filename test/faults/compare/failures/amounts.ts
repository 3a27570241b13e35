/**
 * What is charged is neither the price of the moment nor what a handler got wrong.
 *
 * @module
 */
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { encodePaymentSignature } from "@farebox/core/protocol";
import type { Facts, Failure, Seen, SellerPlan } from "../failure.js";
import type { GoodsName } from "../goods.js";
import type { Scene } from "../scene.js";

/** How long a client waits that leaves. */
const LEAVE_MS = 1_500;

const sellUpTo = (goods: GoodsName): Partial<SellerPlan> => ({ scheme: "upto", goods });

const METERED: Partial<SellerPlan> = { ...sellUpTo("events, charged one by one"), isMetered: true };

/** Buys once, and says what the facilitator was asked to take. */
const buy: Failure["act"] = async (scene) => {
  const { status } = await scene.buy();
  const asked = scene.settled().join(" and ");
  return {
    answers: [status],
    notes: [asked === "" ? "facilitator asked for nothing" : `facilitator asked for ${asked}`],
  };
};

const UNCHARGED_AND_SAID: Facts = {
  answers: [500],
  notes: ["facilitator asked for nothing", "said in the log"],
  runs: 1,
  debits: 0,
};

export const AMOUNTS: readonly Failure[] = [
  {
    failure: "`upto` 10000, handler charges `30%`",
    plan: sellUpTo("charged 30 %"),
    expected: { answers: [200], notes: ["facilitator asked for 3000"], runs: 1, debits: 1 },
    act: buy,
  },
  {
    failure: "`upto` 10000, handler charges `1.5`, which is no amount",
    plan: sellUpTo("charged at a point of a unit"),
    expected: { answers: [500], notes: ["facilitator asked for nothing"], runs: 1, debits: 0 },
    act: buy,
  },
  {
    failure: "`upto` 10000, handler charges `20000`",
    plan: sellUpTo("charged at twice the maximum"),
    expected: { answers: [500], notes: ["facilitator asked for nothing"], runs: 1, debits: 0 },
    act: buy,
  },
  {
    failure: "`upto` 10000, header `Settlement-Overrides` of the answer is no JSON",
    plan: sellUpTo("with an override that is no JSON"),
    expected: UNCHARGED_AND_SAID,
    act: buyAndRead,
  },
  {
    failure: '`upto` 10000, header `Settlement-Overrides: {"amount":"1"}` comes from a server behind the handler',
    plan: sellUpTo("with another server's override"),
    expected: UNCHARGED_AND_SAID,
    act: buyAndRead,
  },
  {
    failure: "`upto` 10000, five events in two seconds, handler charges 1000 before each, metered",
    plan: METERED,
    expected: {
      answers: [200],
      notes: ["first event 2 s before the last", "facilitator asked for 5000"],
      runs: 1,
      debits: 1,
    },
    act: read,
  },
  {
    failure: "the same, client leaves after the third event, or after 1.5 s without one",
    plan: METERED,
    expected: { answers: [200], notes: ["3 events arrived", "facilitator asked for 3000"], runs: 1, debits: 1 },
    act: readAndLeave,
  },
  {
    failure: "`exact` 10000, handler charges `7`",
    plan: { goods: "charged seven units" },
    expected: { answers: [500], notes: ["facilitator asked for nothing"], runs: 1, debits: 0 },
    act: buy,
  },
  {
    failure: "`exact` 10000, handler charges `10000`",
    plan: { goods: "charged in full" },
    expected: { answers: [200], notes: ["facilitator asked for 10000"], runs: 1, debits: 1 },
    act: buy,
  },
  {
    failure: "price by request is `$0.02` by the time that `$0.01` is paid",
    plan: { price: ["$0.01", "$0.02"] },
    expected: { answers: [200], notes: ["facilitator asked for 10000"], runs: 1, debits: 1 },
    act: buy,
  },
];

/** As {@link buy}; and whether the operator can know that something was wrong. */
async function buyAndRead(...given: Parameters<Failure["act"]>): ReturnType<Failure["act"]> {
  const seen = await buy(...given);
  const isSaid = /override/i.test(given[0].seller.log());
  return { ...seen, notes: [...(seen.notes ?? []), `${isSaid ? "" : "not "}said in the log`] };
}

/** Reads a stream of events to its end. */
async function read(scene: Scene): Promise<Seen> {
  const answer = await open(scene);
  const times: number[] = [];
  for await (const piece of answer) if (eventsIn(piece) > 0) times.push(performance.now());
  const ahead = Math.round((times.at(-1)! - times[0]!) / 500) / 2;
  return {
    answers: [answer.statusCode ?? 0],
    notes: [`first event ${ahead} s before the last`, `facilitator asked for ${scene.settled().join(" and ")}`],
  };
}

/** Leaves in the middle of a stream. */
async function readAndLeave(scene: Scene): Promise<Seen> {
  const answers: Seen["answers"][number][] = [];
  let events = 0;
  const leaving = new AbortController();
  const timer = setTimeout(() => events === 0 && leaving.abort(), LEAVE_MS);
  try {
    const answer = await open(scene, leaving.signal);
    answers.push(answer.statusCode ?? 0);
    for await (const piece of answer) {
      events += eventsIn(piece);
      if (events === 3) answer.destroy();
    }
  } catch {
    if (answers.length === 0) answers.push("no answer");
  }
  clearTimeout(timer);
  // The handler works on for a while, perhaps, and the settlement waits for a block.
  for (let tries = 0; tries < 200 && scene.settled().length === 0; tries++) await delay(20);
  await delay(LEAVE_MS);
  const asked = scene.settled().join(" and ");
  return {
    answers,
    notes: [
      `${events} events arrived`,
      asked === "" ? "facilitator asked for nothing" : `facilitator asked for ${asked}`,
    ],
  };
}

/** How many of the handler's events there are. The receipt is none of them. */
function eventsIn(piece: Buffer): number {
  return piece.toString("utf8").match(/^data: \d$/gm)?.length ?? 0;
}

/** An answer whose body has not been read. */
async function open(scene: Scene, signal?: AbortSignal): Promise<IncomingMessage> {
  const headers = { "PAYMENT-SIGNATURE": encodePaymentSignature(await scene.sign()) };
  const asking = get(scene.url, { headers, agent: false, ...(signal === undefined ? {} : { signal }) });
  const [answer] = await once(asking, "response");
  return answer;
}
