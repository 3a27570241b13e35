import { describe, expect, test } from "vitest";
import { AmountError, FacilitatorError } from "../errors.js";
import type { PaymentOption, RouteConfig } from "../options.js";
import type { Decision } from "./decision.js";
import {
  admissionOf,
  createShop,
  createTestScheme,
  decodeHeader,
  HANDLED,
  isPrepaid,
  NETWORK,
  PAY_TO,
  PAYER,
  ROUTES,
  responseOf,
  SETTLED,
  stageOf,
} from "./shop.fixture.js";

const IDENTITY = `${NETWORK}|n1`;
const UNREACHABLE = new FacilitatorError("down", {
  code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
  operation: "settle",
  outcome: "none",
});

function createPrepaidShop() {
  const shop = createShop({ routes: { "GET /weather": { ...ROUTES["GET /weather"], settle: "before" } } });
  const stateOf = async () => (await shop.store.find(IDENTITY))?.state;
  return { ...shop, stateOf };
}

function prepaidOf(decision: Decision) {
  if (!isPrepaid(decision)) throw new TypeError(`not prepaid but ${decision.kind}`);
  return decision.admission;
}

function errorOf(decision: Decision) {
  const { status, json } = responseOf(decision);
  return [status, json["error"]];
}

test("offers of a prepaid route carry paymentFlow: upfront for clients and the facilitator", async () => {
  const { ask, pay, facilitator } = createPrepaidShop();
  const extra = { name: "USDC", version: "2", paymentFlow: "upfront" };
  expect(responseOf(await ask()).json).toMatchObject({ accepts: [{ extra }] });
  await pay();
  expect(facilitator.calls).toMatchObject([{ operation: "settle", request: { paymentRequirements: { extra } } }]);
  expect(responseOf(await createShop().ask()).json).not.toMatchObject({ accepts: [{ extra }] });
});

