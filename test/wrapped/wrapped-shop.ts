/**
 * Sellers in processes of their own, behind something that wraps Express, and what is asked of each.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createPayer, type PayOptions, type PayResult, pay, startFacilitatorServer } from "@farebox/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { PAY_TO } from "../express/shop.js";
import { createShopFacilitator, type ShopFacilitator } from "../express/shop-facilitator.js";

/** A process that sells. */
export interface Seller {
  readonly url: string;
  readonly facilitator: ShopFacilitator;
  /** The lines that it has printed so far, without the first. */
  readonly lines: readonly string[];
  /** Without a payment. */
  ask(options: PayOptions): Promise<PayResult>;
  pay(options: PayOptions): Promise<PayResult>;
}

export interface SellerPlan {
  /** Of `wrap.mjs`. */
  readonly wrapper?: string;
  /** The version of Express. */
  readonly express?: string;
  readonly isProduction?: boolean;
  /** What Node gets. It prints `listening` and the port, or the port alone. */
  argv(facilitator: string): readonly string[];
}

const HERE = new URL("./", import.meta.url);

/** Starts a process for the time of the test. Rejects with what it has printed if it does not listen. */
export async function startSeller({ wrapper, express = "5", isProduction, argv }: SellerPlan): Promise<Seller> {
  const payer = createPayer();
  const facilitator = createShopFacilitator(payer);
  const served = await startFacilitatorServer({ facilitator });
  onTestFinished(() => served.close());
  const wrap = wrapper === undefined ? [] : ["--import", new URL("wrap.mjs", HERE).href];
  const child = spawn(process.execPath, [...wrap, ...argv(served.url)], {
    cwd: fileURLToPath(new URL("../..", HERE)),
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      WRAPPER: wrapper,
      EXPRESS: express,
      NODE_ENV: isProduction === true ? "production" : "development",
    },
  });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill();
    await exited;
  });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  const port = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const listening = /^(?:listening )?(\d+)$/.exec(line)?.[1];
      if (listening === undefined) lines.push(line);
      else resolve(listening);
    });
    void exited.then(() => reject(new Error(`ended before it listened:\n${lines.join("\n")}`)));
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    facilitator,
    lines,
    ask: (options) => pay(url, options),
    pay: (options) => pay(url, { payer, ...options }),
  };
}

/** `GET /report` is 402 or 200, or what came instead; `free` if the handler was reached without a payment. */
export function outcomeOf({ status, headers, receipt }: PayResult): string {
  if (headers["x-reached"] === undefined) return String(status);
  return receipt?.success === true ? "paid" : "free";
}

/** Each in another spelling than its key. */
const PRICED = [
  "POST /all",
  "GET /l",
  "GET /v2/users/7",
  "GET /Sub/Item/",
  "GET /Report/",
  "GET /report",
  "HEAD /report",
  "DELETE /All/",
  "GET /list",
  "GET /L/",
  "GET /v1/users/7",
  "GET /V2/Users/7/",
  "GET /sub/item",
  "GET /box/late/item",
];

/** Only who sees into an app that is mounted in another finds these. */
const IN_APPS = ["GET /sub/i", "GET /box/late/i"];

const FREE = ["GET /free", "POST /report", "GET /v1/free", "GET /v2/free", "GET /sub/free"];

interface Layout {
  readonly place: "top" | "router";
  readonly isReady: boolean;
  readonly isProduction: boolean;
  /** The first request, of those that are priced: it may find what was not looked at yet. */
  readonly first: number;
}

const LAYOUTS: readonly Layout[] = [
  { place: "router", isReady: true, isProduction: true, first: 0 },
  { place: "top", isReady: false, isProduction: true, first: 2 },
  { place: "top", isReady: true, isProduction: false, first: 0 },
  { place: "router", isReady: false, isProduction: false, first: 1 },
];

export interface WrapperTests {
  /** The versions of Express. Default: both. */
  readonly express?: readonly string[];
  /** Whether the routers show a table, and apps, in a router of the wrapper's. Default `true`. */
  readonly isShown?: boolean;
  /** Those of {@link IN_APPS} to whose app the wrapper leaves no way. */
  readonly notFound?: readonly string[];
  /** Whether all layouts are tried, and examples of the docs; else the first two. Default `true`. */
  readonly isWhole?: boolean;
}

