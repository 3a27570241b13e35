/** The policy of a facilitator over HTTP: whom it serves, what it spends, and what sellers are told. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { FacilitatorRequest } from "@farebox/core";
import { paymentMiddleware } from "@farebox/express";
import {
  createFacilitator,
  type FacilitatorPolicy,
  facilitatorRouter,
  type LocalFacilitator,
} from "@farebox/facilitator";
import { createPayer, pay } from "@farebox/testing";
import { HTTPFacilitatorClient } from "@x402/core/server";
import express5 from "express";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { PATIENT_SELLER } from "../interop/servers.js";
import { type Counter, openCounter, VERSIONS } from "./counter.js";
import { openProxiedStage } from "./proxied-stage.js";
import { createOffer, newAddress, signFor } from "./stage.js";

const { stage, proxy } = await openProxiedStage();
const NETWORK = "eip155:84532";
const { asset: USDC } = createOffer();
const [TOKEN_A, TOKEN_B] = ["seller-a-0123456789abcdef", "seller-b-0123456789abcdef"];

interface Lines {
  readonly lines: (readonly [level: string, event: string])[];
}

/** A facilitator with a signer of its own, behind a node that counts its calls. */
async function openFacilitator(
  policy: FacilitatorPolicy,
  { pollingIntervalMs = 10 } = {},
): Promise<LocalFacilitator & Lines & { readonly signer: string }> {
  const privateKey = await stage.signer();
  const lines: Lines["lines"] = [];
  const at = (level: string) => (event: string) => void lines.push([level, event]);
  const facilitator = createFacilitator({
    schemes: [stage.scheme({ privateKey, rpcUrl: proxy.url, pollingIntervalMs })],
    policy,
    logger: { info: at("info"), warn: at("warn"), error: at("error") },
  });
  return { ...facilitator, lines, signer: privateKeyToAccount(privateKey).address };
}

