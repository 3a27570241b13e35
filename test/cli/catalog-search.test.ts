/**
 * `farebox catalog search`, against a facilitator with a catalog, and against servers that are none.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Library, openLibrary, SOLANA } from "../catalog/library.js";
import { runFarebox } from "./run-farebox.js";

let library: Library;
beforeAll(async () => {
  library = await openLibrary();
  await library.list(
    { url: "https://a.example/weather", description: "Weather forecast for a city" },
    {
      url: "https://b.example/sky",
      description: "Weather forecast, in detail \u001b[2J",
      terms: { amount: "1500000" },
    },
    {
      url: "https://c.example/hot",
      description: "Weather forecast on Solana",
      terms: { network: SOLANA, payTo: "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4" },
    },
    {
      url: "https://d.example/odd",
      description: "Weather forecast for a token",
      terms: { asset: "0x00000000000000000000000000000000000000aa" },
    },
  );
});
afterAll(() => library.close());

function search(...args: string[]) {
  return runFarebox(["catalog", "search", ...args], { env: { FAREBOX_CATALOG: library.url } });
}

test("prints services with their prices, and no text that acts on a terminal", async () => {
  const { code, out, err } = await search("weather", "forecast");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toContain(
    "GET https://a.example/weather\n  Weather forecast for a city\n  $0.001 (USDC) on Base Sepolia\n",
  );
  expect(out).toContain("$1.5 (USDC) on Base Sepolia");
  expect(out).toContain("1000 atomic units of ");
  expect(out).not.toContain("\u001b");
});

test("filters by price, network and number", async () => {
  const cheap = (await search("weather forecast", "--max-price", "0.01")).out;
  expect(cheap).toContain("a.example");
  expect(cheap).not.toContain("b.example");
  const base = (await search("weather forecast", "--network", "eip155:84532")).out;
  expect(base).not.toContain("c.example");
  const one = JSON.parse((await search("weather forecast", "--limit", "1", "--json")).out);
  expect(one).toMatchObject({ catalog: library.url, query: "weather forecast" });
  expect(one.entries).toHaveLength(1);
  expect((await search("weather forecast", "--type", "mcp")).out).toBe("Nothing was found.\n");
});

test.each([
  [[], /name what to search for/],
  [["x", "--limit", "0"], /--limit is a whole number from 1 to 100/],
  [["x", "--network", "base"], /--network is no network/],
  [["x", "--max-price", "3"], /--max-price is 0\.001 or 0\.01/],
  [["x", "--catalog", "ftp://x"], /this is no URL of a catalog/],
])("refuses %j", async (args, message) => {
  const { code, out, err } = await search(...args);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toMatch(message);
});

test("says that no catalog is named", async () => {
  expect((await runFarebox(["catalog", "search", "x"])).err).toMatch(/no catalog is named\n {2}Write --catalog /);
});

describe("fails on", () => {
  test("a server that is no catalog", async () => {
    const server = createServer((_req, res) => void res.end("<html>")).listen(0, "127.0.0.1");
    await new Promise((listening) => server.once("listening", listening));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { code, err } = await search("x", "--catalog", url);
    expect(code).toBe(1);
    expect(err).toMatch(/the response is not a page of a catalog\n.+\[FAREBOX_CLI_CATALOG]/);
  });

  test("a server that is not there", async () => {
    const { code, err } = await search("x", "--catalog", "http://127.0.0.1:1");
    expect(code).toBe(1);
    expect(err).toMatch(/the catalog cannot be reached/);
  });
});
