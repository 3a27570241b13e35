/**
 * A seller on compat, a facilitator behind HTTP with a ledger, and the reference's own client.
 *
 * @module
 */
import { type IncomingMessage, request } from "node:http";
import * as compat from "@farebox/compat";
import {
  createTestFacilitator,
  type FacilitatorServer,
  startFacilitatorServer,
  type TestFacilitator,
} from "@farebox/testing";
import * as core from "@x402/core/server";
import * as evm from "@x402/evm/exact/server";
import * as upto from "@x402/evm/upto/server";
import * as svm from "@x402/svm/exact/server";
import express, { type Express } from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { onTestFinished } from "vitest";
import { payingFetch } from "../interop/peers.js";
import { listen } from "../interop/servers.js";

export const NETWORK = "eip155:84532";
export const SOLANA = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
export const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
export const PAY_TO_SVM = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4";

/** For failures that are on purpose: without a logger they would be on stderr. */
export const QUIET = { logger: { info() {}, warn() {}, error() {} } };

/** Opens a URL as a person with a browser does. `fetch` cannot: it says in `Sec-Fetch-Mode` that it is no navigation. */
export async function browse(
  url: string,
  { method = "GET", headers = {} }: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<Response> {
  const all = { ...headers, accept: "text/html", "user-agent": "Mozilla/5.0", "sec-fetch-mode": "navigate" };
  const message = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method, headers: all }, resolve).on("error", reject).end();
  });
  const { statusCode = 0, headers: received } = message;
  const text = (await message.setEncoding("utf8").toArray()).join("");
  const pairs = Object.entries(received).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => [name, one] as [string, string]),
  );
  const hasBody = ![204, 205, 304].includes(statusCode);
  return new Response(hasBody ? text : null, { status: statusCode, headers: pairs });
}

/** Where a seller's classes come from. */
export interface Classes {
  readonly x402ResourceServer: typeof compat.x402ResourceServer;
  readonly x402HTTPResourceServer: typeof compat.x402HTTPResourceServer;
  readonly HTTPFacilitatorClient: typeof compat.HTTPFacilitatorClient;
  readonly ExactEvmScheme: typeof compat.ExactEvmScheme;
  readonly UptoEvmScheme: typeof compat.UptoEvmScheme;
  readonly ExactSvmScheme: typeof compat.ExactSvmScheme;
}

const { x402ResourceServer, x402HTTPResourceServer } = compat;
const foreign = { ...core, ...evm, ...upto, ...svm } as unknown as Classes;

/** How much of a seller's file was changed. */
export const DEPTHS: readonly (readonly [name: string, classes: Classes])[] = [
  ["every import is of compat", compat],
  ["only the import of @x402/express was changed", { ...foreign, x402ResourceServer, x402HTTPResourceServer }],
  ["only the middleware is of compat", foreign],
];

/** What a seller's file runs with. */
export interface Stage {
  readonly facilitator: TestFacilitator;
  readonly facilitatorServer: FacilitatorServer;
  readonly payer: `0x${string}`;
  /** `@x402/fetch`. */
  readonly pay: typeof fetch;
  /** What was paid to the seller, in atomic units. */
  income(): bigint;
  /** Serves an app, and yields its origin. */
  serve(app: Express): Promise<string>;
}

/** Opens a stage for the time of the test. */
export async function openStage(): Promise<Stage> {
  const facilitator = createTestFacilitator();
  const facilitatorServer = await startFacilitatorServer({ facilitator });
  onTestFinished(() => facilitatorServer.close());
  const privateKey = generatePrivateKey();
  const { address } = privateKeyToAccount(privateKey);
  facilitator.ledger.fund(address, 1_000_000n);
  return {
    ...{ facilitator, facilitatorServer, payer: address },
    pay: payingFetch(privateKey),
    income: () => facilitator.ledger.balanceOf(PAY_TO),
    async serve(app) {
      const { url, close } = await listen(app);
      onTestFinished(close);
      return url;
    },
  };
}

/** An app whose errors are not printed. */
export function quietApp(): Express {
  return express().set("env", "test");
}

/** What a header of the protocol says. */
export function decode(header: string | null): Record<string, unknown> {
  return JSON.parse(Buffer.from(header ?? "", "base64").toString("utf8"));
}
