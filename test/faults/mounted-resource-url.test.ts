import { expect, test } from "vitest";
import { openShop } from "./shop.js";

test("below a mount, the challenge names the resource by the whole path that was asked for, and so does the payment", async () => {
  const shop = await openShop({
    routes: { "GET /u/:id": { price: "$0.01" } },
    build: (app, payments, goods) => app.use("/api", payments).get("/api/u/:id", ...goods),
  });
  const resource = { url: `${shop.url}/api/u/42` };
  expect((await shop.ask({ path: "/api/u/42" })).challenge).toMatchObject({ resource });
  const paid = await shop.buy({ path: "/api/u/42" });
  expect(paid).toMatchObject({ status: 200, payment: { resource } });
});