/** Tests what a wrapper must not change. */
export function testWrapper(wrapper: string, tests: WrapperTests = {}): void {
  const { express = ["5", "4"], isShown = true, notFound = [], isWhole = true } = tests;
  describe.each(express)(`${wrapper} on Express %s`, (version) => {
    const layouts = isWhole ? LAYOUTS : LAYOUTS.slice(0, 2);
    test.each(layouts)("a table at the $place; ready: $isReady; production: $isProduction", async (layout) => {
      const { place, isReady, isProduction } = layout;
      const isHidden = !isShown && place === "router";
      const plan = (facilitator: string) => JSON.stringify({ facilitator, payTo: PAY_TO, place, isReady });
      const seller = await startSeller({
        wrapper,
        express: version,
        isProduction,
        argv: (facilitator) => [fileURLToPath(new URL("seller.mjs", HERE)), plan(facilitator)],
      });
      const inApps = isHidden ? [] : IN_APPS.filter((text) => !notFound.includes(text));
      await expectPrices(seller, layout, inApps);
      // A router that wraps its handlers shows no charge, either.
      if (!isHidden) await expectDear(seller, layout);
      // The key that is wider than the route with a charge. What the routers do not show is a finding, at most.
      const found = isReady && !isHidden ? ["findings FAREBOX_PRICED_TWICE"] : [];
      expect(seller.lines.filter((line) => !isHidden || line.startsWith("warning"))).toEqual(found);
    });

    test.skipIf(!isWhole || !isShown || version !== express[0]).each([
      ["the README's example", "packages/express/README.md"],
      ["the quickstart's example, with ready", "docs/get-started/quickstart.md"],
    ])("%s", async (_what, file) => {
      const seller = await startSeller({
        wrapper,
        express: version,
        argv: (facilitator) => ["--input-type=module", "--eval", programOf(file, { version, facilitator })],
      });
      expect(outcomeOf(await seller.ask({ path: "/Weather/Paris/" }))).toBe("402");
      expect(outcomeOf(await seller.ask({ path: "/weather/paris" }))).toBe("402");
      expect(await seller.pay({ path: "/weather/paris" })).toMatchObject({ status: 200, receipt: { success: true } });
      expect((await seller.ask({ path: "/" })).status).toBe(404);
      expect(seller.lines.filter((line) => line.includes("FareboxWarning"))).toEqual([]);
    });
  });
}

/** That what a key names is priced from the first request on, and nothing else. */
async function expectPrices(seller: Seller, { place, first }: Layout, inApps: readonly string[]): Promise<void> {
  const mount = place === "router" ? "/api" : "";
  const toRequest = (text: string) => {
    const [method = "", path = ""] = text.split(" ");
    return { method, path: mount + path };
  };
  const priced = [...PRICED.slice(first), ...inApps, ...PRICED.slice(0, first)];
  const unpaid: string[] = [];
  for (const text of priced) unpaid.push(`${text} ${outcomeOf(await seller.ask(toRequest(text)))}`);
  expect(unpaid).toEqual(priced.map((text) => `${text} 402`));

  const bought = priced.slice(0, 5);
  const paid: string[] = [];
  for (const text of bought) paid.push(`${text} ${outcomeOf(await seller.pay(toRequest(text)))}`);
  expect(paid).toEqual(bought.map((text) => `${text} paid`));
  expect(seller.facilitator.settled).toEqual(bought.map(() => 10_000n));

  for (const text of FREE) expect(outcomeOf(await seller.ask(toRequest(text))), text).toBe("free");
}

/** A charge is nearer to its handler than a wider key. */
async function expectDear(seller: Seller, { place }: Layout): Promise<void> {
  const dear = { method: "GET", path: place === "router" ? "/api/dear/item" : "/dear/item" };
  expect((await seller.ask(dear)).challenge?.accepts).toMatchObject([{ amount: "50000" }]);
  expect(outcomeOf(await seller.pay(dear))).toBe("paid");
}

const LISTEN = 'app.listen(0, "127.0.0.1", function () { console.log(this.address().port); });';

/** The first example of a page, with this facilitator and version of Express. */
function programOf(file: string, to: { readonly version: string; readonly facilitator: string }): string {
  const text = readFileSync(new URL(`../../${file}`, HERE), "utf8");
  const example = /```(?:ts|js)\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
  const program = example
    .replace(/https:\/\/[^"]+\/facilitator/, to.facilitator)
    .replace('from "express"', to.version === "4" ? 'from "express4"' : 'from "express"')
    .replace(/app\.listen\(.*\);/, "");
  expect(program).toContain(to.facilitator);
  return program + LISTEN;
}
