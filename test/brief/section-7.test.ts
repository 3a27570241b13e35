import express from "express";
import { expect, test } from "vitest";
import { readSettings } from "../../examples/mcp-bridge/settings.js";
import { declare, paymentFor } from "../catalog/library.js";
import {
  challengeOf,
  closeAllAtEnd,
  declared,
  openFacilitator,
  openSeller,
  override,
  PAYEE,
  start,
} from "./marketplace.js";

closeAllAtEnd();

const library = await openFacilitator();

test("7 Request to a protected route without payment: HTTP 402 Payment Required, header `PAYMENT-REQUIRED` with the payment instructions", async () => {
  const { url } = await openSeller(library.url, { "GET /weather": declared() });
  const { status, header } = await challengeOf(`${url}/weather`);
  expect([status, header]).toMatchObject([402, { accepts: [{ payTo: PAYEE }] }]);
});

test("7 Discovery info fails validation when cataloging: `bazaar.status` is `rejected` with `bazaar.rejectedReason` in `EXTENSION-RESPONSES` (for example a schema validation failure)", async () => {
  const schema = { type: "object", properties: { input: { properties: { method: { const: "POST" } } } } };
  const settled = await library.post("/settle", paymentFor({ bazaar: declare({ schema }) }));
  expect(settled.json).toMatchObject({ success: true });
  expect(settled.outcome).toEqual({
    bazaar: { status: "rejected", rejectedReason: expect.stringContaining("method") },
  });
});

test("7 Settlement override greater than the authorized maximum: not allowed; the resolved amount must be at most the maximum", async () => {
  expect(await override("100001")).toEqual({ status: 500, charged: 0n, code: "ERR_FAREBOX_AMOUNT" });
});

test("7 Bridge started with neither EVM nor SVM private key: start-up error stating that at least one must be provided", async () => {
  await expect(readSettings({ RESOURCE_SERVER_URL: "http://localhost:4021" })).rejects.toThrow(
    /at least one .* must be provided/,
  );
});

test("7 Error body format: not shown. Here the body of a 402 is the JSON of its header", async () => {
  const { url } = await openSeller(library.url, { "GET /weather": declared() });
  const { header, body } = await challengeOf(`${url}/weather`);
  expect(body).toEqual(header);
  const malformed = await challengeOf(`${url}/weather`, { headers: { "PAYMENT-SIGNATURE": "%%%" } });
  expect([malformed.status, malformed.body]).toMatchObject([400, { error: expect.any(String), accepts: [{}] }]);
});

test("7 The status codes of the list and search operations: not shown. Here 200, and 400 for a parameter that is none", async () => {
  for (const [path, status] of [
    ["/discovery/resources", 200],
    ["/discovery/resources?limit=0", 400],
    ["/discovery/resources?offset=x", 400],
    ["/discovery/search?query=weather", 200],
    ["/discovery/search", 400],
  ] as const) {
    expect((await library.get(path)).status, path).toBe(status);
  }
});

test("7 The outcome of listing a non-compatible service: not shown. Here `rejected`, with the reason", async () => {
  const catalog = await openFacilitator({ owners: { checkOwners: true, unverified: "hide" } });
  const free = await start(express().get("/free", (_req, res) => void res.json({})));
  const settle = async () => (await catalog.post("/settle", paymentFor({ url: `${free}/free` }))).outcome;
  await expect
    .poll(settle, { timeout: 60_000 })
    .toEqual({ bazaar: { status: "rejected", rejectedReason: expect.stringContaining("responds with 200") } });
});
