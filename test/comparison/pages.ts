/**
 * Opens the page in the browser of both libraries, and measures it. The reference's page is `@x402/paywall`, passed to its middleware by hand,
 * as its automatic detection does not find it. It is downloaded, as its dependencies are not needed.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { paymentMiddleware } from "@farebox/express";
import { createTestFacilitator, startFacilitatorServer } from "@farebox/testing";
import { HTTPFacilitatorClient, x402ResourceServer } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware as referenceMiddleware } from "@x402/express";
import express, { type RequestHandler } from "express";
import { type Browser, chromium } from "playwright-core";

/** From where this is when it is compiled. */
const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

/** The version that is compared. */
export const PAYWALL_VERSION = "2.12.0";

/** One row: what was measured of each page. */
export interface ComparedPage {
  readonly what: string;
  readonly reference: string;
  readonly farebox: string;
}

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const HOSTILE = "</script><script>globalThis.isBroken = true</script>";
const BROWSER = { accept: "text/html", "user-agent": "Mozilla/5.0", "sec-fetch-mode": "navigate" };
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = JSON.stringify({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] });

/** Measures both pages. */
export async function comparePages(): Promise<readonly ComparedPage[]> {
  const facilitator = await startFacilitatorServer({ facilitator: createTestFacilitator() });
  const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const [reference, farebox] = [
    await measure(browser, await referenceSeller(facilitator.url)),
    await measure(browser, fareboxSeller(facilitator.url)),
  ];
  await browser.close();
  await facilitator.close();
  const names = Object.keys(farebox) as (keyof Measures)[];
  return names.map((what) => ({ what, reference: reference[what], farebox: farebox[what] }));
}

/** Writes the section. */
export function renderPages(rows: readonly ComparedPage[]): string {
  const line = ({ what, reference, farebox }: ComparedPage) => `| ${what} | ${reference} | ${farebox} |`;
  return `## Pages in the browser

A person opens a priced URL in Chromium. The reference's page is \`@x402/paywall\` ${PAYWALL_VERSION}, passed to its middleware by hand. The
first row is its middleware alone. Farebox's page needs no setting: [the guide](../guides/paywall.md).

| | reference | Farebox |
|---|---|---|
${rows.map(line).join("\n")}
`;
}

type Measures = Readonly<
  Record<
    | "without a setting, the page says"
    | "size of the page"
    | "size with gzip"
    | "requests to other origins, when it is opened"
    | "`Content-Security-Policy`"
    | "a `</script>` in a description runs a script"
    | "another site shows it in a frame"
    | "`fetch` with `Accept: text/html` gets"
    | "the price is in it without JavaScript"
    | "wallets that announce themselves by EIP-6963, by name"
    | "violations of WCAG 2.2 AA that axe-core finds"
    | "language and direction for `Accept-Language: ar`, if the seller has texts"
    | "width of its content in a window of 320 pixels",
    string
  >
>;

interface Seller {
  readonly plain: RequestHandler;
  readonly page: RequestHandler;
}

function fareboxSeller(facilitator: string): Seller {
  const handler = paymentMiddleware(routes(), { facilitator, paywall: { texts: { ar: { paid: "x" } } } });
  return { plain: handler, page: handler };
}

async function referenceSeller(url: string): Promise<Seller> {
  const { createPaywall } = (await load("dist/esm/index.js")) as typeof import("@farebox/compat/paywall");
  const { evmPaywall } = (await load("dist/esm/evm/index.js")) as typeof import("@farebox/compat/paywall");
  const server = () => {
    const made = new x402ResourceServer(new HTTPFacilitatorClient({ url }));
    return made.register("eip155:84532", new ExactEvmScheme());
  };
  const config = { appName: "Shop", testnet: true };
  const paywall = createPaywall().withNetwork(evmPaywall).withConfig(config).build();
  return {
    plain: referenceMiddleware(routes(), server()),
    page: referenceMiddleware(routes(), server(), config, paywall as never),
  };
}

function routes() {
  const accepts = { scheme: "exact", price: "$0.01", network: "eip155:84532", payTo: PAY_TO } as const;
  return {
    "GET /weather": { accepts, description: "The weather" },
    "GET /hostile": { accepts, description: HOSTILE },
  } as const;
}

/** A file of the package, in a folder from which viem is found. */
async function load(file: string): Promise<unknown> {
  const folder = join(ROOT, "node_modules/.cache/farebox-compared-page");
  if (!existsSync(join(folder, "package", file))) {
    mkdirSync(folder, { recursive: true });
    spawnSync("npm", ["pack", "--silent", `@x402/paywall@${PAYWALL_VERSION}`], { cwd: folder });
    spawnSync("tar", ["xzf", `x402-paywall-${PAYWALL_VERSION}.tgz`], { cwd: folder });
  }
  return import(pathToFileURL(join(folder, "package", file)).href);
}

