/**
 * The page while the outcome of a payment is not known: it sends the same payment again, signs nothing, and survives a reload.
 */
import { createHttpFacilitator, type Facilitator } from "@farebox/core";
import type { Express } from "express";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  type EvmPayer,
  openPage,
  paid,
  pay,
  type Scene,
  SOLANA_PAYEE,
  SOLANA_PAYER,
  type Stage,
  type Window,
} from "./stage.js";

const ROUTES = { "GET /weather": { price: "$0.01", description: "The weather" } } as const;
const sendWeather = (app: Express) => void app.get("/weather", (_req, res) => void res.json({ weather: "sunny" }));

export function testOutcomes(scene: Scene): void {
  let stage: Stage;
  let window: Window;
  let payer: EvmPayer;
  beforeAll(async () => {
    ({ stage } = scene());
    window = await stage.window();
    // Nothing is sent again unless a case says so: the time of the page stands still.
    await window.page.clock.install();
    await window.page.goto("about:blank");
    await window.page.clock.pauseAt(Date.now() + 60_000);
  });
  afterAll(() => window?.context.close());
  beforeEach(async () => {
    payer = await window.arrive();
  });

  /** Presses "Try now" as often as the page waits, until it says that it is paid. */
  async function paidInTheEnd(page: Page): Promise<void> {
    const end = page.getByRole("heading", { name: "Paid" });
    const again = page.getByRole("button", { name: "Try now" });
    for (;;) {
      await end.or(again).waitFor();
      if (await end.isVisible()) return;
      await again.dispatchEvent("click");
    }
  }

  /** The stage's facilitator, whose settlements fail as long as a test wants it. */
  function shaky(): { readonly facilitator: Facilitator; failures: number; settled: number } {
    const real = stage.facilitator;
    const state = {
      failures: Number.POSITIVE_INFINITY,
      settled: 0,
      facilitator: {
        ...createHttpFacilitator({ url: "http://127.0.0.1:1" }),
        supported: () => real.supported(),
        verify: (request: never) => real.verify(request),
        async settle(request: never) {
          if (state.failures-- > 0) throw new Error("lost");
          state.settled += 1;
          return real.settle(request);
        },
      } as unknown as Facilitator,
    };
    return state;
  }

  test("the same payment is sent again by itself, until it is settled once", async () => {
    const { wallet } = window;
    const state = shaky();
    state.failures = 1;
    const shop = await stage.sell(ROUTES, sendWeather, { facilitator: state.facilitator });
    const page = await window.visit(`${shop.url}/weather`);
    await pay(page);
    await page.getByText(/The same payment is sent again in \d+ s/).waitFor();
    await page.getByRole("button", { name: "Try now" }).click();
    await paid(page);
    expect(wallet.count("eth_signTypedData_v4")).toBe(1);
    expect(await stage.chain.balanceOf(shop.payee)).toBe(10_000n);
    expect(await stage.chain.balanceOf(payer.address)).toBe(990_000n);
    expect(shop.errors).toEqual(["settlement_unknown"]);
  });

  test("a reload goes on with the payment, and nothing is signed again", async () => {
    const { wallet } = window;
    const state = shaky();
    const shop = await stage.sell(ROUTES, sendWeather, { facilitator: state.facilitator });
    const page = await window.visit(`${shop.url}/weather`);
    await pay(page);
    await page.getByText(/The same payment is sent again/).waitFor();
    state.failures = 0;
    await page.reload();
    await paidInTheEnd(page);
    expect(wallet.count("eth_signTypedData_v4")).toBe(1);
    expect(await stage.chain.balanceOf(shop.payee)).toBe(10_000n);
  });

  test("a reload while the handler runs waits for it, and the handler runs once", async () => {
    const { wallet } = window;
    let runs = 0;
    let proceed = () => {};
    const held = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const shop = await stage.sell(ROUTES, (app) =>
      app.get("/weather", async (_req, res) => {
        runs += 1;
        await held;
        res.json({ weather: "sunny" });
      }),
    );
    const page = await window.visit(`${shop.url}/weather`);
    const sent = page.waitForRequest((request) => request.headers()["payment-signature"] !== undefined);
    await pay(page);
    await sent;
    await page.reload();
    await page.getByText(/The same payment is sent again|The seller checks the payment/).waitFor();
    proceed();
    await paidInTheEnd(page);
    expect(await stage.chain.balanceOf(shop.payee)).toBe(10_000n);
    expect(runs).toBeLessThanOrEqual(2);
    expect(wallet.count("eth_signTypedData_v4")).toBe(1);
  });

  test("a second tab with the same payment is told that it is being served, and gets the response, too", async () => {
    const { wallet } = window;
    let runs = 0;
    let proceed = () => {};
    const held = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const shop = await stage.sell(
      ROUTES,
      (app) =>
        app.get("/weather", async (_req, res) => {
          runs += 1;
          await held;
          res.json({ weather: "sunny" });
        }),
      { copyWaitMs: 0 },
    );
    const first = await window.visit(`${shop.url}/weather`);
    const { page: second } = await openPage(window.context, `${shop.url}/weather`);
    const sent = first.waitForRequest((request) => request.headers()["payment-signature"] !== undefined);
    await pay(first);
    await sent;
    // As a browser does when somebody duplicates a tab.
    const kept = await first.evaluate("JSON.stringify(Object.entries(sessionStorage))");
    await second.evaluate(`for (const [name, value] of ${kept}) sessionStorage.setItem(name, value)`);
    await second.reload();
    await second.getByText(/Another request is being served for this payment/).waitFor();
    proceed();
    await paid(first);
    await paidInTheEnd(second);
    expect([runs, wallet.count("eth_signTypedData_v4")]).toEqual([1, 1]);
    expect(await stage.chain.balanceOf(shop.payee)).toBe(10_000n);
  });

  test("a server that is gone for a while is asked again with the same payment", async () => {
    const { wallet } = window;
    const shop = await stage.sell(ROUTES, sendWeather);
    const page = await window.visit(`${shop.url}/weather`);
    let isDown = true;
    await page.route("**/weather", (route) => (isDown ? route.abort("connectionreset") : route.continue()));
    await pay(page);
    await page.getByText(/The server cannot be reached. The same payment is sent again in 2 s/).waitFor();
    isDown = false;
    await page.getByRole("button", { name: "Try now" }).click();
    await paid(page);
    expect(wallet.count("eth_signTypedData_v4")).toBe(1);
    expect(await stage.chain.balanceOf(shop.payee)).toBe(10_000n);
  });

  test("a proxy that gives up is no outcome: the same payment is sent again", async () => {
    const { wallet } = window;
    const shop = await stage.sell(ROUTES, sendWeather);
    const page = await window.visit(`${shop.url}/weather`);
    const statuses = [502, 504, 500];
    await page.route("**/weather", async (route) => {
      const status = statuses.shift();
      if (status === undefined) return route.continue();
      // The first one has reached the seller.
      if (status === 502) await route.fetch();
      return route.fulfill({ status, body: "<h1>Bad gateway</h1>" });
    });
    await pay(page);
    await paidInTheEnd(page);
    expect(statuses).toEqual([]);
    expect(wallet.count("eth_signTypedData_v4")).toBe(1);
    expect(await stage.chain.balanceOf(shop.payee)).toBe(10_000n);
  });

  test("a seller that has lost its records is not believed that nothing was charged, and nothing is signed by itself", async () => {
    const { wallet } = window;
    let requests = 0;
    const shop = await stage.sell(ROUTES, sendWeather);
    const other = await stage.sell(ROUTES, sendWeather, { now: () => Date.now() + 3_600_000 });
    const page = await window.visit(`${shop.url}/weather`);
    await page.route("**/weather", async (route) => {
      const payment = route.request().headers()["payment-signature"];
      if (payment === undefined) return route.continue();
      requests += 1;
      // The first request settles, and its response is lost. Then another process responds, an hour later by its clock.
      if (requests === 1) {
        await route.fetch();
        return route.abort("connectionreset");
      }
      const response = await route.fetch({ url: `${other.url}/weather` });
      return route.fulfill({ response });
    });
    await pay(page);
    await page.getByRole("button", { name: "Try now" }).click();
    await page.getByText(/It was sent before, so look into your wallet before you pay again/).waitFor();
    expect(wallet.count("eth_signTypedData_v4")).toBe(1);
    expect(await stage.chain.balanceOf(shop.payee)).toBe(10_000n);
  });

  test("a response of somebody in front of the seller does not say that nothing was charged", async () => {
    const { wallet } = window;
    const shop = await stage.sell(ROUTES, sendWeather);
    const page = await window.visit(`${shop.url}/weather`);
    let isBlocked = true;
    await page.route("**/weather", async (route) => {
      if (!isBlocked) return route.continue();
      isBlocked = false;
      await route.fetch();
      return route.fulfill({ status: 403, body: "blocked" });
    });
    await pay(page);
    await page.getByText("It does not say whether you were charged").waitFor();
    await page.reload();
    await paidInTheEnd(page);
    expect(wallet.count("eth_signTypedData_v4")).toBe(1);
    expect(await stage.chain.balanceOf(shop.payee)).toBe(10_000n);
  });

  test("an expired payment is signed anew, once", async () => {
    const { wallet } = window;
    let laterMs = 0;
    const shop = await stage.sell(ROUTES, sendWeather, { now: () => Date.now() + laterMs });
    const page = await window.visit(`${shop.url}/weather`);
    // As if the person had left the page open.
    laterMs = 600_000;
    await pay(page);
    await paid(page);
    expect(wallet.count("eth_signTypedData_v4")).toBe(2);
    expect(await stage.chain.balanceOf(shop.payee)).toBe(10_000n);
  });

  test("a blockhash that has expired on Solana is replaced, and the payment signed anew", async () => {
    stage.svm.setBalance(SOLANA_PAYER.publicKey.toBase58(), 1_000_000n);
    const before = stage.svm.balanceOf(SOLANA_PAYEE) ?? 0n;
    const accepts = { network: stage.svm.network, price: "$0.01", payTo: SOLANA_PAYEE } as const;
    let laterMs = 0;
    const now = () => Date.now() + laterMs;
    const shop = await stage.sell({ "GET /weather": { accepts } }, sendWeather, { now });
    const page = await window.visit(`${shop.url}/weather`);
    stage.svm.expireBlockhash();
    // The seller's node is asked every five seconds at most.
    laterMs = 6_000;
    await pay(page);
    await paid(page);
    expect(stage.svm.balanceOf(SOLANA_PAYEE)).toBe(before + 10_000n);
    expect(window.sun.count("signTransaction")).toBe(2);
  });

  test("a redirect on this server is followed, one to another is told", async () => {
    const shop = await stage.sell(
      {
        "GET /near": { price: "$0.01", chargeable: () => true },
        "GET /far": { price: "$0.01", chargeable: () => true },
      },
      (app) => {
        app.get("/near", (_req, res) => void res.redirect("/free"));
        app.get("/far", (_req, res) => void res.redirect("http://127.0.0.1:9/"));
        app.get("/free", (_req, res) => void res.json({ free: true }));
      },
    );
    const near = await window.visit(`${shop.url}/near`);
    await pay(near);
    await near.locator("pre").waitFor();
    expect(await near.locator("pre").textContent()).toContain("true");
    const far = await window.visit(`${shop.url}/far`);
    await pay(far);
    await far.getByRole("button", { name: "Try now" }).click();
    await far.getByText(/leads to another page/).waitFor();
    expect(await stage.chain.balanceOf(shop.payee)).toBe(20_000n);
  });
}
