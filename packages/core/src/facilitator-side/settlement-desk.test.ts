import { afterEach, describe, expect, test, vi } from "vitest";
import { accept } from "../scheme/reading.js";
import { type DeskPayment, SettlementDesk, type SettlementOutcome, type Transfer } from "./settlement-desk.js";

const NETWORK = "eip155:84532";

/** The hash of the first transaction that is sent, the second, and so on. */
const hashOf = (sending: number): string => `0x${String(sending).repeat(64)}`;

type OutcomeOf = DeskPayment["outcomeOf"];

interface Play {
  readonly outcomeOf: OutcomeOf;
  /** The earlier settlement on chain. */
  findEarlier?(): Promise<Transfer | undefined>;
  submit?(sending: number): Promise<string>;
}

/** A desk that settles one payment, and the number of times it was sent. */
function open({ outcomeOf, findEarlier = async () => undefined, submit = async (sending) => hashOf(sending) }: Play) {
  let sendings = 0;
  const payment: DeskPayment = {
    payer: "0xaa",
    amount: 5n,
    identity: "0xbb|0xaa|1",
    fingerprint: "0xcc|5",
    verify: async () => undefined,
    submit: () => submit(++sendings),
    findEarlier,
    outcomeOf,
  };
  const prose = { unsent: "not sent", pending: "may come", dropped: "crowded out" };
  const limits = { rememberedMs: 5000, now: () => 0 };
  const desk = new SettlementDesk({ network: NETWORK, ...limits, looksBack: "when-refused", prose });
  const settle = () => desk.settle({ payer: payment.payer, payment: accept(payment) });
  return { settle, sendings: () => sendings };
}

afterEach(() => void vi.useRealTimers());

describe("a dropped transaction", () => {
  test("a transaction dropped early is sent again, up to three times in one call, then refused without a hash", async () => {
    const { settle, sendings } = open({ outcomeOf: async () => "dropped-early" });
    const refused = { success: false, errorReason: "unexpected_settle_error", transaction: "" };
    expect(await settle()).toMatchObject(refused);
    expect(sendings()).toBe(3);
    expect(await settle()).toMatchObject(refused);
    expect(sendings()).toBe(6);
  });

  test("a transaction dropped at the end of the time is sent again by the next call only", async () => {
    const outcomes: SettlementOutcome[] = ["dropped", "confirmed"];
    const { settle, sendings } = open({ outcomeOf: async () => outcomes.shift() ?? "pending" });
    expect(await settle()).toMatchObject({ success: false, errorReason: "unexpected_settle_error", transaction: "" });
    expect(sendings()).toBe(1);
    expect(await settle()).toMatchObject({ success: true, transaction: hashOf(2) });
  });

  test("a dropped transaction leaves the remaining time to the next one", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const waits: number[] = [];
    const { settle } = open({
      outcomeOf: async (_, waitedMs) => {
        waits.push(waitedMs);
        vi.advanceTimersByTime(700);
        return waits.length < 3 ? "dropped-early" : "pending";
      },
    });
    expect(await settle()).toMatchObject({ errorReason: "settlement_pending", transaction: hashOf(3) });
    expect(waits).toEqual([0, 700, 1_400]);
  });

  test("a payment that was dropped and then fails gets no final refusal from the same call", async () => {
    const outcomes: SettlementOutcome[] = ["dropped-early", "failed"];
    const { settle } = open({ outcomeOf: async () => outcomes.shift() ?? "pending" });
    const failed = { success: false, errorMessage: "the transaction failed on chain", transaction: hashOf(2) };
    expect(await settle()).toMatchObject({ ...failed, errorReason: "unexpected_settle_error" });
    expect(await settle()).toMatchObject({ ...failed, errorReason: "invalid_transaction_state" });
  });
});

describe("a dropped transaction that is on chain after all", () => {
  const findEarlier = async (): Promise<Transfer> => ({ transaction: hashOf(1), amount: 5n });

  test("a dropped transaction on chain is pending until it is deep enough, then succeeds once", async () => {
    let isDeep = false;
    const { settle } = open({
      outcomeOf: async (transaction, waitedMs) => {
        if (transaction === hashOf(2)) return "failed";
        if (waitedMs !== Number.POSITIVE_INFINITY) return "dropped-early";
        return isDeep ? "confirmed" : "pending";
      },
      findEarlier,
    });
    const pending = { success: false, errorReason: "settlement_pending", transaction: hashOf(1) };
    expect([await settle(), await settle()]).toMatchObject([pending, pending]);
    isDeep = true;
    const responses = await Promise.all([settle(), settle(), settle()]);
    expect(responses.map(({ transaction }) => transaction)).toEqual([hashOf(1), hashOf(1), hashOf(1)]);
    expect(responses.filter(({ success }) => success)).toHaveLength(1);
  });

  test.each<SettlementOutcome>(["dropped-early", "dropped"])(
    "a transaction succeeds once if one of two callers sees it as %s",
    async (late) => {
      let tell = () => {};
      const told = new Promise<void>((resolve) => {
        tell = resolve;
      });
      let asked = 0;
      const { settle, sendings } = open({
        outcomeOf: async () => {
          if (++asked !== 1) return "confirmed";
          await told;
          return late;
        },
        findEarlier,
      });
      const [first, second] = [settle(), settle()];
      expect(await second).toMatchObject({ success: true, transaction: hashOf(1) });
      tell();
      expect(await first).toMatchObject({ success: false });
      const repeat = { success: false, errorReason: "payment_already_settled", transaction: hashOf(1) };
      expect(await settle()).toMatchObject(repeat);
      expect(sendings()).toBe(1);
    },
  );

  test("a payment succeeds for one of two callers if one sees it settled while the other sends it again", async () => {
    const outcomes: SettlementOutcome[] = ["dropped-early", "confirmed"];
    let sendAgain = () => {};
    const sendingAgain = new Promise<void>((resolve) => {
      sendAgain = resolve;
    });
    const { settle, sendings } = open({
      outcomeOf: async (transaction, waitedMs) => {
        if (transaction === hashOf(2)) return "failed";
        return waitedMs === Number.POSITIVE_INFINITY ? "confirmed" : (outcomes.shift() ?? "pending");
      },
      submit: async (sending) => {
        if (sending === 2) await sendingAgain;
        return hashOf(sending);
      },
      findEarlier,
    });
    const [first, second] = [settle(), settle()];
    expect(await second).toMatchObject({ success: true, transaction: hashOf(1) });
    sendAgain();
    const told = { success: false, errorReason: "payment_already_settled", transaction: hashOf(1) };
    expect(await first).toMatchObject(told);
    expect(await settle()).toMatchObject(told);
    expect(sendings()).toBe(2);
  });
});
