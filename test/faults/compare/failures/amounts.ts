/**
 * What is charged is neither the price of the moment nor what a handler got wrong.
 *
 * @module
 */
import type { Facts, Failure, SellerPlan } from "../failure.js";
import type { GoodsName } from "../goods.js";

const sellUpTo = (goods: GoodsName): Partial<SellerPlan> => ({ scheme: "upto", goods });

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