describe("a route with an option that settles before and one that settles after", () => {
  const OTHER = "eip155:1";
  const open = (route: Partial<RouteConfig> = {}) => {
    const option = { price: "$0.01", payTo: PAY_TO } as const;
    const accepts = [
      { ...option, network: NETWORK, settle: "before" },
      { ...option, network: OTHER, settle: "after" },
    ] as const;
    return createShop({ routes: { "GET /weather": { accepts, ...route } } });
  };

  test.each(["before", "after", undefined] as const)(
    "the matched option decides when the money moves, if the route says %s",
    async (settle) => {
      const { ask, pay, facilitator } = open(settle === undefined ? {} : { settle });
      const { accepts } = responseOf(await ask()).json as { accepts: { extra: Record<string, unknown> }[] };
      expect(accepts.map(({ extra }) => extra["paymentFlow"])).toEqual(["upfront", undefined]);
      expect(stageOf(await pay({ payload: { nonce: "a" } }))).toBe("prepaid");
      const later = await pay({ payload: { nonce: "b" }, accepted: { network: OTHER } });
      expect([stageOf(later), facilitator.calls.map(({ operation }) => operation)]).toEqual([
        "held",
        ["settle", "verify"],
      ]);
      await admissionOf(later).complete(HANDLED);
      expect(facilitator.count("settle")).toBe(2);
    },
  );

  test.each<[written: string, option: Partial<PaymentOption>, stage: string, flow: string | undefined]>([
    ["nothing", {}, "prepaid", "upfront"],
    ['settle: "after"', { settle: "after" }, "held", undefined],
    ['paymentFlow: "authorization"', { extra: { paymentFlow: "authorization" } }, "held", "authorization"],
    ['paymentFlow: "upfront"', { extra: { paymentFlow: "upfront" } }, "prepaid", "upfront"],
  ])(
    "an option with %s, on a route that settles before, says when it settles",
    async (_written, change, stage, flow) => {
      const option = { network: NETWORK, price: "$0.01", payTo: PAY_TO, ...change } as const;
      const { ask, pay } = open({ accepts: option, settle: "before" });
      const { accepts } = responseOf(await ask()).json as { accepts: { extra: Record<string, unknown> }[] };
      expect(accepts[0]?.extra["paymentFlow"]).toBe(flow);
      expect(stageOf(await pay())).toBe(stage);
    },
  );

  test('paymentFlow: "upfront" settles before on a route that says nothing', async () => {
    const { pay } = open({
      accepts: { network: NETWORK, price: "$0.01", payTo: PAY_TO, extra: { paymentFlow: "upfront" } },
    });
    expect(stageOf(await pay())).toBe("prepaid");
  });

  test("a scheme that takes less than was authorized settles the maximum, and its handler is told so", async () => {
    const scheme = createTestScheme({ allowsLess: true });
    const routes = {
      "GET /weather": { accepts: { network: NETWORK, price: "$0.01", payTo: PAY_TO }, settle: "before" },
    } as const;
    const { pay, facilitator } = createShop({ scheme, routes });
    const decision = await pay();
    if (!isPrepaid(decision)) throw new TypeError("not settled");
    const { payment } = decision.admission;
    expect([payment.isSettled, payment.amount, payment.remaining]).toEqual([true, "10000", "10000"]);
    payment.charge("4000");
    expect(payment.remaining).toBe("6000");
    expect(() => payment.charge("6001")).toThrow(AmountError);
    expect(await payment.reserve("6000")).toBe(true);
    expect(payment.amount).toBe("10000");
    expect(facilitator.calls.at(-1)?.request.paymentRequirements.amount).toBe("10000");
  });

  test("the client's paymentFlow decides between options that differ in nothing else", async () => {
    const option = { price: "$0.01", payTo: PAY_TO, network: NETWORK } as const;
    const { pay } = open({ accepts: [option, { ...option, settle: "before" }] });
    const extra = { name: "USDC", version: "2" };
    const upfront = { accepted: { extra: { ...extra, paymentFlow: "upfront" } }, payload: { nonce: "b" } };
    expect(stageOf(await pay({ accepted: { extra }, payload: { nonce: "a" } }))).toBe("held");
    expect(stageOf(await pay(upfront))).toBe("prepaid");
    expect(stageOf(await pay({ payload: { nonce: "c" } }))).toBe("held");
  });

  test("a dynamic price keeps its option's time in its quote", async () => {
    const option = { price: () => "$0.01", payTo: PAY_TO, network: NETWORK } as const;
    const { ask, pay } = open({ accepts: [option, { ...option, settle: "before" }] });
    const { accepts } = responseOf(await ask()).json as { accepts: { extra: Record<string, unknown> }[] };
    const stages = accepts.map(async ({ extra }, at) =>
      stageOf(await pay({ accepted: { extra }, payload: { nonce: `${at}` } })),
    );
    expect(await Promise.all(stages)).toEqual(["held", "prepaid"]);
  });

  test("a failed run of a prepaid option leaves the duplicate its response, and one that settles after is charged once", async () => {
    const { pay, facilitator } = open();
    const first = await pay();
    await prepaidOf(first).cancel();
    expect([stageOf(await pay()), facilitator.count("settle")]).toEqual(["prepaid", 1]);
    facilitator.settles = { ...SETTLED, network: OTHER };
    const other = { payload: { nonce: "b" }, accepted: { network: OTHER } };
    await admissionOf(await pay(other)).complete(HANDLED);
    expect([responseOf(await pay(other)).status, facilitator.count("settle")]).toEqual([402, 2]);
  });
});

test("a prepaid request is settled once, has its receipt before the handler runs, and a replay gets 409, then 402", async () => {
  const { pay, facilitator, stateOf } = createPrepaidShop();
  const { payment, headers, done } = prepaidOf(await pay());
  expect(payment).toMatchObject({ payer: PAYER, amount: "10000" });
  expect(headers.map(([name]) => name)).toEqual(["PAYMENT-RESPONSE"]);
  expect(decodeHeader(headers[0]?.[1])).toMatchObject({ success: true, transaction: "0xabc" });
  expect(facilitator.calls.map(({ operation }) => operation)).toEqual(["settle"]);
  expect(await stateOf()).toBe("settled");
  expect(errorOf(await pay())).toEqual([409, "payment_in_progress"]);
  done();
  expect(errorOf(await pay())).toEqual([402, "payment_already_used"]);
});

