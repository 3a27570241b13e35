import { createPayments, type PaymentsOptions } from "@farebox/express";
import type { Express } from "express";
import { describe, expect, test } from "vitest";
import { openShop, PRICED, type Shop, VERSIONS } from "./shop.js";

interface Setting {
  readonly options?: Partial<PaymentsOptions>;
  readonly trustProxy?: boolean;
}

describe.each(VERSIONS)("on %s, a resource's URL", (_, express) => {
  async function openWith({ options = {}, trustProxy = false }: Setting) {
    const told: string[] = [];
    const logger = { info: () => {}, warn: (event: string) => void told.push(event), error: () => {} };
    const shop = await openShop(express, {
      build: (app: Express, _table, { facilitator }) => {
        const payments = createPayments({ facilitator, logger, ...options });
        app.set("trust proxy", trustProxy);
        app.use(payments.routes({ "GET /paid": PRICED, "GET /f/*rest": PRICED }));
        app.get(["/paid"], (_req, res) => void res.send("sold"));
        app.use("/f", (_req, res) => void res.send("sold"));
      },
    });
    return { shop, told };
  }

  /** The resource in the challenge to a request with these header lines. */
  async function urlOf(shop: Shop, target: string, headers: Readonly<Record<string, string>>): Promise<string> {
    const { challenge } = await shop.ask({ path: target, headers });
    return challenge?.resource.url.replace(shop.url, "SELF") ?? "none";
  }

  test.each<[why: string, setting: Setting, headers: Record<string, string>, url: string, told: string[]]>([
    ["is what the request says", {}, {}, "SELF/paid", []],
    ["has the host of the request", {}, { Host: "api.example.com:8080" }, "http://api.example.com:8080/paid", []],
    [
      "is publicUrl's, for any request",
      { options: { publicUrl: "https://api.example.com/" } },
      { Host: "evil.example", "X-Forwarded-Proto": "http" },
      "https://api.example.com/paid",
      [],
    ],
    [
      "has the scheme of a proxy that is trusted",
      { trustProxy: true },
      { Host: "a.example", "X-Forwarded-Proto": "https" },
      "https://a.example/paid",
      [],
    ],
    [
      "has no scheme of a proxy that is not, which is told",
      {},
      { Host: "a.example", "X-Forwarded-Proto": "https" },
      "http://a.example/paid",
      ["FAREBOX_PROXY_IGNORED"],
    ],
    [
      "has no scheme but http and https",
      { trustProxy: true },
      { Host: "a.example", "X-Forwarded-Proto": "javascript" },
      "http://localhost/paid",
      [],
    ],
    [
      "has an allowed host",
      { options: { allowedHosts: ["API.example.com", "b.example"] } },
      { Host: "api.example.COM" },
      "http://api.example.COM/paid",
      [],
    ],
    [
      "has an allowed host in place of one that is not, which is told",
      { options: { allowedHosts: ["api.example.com", "b.example"] } },
      { Host: "evil.example" },
      "http://api.example.com/paid",
      ["FAREBOX_HOST_NOT_ALLOWED"],
    ],
    ["has no host that is invalid", {}, { Host: "a.example/x<script>" }, "http://localhost/paid", []],
  ])("%s", async (_why, setting, headers, url, expected) => {
    const { shop, told } = await openWith(setting);
    for (let times = 0; times < 3; times++) expect(await urlOf(shop, "/paid", headers)).toBe(url);
    expect(told).toEqual(expected);
  });

  test("a resource's URL leaves the query out, unless the seller asks for it", async () => {
    const { shop } = await openWith({});
    expect(await urlOf(shop, "/paid?b=2&a=1", {})).toBe("SELF/paid");
    const { shop: keeping } = await openWith({ options: { includeQuery: true } });
    expect(await urlOf(keeping, "/paid?b=2&a=1", {})).toBe("SELF/paid?b=2&a=1");
  });

  test("a resource's URL carries no markup, for any path that a client asks for", async () => {
    const { shop } = await openWith({ options: { includeQuery: true } });
    const markup = `<script>alert("1")</script>'`;
    for (const browser of ["", "Accept: text/html\r\nUser-Agent: Mozilla/5.0\r\n"]) {
      const line = await shop.connect(
        `GET /f/${markup}?${markup} HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n${browser}\r\n`,
      );
      const response = await line.ended;
      expect(response).toMatch(/^HTTP\/1\.1 40[02] /);
      expect(response).not.toContain("<script>alert");
      expect(response.toLowerCase()).toContain("x-content-type-options: nosniff");
    }
  });
});
