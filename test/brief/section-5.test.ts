/**
 * The brief's section 5, "Authentication". The bridge is that of `examples/mcp-bridge`; `test/mcp/bridge.test.ts` runs it as a process.
 *
 * @module
 */
import { createServer } from "node:http";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import { getBase58Decoder } from "@solana/kit";
import express from "express";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { readSettings } from "../../examples/mcp-bridge/settings.js";
import { paymentFor, yesScheme } from "../catalog/library.js";
import { payingFetch } from "../interop/peers.js";
import {
  closeAllAtEnd,
  declared,
  listRoute,
  openFacilitator,
  openSeller,
  PAYEE,
  readerOf,
  start,
} from "./marketplace.js";

closeAllAtEnd();

const library = await openFacilitator();

test("5.1 The list and search operations need no API key and no account for buyers.", async () => {
  const credentials = [
    { name: "seller", tokens: ["a-token-of-a-seller-0123456789abcdef"], payees: { "eip155:84532": [PAYEE] } },
  ];
  const facilitator = createFacilitator({ schemes: [yesScheme()], catalog: library.catalog, policy: { credentials } });
  const url = await start(express().use(facilitatorRouter(facilitator)));
  await listRoute(library, "GET /weather", declared(), "/weather");
  expect((await readerOf({ url }).listResources()).items).not.toEqual([]);
  expect((await readerOf({ url }).search({ query: "weather" })).resources).not.toEqual([]);
  const body = JSON.stringify(paymentFor());
  const verified = await fetch(`${url}/verify`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  expect(verified.status).toBe(401);
});

test("5.2 Access to a paid resource is by payment: the `PAYMENT-SIGNATURE` header with a signed payment payload", async () => {
  const { url } = await openSeller(library.url, { "GET /weather": declared() });
  for (const headers of [{}, { authorization: "Bearer key" }, { "x-api-key": "key" }] as Record<string, string>[]) {
    expect((await fetch(`${url}/weather`, { headers })).status).toBe(402);
  }
  expect((await fetch(`${url}/weather`, { headers: { "PAYMENT-SIGNATURE": "e30=" } })).status).not.toBe(200);
  expect((await payingFetch(generatePrivateKey())(`${url}/weather`)).status).toBe(200);
});

test("5.2 … created with the wallet key of the payer (`<PRIVATE_KEY>` held by the client, never sent).", async () => {
  const seller = await openSeller(library.url, { "GET /weather": declared() });
  let sent = "";
  const proxy = createServer((req, res) => {
    sent += `${req.url} ${JSON.stringify(req.headers)} ${atob(String(req.headers["payment-signature"] ?? ""))}`;
    const headers = { "payment-signature": String(req.headers["payment-signature"] ?? "") };
    const isPaid = headers["payment-signature"] !== "";
    void fetch(seller.url + req.url, isPaid ? { headers } : {}).then(async (response) => {
      res.writeHead(response.status, { "PAYMENT-REQUIRED": response.headers.get("PAYMENT-REQUIRED") ?? "" });
      res.end(await response.text());
    });
  });
  const url = await start(express().use((req, res) => void proxy.emit("request", req, res)));
  const key = generatePrivateKey();
  expect((await payingFetch(key)(`${url}/weather`)).status).toBe(200);
  expect(sent.toLowerCase()).toContain(privateKeyToAddress(key).toLowerCase());
  expect(sent.toLowerCase()).not.toContain(key.slice(2));
});

describe("5.3", () => {
  const EVM_PRIVATE_KEY = generatePrivateKey();

  test("5.3 `EVM_PRIVATE_KEY` (hex string with `0x` prefix)", async () => {
    expect((await readSettings({ EVM_PRIVATE_KEY })).evm?.address).toBe(privateKeyToAddress(EVM_PRIVATE_KEY));
    await expect(readSettings({ EVM_PRIVATE_KEY: EVM_PRIVATE_KEY.slice(2) })).rejects.toThrow(/EVM_PRIVATE_KEY/);
  });

  test("5.3 `SVM_PRIVATE_KEY` (base58-encoded)", async () => {
    const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign"]);
    if (!("privateKey" in pair)) throw new TypeError("no pair");
    const secret = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey)).slice(-32);
    const open = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
    const SVM_PRIVATE_KEY = getBase58Decoder().decode(new Uint8Array([...secret, ...open]));
    expect((await readSettings({ SVM_PRIVATE_KEY })).svm?.address).toBe(getBase58Decoder().decode(open));
    await expect(readSettings({ SVM_PRIVATE_KEY: "0OIl" })).rejects.toThrow(/SVM_PRIVATE_KEY/);
  });

  test("5.3 `RESOURCE_SERVER_URL` (required, base URL of the paid API), `ENDPOINT_PATH` (required, path of the endpoint).", async () => {
    const env = { EVM_PRIVATE_KEY, RESOURCE_SERVER_URL: "https://api.example.com", ENDPOINT_PATH: "/tides" };
    const [endpoint] = (await readSettings(env)).endpoints;
    expect(JSON.stringify(endpoint)).toContain("https://api.example.com");
    expect(JSON.stringify(endpoint)).toContain("/tides");
    await expect(readSettings({ ...env, RESOURCE_SERVER_URL: "nowhere" })).rejects.toThrow(/RESOURCE_SERVER_URL/);
    await expect(readSettings({ ...env, ENDPOINT_PATH: "tides and more" })).rejects.toThrow(/ENDPOINT_PATH/);
  });

  test("5.3 At least one of the two private keys is required, otherwise start-up fails.", async () => {
    await expect(readSettings({})).rejects.toThrow(
      /at least one of EVM_PRIVATE_KEY and SVM_PRIVATE_KEY must be provided/,
    );
  });

  test("5.3 Defaults in the example when the URL and path are unset: an HTTP local address on port 4021 and `/weather`.", async () => {
    const { endpoints } = await readSettings({ EVM_PRIVATE_KEY });
    expect(endpoints).toHaveLength(1);
    expect(JSON.stringify(endpoints)).toContain("http://localhost:4021");
    expect(JSON.stringify(endpoints)).toContain("/weather");
  });
});

test("5.4 Authentication of facilitator operations other than discovery: not shown. Here a facilitator that is open to everybody has to say so", () => {
  const facilitator = createFacilitator({ schemes: [yesScheme()] });
  expect(() => facilitatorRouter(facilitator)).toThrow(/open: true/);
});
