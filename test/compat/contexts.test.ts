/**
 * What hooks and functions of a seller's see, side by side with the reference.
 *
 * @module
 */
import * as compat from "@farebox/compat";
import { createPayer } from "@farebox/testing";
import { HTTPFacilitatorClient as ForeignClient } from "@x402/core/server";
import { ExactEvmScheme as ForeignScheme } from "@x402/evm/exact/server";
import * as reference from "@x402/express";
import type { RequestHandler } from "express";
import express from "express";
import { expect, onTestFinished, test, vi } from "vitest";
import { decode, NETWORK, openStage, PAY_TO, QUIET, quietApp } from "./stage.js";

type Compat = Pick<typeof compat, "paymentMiddleware" | "x402ResourceServer">;

const SIDES: readonly (readonly [name: string, side: Compat])[] = [
  ["compat", compat],
  ["the reference", reference as unknown as Compat],
];

const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const OPTION = { scheme: "exact", price: "$0.01", network: NETWORK, payTo: PAY_TO } as const;

interface Plan {
  readonly routes?: compat.RoutesConfig;
  readonly register?: (server: compat.x402ResourceServer, scheme: compat.ExactEvmScheme) => unknown;
  readonly logger?: compat.EngineOptions["logger"];
  readonly handler?: RequestHandler;
}

/** A seller whose table is mounted at `/shop`. */
async function openShop(
  { paymentMiddleware, x402ResourceServer }: Compat,
  { routes = { "GET /goods": { accepts: OPTION } }, register, handler, logger = QUIET.logger }: Plan,
) {
  const stage = await openStage();
  const scheme = new ForeignScheme() as unknown as compat.ExactEvmScheme;
  const client = new ForeignClient({ url: stage.facilitatorServer.url }) as unknown as compat.HTTPFacilitatorClient;
  const server = new x402ResourceServer(client).register(NETWORK, scheme);
  register?.(server, scheme);
  const shop = express.Router().use(paymentMiddleware(routes, server, undefined, undefined, true, { logger }));
  shop.get("/goods", handler ?? ((_req, res) => void res.set("X-Goods", "yes").json({ goods: 1 })));
  const origin = await stage.serve(quietApp().use("/shop", shop));
  const url = `${origin}/shop/goods?a=b`;
  const offer = async () =>
    (decode((await fetch(url)).headers.get("PAYMENT-REQUIRED"))["accepts"] as Record<string, unknown>[])[0];
  return { ...stage, origin, offer, buy: () => stage.pay(url) };
}

function silence() {
  for (const level of ["error", "warn"] as const) {
    const spy = vi.spyOn(console, level).mockImplementation(() => {});
    onTestFinished(() => spy.mockRestore());
  }
}

test.each(SIDES)("onBeforeSettle sees the response of the handler, with %s", async (_name, side) => {
  silence();
  const seen: unknown[] = [];
  const { buy, income } = await openShop(side, {
    register: (server) =>
      server.onBeforeSettle(async ({ transportContext }) => {
        const { responseBody, responseHeaders } = transportContext as compat.HTTPTransportContext;
        seen.push(JSON.parse(String(responseBody)), responseHeaders?.["x-goods"]);
        return { abort: true, reason: "nothing_found", message: "It is empty." };
      }),
  });
  const response = await buy();
  expect(response.status).toBe(402);
  expect(decode(response.headers.get("PAYMENT-RESPONSE"))).toMatchObject({
    errorReason: "nothing_found",
    errorMessage: "It is empty.",
  });
  expect([seen, income()]).toEqual([[{ goods: 1 }, "yes"], 0n]);
});

test.each(SIDES)("the extra of a price in another asset is offered as it is written, with %s", async (_name, side) => {
  const extra = { name: "USDC", version: "2", decimals: 9, note: "n" };
  const price = { asset: USDC, amount: "7000", extra };
  const routes = { "GET /goods": { accepts: { ...OPTION, price, extra: { tier: "gold" } } } };
  const { buy, offer, income } = await openShop(side, { routes });
  expect(await offer()).toMatchObject({ amount: "7000", extra: { ...extra, tier: "gold" } });
  expect([(await buy()).status, income()]).toEqual([200, 7_000n]);
});

test.each(SIDES)("so is the extra of a price function's price, with %s", async (_name, side) => {
  const extra = { name: "USDC", version: "2", note: { deep: [1, null] } };
  const price = () => ({ asset: USDC, amount: "7000", extra });
  const routes = { "GET /goods": { accepts: { ...OPTION, price, extra: { tier: "gold" } } } };
  const { buy, offer, income } = await openShop(side, { routes });
  expect(await offer()).toMatchObject({ extra: { ...extra, tier: "gold" } });
  expect([(await buy()).status, income()]).toEqual([200, 7_000n]);
});

test.each(SIDES)("so is the extra of a money parser's, with %s", async (_name, side) => {
  const extra = { name: "USDC", version: "2", tier: "half" };
  const { buy, offer, income } = await openShop(side, {
    register: (_server, scheme) => scheme.registerMoneyParser(async () => ({ asset: USDC, amount: "5000", extra })),
  });
  expect(await offer()).toMatchObject({ amount: "5000", extra });
  expect([(await buy()).status, income()]).toEqual([200, 5_000n]);
});

