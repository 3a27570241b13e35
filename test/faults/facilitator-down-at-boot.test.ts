import { expect, test } from "vitest";
import { openLedger } from "./bank.js";
import { openShop, PRICE } from "./shop.js";

test("a facilitator that is down at boot costs free routes nothing, and priced ones are 503 until it is back", async () => {
  const bank = await openLedger();
  await bank.server.close();
  const shop = await openShop({ bank });
  expect((await shop.ask({ path: "/free" })).status).toBe(200);
  expect((await shop.ask()).challenge?.accepts).toMatchObject([{ network: "eip155:84532" }]);
  const refused = await shop.buy();
  expect(refused).toMatchObject({ status: 503, challenge: { accepts: [{ network: "eip155:84532" }] } });
  expect(refused.headers["payment-required"]).toBeUndefined();
  expect(refused.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
  expect(shop.runs()).toBe(0);

  const back = await openLedger(Number(new URL(bank.server.url).port));
  await back.fund(shop.payer.address, PRICE);
  const sold = await shop.buy({ payment: refused.payment! });
  expect(sold).toMatchObject({ status: 200, receipt: { success: true } });
  expect(await back.balanceOf(shop.payTo)).toBe(PRICE);
  await back.close();
});
