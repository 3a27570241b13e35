import { describe, expect, test } from "vitest";
import { buy, createHookedShop, FACTS, IDENTITY, JUNK } from "./hooks.fixture.js";
import { admissionOf, HANDLED, SETTLED } from "./shop.fixture.js";

describe("a hook that is told", () => {
  test.each(JUNK)("and %s: the client gets what it has paid for", async (_how, junk) => {
    const shop = createHookedShop({ afterSettle: junk, onCancel: junk, onSettleUnknown: junk });
    expect(await buy(shop)).toBe("served");
    await new Promise(setImmediate);
    expect((await shop.store.find(IDENTITY))?.state).toBe("settled");
    expect(JSON.stringify(shop.log)).not.toContain("secret");
  });

  test("cannot change the receipt", async () => {
    const shop = createHookedShop({
      afterSettle(_facts: unknown, receipt: { transaction: string }) {
        receipt.transaction = "0xevil";
      },
    });
    const release = await admissionOf(await shop.pay()).complete(HANDLED);
    const [, header] = release.kind === "release" ? release.headers[0]! : [];
    expect(Buffer.from(header!, "base64").toString()).toContain('"0xabc"');
    expect(shop.log).toMatchObject([{ event: "hook_failed", fields: { hook: "afterSettle", error: "TypeError" } }]);
  });

  test.each<[string, unknown, readonly unknown[]]>([
    ["settled", SETTLED, ["afterSettle", FACTS, { success: true, transaction: "0xabc" }]],
    [
      "rejected",
      { ...SETTLED, success: false, transaction: "", errorReason: "insufficient_funds" },
      ["afterSettle", FACTS, { success: false, errorReason: "insufficient_funds" }],
    ],
    ["unknown", new Error("lost"), ["onSettleUnknown", FACTS]],
  ])("hears of a settlement that is %s", async (_how, settles, call) => {
    const shop = createHookedShop({});
    shop.till.settles = settles;
    await buy(shop);
    expect(shop.told).toMatchObject([call]);
  });

  test("hears once that the money may have moved, and of the settlement in the background", async () => {
    const shop = createHookedShop({});
    shop.till.settles = new Error("lost");
    await buy(shop);
    await shop.passTime(60_000);
    shop.till.settles = SETTLED;
    await shop.passTime(60_000);
    expect(shop.told).toMatchObject([
      ["onSettleUnknown", FACTS],
      ["afterSettle", FACTS, { success: true }],
    ]);
  });
});
