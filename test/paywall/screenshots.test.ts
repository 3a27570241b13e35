/**
 * Screenshots of the page that takes payments and of the catalog page, at three widths, light and dark: `pnpm screenshots [folder]`.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { catalogPage } from "@farebox/facilitator";
import express from "express";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { listSamples } from "../catalog/quality/measure.js";
import { CHROMIUM, openPage, Stage } from "./stage.js";
import { injectEvmWallet } from "./wallets.js";

const FOLDER = process.env["FAREBOX_SCREENSHOTS"];
const WIDTHS = [320, 768, 1_280];

test.skipIf(FOLDER === undefined || CHROMIUM === undefined)(
  "screenshots are made",
  async () => {
    const folder = FOLDER ?? "";
    mkdirSync(folder, { recursive: true });
    const stage = await Stage.start();
    const catalog = createCatalog({ store: createSqliteCatalogStore(), checkOwners: false, embedder: false });
    await listSamples(catalog);
    const catalogUrl = await stage.serve(express().get("/", catalogPage(catalog)));
    const shop = await stage.sell(
      {
        "GET /weather": { price: "$0.01", description: "Today's weather in your city, as a forecast for twelve hours" },
      },
      (app) => app.get("/weather", (_req, res) => void res.json({ city: "Lisbon", weather: "sunny", temperature: 22 })),
      { networks: [stage.chain.network, stage.svm.network], serviceName: "Weather Pro" },
    );
    for (const width of WIDTHS) {
      for (const colorScheme of ["light", "dark"] as const) {
        const context = await stage.context({ viewport: { width, height: 900 }, colorScheme, reducedMotion: "reduce" });
        const shoot = (page: Page, name: string) =>
          page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true });
        const wallet = await injectEvmWallet(context, { ...(await stage.payer()), rpcUrl: stage.chain.rpcUrl });
        const { page } = await openPage(context, `${shop.url}/weather`);
        await shoot(page, "page");
        wallet.declines.add("eth_signTypedData_v4");
        await page.locator("#pay").click();
        await page.locator("#problem .problem").waitFor();
        await shoot(page, "page-declined");
        wallet.declines.clear();
        await page.locator("#pay").click();
        await page.getByRole("heading", { name: "Paid" }).waitFor();
        await shoot(page, "page-paid");
        await page.goto(`${catalogUrl}/`);
        await shoot(page, "catalog");
        await page.getByRole("article").first().getByRole("link").click();
        await shoot(page, "catalog-service");
        await context.close();
      }
    }
    await catalog.close();
    await stage.close();
    expect(WIDTHS).toHaveLength(3);
  },
  180_000,
);
