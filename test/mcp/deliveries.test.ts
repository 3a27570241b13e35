/** In a store with leases, the record of a paid call keeps its lease until its result is sent. */
import { describe, expect, test } from "vitest";
import { createLeasingStore } from "../express/shared-store.js";
import { openShop, type ShopPlan, textOf } from "./shop.js";

const upfront: NonNullable<ShopPlan["sell"]> = (tools) => {
  tools.tool("goods", { price: "$0.01", settle: "before" }, () => ({ content: [{ type: "text", text: "sold" }] }));
};

describe("the lease of a paid call", () => {
  test("the lease ends when the result is sent, and the result is forgotten", async () => {
    const { options, seen, ended } = createLeasingStore();
    const shop = await openShop({ options });
    expect(textOf(await shop.buy())).toBe("any 1");
    expect(await ended).not.toHaveProperty("answer");
    expect(seen).toEqual(["settling lease response", "settled lease response", "settled"]);
  });

  test("the lease of a call that is settled before its handler ends when the result is sent", async () => {
    const { options, seen, ended } = createLeasingStore();
    const shop = await openShop({ options, sell: upfront });
    expect(textOf(await shop.buy())).toBe("sold");
    await ended;
    expect(seen).toEqual(["settling lease", "settled lease", "settled"]);
  });
});
