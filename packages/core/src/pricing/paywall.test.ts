import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createShop, createTestScheme, decodeHeader, NETWORK, PAY_TO, responseOf } from "../sale/shop.fixture.js";
import { PAGE_DATA, viewOf, wantsPage } from "./paywall.js";

const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8", userAgent: "Mozilla/5.0 (X11; Linux x86_64)" };

/** The data in a page. */
function dataIn(page: string): unknown {
  const [, data] = /<script type="application\/json" id="payment-required">(.*?)<\/script>/s.exec(page) ?? [];
  return JSON.parse(data ?? "null");
}

describe("a browser without a payment", () => {
  test("a browser gets a page without scripts, with the challenge in its header and data", async () => {
    const { status, headers, text } = responseOf(await createShop().ask(BROWSER));
    expect(status).toBe(402);
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "content-security-policy": expect.stringContaining("default-src 'none'"),
    });
    expect(dataIn(text)).toEqual(decodeHeader(headers["payment-required"]));
    expect(text).toContain("<li>0.01 USDC on eip155:84532</li>");
  });

  test("a browser gets a price in atomic units for a token without decimals", async () => {
    const scheme = createTestScheme({
      compileTerms: ({ payTo }) => ({
        ok: true,
        asset: { id: "0xA", symbol: "<T>", decimals: undefined, extra: {} },
        amount: 7n,
        payTo,
      }),
    });
    const { text } = responseOf(await createShop({ scheme }).ask(BROWSER));
    expect(text).toContain("<li>7 atomic units of &lt;T&gt; (0xA) on eip155:84532</li>");
  });

  test("a browser gets a page without markup from the URL or the description", async () => {
    const markup = ["<script>", "</script>", "<!--", "-->", "&", '"', "'", "a"];
    const paths = fc.array(fc.constantFrom(...markup, "\xe2"));
    const texts = fc.array(fc.constantFrom(...markup, "\u2028"));
    await fc.assert(
      fc.asyncProperty(paths, texts, async (url, words) => {
        const accepts = { network: NETWORK, price: "$0.01", payTo: PAY_TO } as const;
        const description = words.join("");
        const { ask } = createShop({ routes: { "GET /*path": { accepts, description } } });
        const { text, headers } = responseOf(await ask({ ...BROWSER, path: `/x${url.join("")}` }));
        expect(text.match(/<script/g)).toHaveLength(1);
        expect(text.match(/<\/script/g)).toHaveLength(1);
        expect(text).not.toContain("<!--");
        expect(dataIn(text)).toEqual(decodeHeader(headers["payment-required"]));
      }),
      { numRuns: 50 },
    );
  });
});

describe("the paywall page", () => {
  test.each<[accept: string | undefined, userAgent: string | undefined, page: boolean, why: string]>([
    [BROWSER.accept, BROWSER.userAgent, true, "a browser that opens it"],
    ["application/json", BROWSER.userAgent, false, "a script in a browser"],
    ["*/*", BROWSER.userAgent, false, "fetch in a browser"],
    [BROWSER.accept, "curl/8.5.0", false, "a program that takes anything"],
    [undefined, BROWSER.userAgent, false, "no header"],
    [BROWSER.accept, undefined, false, "no header"],
  ])("wantsPage decides for Accept %j and User-Agent %j: %s (%s)", (accept, userAgent, page) => {
    expect(wantsPage(accept, userAgent)).toBe(page);
  });

  test.each<[headers: Record<string, string>, accept: string, view: string | undefined]>([
    [{}, BROWSER.accept, "page"],
    [{ "sec-fetch-mode": "navigate" }, BROWSER.accept, "page"],
    [{ "sec-fetch-mode": "cors" }, BROWSER.accept, undefined],
    [{ "sec-fetch-mode": "same-origin" }, BROWSER.accept, undefined],
    [{ "sec-fetch-mode": "navigate" }, "application/json", undefined],
    [{ cookie: "a=b; farebox-view=1" }, BROWSER.accept, "viewer"],
    [{ cookie: "farebox-view=1", "sec-fetch-mode": "cors" }, BROWSER.accept, undefined],
    [{ cookie: "not-farebox-view=1; farebox-view=12" }, BROWSER.accept, "page"],
    [{}, PAGE_DATA, "data"],
    [{}, `${PAGE_DATA}, */*`, undefined],
  ])("viewOf decides for %j and Accept %j: %s", (headers, accept, view) => {
    const { userAgent } = BROWSER;
    const header = (name: string) => headers[name.toLowerCase()];
    const request = {
      method: "GET",
      path: "/",
      mountPath: "",
      search: "",
      origin: undefined,
      paymentSignature: undefined,
    };
    expect(viewOf({ ...request, accept, userAgent, header })).toBe(view);
  });

  test("the paywall page is not sent to a browser with a payment", async () => {
    const { pay, ask } = createShop();
    expect(responseOf(await pay({ accepted: { amount: "1" } }, BROWSER)).json).toMatchObject({ x402Version: 2 });
    expect(responseOf(await ask({ ...BROWSER, paymentSignature: "junk" })).status).toBe(400);
  });
});
