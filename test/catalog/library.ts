/**
 * A facilitator with a catalog behind HTTP. Its schemes accept every payment.
 *
 * @module
 */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { type CatalogOptions, type CatalogStore, createCatalog, type LocalCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import type { FacilitatorRequest, FacilitatorScheme, Logger } from "@farebox/core";
import { createFacilitator, facilitatorRouter, type LocalFacilitator } from "@farebox/facilitator";
import express from "express";

const express4 = createRequire(import.meta.url)("express4") as typeof express;

export const NETWORK = "eip155:84532";
export const ASSET = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
export const PAYEE = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

/** The parts of a payment that a test replaces. */
export interface PaymentChanges {
  readonly url?: string;
  readonly description?: string;
  readonly bazaar?: unknown;
  readonly terms?: Readonly<Record<string, unknown>>;
}

/** A declaration of `GET` with one parameter. */
export function declare(changes: Readonly<Record<string, unknown>> = {}): object {
  const schema = { type: "object", properties: { input: { type: "object" } } };
  return { info: { input: { type: "http", method: "GET", queryParams: { city: "Paris" } } }, schema, ...changes };
}

/** The body of `verify` and `settle`. */
export function paymentFor(changes: PaymentChanges = {}): FacilitatorRequest {
  const { url = "https://api.example.com/weather", description = "Weather for a city", bazaar = declare() } = changes;
  const terms = { scheme: "exact", network: NETWORK, amount: "1000", asset: ASSET, payTo: PAYEE, ...changes.terms };
  const paymentRequirements = { maxTimeoutSeconds: 60, extra: { name: "USDC", version: "2" }, ...terms };
  const paymentPayload = {
    x402Version: 2,
    accepted: paymentRequirements,
    payload: {},
    resource: { url, description, mimeType: "application/json" },
    extensions: { bazaar },
  };
  return { x402Version: 2, paymentPayload, paymentRequirements } as unknown as FacilitatorRequest;
}

/** An HTTP response. */
export interface Reply {
  readonly status: number;
  readonly json: Record<string, unknown>;
  /** The decoded header. */
  readonly outcome: unknown;
  readonly header: (name: string) => string | null;
}

/** A facilitator on this machine. */
export interface Library {
  readonly url: string;
  readonly facilitator: LocalFacilitator;
  readonly catalog: LocalCatalog;
  get(path: string): Promise<Reply>;
  post(path: string, body: unknown): Promise<Reply>;
  /** Settles payments, which lists their services. */
  list(...changes: readonly PaymentChanges[]): Promise<void>;
  close(): Promise<void>;
}

/** Options of {@link openLibrary}. */
export interface LibraryOptions {
  readonly store?: CatalogStore;
  readonly now?: () => number;
  readonly logger?: Logger;
  readonly isExpress4?: boolean;
  readonly allowLocal?: boolean;
  /** Default: no server is checked, and the first payee is believed. */
  readonly owners?: Pick<CatalogOptions, "checkOwners" | "unverified" | "lookup">;
  readonly schemes?: readonly FacilitatorScheme[];
}

/** A scheme that accepts every payment. */
export function yesScheme(scheme = "exact", network = NETWORK): FacilitatorScheme {
  return {
    scheme,
    network,
    extra: {},
    signers: [],
    verify: async (request) => ({ isValid: true, payer: payerOf(request) }),
    settle: async (request) => ({
      success: true,
      payer: payerOf(request),
      transaction: authorizationOf(request)?.nonce ?? "0xcc",
      network,
    }),
    health: async () => ({ ok: true }),
  };
}

/** The payer of a signed payment; any other one for the payments of {@link paymentFor}. */
function payerOf(request: FacilitatorRequest): string {
  return authorizationOf(request)?.from ?? "0xbb";
}

/** Of a signed payment. Its nonce stands for the transaction, so that each has its own. */
function authorizationOf({ paymentPayload }: FacilitatorRequest) {
  return (paymentPayload.payload as { readonly authorization?: { readonly from: string; readonly nonce: string } })
    .authorization;
}

export const SOLANA = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
const SCHEMES = [yesScheme(), yesScheme("upto"), yesScheme("exact", "eip155:8453"), yesScheme("exact", SOLANA)];

/** Starts the facilitator. */
export async function openLibrary(options: LibraryOptions = {}): Promise<Library> {
  const { store = createSqliteCatalogStore(), now = Date.now, allowLocal = false, schemes = SCHEMES, logger } = options;
  const { owners = { checkOwners: false } } = options;
  const catalog = createCatalog({ store, now, allowLocal, embedder: false, ...owners });
  const facilitator = createFacilitator({ schemes, catalog, ...(logger === undefined ? {} : { logger }) });
  const app = options.isExpress4 === true ? express4() : express();
  app.use(facilitatorRouter(facilitator, { open: true, ...(logger === undefined ? {} : { logger }) }));
  // A busy machine pauses a test for longer than the five seconds that a connection may be idle.
  const server = createServer({ keepAliveTimeout: 60_000 }, app);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const read = async (response: Response): Promise<Reply> => {
    const header = response.headers.get("EXTENSION-RESPONSES");
    return {
      status: response.status,
      json: (await response.json()) as Record<string, unknown>,
      outcome: header === null ? undefined : JSON.parse(Buffer.from(header, "base64").toString()),
      header: (name) => response.headers.get(name),
    };
  };
  const post: Library["post"] = async (path, body) => {
    const headers = { "content-type": "application/json" };
    return read(await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) }));
  };
  return {
    url,
    facilitator,
    catalog,
    get: async (path) => read(await fetch(url + path)),
    post,
    async list(...changes) {
      for (const change of changes) await facilitator.settle(paymentFor(change));
    },
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      await catalog.close();
    },
  };
}
