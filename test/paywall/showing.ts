/**
 * The page shows the response that was paid for: HTML as a page, media, texts, and files.
 */
import { readFileSync } from "node:fs";
import type { Response } from "express";
import { beforeEach, expect, test } from "vitest";
import { paid, pay, type Scene } from "./stage.js";

/** One white pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+/p6sAAAAASUVORK5CYII=",
  "base64",
);

/** A tenth of a second of silence. */
const WAV = Buffer.concat([
  Buffer.from("RIFF"),
  Buffer.from([0x44, 3, 0, 0]),
  Buffer.from("WAVEfmt "),
  Buffer.from([16, 0, 0, 0, 1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x40, 0x1f, 0, 0, 1, 0, 8, 0]),
  Buffer.from("data"),
  Buffer.from([0x20, 3, 0, 0]),
  Buffer.alloc(800, 128),
]);

export function testShowing(scene: Scene): void {
  beforeEach(async () => {
    await scene().window.arrive();
  });

  /** Opens a page that costs a cent, and pays. */
  async function buy(respond: (res: Response) => void) {
    const { stage, window } = scene();
    const shop = await stage.sell({ "GET /goods/:name": { price: "$0.01" } }, (app) => {
      app.get("/goods/:name", (_req, res) => respond(res));
    });
    const page = await window.visit(`${shop.url}/goods/thing%20one?x=1`);
    await pay(page);
    return { page, shop };
  }

  test("as HTML replaces the page at its URL, with its scripts, its policy, and the receipt at the edge", async () => {
    const html = `<!doctype html><title>Report</title><h1 id="h">Your report</h1>
<script nonce="abc">document.getElementById("h").dataset.ran = "yes"</script>
<script>document.getElementById("h").dataset.forbidden = "yes"</script>
<style nonce="abc">h1 { color: rgb(1, 2, 3) }</style>`;
    const { page, shop } = await buy((res) => {
      res.set("Content-Security-Policy", "script-src 'nonce-abc'; style-src 'nonce-abc'").type("html").send(html);
    });
    await page.getByRole("heading", { name: "Your report" }).waitFor();
    expect(page.url()).toBe(`${shop.url}/goods/thing%20one?x=1`);
    expect(await page.title()).toBe("Report");
    expect(await page.locator("#h").getAttribute("data-ran")).toBe("yes");
    expect(await page.locator("#h").getAttribute("data-forbidden")).toBe(null);
    expect(await page.evaluate("document.compatMode")).toBe("CSS1Compat");
    expect(await page.evaluate("getComputedStyle(document.getElementById('h')).color")).toBe("rgb(1, 2, 3)");
    await page.locator("body > div:last-child").waitFor({ state: "attached" });
    const { stage, window } = scene();
    expect(await stage.chain.balanceOf(shop.payee)).toBe(10_000n);

    // A reload is a new visit, and what was paid for can still be opened.
    await page.reload();
    await page.getByRole("button", { name: "You paid for this page before. Open it again" }).click();
    await page.getByRole("heading", { name: "Your report" }).waitFor();
    expect(window.wallet.count("eth_signTypedData_v4")).toBe(1);
    expect(await stage.chain.balanceOf(shop.payee)).toBe(10_000n);
  });

  test("as an image or a sound is shown, and can be kept", async () => {
    const { complaints } = scene().window;
    const image = await buy((res) => void res.type("png").send(PNG));
    await paid(image.page);
    const shown = image.page.locator("#result img");
    await shown.evaluate((img: unknown) => (img as { decode(): Promise<void> }).decode());
    expect(await shown.evaluate((img: unknown) => (img as { naturalWidth: number }).naturalWidth)).toBe(1);
    expect(await image.page.locator("#result a").getAttribute("download")).toBe("thing one");
    expect(complaints).toEqual([]);
    const sound = await buy((res) => void res.type("audio/wav").send(WAV));
    await paid(sound.page);
    const seconds = sound.page.locator("#result audio").evaluate(async (element: unknown) => {
      const audio = element as { duration: number; addEventListener(name: string, act: () => void): void };
      while (!(audio.duration > 0)) await new Promise<void>((known) => audio.addEventListener("durationchange", known));
      return audio.duration;
    });
    expect(await seconds).toBeCloseTo(0.1);
    expect(complaints).toEqual([]);
    const pdf = await buy((res) => void res.type("application/pdf").send(Buffer.from("%PDF-1.4\n%%EOF")));
    await paid(pdf.page);
    expect(await pdf.page.locator("#result iframe").getAttribute("src")).toMatch(/^blob:/);
  });

  test("as a metered stream of texts is shown as it comes, and its receipt when it is settled", async () => {
    let finish = () => {};
    const { stage, window } = scene();
    const { address: payTo } = await stage.payer(0n);
    // Metered: another response would be held until it is settled.
    const accepts = { scheme: "upto", network: stage.chain.network, price: "$0.05", payTo, settle: "metered" } as const;
    const shop = await stage.sell({ "GET /words": { accepts } }, (app) =>
      app.get("/words", async (req, res) => {
        await req.payment?.charge("$0.01");
        res.type("text/plain; charset=utf-8").write("caf\u00e9 one\n");
        await req.payment?.charge("$0.01");
        finish = () => void res.end("two\n");
      }),
    );
    const page = await window.visit(`${shop.url}/words`);
    await page.getByRole("button", { name: "Approve up to $0.05" }).click();
    await page.locator("pre", { hasText: /^caf\u00e9 one\n$/ }).waitFor();
    expect(await stage.chain.balanceOf(payTo)).toBe(0n);
    finish();
    await page.locator("pre", { hasText: /^caf\u00e9 one\ntwo\n$/ }).waitFor();
    await paid(page);
    expect(await page.locator("#receipt dl").textContent()).toContain("0.02 USDC");
    expect(await stage.chain.balanceOf(payTo)).toBe(20_000n);
  });

  test.each([
    ['attachment; filename="r\u00e9port.html"'.replace("\u00e9", "e"), "text/html", "report.html"],
    ["attachment; filename*=UTF-8''%E2%82%AC%20rates.csv", "text/csv", "\u20ac rates.csv"],
    ['attachment; filename="../../etc/passwd"', "text/plain", "passwd"],
    [undefined, "application/zip", "thing one"],
  ])("with %j and %s is saved as a file under its name", async (disposition, type, name) => {
    const { stage, window } = scene();
    const bytes = Buffer.from([1, 2, 3, 0, 255]);
    const shop = await stage.sell({ "GET /goods/:name": { price: "$0.01" } }, (app) => {
      app.get("/goods/:name", (_req, res) => {
        if (disposition !== undefined) res.setHeader("Content-Disposition", disposition);
        res.type(type).send(bytes);
      });
    });
    const page = await window.visit(`${shop.url}/goods/thing%20one`);
    const downloading = page.waitForEvent("download");
    await pay(page);
    const download = await downloading;
    expect(download.suggestedFilename()).toBe(name);
    expect(readFileSync(await download.path())).toEqual(bytes);
    await page.getByText(`The file ${name} was downloaded.`).waitFor();
  });

  test("after an error of the handler that was charged is told", async () => {
    const { stage, window } = scene();
    const shop = await stage.sell({ "GET /goods/:name": { price: "$0.01", chargeable: () => true } }, (app) =>
      app.get("/goods/:name", (_req, res) => void res.status(404).json({ error: "no such thing" })),
    );
    const page = await window.visit(`${shop.url}/goods/x`);
    await pay(page);
    await page.getByText("The server responded with 404 Not Found, after the payment was settled.").waitFor();
    expect(await page.locator("pre").textContent()).toContain("no such thing");
  });
}