async function serve(handler: RequestHandler): Promise<{ readonly url: string; close(): void }> {
  const app = express().use(handler);
  app.get(["/weather", "/hostile"], (_req, res) => void res.json({}));
  const server = createServer(app).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://localhost:${(server.address() as AddressInfo).port}`, close };
}

async function measure(browser: Browser, { plain, page: handler }: Seller): Promise<Measures> {
  const [bare, shop] = [await serve(plain), await serve(handler)];
  const frame = await serve((_req, res) => void res.send(`<iframe src="${shop.url}/weather"></iframe>`));
  // Both wait for their facilitator in the first request.
  await fetch(`${shop.url}/weather`);
  await fetch(`${bare.url}/weather`);

  const text = async (url: string) => {
    const page = await browser.newPage({ javaScriptEnabled: false });
    await page.goto(url);
    const body = String(await page.evaluate("document.body.innerText"));
    await page.close();
    return body.replace(/\s+/g, " ").trim();
  };
  const context = await browser.newContext({ viewport: { width: 320, height: 800 }, locale: "ar" });
  await context.addInitScript(ANNOUNCE);
  const page = await context.newPage();
  const others = new Set<string>();
  let isDone = false;
  page.on("request", (request) => {
    const { origin } = new URL(request.url());
    if (!isDone && origin !== shop.url && /^http/.test(origin)) others.add(origin);
  });
  const opened = await page.goto(`${shop.url}/weather`);
  // Some of what a page sends comes later.
  await page.waitForTimeout(8_000);
  isDone = true;
  const html = (await opened?.body()) ?? Buffer.alloc(0);
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate(`axe.run(document, ${RULES})`)) as { violations: { id: string }[] };
  const shown = String(await page.evaluate("document.body.innerText"));
  const options = (await page.locator("option").allTextContents()).join(" ");
  const direction = await page.evaluate(
    "[document.documentElement.lang, document.documentElement.dir || 'ltr'].join(', ')",
  );
  const width = await page.evaluate("document.documentElement.scrollWidth");
  await page.goto(`${shop.url}/hostile`);
  const isBroken = await page.evaluate("globalThis.isBroken === true");
  await page.goto(frame.url);
  const framed = (await page.frames()[1]?.content()) ?? "";
  const asked = await fetch(`${shop.url}/weather`, { headers: { ...BROWSER, "sec-fetch-mode": "cors" } });
  const measures: Measures = {
    "without a setting, the page says": `“${(await text(`${bare.url}/weather`)).replace(/localhost:\d+/g, "localhost").slice(0, 160)} …”`,
    "size of the page": kilobytes(html.length),
    "size with gzip": kilobytes(gzipSync(html).length),
    "requests to other origins, when it is opened": others.size === 0 ? "none" : `to ${[...others].join(", ")}`,
    "`Content-Security-Policy`":
      opened?.headers()["content-security-policy"] === undefined
        ? "none"
        : "hashes for one script and one style, `default-src 'none'`",
    "a `</script>` in a description runs a script": isBroken ? "yes" : "no",
    "another site shows it in a frame": /weather/i.test(framed) ? "yes" : "no",
    "`fetch` with `Accept: text/html` gets": asked.headers.get("content-type")?.split(";")[0] ?? "",
    "the price is in it without JavaScript": (await text(`${shop.url}/weather`)).includes("0.01") ? "yes" : "no",
    "wallets that announce themselves by EIP-6963, by name": `${shown} ${options}`.includes("Announced") ? "yes" : "no",
    "violations of WCAG 2.2 AA that axe-core finds": violations.map(({ id }) => `\`${id}\``).join(", ") || "none",
    "language and direction for `Accept-Language: ar`, if the seller has texts": String(direction),
    "width of its content in a window of 320 pixels": `${width} pixels`,
  };
  await context.close();
  for (const server of [bare, shop, frame]) server.close();
  return measures;
}

const ANNOUNCE = `(() => {
  const provider = { request: async () => [], on() {}, removeListener() {} };
  const info = { uuid: "350670db-19fa-4704-a166-e52e178b59d2", name: "Announced", rdns: "test.announced", icon: "data:image/svg+xml,<svg/>" };
  const announce = () => dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }));
  addEventListener("eip6963:requestProvider", announce);
  announce();
})()`;

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
