import { createHttpFacilitator, type FacilitatorRequest, type PaymentRequirements } from "@farebox/core";
import {
  createPayer,
  createTestFacilitator,
  type FacilitatorServer,
  type Fault,
  startFacilitatorServer,
  type TestFacilitator,
} from "@farebox/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const OFFER: PaymentRequirements = {
  scheme: "exact",
  network: "eip155:84532",
  amount: "10000",
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
  maxTimeoutSeconds: 60,
  extra: { name: "USDC", version: "2" },
};

const payer = createPayer();
let facilitator: TestFacilitator;
let server: FacilitatorServer;

beforeEach(async () => {
  facilitator = createTestFacilitator();
  facilitator.ledger.fund(payer.address, 10_000n);
  server = await startFacilitatorServer({ facilitator });
});

afterEach(() => server.close());

async function request(): Promise<FacilitatorRequest> {
  const { payload } = await payer.signExact(OFFER);
  return { x402Version: 2, paymentPayload: { x402Version: 2, accepted: OFFER, payload }, paymentRequirements: OFFER };
}

const post = async (operation: string, init: RequestInit = {}) =>
  fetch(`${server.url}/${operation}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(await request()),
    ...init,
  });

describe("a facilitator server", () => {
  test("the server verifies and settles over HTTP", async () => {
    const client = createHttpFacilitator({ url: server.url });
    const payment = await request();
    expect(await client.verify(payment)).toMatchObject({ isValid: true });
    expect(await client.settle(payment)).toMatchObject({ success: true, network: "eip155:84532" });
    expect((await client.supported()).kinds).toMatchObject([
      { scheme: "exact", network: "eip155:84532" },
      { scheme: "upto", network: "eip155:84532" },
    ]);
    expect(facilitator.ledger.balanceOf(OFFER.payTo as `0x${string}`)).toBe(10_000n);
  });

  test("the server records its requests", async () => {
    const payment = await request();
    await post("verify?a=1", {
      body: JSON.stringify(payment),
      headers: { "content-type": "application/json", "x-k": "v" },
    });
    await fetch(`${server.url}/supported`);
    await fetch(`${server.url}/elsewhere`, { method: "POST", body: "text" });
    expect(server.requests).toMatchObject([
      { operation: "verify", method: "POST", path: "/verify?a=1", headers: { "x-k": "v" }, body: payment },
      { operation: "supported", method: "GET", path: "/supported", body: undefined },
      { operation: undefined, method: "POST", path: "/elsewhere", body: "text" },
    ]);
  });

  test("hold keeps a call from the facilitator until it is released", async () => {
    const held = server.faults.next("settle", { kind: "hold" });
    const response = post("settle");
    await held.reached;
    // When a later call has its response, an earlier one would have reached the facilitator.
    await post("verify");
    expect(facilitator.calls.settle).toHaveLength(0);
    held.release();
    expect(await (await response).json()).toMatchObject({ success: true });
  });

  test("hold after the call keeps its response until it is released", async () => {
    const held = server.faults.next("settle", { kind: "hold", when: "after" });
    let isAnswered = false;
    const response = post("settle").finally(() => {
      isAnswered = true;
    });
    await held.reached;
    expect(facilitator.ledger.transfers).toHaveLength(1);
    await post("verify");
    expect(isAnswered).toBe(false);
    held.release();
    expect(await (await response).json()).toMatchObject({ success: true });
  });

  test.each([
    ["before", 0],
    ["after", 1],
  ] as const)("drop resets the connection %s the facilitator does its work", async (when, transfers) => {
    server.faults.next("settle", { kind: "drop", when });
    await expect(post("settle")).rejects.toMatchObject({ cause: { code: "ECONNRESET" } });
    expect(facilitator.ledger.transfers).toHaveLength(transfers);
  });

  test("status sends any status, headers and body", async () => {
    server.faults.next("verify", { kind: "status", status: 429, headers: { "retry-after": "7" } });
    server.faults.next("verify", {
      kind: "status",
      status: 500,
      headers: { "content-type": "text/html" },
      body: "<h1>",
    });
    const busy = await post("verify");
    expect([busy.status, busy.headers.get("retry-after"), await busy.text()]).toEqual([429, "7", ""]);
    const broken = await post("verify");
    expect([broken.status, broken.headers.get("content-type"), await broken.text()]).toEqual([
      500,
      "text/html",
      "<h1>",
    ]);
    expect(facilitator.calls.verify).toHaveLength(0);
  });

  test("garbage sends half a document, and empty sends no body", async () => {
    server.faults.next("settle", { kind: "garbage" });
    server.faults.next("settle", { kind: "empty", when: "after" });
    const garbage = await post("settle");
    expect(garbage.headers.get("content-type")).toContain("json");
    await expect(garbage.json()).rejects.toThrow();
    const empty = await post("settle");
    expect([empty.status, await empty.text()]).toEqual([200, ""]);
    expect(facilitator.ledger.transfers).toHaveLength(1);
  });

  test("slow-body sends the first byte, and the rest when it is released", async () => {
    const slow = server.faults.next("verify", { kind: "slow-body" });
    const response = await post("verify");
    const reader = response.body!.getReader();
    const first = await reader.read();
    expect(Buffer.from(first.value!).toString()).toBe("{");
    slow.release();
    let rest = "";
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) rest += Buffer.from(chunk.value);
    expect(JSON.parse(`{${rest}`)).toMatchObject({ isValid: true });
  });

  test("rewrite replaces the response", async () => {
    server.faults.next("settle", { kind: "rewrite", rewrite: ({ transaction: _gone, ...response }) => response });
    const response = await (await post("settle")).json();
    expect(response).toMatchObject({ success: true });
    expect(response).not.toHaveProperty("transaction");
  });

  test.each<[string, Fault, string, string]>([
    ["a reset", { kind: "drop" }, "ERR_FAREBOX_FACILITATOR_UNREACHABLE", "unknown"],
    ["a 500", { kind: "status", status: 500, body: "<h1>" }, "ERR_FAREBOX_FACILITATOR_STATUS", "unknown"],
    ["a 429", { kind: "status", status: 429 }, "ERR_FAREBOX_FACILITATOR_STATUS", "unknown"],
    ["garbage", { kind: "garbage" }, "ERR_FAREBOX_FACILITATOR_RESPONSE", "unknown"],
    ["an empty response", { kind: "empty" }, "ERR_FAREBOX_FACILITATOR_RESPONSE", "unknown"],
  ])("an HTTP client fails on %s like a call in this process", async (_what, fault, code, outcome) => {
    server.faults.next("settle", fault);
    facilitator.faults.next("settle", fault);
    const client = createHttpFacilitator({ url: server.url });
    await expect(client.settle(await request())).rejects.toMatchObject({ code, outcome });
    await expect(facilitator.settle(await request())).rejects.toMatchObject({ code, outcome });
  });

  test("the server closes while a call is held", async () => {
    const held = server.faults.always("settle", { kind: "hold" });
    const response = expect(post("settle")).rejects.toThrow();
    await held.reached;
    await server.close();
    await response;
  });

  test("the server fails when its port is busy, and leaves nothing open", async () => {
    const port = Number(new URL(server.url).port);
    await expect(startFacilitatorServer({ facilitator, port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});
