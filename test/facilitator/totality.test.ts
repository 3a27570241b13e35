/** Every request gets a response of the protocol, and invalid ones are refused without asking the node. */
import type { FacilitatorRequest, FacilitatorScheme } from "@farebox/core";
import { createFacilitator, type LocalFacilitator } from "@farebox/facilitator";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isKnownReason } from "./reasons.js";
import { type RpcProxy, startRpcProxy } from "./rpc-proxy.js";
import { openStage, type Stage } from "./stage.js";

let stage: Stage;
let proxy: RpcProxy;
let scheme: FacilitatorScheme;
let facilitator: LocalFacilitator;
let payment: FacilitatorRequest;

beforeAll(async () => {
  stage = await openStage();
  proxy = await startRpcProxy(stage.chain.rpcUrl);
  scheme = stage.scheme({ privateKey: await stage.signer(), rpcUrl: proxy.url });
  facilitator = createFacilitator({ schemes: [scheme] });
  payment = await stage.payment();
});

afterAll(async () => {
  await proxy.close();
  await stage.close();
});

/** `vitest.config.ts` sets it; the title of the tests names it. */
const seed = Number(process.env["FAREBOX_SEED"]);

/** Calls verify and settle of both, and checks the form of the responses. Returns whether a settlement succeeded. */
async function expectAnswers(request: unknown): Promise<boolean> {
  const asked = request as FacilitatorRequest;
  let isSettled = false;
  for (const { verify, settle } of [bound(scheme), facilitator]) {
    const verified = await verify(asked);
    expect(verified.isValid || isKnownReason(verified.invalidReason)).toBe(true);
    const settled = await settle(asked);
    expect(settled.success || isKnownReason(settled.errorReason)).toBe(true);
    expect(settled).toMatchObject({ transaction: expect.any(String), network: expect.any(String) });
    JSON.stringify([verified, settled]);
    isSettled ||= settled.success;
  }
  return isSettled;
}

async function expectRefusal(request: unknown): Promise<void> {
  expect(await expectAnswers(request)).toBe(false);
}

function bound(one: FacilitatorScheme) {
  const verify: FacilitatorScheme["verify"] = (request) => one.verify(request);
  const settle: FacilitatorScheme["settle"] = (request) => one.settle(request);
  return { verify, settle };
}

describe(`any request (seed ${seed})`, () => {
  test("any JSON gets a response, and the node is not asked", async () => {
    await expectAnswers(undefined);
    const before = proxy.calls.length;
    await fc.assert(fc.asyncProperty(fc.anything(), expectRefusal), { seed, numRuns: 300 });
    await fc.assert(fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), expectRefusal), { seed, numRuns: 300 });
    expect(proxy.calls.length).toBe(before);
  });

  test("a request in the form of the protocol gets a response, and the node is not asked", async () => {
    const before = proxy.calls.length;
    const part = fc.oneof(
      { withCrossShrink: true },
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(...textsOf(payment)),
    );
    const terms = fc.record(mapKeys(payment.paymentRequirements, part), { requiredKeys: [] });
    const authorization = fc.record(
      mapKeys({ from: 0, to: 0, value: 0, validAfter: 0, validBefore: 0, nonce: 0 }, part),
      { requiredKeys: [] },
    );
    const payload = fc.record({ signature: part, authorization: fc.oneof(part, authorization) });
    const paymentPayload = fc.record({
      x402Version: fc.oneof(fc.constant(2), part),
      accepted: fc.oneof(terms, part),
      payload: fc.oneof(payload, part),
    });
    const request = fc.record({
      x402Version: fc.oneof(fc.constant(2), part),
      paymentPayload,
      paymentRequirements: fc.oneof(terms, fc.constant(payment.paymentRequirements)),
    });
    await fc.assert(fc.asyncProperty(request, expectRefusal), { seed, numRuns: 500 });
    expect(proxy.calls.length).toBe(before);
  });

  test("a good payment with any authorization gets a response, and no money moves", async () => {
    const digits = fc.bigInt({ min: 0n, max: 2n ** 256n }).map(String);
    const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(toHex);
    const authorization = fc.record({
      from: fc.oneof(hex(20), fc.constant(stage.chain.asset)),
      to: fc.constant(payment.paymentRequirements.payTo),
      value: fc.constant(payment.paymentRequirements.amount),
      validAfter: fc.constantFrom("0", "1"),
      validBefore: fc.oneof(digits, fc.constant("99999999999")),
      nonce: hex(32),
    });
    const signature = fc.oneof(hex(65), hex(64), hex(66), hex(1), fc.constant(`0x${"00".repeat(65)}`));
    const payload = fc.record({ authorization, signature });
    const request = payload.map((one) => ({ ...payment, paymentPayload: { ...payment.paymentPayload, payload: one } }));
    await fc.assert(fc.asyncProperty(request, expectRefusal), { seed, numRuns: 20 });
    expect(await stage.client.getTransactionCount({ address: scheme.signers[0] as `0x${string}` })).toBe(0);
  });

  test.each([
    ["an endless proxy", new Proxy({}, { get: (_target, key) => (typeof key === "string" ? {} : undefined) })],
    ["a cycle", cycle()],
  ])("%s gets a response", async (_what, request) => {
    const response = await facilitator.verify(request as unknown as FacilitatorRequest);
    expect(isKnownReason(response.invalidReason)).toBe(true);
  });
});

test("the unchanged payment still settles", async () => {
  expect(await facilitator.settle(payment)).toMatchObject({ success: true });
});

function cycle(): unknown {
  const request: Record<string, unknown> = { x402Version: 2 };
  request["paymentPayload"] = request;
  request["paymentRequirements"] = request;
  return request;
}

function toHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString("hex")}`;
}

function mapKeys<T>(of: object, arbitrary: fc.Arbitrary<T>): Record<string, fc.Arbitrary<T>> {
  return Object.fromEntries(Object.keys(of).map((key) => [key, arbitrary]));
}

/** Every text in a document. */
function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}
