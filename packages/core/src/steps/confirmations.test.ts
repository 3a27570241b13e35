import { describe, expect, test } from "vitest";
import type { PaymentsOptions } from "../options.js";
import { createProcesses } from "../sale/processes.fixture.js";
import {
  admissionOf,
  createShop,
  createTestScheme,
  HANDLED,
  NETWORK,
  readResponse,
  responseOf,
  SETTLED,
} from "../sale/shop.fixture.js";
import type { ConfirmationReading } from "../scheme/scheme.js";

const rpc = { [NETWORK]: "http://localhost:1" };
const confirmed = (confirmations: number): ConfirmationReading => ({ kind: "confirmed", confirmations });

/** A seller that wants two confirmations, and a chain that says these things one after another, the last one for ever. */
function createSeller(...readings: readonly (ConfirmationReading | Error)[]) {
  const asked: string[] = [];
  const chain = [...readings];
  const scheme = createTestScheme({
    async readConfirmations({ transaction }) {
      asked.push(transaction);
      const next = chain.length > 1 ? chain.shift() : chain[0];
      if (next === undefined || next instanceof Error) throw next ?? new TypeError("nothing to say");
      return next;
    },
  });
  const world = createProcesses();
  const shop = world.open({ scheme, rpc, confirmations: 2 });
  return { ...world, shop, asked, chain };
}

describe("confirmations", () => {
  test("a response waits until its settlement is deep enough", async () => {
    const { shop, asked, passTime } = createSeller({ kind: "absent" }, confirmed(1), confirmed(1), confirmed(2));
    let isReleased = false;
    const released = admissionOf(await shop.pay()).complete(HANDLED);
    void released.then(() => {
      isReleased = true;
    });
    await passTime(2_500);
    expect([isReleased, asked.length]).toEqual([false, 3]);
    await passTime(1_000);
    expect(await released).toMatchObject({ kind: "release", paid: true });
    expect(asked).toEqual(Array.from({ length: 4 }, () => SETTLED.transaction));
  });

  test.each<[what: string, ConfirmationReading | Error]>([
    ["stays too low", confirmed(1)],
    ["disappears", { kind: "absent" }],
    ["fails", { kind: "failed" }],
    ["cannot be found out about", { kind: "unclear", problem: "p" }],
    ["makes its scheme throw", new RangeError("secret")],
  ])("a response is not delivered when its transaction %s: the outcome is unknown", async (_what, reading) => {
    const { shop, passTime, record } = createSeller(reading);
    const released = admissionOf(await shop.pay()).complete(HANDLED);
    await passTime(31_000);
    const release = await released;
    if (release.kind !== "replace") throw new TypeError("it was delivered");
    expect(readResponse(release.response)).toMatchObject({ status: 503, json: { error: "settlement_pending" } });
    expect((await record())?.state).toBe("unknown");
    expect(shop.log.map(({ event }) => event)).toContain("settlement_not_confirmed");
    expect(JSON.stringify(shop.log)).not.toContain("secret");
  });

  test("a payment that is confirmed later is settled in the background, and its response waits for the payer", async () => {
    const { shop, chain, passTime, record } = createSeller({ kind: "absent" });
    const released = admissionOf(await shop.pay()).complete(HANDLED);
    await passTime(31_000);
    await released;
    chain[0] = confirmed(2);
    await passTime(20_000);
    expect((await record())?.state).toBe("settled");
    expect(responseOf(await shop.pay()).text).toBe("sunny");
  });

  test("the settlement keeps its lease while it waits", async () => {
    const { shop, facilitator, open, passTime } = createSeller({ kind: "absent" });
    open();
    const released = admissionOf(await shop.pay()).complete(HANDLED);
    await passTime(28_000);
    expect(facilitator.count("settle")).toBe(1);
    await passTime(4_000);
    await released;
  });

  test.each<[PaymentsOptions["confirmations"]]>([[undefined], [0], [{ "eip155:1": 3 }]])(
    "no node is asked with %j",
    async (confirmations) => {
      let asked = 0;
      const readConfirmations = async () => {
        asked++;
        return confirmed(9);
      };
      const more = confirmations === undefined ? {} : { confirmations };
      const shop = createShop({ scheme: createTestScheme({ readConfirmations }), rpc, ...more });
      expect(await admissionOf(await shop.pay()).complete(HANDLED)).toMatchObject({ kind: "release" });
      expect(asked).toBe(0);
    },
  );

  const readConfirmations = async () => confirmed(1);

  test.each<[options: object, issue: RegExp]>([
    [{ confirmations: 1 }, /^options.rpc: expected a node of eip155:84532, because options.confirmations counts/],
    [{ confirmations: { [NETWORK]: 1 } }, /^options.rpc: expected a node of eip155:84532/],
    [{ confirmations: 1, rpc, scheme: createTestScheme() }, /scheme: expected a scheme that can count confirmations/],
    [{ confirmations: -1 }, /^options.confirmations: expected a whole number of blocks from 0 to 64/],
    [{ confirmations: { base: 1 } }, /^options.confirmations.base: expected /],
    [{ confirmations: { [NETWORK]: 65 } }, /^options.confirmations\["eip155:84532"\]: expected a whole number/],
  ])("%o is a ConfigError", (options, issue) => {
    expect(() => createShop({ scheme: createTestScheme({ readConfirmations }), ...options })).toThrow(issue);
  });
});
