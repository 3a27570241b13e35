/**
 * The page for everybody: any width, light and dark, keyboard, screen reader, right to left, without JavaScript. And nothing that anybody
 * writes breaks out of it.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import fc from "fast-check";
import type { BrowserContext } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readDraws } from "../draws.js";
import { CHROMIUM, openPage, type Shop, Stage } from "./stage.js";
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
  let context: BrowserContext;
  beforeAll(async () => {
    stage = await Stage.start();
    shop = await stage.sell(
      { "GET /weather": { price: "$0.01", description: "The weather" } },
      (app) => app.get("/weather", (_req, res) => void res.json({ weather: "sunny" })),
      {
        networks: [stage.chain.network, stage.svm.network],
        paywall: { title: "Weather Pro", texts: { ar: { pay: "\u0627\u062f\u0641\u0639 {price}" } } },
      },
    );
  });
  afterAll(() => stage.close());
  beforeEach(async () => {
    context = await stage.context();
  });
  afterEach(() => context.close());

  async function openWithWallet(options: Parameters<Stage["context"]>[0] = {}) {
    await context.close();
    context = await stage.context(options);
    await injectEvmWallet(context, { ...(await stage.payer()), rpcUrl: stage.chain.rpcUrl });
    return openPage(context, `${shop.url}/weather`);
  }

  async function violations(page: Awaited<ReturnType<typeof openWithWallet>>["page"]): Promise<readonly string[]> {
    // Not as an element: the policy of the page would forbid it.
    await page.evaluate(AXE);
    const { violations: found } = (await page.evaluate(`axe.run(document, ${JSON.stringify(RULES)})`)) as AxeResult;
    return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
  }

  test.each(["light", "dark"] as const)(
    "axe-core finds nothing in %s mode: before, after a refusal, at the end",
    async (colorScheme) => {
      const { page } = await openWithWallet({ colorScheme, reducedMotion: "reduce" });
      expect(await violations(page)).toEqual([]);
      await page.getByRole("button", { name: "Pay" }).click();
      await page.getByRole("heading", { name: "Paid" }).waitFor();
      expect(await violations(page)).toEqual([]);
    },
  );

  test.each([320, 768, 1_280])("nothing is wider than a window of %i pixels", async (width) => {
    const { page } = await openWithWallet({ viewport: { width, height: 800 } });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
    await page.locator("summary").click();
    await page.locator("#payee button").click();
    await page.getByRole("button", { name: "Pay" }).click();
    await page.getByRole("heading", { name: "Paid" }).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
  });

  test("is paid with the keyboard alone, and the focus goes to the end", async () => {
    const { page } = await openWithWallet();
    for (let tab = 0; tab < 8; tab++) {
      if ((await page.evaluate("document.activeElement.id")) === "pay") break;
      await page.keyboard.press("Tab");
    }
    expect(await page.evaluate("document.activeElement.id")).toBe("pay");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Paid" }).waitFor();
    expect(await page.evaluate("document.activeElement.textContent")).toContain("Paid");
  });

  test("is laid out from right to left in Arabic, with the seller's words", async () => {
    const { page } = await openWithWallet({ locale: "ar", viewport: { width: 320, height: 800 } });
    expect(await page.evaluate("[document.documentElement.dir, document.documentElement.lang]")).toEqual(["rtl", "ar"]);
    expect(await page.locator("#pay").textContent()).toBe("\u0627\u062f\u0641\u0639 $0.01");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  });

  test("says the price and how to pay without JavaScript", async () => {
    await context.close();
    context = await stage.context({ javaScriptEnabled: false });
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
  });

  test("without a wallet says so, and offers no button", async () => {
    const { page, complaints } = await openPage(context, `${shop.url}/weather`);
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
    const { page } = await openPage(context, framed);
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
        .array(part, { minLength: 1, maxLength: 4 })
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
        await context.close();
        context = await stage.context();
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
        await hostileShop.payments.close();
      });
      for (const seed of DRAWS.seeds()) await fc.assert(property, { seed, numRuns: 12 });
    },
    DRAWS.timeoutMs,
  );
});
