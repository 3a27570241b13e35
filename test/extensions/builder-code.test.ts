/**
 * Builder codes of a seller and of a client of `@x402/extensions`, as its facilitator appends them to a settlement.
 *
 * @module
 */
import type { Extension } from "@farebox/core";
import { ConfigError, paymentMiddleware, type RouteConfig } from "@farebox/express";
import { BUILDER_CODE, builderCodeResourceServerExtension, declareBuilderCodeExtension } from "@farebox/extensions";
import { createTestFacilitator } from "@farebox/testing";
import { x402Client } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm";
import {
  BuilderCodeClientExtension,
  BuilderCodeFacilitatorExtension,
  parseBuilderCodeSuffixFromCalldata,
} from "@x402/extensions/builder-code";
import { wrapFetchWithPayment } from "@x402/fetch";
import express from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { serve } from "../serving.js";

const PRICED: RouteConfig = {
  accepts: { price: "$0.001", network: "eip155:84532", payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" },
};
const QUIET = { info() {}, warn() {}, error() {} };

/** The codes that the reference's facilitator reads from what ours got. */
async function settledCodes(declaration: object, clients: readonly string[], extensions: readonly Extension[] = []) {
  const facilitator = createTestFacilitator();
  const account = privateKeyToAccount(generatePrivateKey());
  facilitator.ledger.fund(account.address, 1_000_000n);
  const app = express();
  const route = { ...PRICED, extensions: { [BUILDER_CODE]: declaration } };
  app.use(paymentMiddleware({ "GET /paid": route }, { facilitator, extensions, logger: QUIET }));
  app.get("/paid", (_req, res) => void res.json({}));
  const client = new x402Client().register("eip155:*", new ExactEvmScheme(account));
  if (clients.length > 0) client.registerExtension(new BuilderCodeClientExtension([...clients]));
  const response = await wrapFetchWithPayment(fetch, client)(`${await serve(app)}/paid`);
  expect(response.status).toBe(200);
  const [{ paymentPayload, paymentRequirements } = {}] = facilitator.calls.settle;
  const suffix = new BuilderCodeFacilitatorExtension({ builderCode: "wallet" }).buildDataSuffix({
    paymentPayload,
    paymentRequirements,
  } as never);
  return parseBuilderCodeSuffixFromCalldata(suffix!);
}

test.each([
  ["the app's code alone", declareBuilderCodeExtension("my_app"), [], { a: "my_app", w: "wallet" }],
  [
    "the codes of app and services",
    declareBuilderCodeExtension("my_app", ["one", "two"]),
    [],
    { a: "my_app", w: "wallet", s: ["one", "two"] },
  ],
  ["a client's code", declareBuilderCodeExtension("my_app"), ["agent"], { a: "my_app", w: "wallet", s: ["agent"] }],
  [
    "a client's codes beside the seller's",
    declareBuilderCodeExtension("my_app", "one"),
    ["agent", "sdk"],
    { a: "my_app", w: "wallet", s: ["agent", "sdk", "one"] },
  ],
] as const)("the facilitator gets %s", async (_what, declaration, clients, codes) => {
  expect(await settledCodes(declaration, clients)).toEqual(codes);
  expect(await settledCodes(declaration, clients, [builderCodeResourceServerExtension])).toEqual(codes);
});

test("the registered extension refuses codes that the facilitator would drop", () => {
  const start = (declaration: object) =>
    paymentMiddleware(
      { "GET /paid": { ...PRICED, extensions: { [BUILDER_CODE]: declaration } } },
      { facilitator: createTestFacilitator(), extensions: [builderCodeResourceServerExtension], logger: QUIET },
    );
  expect(() => start({ info: { a: "My App" }, schema: {} })).toThrow(ConfigError);
  expect(() => start({ info: { a: "app", s: ["NO"] }, schema: {} })).toThrow(/info\.s\[0\]/);
  expect(() => start({ a: "app" })).toThrow(/declareBuilderCodeExtension/);
});