async function call(counter: Counter, path: string, request: FacilitatorRequest, headers: Record<string, string> = {}) {
  const response = await fetch(counter.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(request),
  });
  return { status: response.status, headers: response.headers, json: (await response.json()) as object };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("a router", () => {
  const payees = { [NETWORK]: [newAddress()] };
  const assets = { [NETWORK]: { [USDC]: "100" } };
  const OPEN: readonly (readonly [string, FacilitatorPolicy])[] = [
    ["no policy", {}],
    ["payees alone, who can be paid in worthless tokens", { payees }],
    ["assets alone, which anyone can be paid in", { assets }],
    ["a budget alone", { gasPerHour: { [NETWORK]: 1n } }],
  ];
  test.each(OPEN)("a facilitator with %s is only served when opened by word", async (_why, policy) => {
    const facilitator = await openFacilitator(policy);
    expect(() => facilitatorRouter(facilitator)).toThrow(
      /credentials, payees and assets, or a function as payees \(or \{ open: true \}/,
    );
    expect(() => facilitatorRouter(facilitator, { open: true })).not.toThrow();
  });

  const CLOSED: readonly (readonly [string, FacilitatorPolicy])[] = [
    ["payees and assets", { payees, assets }],
    ["a function for payees", { payees: () => true }],
    ["credentials", { credentials: [{ name: "a", tokens: [TOKEN_A] }] }],
  ];
  test.each(CLOSED)("a facilitator with %s needs no word", async (_why, policy) => {
    const facilitator = await openFacilitator(policy);
    expect(() => facilitatorRouter(facilitator)).not.toThrow();
  });
});

describe("a policy", () => {
  test("payments that the policy excludes are refused without a call to a node", async () => {
    const payTo = newAddress();
    const policy = {
      payees: { [NETWORK]: [payTo.toLowerCase()] },
      assets: { [NETWORK]: { [USDC.toLowerCase()]: "100" } },
    };
    const facilitator = await openFacilitator(policy);
    const counter = await openCounter(express5, facilitator, { open: false });
    const payer = await stage.payer();
    const excluded = [
      [createOffer(), "payee_not_served"],
      [createOffer({ payTo, asset: newAddress() }), "asset_not_served"],
      [createOffer({ payTo, amount: "99" }), "amount_too_small"],
      [createOffer({ payTo, amount: "1e3" }), "invalid_payment_requirements"],
    ] as const;
    const before = proxy.calls.length;
    for (const [offer, reason] of excluded) {
      const signed = await signFor(payer, { ...offer, amount: offer.amount === "1e3" ? "100" : offer.amount });
      const request = { ...signed, paymentRequirements: offer };
      const verified = await call(counter, "/verify", request);
      expect(verified).toMatchObject({ status: 200, json: { isValid: false, invalidReason: reason } });
      const settled = await call(counter, "/settle", request);
      const refusal = { success: false, errorReason: reason, transaction: "", network: NETWORK };
      expect(settled).toMatchObject({ status: 200, json: refusal });
    }
    expect(proxy.calls.length).toBe(before);
    const good = await signFor(payer, createOffer({ payTo }));
    expect(await call(counter, "/settle", good)).toMatchObject({ status: 200, json: { success: true } });
  });

  test.each(VERSIONS)("a credential is asked for on %s, and serves its own payees only", async (_name, version) => {
    const [a, b] = [newAddress(), newAddress()];
    const facilitator = await openFacilitator({
      credentials: [
        { name: "a", tokens: [TOKEN_A], payees: { [NETWORK]: [a] } },
        { name: "b", tokens: [TOKEN_B], payees: { [NETWORK]: [b] }, assets: { [NETWORK]: { [USDC]: 100n } } },
      ],
    });
    const counter = await openCounter(version, facilitator, { open: false });
    const payment = await signFor(await stage.payer(), createOffer({ payTo: a }));
    const before = proxy.calls.length;
    for (const headers of [
      {},
      bearer("seller-c-0123456789abcdef"),
      bearer(`${TOKEN_A}x`),
      { authorization: TOKEN_A },
    ]) {
      const verified = await call(counter, "/verify", payment, headers);
      expect(verified).toMatchObject({ status: 401, json: { error: "a known credential is required" } });
      expect(verified.json).not.toHaveProperty("isValid");
      expect(verified.headers.get("www-authenticate")).toBe("Bearer");
      const settled = await call(counter, "/settle", payment, headers);
      expect(settled).toMatchObject({
        status: 401,
        json: { success: false, errorReason: "unauthorized", transaction: "" },
      });
    }
    for (const path of ["/verify", "/settle"]) {
      const reason = path === "/verify" ? { invalidReason: "payee_not_served" } : { errorReason: "payee_not_served" };
      expect(await call(counter, path, payment, bearer(TOKEN_B))).toMatchObject({ status: 403, json: reason });
    }
    expect(proxy.calls.length).toBe(before);
    expect(await call(counter, "/verify", payment, { "x-api-key": TOKEN_A })).toMatchObject({
      json: { isValid: true },
    });
    expect(await call(counter, "/settle", payment, bearer(TOKEN_A))).toMatchObject({ json: { success: true } });
  });

  test("a source over its rate gets 429 with Retry-After, and does not slow the others", async () => {
    const facilitator = await openFacilitator({
      credentials: [
        { name: "a", tokens: [TOKEN_A], requestsPerMinute: 2 },
        { name: "b", tokens: [TOKEN_B] },
      ],
      requestsPerMinute: 3,
    });
    const counter = await openCounter(express5, facilitator, { open: false });
    stopClock();
    const payment = await stage.payment();
    const statuses = async (headers: Record<string, string>, count: number) => {
      const replies = [];
      for (let sent = 0; sent < count; sent++) replies.push(await call(counter, "/verify", payment, headers));
      return replies;
    };
    const strangers = await statuses({}, 5);
    expect(strangers.map(({ status }) => status)).toEqual([401, 401, 401, 429, 429]);
    const replies = await statuses(bearer(TOKEN_A), 3);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(Number(replies[2]!.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(replies[2]!.json).toEqual({ error: "too many requests" });
    const others = await statuses(bearer(TOKEN_B), 3);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test("a flood of /health asks the node once", async () => {
    const facilitator = await openFacilitator({ credentials: [{ name: "a", tokens: [TOKEN_A] }] });
    const counter = await openCounter(express5, facilitator, { open: false });
    const before = proxy.calls.length;
    stopClock();
    const replies = await Promise.all(Array.from({ length: 50 }, () => counter.get("/health")));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    // The chain id, and the balance.
    expect(proxy.calls.length - before).toBe(2);
    expect(replies[0]!.text).not.toContain(TOKEN_A);
  });
});

/** Until the test ends, no time passes for the rates and the memory of the facilitator but what the result adds. */
function stopClock(): (ms: number) => void {
  const start = performance.now();
  const clock = vi.spyOn(performance, "now").mockReturnValue(start);
  onTestFinished(() => clock.mockRestore());
  return (ms) => void clock.mockReturnValue(start + ms);
}

describe("gas budgets", () => {
  const balanceOf = async (address: string) => stage.client.getBalance({ address: address as `0x${string}` });

  test("sixteen settlements at once spend no more than the budget, and those refused are final", async () => {
    const perHour = 6n * 10n ** 14n;
    const gasPerHour = { [NETWORK]: perHour.toString() };
    // Sixteen that ask often would keep the node busy with nothing else.
    const facilitator = await openFacilitator({ gasPerHour }, { pollingIntervalMs: 200 });
    const counter = await openCounter(express5, facilitator);
    const before = await balanceOf(facilitator.signer);
    const payments = [];
    for (let count = 0; count < 16; count++) payments.push(await stage.payment());
    const replies = await Promise.all(payments.map((payment) => call(counter, "/settle", payment)));
    const settled = replies.filter(({ json }) => "success" in json && json.success === true);
    const refused = replies.filter(({ json }) => "errorReason" in json && json.errorReason === "gas_budget_used_up");
    expect(settled.length + refused.length).toBe(16);
    expect(settled.length).toBeGreaterThan(0);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, headers, json } of refused) {
      expect(status).toBe(503);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      expect(json).toMatchObject({ success: false, transaction: "", network: NETWORK });
    }
    const spent = before - (await balanceOf(facilitator.signer));
    expect(spent).toBeGreaterThan(0n);
    expect(spent).toBeLessThanOrEqual(perHour);
    // What was booked too much is free again: the budget counts what settlements really cost.
    const { signers } = await facilitator.health();
    const balance = await balanceOf(facilitator.signer);
    expect(signers).toEqual([
      {
        network: NETWORK,
        address: facilitator.signer,
        balance: balance.toString(),
        gas: { perHour: perHour.toString(), left: (perHour - spent).toString() },
      },
    ]);
    const alarms = facilitator.lines.filter(([, event]) => event.startsWith("gas_budget"));
    expect(alarms.filter(([level]) => level === "error")).toEqual([["error", "gas_budget_used_up"]]);
    expect(alarms).toContainEqual(["warn", "gas_budget_low"]);
  });

  test("a facilitator without gas left refuses verifications without a call to a node", async () => {
    const facilitator = await openFacilitator({ gasPerHour: { [NETWORK]: 10n } });
    const counter = await openCounter(express5, facilitator);
    const payment = await stage.payment();
    expect(await call(counter, "/settle", payment)).toMatchObject({ status: 503 });
    const before = proxy.calls.length;
    const verified = await call(counter, "/verify", payment);
    expect(verified).toMatchObject({ status: 503, json: { error: "the gas budget of this hour is used up" } });
    expect(verified.headers.get("retry-after")).toBe("3600");
    expect(await facilitator.verify(payment)).toMatchObject({ invalidReason: "unexpected_verify_error" });
    expect(proxy.calls.length).toBe(before);
    const health = await counter.get("/health");
    const scheme = { ok: false, problem: "the gas budget of this hour is used up" };
    expect(health).toMatchObject({
      status: 503,
      json: { ok: false, schemes: [scheme], signers: [{ gas: { left: "10" } }] },
    });
  });

  test("a payment that was settled before is still told so when the budget is used up", async () => {
    const rich = await openFacilitator({});
    const payment = await stage.payment();
    const { transaction } = await rich.settle(payment);
    const poor = await openFacilitator({ gasPerHour: { [NETWORK]: 1n } });
    expect(await poor.settle(await stage.payment())).toMatchObject({ errorReason: "gas_budget_used_up" });
    expect(await poor.settle(payment)).toMatchObject({ errorReason: "payment_already_settled", transaction });
  });
});

describe("sellers", () => {
  test("the seller of Farebox does not charge for what the policy refuses at settlement, and goes on after it", async () => {
    let serves = true;
    const facilitator = await openFacilitator({ payees: () => serves });
    const shop = await openShop(facilitator, () => {
      serves = false;
    });
    const payer = await stage.payer(10_000n);
    const refused = await pay(shop.app, { path: "/paid", payer });
    expect(refused).toMatchObject({ status: 402, receipt: { success: false, errorReason: "payee_not_served" } });
    expect(refused.text).not.toContain("goods");
    expect(await stage.chain.balanceOf(payer.address)).toBe(10_000n);
    const unverified = await pay(shop.app, { path: "/paid", payer });
    expect(unverified).toMatchObject({
      status: 402,
      challenge: { error: expect.stringContaining("payee_not_served") },
    });
    serves = true;
    shop.onRun(() => {});
    expect(await pay(shop.app, { path: "/paid", payer })).toMatchObject({ status: 200, receipt: { success: true } });
  });

  test("the seller of Farebox settles a limited payment when it is sent again", async () => {
    const pass = stopClock();
    const facilitator = await openFacilitator({
      credentials: [{ name: "a", tokens: [TOKEN_A], requestsPerMinute: 1 }],
    });
    const shop = await openShop(facilitator);
    const payer = await stage.payer(10_000n);
    const limited = await pay(shop.app, { path: "/paid", payer });
    expect(limited.status).toBe(503);
    expect(Number(limited.headers["retry-after"])).toBeGreaterThan(0);
    expect(await stage.chain.balanceOf(payer.address)).toBe(10_000n);
    pass(120_000);
    const again = await pay(shop.app, { path: "/paid", payment: limited.payment! });
    expect(again).toMatchObject({ status: 200, text: "goods", receipt: { success: true } });
    expect(await stage.chain.balanceOf(payer.address)).toBe(0n);
  });

  test("the seller of Farebox with a wrong credential is unavailable, and takes no payment", async () => {
    const facilitator = await openFacilitator({ credentials: [{ name: "b", tokens: [TOKEN_B] }] });
    const shop = await openShop(facilitator);
    const payer = await stage.payer(10_000n);
    expect(await pay(shop.app, { path: "/paid", payer })).toMatchObject({ status: 503, receipt: undefined });
    expect(await stage.chain.balanceOf(payer.address)).toBe(10_000n);
  });

  test.each(["over HTTP", "in the process"])(
    "the seller of Farebox %s does not charge without a gas budget, and then has its clients wait",
    async (where) => {
      const policy = { credentials: [{ name: "a", tokens: [TOKEN_A] }], gasPerHour: { [NETWORK]: 10n } };
      const facilitator = await openFacilitator(policy);
      const shop = await openShop(facilitator, undefined, where === "in the process");
      const payer = await stage.payer(10_000n);
      const refused = await pay(shop.app, { path: "/paid", payer });
      expect(refused).toMatchObject({ status: 402, receipt: { success: false, errorReason: "gas_budget_used_up" } });
      expect(refused.text).not.toContain("goods");
      const waiting = await pay(shop.app, { path: "/paid", payer });
      expect(waiting).toMatchObject({ status: 503, receipt: undefined });
      expect(Number(waiting.headers["retry-after"])).toBeGreaterThan(0);
      expect(await stage.chain.balanceOf(payer.address)).toBe(10_000n);
    },
  );

  test("the client of the reference reads each refusal", async () => {
    const payTo = newAddress();
    const facilitator = await openFacilitator({
      credentials: [{ name: "a", tokens: [TOKEN_A], payees: { [NETWORK]: [payTo] } }],
      gasPerHour: { [NETWORK]: 10n },
    });
    const { url } = await openCounter(express5, facilitator, { open: false });
    const clientOf = (token: string) => {
      const createAuthHeaders = async () => ({ verify: bearer(token), settle: bearer(token), supported: {} });
      return new HTTPFacilitatorClient({ url, createAuthHeaders });
    };
    const [known, unknown] = [clientOf(TOKEN_A), clientOf(TOKEN_B)];
    const good = await signFor(await stage.payer(), createOffer({ payTo }));
    const foreign = await stage.payment();
    const args = ({ paymentPayload, paymentRequirements }: FacilitatorRequest) =>
      [paymentPayload, paymentRequirements] as unknown as Parameters<HTTPFacilitatorClient["verify"]>;
    expect((await unknown.getSupported()).kinds).toHaveLength(1);
    await expect(unknown.verify(...args(good))).rejects.toThrow("401");
    await expect(unknown.settle(...args(good))).rejects.toMatchObject({ statusCode: 401, errorReason: "unauthorized" });
    await expect(known.verify(...args(foreign))).rejects.toMatchObject({
      statusCode: 403,
      invalidReason: "payee_not_served",
    });
    await expect(known.settle(...args(foreign))).rejects.toMatchObject({ errorReason: "payee_not_served" });
    await expect(known.settle(...args(good))).rejects.toMatchObject({
      statusCode: 503,
      errorReason: "gas_budget_used_up",
    });
    await expect(known.verify(...args(good))).rejects.toThrow("503");
  });
});

test("a header of a megabyte is refused", async () => {
  const facilitator = await openFacilitator({ credentials: [{ name: "a", tokens: [TOKEN_A] }] });
  const app = express5().use(facilitatorRouter(facilitator));
  const server = createServer({ maxHeaderSize: 4 * 1024 * 1024 }, app).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  for (const name of ["authorization", "x-api-key"]) {
    const headers = { "content-type": "application/json", [name]: `Bearer ${"x".repeat(1024 * 1024)}` };
    const response = await fetch(`http://127.0.0.1:${port}/verify`, { method: "POST", headers, body: "{}" });
    expect(response.status).toBe(401);
  }
});

/** A shop of a cent, whose facilitator is behind HTTP, or in the process. */
async function openShop(facilitator: LocalFacilitator, onRun: () => void = () => {}, isLocal = false) {
  const { url } = await openCounter(express5, facilitator, { open: false });
  let run = onRun;
  const app = express5().set("env", "test");
  const accepts = { price: "$0.01", network: NETWORK, payTo: createPayer().address } as const;
  app.use(
    paymentMiddleware(
      { "GET /paid": { accepts } },
      { facilitator: isLocal ? facilitator : { url, headers: bearer(TOKEN_A) }, ...PATIENT_SELLER },
    ),
  );
  app.get("/paid", (_req, res) => {
    run();
    res.send("goods");
  });
  const server = app.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  return {
    app: server,
    onRun: (next: () => void) => {
      run = next;
    },
  };
}
