/**
 * A person pays in the page: each way ends in a balance on a chain.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { keypair } from "../../packages/svm/src/payments.fixture.js";
import { CHROMIUM, openPage, SOLANA_PAYEE, Stage } from "./stage.js";
import { injectEvmWallet, injectSolanaWallet } from "./wallets.js";

const SVM_PAYER = keypair(61);

describe.skipIf(CHROMIUM === undefined)("a person", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.start();
  });
  afterAll(() => stage.close());

  test("pays with EIP-3009, and reads JSON and a receipt", async () => {
    const payer = await stage.payer();
    const shop = await stage.sell({ "GET /weather": { price: "$0.01", description: "The weather" } }, (app) =>
      app.get("/weather", (_req, res) => void res.json({ weather: "sunny" })),
    );
    const context = await stage.context();
    const wallet = await injectEvmWallet(context, { ...payer, rpcUrl: stage.chain.rpcUrl });
    const { page, complaints } = await openPage(context, `${shop.url}/weather`);
    await page.getByRole("button", { name: "Pay $0.01" }).click();
    await page.getByRole("heading", { name: "Paid" }).waitFor();
    expect(await page.locator("pre").textContent()).toBe('{\n  "weather": "sunny"\n}');
    expect(await page.locator("#receipt a").getAttribute("href")).toMatch(/^https:\/\/sepolia\.basescan\.org\/tx\/0x/);
    expect(await stage.chain.balanceOf(shop.payee)).toBe(10_000n);
    expect(await stage.chain.balanceOf(payer.address)).toBe(990_000n);
    expect(wallet.count("eth_signTypedData_v4")).toBe(1);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("pays on Solana, with a transaction that the page built", async () => {
    stage.svm.setBalance(SVM_PAYER.publicKey.toBase58(), 1_000_000n);
    const before = stage.svm.balanceOf(SOLANA_PAYEE) ?? 0n;
    const accepts = { network: stage.svm.network, price: "$0.02", payTo: SOLANA_PAYEE } as const;
    const shop = await stage.sell({ "GET /weather": { accepts } }, (app) =>
      app.get("/weather", (_req, res) => void res.type("text").send("sunny")),
    );
    const context = await stage.context();
    const wallet = await injectSolanaWallet(context, { keypair: SVM_PAYER });
    const { page, complaints } = await openPage(context, `${shop.url}/weather`);
    await page.getByRole("button", { name: "Pay $0.02" }).click();
    await page.getByRole("heading", { name: "Paid" }).waitFor();
    expect(await page.locator("pre").textContent()).toBe("sunny");
    expect(stage.svm.balanceOf(SOLANA_PAYEE)).toBe(before + 20_000n);
    expect(wallet.count("signTransaction")).toBe(1);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