test.each(SIDES)("paths are those below the mount, and the URL is the request's, with %s", async (_name, side) => {
  const seen: unknown[] = [];
  const read = ({ path, adapter }: compat.HTTPRequestContext) => [path, adapter.getPath()];
  const { buy, origin } = await openShop(side, {
    routes: {
      "GET /goods": {
        accepts: {
          ...OPTION,
          price: (context) => {
            seen.push(read(context));
            return "$0.01";
          },
        },
        resource: "https://shop.example/goods",
        unpaidResponseBody: (context) => {
          seen.push(context.adapter.getUrl());
          return { contentType: "text/plain", body: "pay" };
        },
      },
    },
    register: (server) =>
      server.onAfterSettle(async ({ transportContext }) => {
        seen.push(read((transportContext as compat.HTTPTransportContext).request));
      }),
  });
  expect((await buy()).status).toBe(200);
  const below = ["/goods", "/goods"];
  expect(seen).toContainEqual(`${origin}/shop/goods?a=b`);
  expect([seen.at(0), seen.at(-1)]).toEqual([below, below]);
});

test.each(SIDES)("onVerifyFailure gets the very error of the client, with %s", async (_name, side) => {
  silence();
  class Down extends Error {}
  const down = new Down("Facilitator verify failed (500): oops");
  const errors: unknown[] = [];
  const { buy } = await openShop(side, {
    register: (server) => {
      const [client] = (server as unknown as { facilitatorClients: compat.FacilitatorClient[] }).facilitatorClients;
      client!.verify = () => Promise.reject(down);
      server.onVerifyFailure(async ({ error }) => void errors.push(error));
    },
  });
  await buy();
  expect(errors).toHaveLength(1);
  expect(errors[0]).toBe(down);
});

test.each(SIDES)("a hook may write to its context, and the sale is as it was, with %s", async (_name, side) => {
  const { buy, income } = await openShop(side, {
    register: (server) => {
      const write = async (context: compat.VerifyContext) => {
        const { paymentPayload } = context as unknown as { paymentPayload: Record<string, object> };
        Object.assign(context, { mine: 1 });
        Object.assign(context.requirements, { note: 1 });
        Object.assign(paymentPayload["accepted"]!, { note: 1 });
        Object.assign(paymentPayload, { note: 1 });
      };
      return server.onAfterVerify(write).onBeforeSettle(write).onAfterSettle(write);
    },
  });
  expect([(await buy()).status, income()]).toEqual([200, 10_000n]);
});

test("what a hook writes to its context changes neither what is charged nor what the next hook sees", async () => {
  const seen: unknown[] = [];
  const { buy, income } = await openShop(compat, {
    register: (server) =>
      server
        .onBeforeSettle(async ({ requirements }) => void Object.assign(requirements, { amount: "1", payTo: "0x0" }))
        .onAfterSettle(async ({ requirements }) => void seen.push(requirements.amount, requirements.payTo)),
  });
  expect([(await buy()).status, income(), seen]).toEqual([200, 10_000n, ["10000", PAY_TO]]);
});

test("the log has what a hook threw, in one line and cut", async () => {
  const lines: unknown[] = [];
  const note = (event: string, fields: object) => void lines.push({ event, ...fields });
  const { buy } = await openShop(compat, {
    logger: { info() {}, warn: note, error: note },
    register: (server) =>
      server.onAfterSettle(async () => {
        throw new RangeError(`no book\n${"x ".repeat(5000)}`);
      }),
  });
  expect((await buy()).status).toBe(200);
  const line = lines.find((one) => (one as { event: string }).event === "hook_failed") as { message: string };
  expect(line).toMatchObject({ hook: "onAfterSettle", error: "RangeError" });
  expect(line.message).toMatch(/^no book [\x20-\x7e]{0,200}$/);
});

test("a client's change to what it echoes is refused by the reference; compat's hooks see it beside what the seller declared", async () => {
  silence();
  const tier = { info: { tier: "plain" }, schema: { type: "object" } };
  const changed = { tier: { ...tier, info: { tier: "gold" } } };
  async function sell(side: Compat) {
    const seen: unknown[] = [];
    const { origin, facilitator, offer } = await openShop(side, {
      routes: { "GET /goods": { accepts: OPTION, extensions: { tier } } },
      register: (server) =>
        server.onBeforeVerify(async ({ paymentPayload, declaredExtensions }) => {
          seen.push(paymentPayload.extensions, declaredExtensions);
        }),
    });
    const payer = createPayer();
    facilitator.ledger.fund(payer.address, 10_000n);
    const payment = { ...(await payer.signExact((await offer()) as never)), extensions: changed };
    const headers = { "PAYMENT-SIGNATURE": Buffer.from(JSON.stringify(payment)).toString("base64") };
    const response = await fetch(`${origin}/shop/goods`, { headers });
    return { status: response.status, error: response.headers.get("PAYMENT-REQUIRED"), seen };
  }
  const theirs = await sell(reference as unknown as Compat);
  expect(theirs).toMatchObject({ status: 402, seen: [] });
  expect(decode(theirs.error)).toMatchObject({ error: "extension_echo_mismatch" });
  expect(await sell(compat)).toMatchObject({ status: 200, seen: [changed, { tier }] });
});
