import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { Registration } from "@farebox/bazaar/facilitator";
import { createCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { catalogPage } from "@farebox/facilitator";
import express from "express";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listSamples } from "./quality/measure.js";
import { FIRST_SERVICES } from "./quality/services.js";

/** The usual path of Chromium; `CHROMIUM` overrides it. */
const PLACES = [process.env["CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = PLACES.find((place) => place !== undefined && existsSync(place));
if (executablePath === undefined) {
  console.warn(
    "No Chromium was found: the page of the catalog is NOT tested in a browser. CHROMIUM=/path/to/it says where.",
  );
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Of axe-core. */
interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** Words without a place to break, in every part of an entry. */
const WORD = "x".repeat(300);
const LONG: Registration = {
  type: "http",
  resource: `https://api.example.com/${WORD}/:${WORD}`,
  routeTemplate: `/${WORD}/:${WORD}`,
  toolName: "",
  info: { input: { type: "http", method: "POST", queryParams: { [WORD]: WORD }, body: { [WORD]: WORD } } },
  schema: {},
  description: WORD,
  serviceName: WORD,
  tags: [WORD],
  offer: {
    scheme: "exact",
    network: "eip155:31337",
    asset: WORD,
    payTo: "0x1",
    amount: "9".repeat(78),
    maxTimeoutSeconds: 60,
    extra: {},
  },
};

describe.skipIf(executablePath === undefined)("in a browser", () => {
  const catalog = createCatalog({ store: createSqliteCatalogStore(), checkOwners: false, embedder: false });
  const server = createServer(express().get("/", catalogPage(catalog)));
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    await catalog.register(LONG);
    await listSamples(catalog, FIRST_SERVICES);
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    browser = await chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"], timeout: 0 });
    page = await browser.newPage();
    // Only the test has a limit.
    page.setDefaultTimeout(0);
    page.on("console", (message) => void complaints.push(message.text()));
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  }, 60_000);

  afterAll(async () => {
    await browser?.close();
    server.closeAllConnections();
    server.close();
    await catalog.close();
  });

  test("the page applies its style, and its policy blocks nothing", async () => {
    expect(await page.evaluate("getComputedStyle(document.querySelector('article')).borderRadius")).toBe("14px");
    expect(complaints.filter((text) => !text.includes("favicon"))).toEqual([]);
  });

  const open = async (query: string, options: Parameters<Browser["newContext"]>[0] = {}) => {
    const opened = await browser.newPage(options);
    opened.setDefaultTimeout(0);
    await opened.goto(page.url() + query);
    return opened;
  };
  const LONG_DETAIL = `?${new URLSearchParams({ service: LONG.resource })}`;

  test.each([320, 768, 1_280])("nothing is wider than a window of %i pixels, with every detail open", async (width) => {
    for (const query of ["", LONG_DETAIL]) {
      const narrow = await open(query, { viewport: { width, height: 800 } });
      await narrow.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
      expect(await narrow.evaluate("document.documentElement.scrollWidth")).toBe(width);
      await narrow.close();
    }
  });

  test.each(["light", "dark"] as const)(
    "axe-core finds nothing in %s mode, in the list and in a service",
    async (colorScheme) => {
      const runOnly = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
      for (const query of ["", LONG_DETAIL, "?service=nothing"]) {
        const opened = await open(query, { colorScheme });
        await opened.evaluate(AXE);
        const { violations } = (await opened.evaluate(
          `axe.run(document, ${JSON.stringify({ runOnly })})`,
        )) as AxeResult;
        expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
        await opened.close();
      }
    },
  );

  test("a card leads to its service, from where the service is opened", async () => {
    await page.getByRole("article").nth(1).getByRole("link").click();
    await page.waitForURL(/\?service=/);
    const link = page.getByRole("link", { name: "Try it in the browser" }).first();
    expect(await link.getAttribute("target")).toBe("_blank");
    await page.getByRole("link", { name: "All services" }).click();
    await page.waitForURL((url) => !url.search.includes("service="));
  });

  test("a visitor searches and reaches the results with the keyboard", async () => {
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the services");
    await page.getByLabel("Description").focus();
    await page.keyboard.type("will it rain tomorrow");
    await page.keyboard.press("Enter");
    await page.waitForURL(/query=will\+it\+rain\+tomorrow/);
    expect(await page.getByLabel("Description").inputValue()).toBe("will it rain tomorrow");
    expect(await page.getByRole("article").first().textContent()).toMatch(/weather|forecast/i);
  });

  test("the keyboard opens a service and its details", async () => {
    await page.getByRole("article").first().getByRole("link").focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\?service=/);
    const details = page.locator("details").first();
    await details.locator("summary").focus();
    await page.keyboard.press("Enter");
    expect(await details.getAttribute("open")).toBe("");
  });

  test("a network and an order can be selected", async () => {
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.getByLabel("Network").selectOption({ label: "Base Sepolia (72)" });
    await page.getByLabel("Order").selectOption("price");
    await page.getByRole("button", { name: "Search" }).click();
    await page.waitForURL(/network=eip155%3A84532.*sort=price/);
    expect(await page.getByRole("status").textContent()).toBe("72 services.");
    expect(await page.getByLabel("Order").inputValue()).toBe("price");
  });

  test("the kind can be selected, and every field has an accessible name", async () => {
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.getByLabel("Kind").selectOption("mcp");
    await page.getByRole("button", { name: "Search" }).click();
    await page.waitForURL(/type=mcp/);
    const kinds = await page.getByRole("article").allTextContents();
    expect(kinds.length).toBeGreaterThan(0);
    expect(kinds.every((text) => text.includes("MCP tool"))).toBe(true);
  });

  test("the next and the first page are links", async () => {
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const first = await page.getByRole("article").first().textContent();
    await page.getByRole("link", { name: "Next page" }).click();
    await page.waitForURL(/cursor=/);
    expect(await page.getByRole("article").first().textContent()).not.toBe(first);
    await page.getByRole("link", { name: "First page" }).click();
    await page.waitForURL((url) => !url.search.includes("cursor"));
    expect(await page.getByRole("article").first().textContent()).toBe(first);
  });
});
