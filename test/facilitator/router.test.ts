/** The facilitator over HTTP: normal calls, failing schemes, health. */
import type { FacilitatorScheme, Logger } from "@farebox/core";
import { createFacilitator, type LocalFacilitator } from "@farebox/facilitator";
import { HTTPFacilitatorClient } from "@x402/core/server";
import express from "express";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openCounter, VERSIONS } from "./counter.js";
import { createOffer, openStage, payloadOf, type Stage, signFor } from "./stage.js";

let stage: Stage;
let facilitator: LocalFacilitator;

beforeAll(async () => {
  stage = await openStage();
  facilitator = createFacilitator({ schemes: [stage.scheme({ privateKey: await stage.signer() })] });
});

afterAll(() => stage.close());

describe.each(VERSIONS)("on %s", (_name, version) => {
  const PARSERS = [
    { why: "without a body parser", before: [] },
    { why: "behind express.json()", before: [version.json()] },
    { why: "behind express.json({ strict: false })", before: [version.json({ strict: false })] },
    { why: "behind a parser of other bodies", before: [version.urlencoded({ extended: true }), version.text()] },
  ];

  test.each(PARSERS)("the router verifies a payment and settles it once $why", async ({ before }) => {
    const counter = await openCounter(version, facilitator, { before });
    const payment = await stage.payment();
    const { from: payer } = payloadOf(payment).authorization;
    const body = JSON.stringify(payment);
    expect(await counter.post("/verify", body)).toMatchObject({ status: 200, json: { isValid: true, payer } });
    const settled = await counter.post("/settle", body);
    expect(settled).toMatchObject({
      status: 200,
      json: { success: true, payer, network: "eip155:84532", amount: "100" },
    });
    const { transaction } = settled.json as { readonly transaction: string };
    expect(await counter.post("/settle", body, "application/json; charset=utf-8")).toMatchObject({
      status: 200,
      json: { success: false, errorReason: "payment_already_settled", transaction },
    });
    // A proxy may write the content type differently.
    expect(await counter.post("/verify", body, "APPLICATION/JSON ;charset=UTF-8")).toMatchObject({ status: 200 });
  });

  test("the router serves /supported and /health", async () => {
    const counter = await openCounter(version, facilitator);
    expect(await counter.get("/supported")).toMatchObject({ status: 200, json: await facilitator.supported() });
    expect(await counter.get("/health")).toMatchObject({
      status: 200,
      json: { ok: true, schemes: [{ scheme: "exact", network: "eip155:84532", ok: true }] },
    });
  });

  test("the router serves many requests on one connection without leaking listeners", async () => {
    const warnings: Error[] = [];
    // Apps of other tests are in this process, too, and may be warned about.
    const listen = (warning: Error) => warning.name === "MaxListenersExceededWarning" && warnings.push(warning);
    process.on("warning", listen);
    const counter = await openCounter(version, facilitator);
    const listeners = new Set<number>();
    counter.server.on("request", (req) => listeners.add(req.socket.listenerCount("close")));
    const body = JSON.stringify(await stage.payment());
    for (let at = 0; at < 15; at += 1) expect((await counter.post("/verify", body)).status).toBe(200);
    process.off("warning", listen);
    expect(warnings).toEqual([]);
    expect(listeners.size).toBe(1);
    // The client may open a second connection before it has read the end of a response.
    expect(await counter.connections()).toBeLessThanOrEqual(2);
  });

  test("the router answers 404 to other paths and methods", async () => {
    const counter = await openCounter(version, facilitator);
    expect((await counter.get("/verify")).status).toBe(404);
    expect((await counter.post("/supported", "{}")).status).toBe(404);
    expect((await counter.post("/", "{}")).status).toBe(404);
  });

  test("the router answers in the protocol if a scheme throws, and 503 if it is unhealthy", async () => {
    const counter = await openCounter(version, createFacilitator({ schemes: [brokenScheme()] }));
    const body = JSON.stringify(await signFor(await stage.payer(), createOffer()));
    expect(await counter.post("/verify", body)).toMatchObject({
      status: 200,
      json: { isValid: false, invalidReason: "unexpected_verify_error" },
    });
    expect(await counter.post("/settle", body)).toMatchObject({
      status: 200,
      json: { success: false, errorReason: "unexpected_settle_error", transaction: "", network: "eip155:84532" },
    });
    const health = await counter.get("/health");
    expect(health).toMatchObject({ status: 503, json: { ok: false, schemes: [{ problem: "TypeError" }] } });
    for (const { text } of [health, await counter.post("/verify", body)]) expect(text).not.toContain("secret");
  });

  test("the router answers 500 with one sentence if the facilitator itself fails", async () => {
    const lines: unknown[] = [];
    const rejecting = { ...facilitator, settle: async () => Promise.reject(new TypeError("secret")) };
    const error = (...line: unknown[]) => {
      lines.push(line);
      throw new RangeError("the log is full");
    };
    const logger: Logger = { info: () => {}, warn: () => {}, error };
    const counter = await openCounter(version, rejecting, { logger });
    const { status, json } = await counter.post("/settle", JSON.stringify(await stage.payment()));
    expect({ status, json }).toEqual({ status: 500, json: { error: "the facilitator failed" } });
    expect(lines).toEqual([["request_failed", { call: "settle", error: "TypeError" }]]);
  });
});

function brokenScheme(): FacilitatorScheme {
  const broken = (): never => {
    throw new TypeError("secret");
  };
  const identity = { scheme: "exact", network: "eip155:84532", extra: {}, signers: [] };
  return { ...identity, verify: broken, settle: async () => broken(), health: broken };
}

describe("the reference's client of facilitators", () => {
  test("the client of @x402/core reads every response", async () => {
    const counter = await openCounter(express, facilitator);
    const client = new HTTPFacilitatorClient({ url: counter.url });
    const supported = await client.getSupported();
    expect(supported).toEqual({
      kinds: [{ x402Version: 2, scheme: "exact", network: "eip155:84532" }],
      extensions: ["eip2612GasSponsoring"],
      signers: { "eip155:*": [expect.stringMatching(/^0x[0-9a-fA-F]{40}$/)] },
    });

    const { paymentPayload, paymentRequirements } = await stage.payment();
    const verify = () => client.verify(paymentPayload as never, paymentRequirements as never);
    const settle = () => client.settle(paymentPayload as never, paymentRequirements as never);
    expect(await verify()).toMatchObject({ isValid: true });
    const { transaction } = await settle();
    expect(await settle()).toMatchObject({ success: false, errorReason: "payment_already_settled", transaction });
    expect(await verify()).toMatchObject({ isValid: false, invalidReason: "payment_already_settled" });
    const other = { ...paymentRequirements, network: "eip155:1" };
    expect(await client.settle(paymentPayload as never, other as never)).toMatchObject({
      success: false,
      errorReason: "invalid_network",
      transaction: "",
      network: "eip155:1",
    });
  });
});
