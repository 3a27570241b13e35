import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ConfigError } from "@farebox/core";
import { afterEach, describe, expect, test } from "vitest";
import { createDiscoveryClient } from "./discovery-client.js";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** A catalog on this machine, and the requests that it received. */
async function serve(respond: (url: URL, res: ServerResponse, req: IncomingMessage) => unknown) {
  const asked: string[] = [];
  const server = createServer((req, res) => {
    asked.push(req.url ?? "");
    const json = respond(new URL(req.url ?? "", "http://x"), res, req);
    if (json !== undefined) res.setHeader("content-type", "application/json").end(JSON.stringify(json));
  });
  servers.push(server);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/fac`, asked };
}

const entry = (at: number, changes: object = {}) => ({
  resource: `https://a.example/${at}`,
  type: "http",
  x402Version: 2,
  accepts: [
    { scheme: "exact", network: "eip155:8453", asset: "0xa", payTo: at % 2 === 0 ? "0xEven" : "0xOdd", amount: "1" },
  ],
  lastUpdated: "2026-01-31T12:00:00.000Z",
  ...changes,
});
const entries = (count: number, from = 0) => Array.from({ length: count }, (_, at) => entry(from + at));
const pageOf = (url: URL, all: readonly object[]) => {
  const limit = Number(url.searchParams.get("limit") ?? 4);
  const offset = Number(url.searchParams.get("offset") ?? 0);
  return { limit, offset, items: all.slice(offset, offset + limit) };
};

async function resourcesOf(pages: AsyncIterable<{ readonly entries: readonly { readonly resource: string }[] }>) {
  const found: string[] = [];
  for await (const page of pages) found.push(...page.entries.map(({ resource }) => resource));
  return found;
}
const all = (count: number) => entries(count).map(({ resource }) => resource);

describe("a page", () => {
  test("a page is requested like by the clients of the reference implementation", async () => {
    const { url, asked } = await serve(() => ({ x402Version: 2, items: [], resources: [], pagination: null }));
    const client = createDiscoveryClient({ url: `${url}/` });
    await client.list({
      type: "mcp",
      payTo: "0x1",
      network: "eip155:1",
      scheme: "exact",
      extensions: ["bazaar"],
      limit: 3,
      offset: 6,
    });
    await client.search({ query: "weather api", type: "mcp", limit: 3, cursor: "abc" });
    expect(asked).toEqual([
      "/fac/discovery/resources?type=mcp&payTo=0x1&network=eip155%3A1&scheme=exact&extensions=bazaar&limit=3&offset=6",
      "/fac/discovery/search?query=weather+api&type=mcp&limit=3&cursor=abc",
    ]);
  });

  test("a page holds the readable and matching entries, and counts the others", async () => {
    const { url } = await serve(() => ({
      items: [entry(0), { resource: 1 }, entry(1), null],
      pagination: { limit: 20, offset: 0, total: 4 },
    }));
    const page = await createDiscoveryClient({ url }).list({ payTo: "0xEVEN" });
    expect(page).toMatchObject({ skipped: 2, filtered: 1, total: 4, limit: 20, offset: 0, isPartial: false });
    expect(page.entries.map(({ resource }) => resource)).toEqual(["https://a.example/0"]);
  });

  test("a page may have its cursor beside the list", async () => {
    const { url } = await serve(() => ({ resources: [entry(0)], cursor: "next", limit: 1, partialResults: true }));
    expect(await createDiscoveryClient({ url }).search({ query: "x" })).toMatchObject({
      cursor: "next",
      limit: 1,
      isPartial: true,
    });
  });
});

