/**
 * A person pays in the page: each way ends in a balance on a chain.
 */
import { setSettlementOverrides } from "@farebox/express";
import { anvilAccounts } from "@farebox/testing";
import type { Express } from "express";
import { expect, test } from "vitest";
import { keypair, TOKEN_2022 } from "../../packages/svm/src/payments.fixture.js";
import { openPage, paid, pay, type Scene, type Shop, SOLANA_PAYEE, SOLANA_PAYER, told } from "./stage.js";
import { injectEvmWallet, injectSolanaWallet } from "./wallets.js";

const JSON_ROUTE = { "GET /weather": { price: "$0.01", description: "The weather" } } as const;
const sendWeather = (app: Express) => void app.get("/weather", (_req, res) => void res.json({ weather: "sunny" }));

export function testPaying(scene: Scene): void {
  const received = (shop: Shop) => scene().stage.chain.balanceOf(shop.payee);

  test("pays with EIP-3009, and reads JSON and a receipt", async () => {
    const { stage, window } = scene();
    const payer = await window.arrive();
    const shop = await stage.sell(JSON_ROUTE, sendWeather);
    const page = await window.visit(`${shop.url}/weather`);
    await pay(page);
    await paid(page);
    expect(await page.locator("pre").textContent()).toBe('{\n  "weather": "sunny"\n}');
    expect(await page.locator("#receipt a").getAttribute("href")).toMatch(/^https:\/\/sepolia\.basescan\.org\/tx\/0x/);
    expect(await received(shop)).toBe(10_000n);
    expect(await stage.chain.balanceOf(payer.address)).toBe(990_000n);
    expect(window.wallet.count("eth_signTypedData_v4")).toBe(1);
    expect(window.complaints).toEqual([]);
  });

  test("pays on Solana, with a transaction that the page built", async () => {
    const { stage, window } = scene();
    stage.svm.setBalance(SOLANA_PAYER.publicKey.toBase58(), 1_000_000n);
    const before = stage.svm.balanceOf(SOLANA_PAYEE) ?? 0n;
    const accepts = { network: stage.svm.network, price: "$0.02", payTo: SOLANA_PAYEE } as const;
    const shop = await stage.sell({ "GET /weather": { accepts } }, (app) =>
      app.get("/weather", (_req, res) => void res.type("text").send("sunny")),
    );
    await window.arrive();
    const { sun: wallet } = window;
    const page = await window.visit(`${shop.url}/weather`);
    wallet.declines.add("signTransaction");
    await pay(page);
    await told(page, "You declined in Test Sun. Nothing was charged.");
    wallet.declines.clear();
    await page.getByRole("button", { name: "Try again" }).click();
    await paid(page);
    expect(await page.locator("pre").textContent()).toBe("sunny");
    expect(await page.locator("#receipt a").getAttribute("href")).toMatch(
      /explorer\.solana\.com\/tx\/\w+\?cluster=devnet$/,
    );
    expect(stage.svm.balanceOf(SOLANA_PAYEE)).toBe(before + 20_000n);
    expect(wallet.count("signTransaction")).toBe(2);
    expect(window.complaints).toEqual([]);
  });

  test("pays on Solana with a token of Token-2022 and the memo that the seller demands", async () => {
    const { stage, window } = scene();
    const token = { mint: keypair(62).publicKey.toBase58(), program: "token-2022" } as const;
    stage.svm.createToken(token);
    stage.svm.setBalance(SOLANA_PAYER.publicKey.toBase58(), 100n, token);
    stage.svm.setBalance(SOLANA_PAYEE, 0n, token);
    const price = { asset: token.mint, amount: "7" };
    const accepts = {
      network: stage.svm.network,
      price,
      payTo: SOLANA_PAYEE,
      extra: { memo: "order 7 \u00e4\u{1f600}" },
    };
    const shop = await stage.sell({ "GET /weather": { accepts } }, sendWeather);
    await window.arrive();
    const page = await window.visit(`${shop.url}/weather`);
    await pay(page);
    await paid(page);
    expect(stage.svm.balanceOf(SOLANA_PAYEE, token)).toBe(7n);
    expect(TOKEN_2022.toBase58()).toMatch(/^Tokenz/);
  });

  test("switches the network; an unknown one is added to the wallet", async () => {
    const { stage, window } = scene();
    const { wallet } = window;
    await window.arrive({ chainId: 1, knows: [1] });
    const shop = await stage.sell(JSON_ROUTE, sendWeather);
    const page = await window.visit(`${shop.url}/weather`);
    wallet.declines.add("wallet_addEthereumChain");
    await pay(page);
    await told(page, "You declined in Test Fox. Nothing was charged.");
    wallet.declines.clear();
    await page.getByRole("button", { name: "Try again" }).click();
    await paid(page);
    const [{ params }] = wallet.calls.filter(({ method }) => method === "wallet_addEthereumChain") as [never];
    expect(params).toEqual([expect.objectContaining({ chainId: "0x14a34", chainName: "Base Sepolia" })]);
    expect(await received(shop)).toBe(10_000n);
  });

  test("a wallet that stays on another network is told, and nothing is signed", async () => {
    const { stage, window } = scene();
    const { wallet } = window;
    await window.arrive({ chainId: 1, knows: [1, 84532] });
    wallet.fails.set("wallet_switchEthereumChain", { code: -32603, message: "no" });
    const shop = await stage.sell(JSON_ROUTE, sendWeather);
    const page = await window.visit(`${shop.url}/weather`);
    await pay(page);
    await told(page, "Test Fox is on another network. Switch it to Base Sepolia, and try again.");
    expect(wallet.count("eth_signTypedData_v4")).toBe(0);
  });

  test("declines, and pays once afterwards", async () => {
    const { stage, window } = scene();
    const { wallet } = window;
    await window.arrive();
    const shop = await stage.sell(JSON_ROUTE, sendWeather);
    const page = await window.visit(`${shop.url}/weather`);
    for (const method of ["eth_requestAccounts", "eth_signTypedData_v4"]) {
      wallet.declines.add(method);
      await page.locator("#pay").click();
      await told(page, "You declined in Test Fox. Nothing was charged.");
      wallet.declines.clear();
    }
    expect(await received(shop)).toBe(0n);
    await page.locator("#pay").click();
    await paid(page);
    expect(await received(shop)).toBe(10_000n);
  });

  test("has too little, and reads how much is missing before anything is signed", async () => {
    const { stage, window } = scene();
    const { wallet } = window;
    await window.arrive({ usdc: 4_000n });
    const shop = await stage.sell(JSON_ROUTE, sendWeather);
    const page = await window.visit(`${shop.url}/weather`);
    await pay(page);
    await told(page, "Your balance of 0.004 USDC is too low: 0.006 USDC are missing on Base Sepolia.");
    expect(await page.locator("#balance").textContent()).toBe("Your balance: 0.004 USDC");
    expect(wallet.count("eth_signTypedData_v4")).toBe(0);
  });

  test("pays a plain token by Permit2, with an approval of exactly the amount", async () => {
    const { stage, window } = scene();
    const { wallet } = window;
    const payer = await window.arrive({ eth: 10n ** 18n });
    const token = await stage.chain.deployToken(payer.address);
    const price = { asset: token, amount: "5000", extra: { assetTransferMethod: "permit2" } };
    const shop = await stage.sell(
      { "GET /weather": { accepts: { network: stage.chain.network, price, payTo: anvilAccounts[5]!.address } } },
      sendWeather,
    );
    const page = await window.visit(`${shop.url}/weather`);
    await pay(page);
    await paid(page);
    const [{ params }] = wallet.calls.filter(({ method }) => method === "eth_sendTransaction") as [never];
    expect(JSON.stringify(params)).toContain(`${"0".repeat(60)}1388`);
    expect(await page.locator("#receipt").textContent()).toContain("5000 ");
  });

  test("approves a maximum by signature alone, and is charged for the usage", async () => {
    const { stage, window } = scene();
    const { wallet } = window;
    await window.arrive();
    const { address: payTo } = await stage.payer(0n);
    const accepts = { scheme: "upto", network: stage.chain.network, price: "$0.05", payTo } as const;
    const shop = await stage.sell({ "GET /words": { accepts } }, (app) =>
      app.get("/words", (_req, res) => {
        setSettlementOverrides(res, { amount: "1234" });
        res.json({ words: 12 });
      }),
    );
    const page = await window.visit(`${shop.url}/words`);
    expect(await page.locator("#price").textContent()).toBe("up to $0.05");
    await page.getByRole("button", { name: "Approve up to $0.05" }).click();
    await paid(page);
    expect(wallet.count("eth_signTypedData_v4")).toBe(2);
    expect(wallet.count("eth_sendTransaction")).toBe(0);
    expect(await stage.chain.balanceOf(payTo)).toBe(1_234n);
    expect(await page.locator("#receipt dl").textContent()).toContain("0.001234 USDC");
  });

  test("pays for a form that was sent, and its fields arrive", async () => {
    const { stage, window } = scene();
    const { wallet } = window;
    await window.arrive();
    const { default: express } = await import("express");
    const shop = await stage.sell(
      { "POST /order": { price: "$0.01" } },
      (app) => {
        app.get("/", (_req, res) => {
          res.send('<form method="post" action="/order"><input name="a" value="1 &amp; 2"><button>Go</button></form>');
        });
        app.post("/order", (req, res) => void res.send(`<!doctype html><p id="got">${req.body.a}</p>`));
      },
      { before: (app) => void app.use(express.urlencoded({ extended: false })) },
    );
    const page = await window.visit(`${shop.url}/`);
    await page.getByRole("button", { name: "Go" }).click();
    await pay(page);
    await page.locator("#got").waitFor();
    expect(await page.locator("#got").textContent()).toBe("1 & 2");
    expect(await received(shop)).toBe(10_000n);
    expect(wallet.count("eth_signTypedData_v4")).toBe(1);
    expect(window.complaints).toEqual([]);
  });

  test("reads that a form cannot be sent again if its fields are not known", async () => {
    const { stage, window } = scene();
    await window.arrive();
    const shop = await stage.sell({ "POST /order": { price: "$0.01" } }, (app) => {
      app.get("/", (_req, res) => {
        res.send('<form method="post" action="/order"><input name="a" value="1"><button>Go</button></form>');
      });
      app.post("/order", (_req, res) => void res.send("ordered"));
    });
    const page = await window.visit(`${shop.url}/`);
    await page.getByRole("button", { name: "Go" }).click();
    await told(page, /^You sent a form, and its content is not known/);
    expect(await page.locator("#pay").isDisabled()).toBe(true);
  });

  test("is not charged for a handler that fails", async () => {
    const { stage, window } = scene();
    await window.arrive();
    const shop = await stage.sell(JSON_ROUTE, (app) =>
      app.get("/weather", (_req, res) => void res.status(500).json({ error: "broken" })),
    );
    const page = await window.visit(`${shop.url}/weather`);
    await pay(page);
    await told(page, /^The server responded with 500.*You were not charged\.$/);
    expect(await page.locator("pre").textContent()).toContain("broken");
    expect(await received(shop)).toBe(0n);
  });

  test("a wallet that returns nonsense is told by name, charges nothing, and can be used again", async () => {
    const { stage, window } = scene();
    const { wallet } = window;
    await window.arrive();
    const shop = await stage.sell(JSON_ROUTE, sendWeather);
    const page = await window.visit(`${shop.url}/weather`);
    const nonsense: readonly (readonly [method: string, value: unknown])[] = [
      ["eth_requestAccounts", null],
      ["eth_requestAccounts", ["me"]],
      ["eth_chainId", "84532"],
      ["eth_chainId", {}],
      ["eth_signTypedData_v4", null],
      ["eth_signTypedData_v4", { signature: "0x" }],
      ["eth_signTypedData_v4", `0x${"00".repeat(65)}`],
    ];
    for (const [method, value] of nonsense) {
      wallet.returns.set(method, value);
      await page.locator("#pay").click();
      await page.locator("#problem .problem").waitFor();
      expect(await page.locator("#pay").isEnabled(), `${method} ${value}`).toBe(true);
      wallet.returns.clear();
    }
    wallet.fails.set("eth_signTypedData_v4", { code: -32000, message: "<b>broken</b>" });
    await page.locator("#pay").click();
    await told(page, "Test Fox failed: <b>broken</b>");
    wallet.fails.clear();
    expect(await received(shop)).toBe(0n);
    // A wallet that does not say the balance is no hindrance.
    wallet.returns.set("eth_call", "0x");
    await page.locator("#pay").click();
    await paid(page);
    expect(await received(shop)).toBe(10_000n);
    expect(window.complaints).toEqual([]);
  });

  test("chooses between two wallets and two networks", async () => {
    const { stage } = scene();
    const [payer, second] = [await stage.payer(), await stage.payer()];
    const context = await stage.context();
    await injectEvmWallet(context, { ...payer, rpcUrl: stage.chain.rpcUrl });
    await injectEvmWallet(context, { ...second, name: "Second", rpcUrl: stage.chain.rpcUrl });
    await injectSolanaWallet(context, { keypair: SOLANA_PAYER });
    const networks = [stage.svm.network, stage.chain.network] as const;
    const shop = await stage.sell(JSON_ROUTE, sendWeather, { networks });
    const { page } = await openPage(context, `${shop.url}/weather`);
    await page.getByLabel(/Base Sepolia/).check();
    await page.getByLabel("Second").check();
    await pay(page);
    await paid(page);
    expect(await stage.chain.balanceOf(second.address)).toBe(990_000n);
    expect(await stage.chain.balanceOf(payer.address)).toBe(1_000_000n);
    await context.close();
  });
}
