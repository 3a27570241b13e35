import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CatalogEntry } from "@farebox/bazaar/facilitator";
import type { JsonObject } from "@farebox/core";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { httpCall, mcpConnection } from "./call.js";

/** `vitest.config.ts` sets it; the title of the test names it. */
const SEED = Number(process.env["FAREBOX_SEED"]);

function entry(resource: string, more: Partial<CatalogEntry> = {}): CatalogEntry {
  const lastUpdated = "2026-01-31T12:00:00.000Z";
  return { resource, type: "http", x402Version: 2, accepts: [], lastUpdated, metadata: {}, ...more };
}

const NOTES = entry("https://a.example/notes/:id", { routeTemplate: "/notes/:id" });

describe("a line for curl", () => {
  const LINES: readonly (readonly [
    why: string,
    entry: CatalogEntry,
    method: string,
    input: JsonObject,
    curl: string,
  ])[] = [
    ["a GET", entry("https://a.example/x"), "GET", {}, "curl -gi 'https://a.example/x'"],
    ["a HEAD", entry("https://a.example/x"), "HEAD", {}, "curl -gI 'https://a.example/x'"],
    [
      "query parameters",
      entry("https://a.example/x"),
      "GET",
      { queryParams: { city: "São Paulo", tags: ["a", "b"], filter: { x: 1 } } },
      "curl -gi 'https://a.example/x?city=S%C3%A3o+Paulo&tags=a&tags=b&filter=%7B%22x%22%3A1%7D'",
    ],
    [
      "a path parameter",
      NOTES,
      "DELETE",
      { pathParams: { id: "a/b c" } },
      "curl -gi -X 'DELETE' 'https://a.example/notes/a%2Fb%20c'",
    ],
    ["no value for a parameter", NOTES, "GET", {}, "curl -gi 'https://a.example/notes/{id}'"],
    ["dots as a value", NOTES, "GET", { pathParams: { id: ".." } }, "curl -gi 'https://a.example/notes/{id}'"],
    [
      "a wildcard",
      entry("https://a.example/files/:var1/raw", { routeTemplate: "/files/:var1/raw" }),
      "GET",
      { pathParams: { var1: "a/b" } },
      "curl -gi 'https://a.example/files/a/b/raw'",
    ],
    [
      "a colon in a path without a template",
      entry("https://a.example/x:run"),
      "GET",
      {},
      "curl -gi 'https://a.example/x:run'",
    ],
    [
      "a form",
      entry("https://a.example/x"),
      "POST",
      { bodyType: "form-data", body: { file: "@/etc/passwd", n: 1 } },
      "curl -gi -X 'POST' 'https://a.example/x' --form-string 'file=@/etc/passwd' --form-string 'n=1'",
    ],
    [
      "a text",
      entry("https://a.example/x"),
      "POST",
      { bodyType: "text", body: "@/etc/passwd" },
      "curl -gi -X 'POST' 'https://a.example/x' -H 'Content-Type: text/plain' --data-raw '@/etc/passwd'",
    ],
    [
      "a control character in a text",
      entry("https://a.example/x"),
      "POST",
      { bodyType: "text", body: "\u0003\nrm" },
      "curl -gi -X 'POST' 'https://a.example/x' -H 'Content-Type: text/plain' --data-raw '…'",
    ],
  ];
  test.each(LINES)("a line is written for %s", (_why, listed, method, input, curl) => {
    expect(httpCall(listed, method, input)?.curl).toBe(curl);
  });

  test("a call has a URL when every path parameter has a value", () => {
    expect(httpCall(NOTES, "GET", { pathParams: { id: 7 } })).toMatchObject({
      url: "https://a.example/notes/7",
    });
    expect(httpCall(NOTES, "GET", {})).not.toHaveProperty("url");
    expect(httpCall(NOTES, "GET", {})).not.toHaveProperty("url");
  });

  test("a line stays short, whatever is declared", () => {
    const body = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`field${at}`, "'"]));
    const long = httpCall(NOTES, "PUT", { pathParams: { id: 7 }, bodyType: "form-data", body });
    expect(long?.curl).toBe("curl -gi -X 'PUT' 'https://a.example/notes/7' --data-raw '…'");
    expect(httpCall(NOTES, "GET", { pathParams: { id: "x".repeat(3_000) } })).toBeUndefined();
  });

  test("no line is written for a resource that is not a URL", () => {
    expect(httpCall(entry("javascript:alert(1)"), "GET", {})).toBeUndefined();
    expect(httpCall(entry("mcp://tool/add"), "GET", {})).toBeUndefined();
  });
});

describe("in a shell", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "farebox-curl-"));
    writeFileSync(join(folder, "curl"), '#!/bin/sh\nfor part; do printf "%s\\0" "$part"; done\n');
    chmodSync(join(folder, "curl"), 0o755);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** The arguments that curl gets when the line is run. */
  const run = (line: string): readonly string[] => {
    const env = { ...process.env, PATH: `${folder}:${process.env["PATH"] ?? ""}` };
    return execFileSync("/bin/sh", ["-c", line], { env }).toString().split("\0").slice(0, -1);
  };

  test(`no part of a line is more than one argument, whatever it holds (seed ${SEED})`, () => {
    const part = fc.oneof(
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }),
      fc.constantFrom(
        "'",
        "'; touch taken; '",
        "$(id)",
        "`id`",
        "\\'",
        '"',
        "!!",
        "-o",
        "a\nb",
        "\u001b[2J",
        "%",
        "\u202e",
      ),
    );
    const input = fc.record({ query: part, path: part, body: part, name: part });
    fc.assert(
      fc.property(input, ({ query, path, body, name }) => {
        const json = { [name]: body };
        const call = httpCall(NOTES, "POST", { pathParams: { id: path }, queryParams: { q: query }, body: json });
        const [options, dashX, method, url, header, type, raw, data, ...more] = run(call?.curl ?? "");
        expect([options, dashX, method, header, type, raw]).toEqual([
          ...["-gi", "-X", "POST", "-H", "Content-Type: application/json", "--data-raw"],
        ]);
        expect(more).toEqual([]);
        expect(JSON.parse(data ?? "")).toEqual(json);
        expect(url?.startsWith("https://a.example/notes/")).toBe(true);
        expect(new URL((url ?? "").replace("{id}", "7")).searchParams.get("q")).toBe(query);
        expect(call?.curl).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      }),
      { seed: SEED, numRuns: 15 },
    );
  });
});

test("a connection names the transport, and is configured by the URL", () => {
  const tool = entry("https://tools.example/mcp", { type: "mcp", serviceName: "Weather\u202e" });
  expect(mcpConnection(tool, {})).toMatchObject({ url: "https://tools.example/mcp", transport: "streamable-http" });
  const { transport, config } = mcpConnection(tool, { transport: "sse" }) ?? {};
  expect(transport).toBe("sse");
  expect(config).toContain("Weather\\u202e");
  const server = { type: "sse", url: "https://tools.example/mcp" };
  expect(JSON.parse(config ?? "")).toEqual({ mcpServers: { "Weather\u202e": server } });
  expect(mcpConnection(entry("mcp://tool/add", { type: "mcp" }), {})).toBeUndefined();
});