describe("all pages", () => {
  const STYLES: readonly (readonly [why: string, respond: (url: URL) => unknown])[] = [
    [
      "with offset, limit and total",
      (url) => {
        const { items, ...page } = pageOf(url, entries(10));
        return { items, pagination: { ...page, total: 10 } };
      },
    ],
    [
      "with offsets and no total",
      (url) => {
        const { items, ...page } = pageOf(url, entries(10));
        return { items, pagination: page };
      },
    ],
    [
      "with a cursor",
      (url) => {
        const from = Number(url.searchParams.get("cursor") ?? 0);
        return {
          items: entries(Math.min(4, 10 - from), from),
          pagination: { cursor: from + 4 < 10 ? String(from + 4) : null },
        };
      },
    ],
    [
      "with a cursor beside the list",
      (url) => {
        const from = Number(url.searchParams.get("cursor") ?? 0);
        return { items: entries(Math.min(4, 10 - from), from), ...(from + 4 < 10 ? { cursor: String(from + 4) } : {}) };
      },
    ],
    ["on one page for any query", () => ({ items: entries(10) })],
    [
      "on one page, with a total that is too high",
      () => ({ items: entries(10), pagination: { limit: 4, offset: 0, total: 99 } }),
    ],
    ["with a cursor that never changes", () => ({ items: entries(10), cursor: "again" })],
  ];
  test.each(STYLES)("listPages reads a catalog %s", async (_why, respond) => {
    const { url, asked } = await serve((address) => respond(address));
    expect(await resourcesOf(createDiscoveryClient({ url }).listPages({ limit: 4 }))).toEqual(all(10));
    expect(asked.length).toBeLessThan(5);
  });

  test("searchPages reads a catalog by cursor only", async () => {
    const { url, asked } = await serve((address) =>
      address.searchParams.get("cursor") === null
        ? { resources: entries(3), pagination: { limit: 3, cursor: "c" } }
        : { resources: entries(2, 3), pagination: null },
    );
    expect(await resourcesOf(createDiscoveryClient({ url }).searchPages({ query: "x", limit: 3 }))).toEqual(all(5));
    expect(asked).toHaveLength(2);
  });

  test("listPages ends on a catalog without an end and without matching entries", async () => {
    let at = 0;
    const { url, asked } = await serve(() => {
      at += 2;
      return { items: [entry(at)], cursor: `c${at}` };
    });
    expect(await resourcesOf(createDiscoveryClient({ url, maxPages: 7 }).listPages({ payTo: "0xOdd" }))).toEqual([]);
    expect(asked).toHaveLength(7);
  });

  test("findMine reads all pages", async () => {
    const { url } = await serve((address) => {
      const { items, ...page } = pageOf(address, entries(250));
      return { items, pagination: { ...page, total: 250 } };
    });
    const mine = await createDiscoveryClient({ url }).findMine("0xodd");
    expect(mine).toHaveLength(125);
  });
});

describe("a failed call", () => {
  const PROBLEMS: readonly (readonly [
    problem: string,
    status: number | undefined,
    respond: (url: URL, res: ServerResponse) => unknown,
  ])[] = [
    ["status", 503, (_url, res) => void res.writeHead(503).end("secret")],
    ["status", 400, (_url, res) => void res.writeHead(400).end("{}")],
    ["response", undefined, (_url, res) => void res.end("<html>")],
    ["response", undefined, () => ({ things: [] })],
    ["response", undefined, () => [entry(0)]],
    ["response", undefined, (_url, res) => void res.end(`{"items":"${"x".repeat(3_000)}"}`)],
    ["response", undefined, (_url, res) => void res.end("[".repeat(1_900))],
    ["redirect", undefined, (_url, res) => void res.writeHead(302, { location: "http://localhost:1/" }).end()],
    ["redirect", undefined, (_url, res) => void res.writeHead(302, { location: "/fac/discovery/resources" }).end()],
    ["unreachable", undefined, (_url, res) => void res.destroy()],
    ["timeout", undefined, () => undefined],
  ];
  test.each(PROBLEMS)("a call fails with the problem %s (%s)", async (problem, status, respond) => {
    const { url } = await serve(respond);
    const client = createDiscoveryClient({
      url,
      // Only the catalog that never responds can take that long.
      ...(problem === "timeout" ? { timeoutMs: 300 } : {}),
      maxBytes: 2_048,
      headers: { authorization: "Bearer secret" },
    });
    const error = await client.list().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "DiscoveryError", code: "ERR_FAREBOX_DISCOVERY", problem, status });
    expect(String(error)).not.toContain("secret");
  });

  test("a redirect within the origin is followed with the headers", async () => {
    const seen: unknown[] = [];
    const { url } = await serve((address, res, req) => {
      seen.push(req.headers.authorization);
      if (address.pathname === "/moved") return { items: entries(1) };
      res.writeHead(307, { location: "/moved" }).end();
      return undefined;
    });
    const client = createDiscoveryClient({ url, headers: async () => ({ authorization: "Bearer x" }) });
    expect((await client.list()).entries).toHaveLength(1);
    expect(seen).toEqual(["Bearer x", "Bearer x"]);
  });
});

test("wrong options are all named at once, and no secret is quoted", () => {
  const wrong = {
    url: "https://user:pass@x",
    headers: { a: 1 },
    timeoutMs: 1,
    maxBytes: 1,
    maxPages: 0,
    listPath: "x",
    searchPath: "//evil.example",
    more: 1,
  };
  try {
    createDiscoveryClient(wrong as never);
    expect.unreachable();
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    const paths = (error as ConfigError).issues.map(({ path }) => path);
    expect(paths).toEqual(
      ["more", "url", "timeoutMs", "maxBytes", "maxPages", "listPath", "searchPath", "headers"].map(
        (name) => `options.${name}`,
      ),
    );
    expect(String(error)).not.toContain("pass");
  }
});
