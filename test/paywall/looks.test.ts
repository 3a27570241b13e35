/**
 * The page for everybody: any width, light and dark, keyboard, screen reader, right to left, without JavaScript. And nothing that anybody
 * writes breaks out of it.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import fc from "fast-check";
import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readDraws } from "../draws.js";
import { CHROMIUM, openPage, paid, pay, type Shop, Stage, told, type Window } from "./stage.js";
import { injectEvmWallet } from "./wallets.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Of axe-core. */
interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

const DRAWS = readDraws("hostile texts in the page");

const RULES = { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };

describe.skipIf(CHROMIUM === undefined)("the page", () => {
  let stage: Stage;
  let shop: Shop;
  let window: Window;
  let bare: BrowserContext;
  beforeAll(async () => {
    stage = await Stage.start();
    window = await stage.window();
    bare = await stage.context();
    shop = await stage.sell(
      { "GET /weather": { price: "$0.01", description: "The weather" } },
      (app) => app.get("/weather", (_req, res) => void res.json({ weather: "sunny" })),
      {
        networks: [stage.chain.network, stage.svm.network],
        paywall: { title: "Weather Pro", texts: { ar: { pay: "\u0627\u062f\u0641\u0639 {price}" } } },
      },
    );
  });
  afterAll(() => stage?.close());

  async function violations(page: Page): Promise<readonly string[]> {
    // Not as an element: the policy of the page would forbid it.
    await page.evaluate(AXE);
    const { violations: found } = (await page.evaluate(`axe.run(document, ${JSON.stringify(RULES)})`)) as AxeResult;
    return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  }

  test.each([
    [320, "dark"],
    [768, "light"],
    [1_280, "dark"],
  ] as const)(
    "nothing is wider than a window of %i pixels, and axe-core finds nothing in %s mode",
    async (width, mode) => {
      await window.arrive();
      await window.page.emulateMedia({ colorScheme: mode, reducedMotion: "reduce" });
      await window.page.setViewportSize({ width, height: 800 });
      const page = await window.visit(`${shop.url}/weather`);
      const fits = async () => expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      await fits();
      await page.locator("summary").click();
      await page.locator("#payee button").click();
      expect(await violations(page)).toEqual([]);
      window.wallet.declines.add("eth_signTypedData_v4");
      await pay(page);
      await told(page, "You declined in Test Fox. Nothing was charged.");
      await fits();
      expect(await violations(page)).toEqual([]);
      window.wallet.declines.clear();
      await page.getByRole("button", { name: "Try again" }).click();
      await paid(page);
      await fits();
      expect(await violations(page)).toEqual([]);
    },
  );

  test("is paid with the keyboard alone, and the focus goes to the end", async () => {
    await window.arrive();
    const page = await window.visit(`${shop.url}/weather`);
    for (let tab = 0; tab < 8; tab++) {
      if ((await page.evaluate("document.activeElement.id")) === "pay") break;
      await page.keyboard.press("Tab");
    }
    expect(await page.evaluate("document.activeElement.id")).toBe("pay");
    await page.keyboard.press("Enter");
    await paid(page);
    expect(await page.evaluate("document.activeElement.textContent")).toContain("Paid");
  });

  test("is laid out from right to left in Arabic, with the seller's words", async () => {
    const context = await stage.context({ locale: "ar", viewport: { width: 320, height: 800 } });
    await injectEvmWallet(context, { ...(await stage.payer()), rpcUrl: stage.chain.rpcUrl });
    const { page } = await openPage(context, `${shop.url}/weather`);
    expect(await page.evaluate("[document.documentElement.dir, document.documentElement.lang]")).toEqual(["rtl", "ar"]);
    expect(await page.locator("#pay").textContent()).toBe("\u0627\u062f\u0641\u0639 $0.01");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
    await context.close();
  });

  test("says the price and how to pay without JavaScript", async () => {
    const context = await stage.context({ javaScriptEnabled: false });
    const { page } = await openPage(context, `${shop.url}/weather`);
    const text = await page.locator("main").textContent();
    for (const part of [
      "The weather",
      "$0.01",
      "0.01 USDC",
      "Base Sepolia",
      shop.payee,
      "needs JavaScript",
      "Pay with a client",
    ]) {
      expect(text).toContain(part);
    }
    await context.close();
  });

  test("without a wallet says so, and offers no button", async () => {
    const { page, complaints } = await openPage(bare, `${shop.url}/weather`);
    expect(await page.locator("#wallets").textContent()).toContain(
      "No wallet was found in this browser that can pay this.",
    );
    expect(await page.locator("#pay").isVisible()).toBe(false);
    expect(complaints).toEqual([]);
  });

  test("is shown in no frame, and to no script", async () => {
    const framed = await stage.serve(
      (await import("express"))
        .default()
        .get("/", (_req, res) => void res.send(`<iframe src="${shop.url}/weather"></iframe>`)),
    );
    const { page } = await openPage(bare, framed);
    expect(await page.frames()[1]?.content()).not.toContain("Weather Pro");
    await page.goto(`${shop.url}/weather`);
    const types = await page.evaluate(async () => {
      const ask = async (accept: string) =>
        (await fetch("/weather", { headers: { accept } })).headers.get("content-type");
      return Promise.all([ask("*/*"), ask("text/html")]);
    });
    expect(types).toEqual(Array(2).fill("application/json; charset=utf-8"));
  });

  test(
    "hostile texts of sellers, clients, tokens and wallets stay texts",
    async () => {
      const part = fc.constantFrom(
        "</script><script>boom()</script>",
        "<img src=x onerror=boom()>",
        "\"'><svg onload=boom()>",
        "<!--",
        "-->",
        "]]>",
        "{price}",
        "javascript:boom()",
        "\u2028",
        "\u202e",
        "&lt;b&gt;",
        "\\u003cscript>",
        "$&",
      );
      const hostile = fc
        .array(part, { minLength: 2, maxLength: 6 })
        .map((parts) => parts.join(""))
        .filter((text) => text.trim() !== "");
      const property = fc.asyncProperty(hostile, hostile, hostile, async (description, title, words) => {
        const { address: payTo } = await stage.payer(0n);
        const price = {
          asset: "0x0000000000000000000000000000000000000abc",
          amount: "7",
          extra: { name: words, version: "1" },
        };
        const hostileShop = await stage.sell(
          { "GET /*path": { accepts: { network: stage.chain.network, price, payTo }, description } },
          (app) => app.get("/*path", (_req, res) => void res.send("ok")),
          {
            strict: false,
            paywall: {
              title: title.slice(0, 100),
              texts: { en: { waysToPay: words.replaceAll("{price}", "").trim() || "x" } },
            },
          },
        );
        const context = await stage.context();
        await injectEvmWallet(context, { ...(await stage.payer()), name: words, rpcUrl: stage.chain.rpcUrl });
        await context.addInitScript("globalThis.boom = () => { globalThis.isBroken = true; }");
        const { page, complaints } = await openPage(
          context,
          `${hostileShop.url}/a?${encodeURI(words)}"><script>boom()</script>`,
        );
        expect(await page.locator("h1").textContent()).toBe(description);
        expect(await page.locator("header span").last().textContent()).toBe(title.slice(0, 100));
        expect(await page.locator("#wallets label span").textContent()).toBe(words.trim().slice(0, 60));
        expect(await page.evaluate("globalThis.isBroken")).toBe(undefined);
        expect(await page.locator("main img, main svg[onload]").count()).toBe(
          await page.locator("#wallets img").count(),
        );
        expect(complaints).toEqual([]);
        await context.close();
        await hostileShop.payments.close();
      });
      for (const seed of DRAWS.seeds()) await fc.assert(property, { seed, numRuns: 6 });
    },
    DRAWS.timeoutMs,
  );
});
