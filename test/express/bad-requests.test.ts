import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { openShop, VERSIONS } from "./shop.js";

const sold: RequestHandler = (_req, res) => void res.set("X-Sold", "1").send("sold");

function challengeOf(received: string): unknown {
  const [, header = ""] = /PAYMENT-REQUIRED: (.*)\r\n/.exec(received) ?? [];
  return header === "" ? undefined : JSON.parse(Buffer.from(header, "base64").toString("utf8"));
}

describe.each(VERSIONS)("on %s, a request", (_, express) => {
  const HOSTS: readonly (readonly [what: string, fields: string, url: string])[] = [
    ["a host with markup", 'Host: "><script>alert(1)</script>', "http://localhost/paid"],
    ["a host with a path", "Host: a.example/b", "http://localhost/paid"],
    ["a host with a user", "Host: a@b.example", "http://localhost/paid"],
    ["a host with a space", "Host: a b", "http://localhost/paid"],
    ["an empty host", "Host:", "http://localhost/paid"],
    ["a host beyond ASCII", "Host: \u00e9.example", "http://localhost/paid"],
    ["a host of 10,000 letters", `Host: ${"a".repeat(10_000)}`, "http://localhost/paid"],
    ["a host with a port beyond", "Host: a.example:123456", "http://localhost/paid"],
    ["a name and a port", "Host: a.example:8080", "http://a.example:8080/paid"],
    ["a name with an underscore", "Host: my_service:8080", "http://my_service:8080/paid"],
    ["an IPv6 address", "Host: [::1]:8080", "http://[::1]:8080/paid"],
    [
      "a forwarded host that the app does not trust",
      "Host: a.example\r\nX-Forwarded-Host: evil\r\nX-Forwarded-Proto: https",
      "http://a.example/paid",
    ],
  ];

  test("a request gets 402 with a valid URL, whatever its host is", async () => {
    const shop = await openShop(express, { handler: sold });
    for (const [what, host, url] of HOSTS) {
      const line = await shop.connect(`GET /paid HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`);
      const received = await line.ended;
      expect(received, what).toMatch(/^HTTP\/1\.1 402 /);
      expect(challengeOf(received), what).toMatchObject({ resource: { url } });
      expect(received, what).not.toContain("<script>");
    }
  });

  const TARGETS: readonly (readonly [what: string, text: string, status: number])[] = [
    ["HTTP/1.0 without a host", "GET /paid HTTP/1.0\r\n\r\n", 402],
    ["HTTP/1.1 without a host", "GET /paid HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    ["a target in absolute form", "GET http://evil.example/paid HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 402],
    ["an absolute target in capitals", "GET HTTP://EVIL/PAID HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 402],
    [
      "an absolute target without a path",
      "GET http://evil.example HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
      404,
    ],
    ["a target that is a query", "GET ?a=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 400],
    ["a fragment", "GET /paid#f HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 402],
    ["two slashes", "GET //paid HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["an encoded letter", "GET /p%61id HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["a broken escape", "GET /paid% HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["a dot segment", "GET /x/../paid HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["a backslash", "GET /x\\..\\paid HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
    ["a path of 14 KB", `GET /${"a/".repeat(7000)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, 404],
    ["an asterisk", "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404],
  ];

  test("a request gets a response, and buys nothing, whatever its target is", async () => {
    const shop = await openShop(express, { handler: sold });
    for (const [what, text, status] of TARGETS) {
      const received = await (await shop.connect(text)).ended;
      expect(received, what).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(received, what).not.toMatch(/X-Sold|\n\s+at /);
      expect(await shop.ask({ path: "/free" }), what).toMatchObject({ status: 200 });
    }
  });

  test("a request whose target names another host is challenged for ours", async () => {
    const shop = await openShop(express, { handler: sold });
    const line = await shop.connect(
      "GET http://evil.example/paid HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n",
    );
    expect(challengeOf(await line.ended)).toMatchObject({ resource: { url: "http://a.example/paid" } });
  });

  test("a request that expects 100-continue gets 402 without its body", async () => {
    const shop = await openShop(express, { handler: sold });
    const line = await shop.connect(
      "GET /paid HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n",
    );
    expect(await line.until("PAYMENT-REQUIRED")).toContain("HTTP/1.1 402 ");
  });

  test("HEAD gets 402 with the length of the challenge, also where Node allows it no body", async () => {
    const shop = await openShop(express, { handler: sold, server: { rejectNonStandardBodyWrites: true } });
    const [head, get] = [await shop.ask({ method: "HEAD" }), await shop.ask()];
    expect(head).toMatchObject({ status: 402, text: "", challenge: { error: "Payment required" } });
    expect(Math.abs(Number(head.headers["content-length"]) - Number(get.headers["content-length"]))).toBeLessThan(4);
  });

  test("a request behind an unpaid one on the same connection gets its response in turn", async () => {
    const shop = await openShop(express, { handler: sold });
    const free = "GET /free HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    const line = await shop.connect(`GET /paid HTTP/1.1\r\nHost: a\r\n\r\n${free}`);
    expect((await line.ended).match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 402", "HTTP/1.1 200"]);
  });

  test("a request is challenged for the publicUrl where the seller gives one", async () => {
    const shop = await openShop(express, { handler: sold, options: { publicUrl: "https://api.example.com/v1" } });
    expect((await shop.ask()).challenge?.resource.url).toBe("https://api.example.com/v1/paid");
  });

  test("a request through a proxy that the app trusts is challenged for https", async () => {
    const shop = await openShop(express, {
      build: (app, payments) => app.set("trust proxy", true).use(payments).get("/paid", sold),
    });
    const { challenge } = await shop.ask({ headers: { Host: "a.example", "X-Forwarded-Proto": "https" } });
    expect(challenge?.resource.url).toBe("https://a.example/paid");
  });
});
