/**
 * Payments for MCP tools are in the ledger of the seller.
 */
import type { LedgerEntry, Payments } from "@farebox/express";
import { expect, test } from "vitest";
import { openShop } from "./shop.js";

test("a paid tool call is in payments.ledger once, with the tool as its route", async () => {
  const sellers: Payments[] = [];
  const shop = await openShop({ app: (_app, given) => void sellers.push(given) });
  const [payments] = sellers;
  const bought = await shop.buy();
  expect(bought.isError).not.toBe(true);
  await shop.ask({ payment: { x402Version: 2 } });
  const entries: LedgerEntry[] = [];
  for await (const entry of payments!.ledger.entries()) entries.push(entry);
  expect(entries).toMatchObject([
    {
      amount: "10000",
      payer: shop.payer.address.toLowerCase(),
      transaction: Object(bought._meta?.["x402/payment-response"]).transaction,
      status: "settled",
    },
  ]);
  expect([entries[0]?.route, entries[0]?.resource]).toEqual([
    expect.stringContaining("goods"),
    expect.stringContaining("goods"),
  ]);
  expect(await payments!.ledger.counts()).toMatchObject([{ kind: "refused", count: 1 }]);
});
