import { expect, test } from "vitest";
import { openShop } from "./shop.js";

test("a challenge below a mount names the resource by its whole path, and so does the payment", async () => {
  const shop = await openShop({
    routes: { "GET /u/:id": { price: "$0.01" } },
    build: (app, payments, goods) => app.use("/api", payments).get("/api/u/:id", ...goods),
  });
  const resource = { url: `${shop.url}/api/u/42` };
  expect((await shop.ask({ path: "/api/u/42" })).challenge).toMatchObject({ resource });
  const paid = await shop.buy({ path: "/api/u/42" });
  expect(paid).toMatchObject({ status: 200, payment: { resource } });
});
