/**
 * A paid tool, called by the client of the MCP SDK: the challenge, the payment, the result and its receipt.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BANKS, type Bank } from "../faults/bank.js";
import { challengeOf, openShop, PRICE, receiptOf, textOf } from "./shop.js";

describe.each(BANKS)("%s", (_where, openBank) => {
  let bank: Bank;
  beforeAll(async () => {
    bank = await openBank();
  });
  afterAll(() => bank.close());

  test.each(["sessions", "stateless"] as const)(
    "a tool yields a challenge, then its result with the receipt, with %s",
    async (sessions) => {
      const shop = await openShop({ bank, sessions });
      const asked = await shop.ask();
      expect(asked.isError).toBe(true);
      expect(shop.runs()).toBe(0);
      const challenge = challengeOf(asked);
      expect(asked.structuredContent).toEqual(challenge);
      expect(challenge).toMatchObject({
        x402Version: 2,
        error: "Payment required",
        resource: { url: "mcp://tool/goods", description: "Goods", mimeType: "application/json" },
        accepts: [{ scheme: "exact", network: "eip155:84532", amount: "10000", payTo: shop.payTo }],
      });

      const bought = await shop.buy({ args: { kind: "tea" } });
      expect(bought.isError).toBeUndefined();
      expect(textOf(bought)).toBe("tea 1");
      expect(bought._meta?.["shop/shelf"]).toBe(7);
      expect(receiptOf(bought)).toMatchObject({ success: true, payer: shop.payer.address, amount: "10000" });
      expect(shop.runs()).toBe(1);
      expect(shop.settlements()).toBe(1);
      expect([await shop.income(), await shop.spent()]).toEqual([PRICE, PRICE]);
    },
  );
});

test("the challenge names the tool and its arguments", async () => {
  const shop = await openShop();
  const [offer] = challengeOf(await shop.ask()).accepts;
  expect(offer).toHaveProperty("outputSchema.input", {
    type: "mcp",
    toolName: "goods",
    description: "Goods",
    transport: "streamable-http",
    inputSchema: expect.objectContaining({ properties: { kind: expect.objectContaining({ type: "string" }) } }),
  });
});
