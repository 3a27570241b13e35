import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseBaseUrl } from "./urls.js";

describe("parseBaseUrl", () => {
  test.each<[given: unknown, base: string, why: string]>([
    ["https://x402.org/facilitator", "https://x402.org/facilitator", "unchanged"],
    ["https://x402.org/facilitator//", "https://x402.org/facilitator", "trailing slashes"],
    ["http://localhost:4021", "http://localhost:4021", "no path"],
    ["HTTPS://EXAMPLE.COM/A/", "https://example.com/A", "the host is lower-cased, the path is not"],
    [new URL("http://127.0.0.1/"), "http://127.0.0.1", "a URL object"],
    ["https:///example.com", "https://example.com", "as browsers read it"],
  ])("reads %s: %s", (given, base) => {
    expect(parseBaseUrl(given)).toBe(base);
  });

  test.each<[given: unknown, why: string]>([
    ["", "empty"],
    ["x402.org/facilitator", "no scheme"],
    ["/facilitator", "a path"],
    ["ftp://x402.org", "another scheme"],
    ["file:///etc/passwd", "another scheme"],
    ["javascript:alert(1)", "another scheme"],
    ["https://", "no host"],
    ["https://key:secret@x402.org", "it has credentials"],
    ["https://:secret@x402.org", "it has credentials"],
    ["https://key@x402.org", "it has credentials"],
    ["https://x402.org?key=1", "the query would swallow the path"],
    ["https://x402.org/#top", "the fragment would swallow the path"],
    [undefined, "undefined"],
    [42, "a number"],
    [{ href: "https://x402.org" }, "an object that looks like a URL"],
  ])("refuses %s: %s", (given) => {
    expect(parseBaseUrl(given)).toBeUndefined();
  });

  test("never throws, and returns base URLs only", () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.webUrl({ withQueryParameters: true, withFragments: true })), (given) => {
        const base = parseBaseUrl(given);
        if (base === undefined) return;
        expect(parseBaseUrl(base)).toBe(base);
        expect(new URL(`${base}/verify`).href).toBe(`${base}/verify`);
      }),
    );
  });
});
