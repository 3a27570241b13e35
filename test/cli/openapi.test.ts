/**
 * `farebox openapi`: the document of a running server and of a file are the same.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { runFarebox } from "./run-farebox.js";

// The file is loaded from there, so that it finds the packages.
const home = mkdtempSync(join(fileURLToPath(new URL(".", import.meta.url)), "sellers-"));
afterAll(() => rmSync(home, { recursive: true }));

function write(name: string, source: string): string {
  const path = join(home, name);
  writeFileSync(path, source);
  return path;
}

function sellerFile(name: string, express: string): string {
  return write(
    name,
    `import { createPayments } from "@farebox/express";
import { createRequire } from "node:module";
const express = createRequire(import.meta.url)(${JSON.stringify(express)});
export const payments = createPayments({
  facilitator: "http://127.0.0.1:1",
  payTo: { "eip155:*": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" },
  networks: ["eip155:84532"],
  logger: { info() {}, warn() {}, error() {} },
});
export const app = express();
app.use(payments.routes({ "GET /weather/:city": { price: "$0.001", description: "The weather" } }));
app.get("/weather/:city", (req, res) => res.json({ city: req.params.city }));
app.get("/openapi.json", payments.openapi({ title: "Weather", version: "2.0.0" }));
`,
  );
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe.each(["express", "express4"])("with %s", (express) => {
  test("a file and its server have the same document", async () => {
    const file = sellerFile(`same-${express}.mjs`, express);
    const { app } = await import(pathToFileURL(file).href);
    const url = await serve(app);
    const options = ["--title", "Weather", "--api-version", "2.0.0", "--public-url", url];
    const [ofFile, ofServer] = await Promise.all([
      runFarebox(["openapi", file, ...options]),
      runFarebox(["openapi", url]),
    ]);
    expect(ofFile).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(ofFile.out)).toEqual(JSON.parse(ofServer.out));
    const document = JSON.parse(ofFile.out);
    expect(document).toMatchObject({ info: { title: "Weather" }, servers: [{ url }] });
    expect(document.paths["/weather/{city}"].get).toHaveProperty("x-payment-info");
  });
});

test("writes a file, with the origin that was named", async () => {
  const file = sellerFile("out.mjs", "express");
  const out = join(home, "openapi.json");
  const ran = await runFarebox(["openapi", file, "--out", out, "--public-url", "https://api.example.com"]);
  expect(ran).toEqual({ code: 0, out: "", err: "" });
  expect(JSON.parse(readFileSync(out, "utf8")).servers).toEqual([{ url: "https://api.example.com" }]);
});

describe("fails with one sentence and a remedy", () => {
  test.each([
    ["a missing file", () => join(home, "none.mjs"), /there is no file .+none\.mjs.+\[FAREBOX_CLI_MODULE]/s],
    ["a file that throws", () => write("throws.mjs", 'throw new Error("no key")'), /cannot be loaded: no key/],
    [
      "a file without payments",
      () => write("app.mjs", 'import express from "express"; export const app = express();'),
      /does not export payments/,
    ],
    ["a file that exports nothing", () => write("empty.mjs", "export {};"), /does not export app and payments/],
    ["a server that is not there", () => "http://127.0.0.1:1", /cannot be reached/],
    ["what is no URL", () => "http://:x", /this is no URL/],
    [
      "a folder to write that is not there",
      () => sellerFile("nowhere.mjs", "express"),
      /cannot be written/,
      "--out=/none/there/openapi.json",
    ],
    [
      "a path as origin",
      () => sellerFile("path.mjs", "express"),
      /--public-url is an origin/,
      "--public-url=https://a.example/x",
    ],
  ])("on %s", async (_what, target, message, ...options: string[]) => {
    const { code, out, err } = await runFarebox(["openapi", target(), ...options]);
    expect(code).toBeGreaterThan(0);
    expect(out).toBe("");
    expect(err).toMatch(message);
    expect(err.trimEnd().split("\n")).toHaveLength(2);
  });

  test.each<[string, RequestListener, RegExp]>([
    [
      "another document",
      (_req, res) => void res.end('{"swagger":"2.0"}'),
      /something else, and not with an OpenAPI document/,
    ],
    ["a page", (_req, res) => void res.end("<html>\u001b[2J"), /something else/],
    ["an error", (_req, res) => void res.writeHead(404).end(), /status 404/],
    [
      "redirects without end",
      (_req, res) => void res.writeHead(302, { location: "/openapi.json?again" }).end(),
      /redirects more than 5 times/,
    ],
    ["a body without end", (_req, res) => void endless(res), /more than 16777216 bytes/],
  ])("on a server that responds with %s", async (_what, listener, message) => {
    const { code, err } = await runFarebox(["openapi", await serve(listener)]);
    expect(code).toBe(1);
    expect(err).toMatch(message);
    expect(err).not.toContain("\u001b");
  });
});

function endless(res: Parameters<RequestListener>[1]): void {
  const chunk = Buffer.alloc(1024 * 1024, " ");
  const write = () => {
    while (!res.destroyed && res.write(chunk));
  };
  res.on("drain", write);
  write();
}