test("only one of fifty duplicates at once is settled and runs the handler", async () => {
  const { pay, facilitator } = createPrepaidShop();
  const decisions = await Promise.all(Array.from({ length: 50 }, () => pay()));
  expect(decisions.filter(isPrepaid)).toHaveLength(1);
  expect(facilitator.count("settle")).toBe(1);
});

test("a rejected prepayment gets a challenge with its receipt and leaves no record", async () => {
  const { pay, facilitator, stateOf } = createPrepaidShop();
  facilitator.settles = { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" };
  for (const decision of [await pay(), await pay()]) {
    const { status, headers, json } = responseOf(decision);
    expect([status, json["error"]]).toEqual([402, "insufficient_funds"]);
    expect(decodeHeader(headers["payment-required"])).toEqual(json);
    expect(decodeHeader(headers["payment-response"])).toMatchObject({ success: false });
  }
  expect([await stateOf(), facilitator.count("settle")]).toEqual([undefined, 2]);
});

test.each([
  [UNREACHABLE, "unsent", "unexpected_settle_error"],
  [new Error("lost"), "unknown", "settlement_pending"],
])(
  "a prepayment that ends with %s gets 503, and its replay settles and runs the handler once",
  async (failure, state, error) => {
    const { pay, facilitator, stateOf } = createPrepaidShop();
    facilitator.settles = failure;
    expect(errorOf(await pay())).toEqual([503, error]);
    expect(await stateOf()).toBe(state);
    facilitator.settles = SETTLED;
    const decisions = await Promise.all([pay(), pay(), pay()]);
    const [prepaid, ...others] = decisions.filter(isPrepaid);
    expect(others).toEqual([]);
    expect(await stateOf()).toBe("settled");
    prepaidOf(prepaid!).done();
    expect(errorOf(await pay())).toEqual([402, "payment_already_used"]);
  },
);

test("a replay runs the owed handler once without another settlement", async () => {
  const { pay, facilitator, stateOf } = createPrepaidShop();
  await prepaidOf(await pay()).cancel();
  expect(await stateOf()).toBe("owed");
  const decisions = await Promise.all(Array.from({ length: 10 }, () => pay()));
  const [prepaid, ...others] = decisions.filter(isPrepaid);
  expect(others).toEqual([]);
  expect(decodeHeader(prepaidOf(prepaid!).headers[0]?.[1])).toMatchObject({ success: true, transaction: "0xabc" });
  expect([await stateOf(), facilitator.count("settle")]).toEqual(["settled", 1]);
});

test("a payment whose handler is owed gets 402 for another request", async () => {
  const { pay } = createPrepaidShop();
  await prepaidOf(await pay()).cancel();
  expect(errorOf(await pay({}, { search: "?other" }))).toEqual([402, "payment_already_used"]);
});

test("a store that fails before settlement prevents the charge, and the payment stays usable", async () => {
  const { pay, facilitator, store } = createPrepaidShop();
  const { transition } = store;
  store.transition = () => Promise.reject(new Error("down"));
  expect(responseOf(await pay()).status).toBe(503);
  expect(facilitator.count("settle")).toBe(0);
  store.transition = transition;
  expect(stageOf(await pay())).toBe("prepaid");
});

test("a store that fails after settlement does not stop the handler", async () => {
  const { pay, store, log } = createPrepaidShop();
  const { transition } = store;
  store.transition = (change) => (change.from === "claimed" ? transition(change) : Promise.reject(new Error("down")));
  const { cancel } = prepaidOf(await pay());
  await cancel();
  expect(log.map(({ event }) => event)).toEqual(["outcome_not_recorded", "run_not_owed"]);
});

test("a prepaid handler's signal aborts when the client disconnects", async () => {
  const { pay } = createPrepaidShop();
  const { payment, leave } = prepaidOf(await pay());
  expect(payment.signal.aborted).toBe(false);
  leave();
  expect(payment.signal.reason).toMatchObject({ code: "ERR_FAREBOX_PAYMENT_ABORTED", reason: "client_gone" });
});
