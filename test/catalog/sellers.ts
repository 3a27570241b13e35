/**
 * Servers on this machine that sell something, and payments for it through a facilitator with a catalog.
 *
 * @module
 */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { CatalogEntry } from "@farebox/bazaar/facilitator";
import { createPayments } from "@farebox/express";
import express from "express";
import { onTestFinished } from "vitest";
import { PATIENT_SELLER } from "../interop/servers.js";
import {
  ASSET,
  declare,
  type Library,
  type LibraryOptions,
  NETWORK,
  openLibrary,
  PAYEE,
  paymentFor,
} from "./library.js";

export const SQUATTER = "0x1111111111111111111111111111111111111111";
export const NEW_PAYEE = "0x2222222222222222222222222222222222222222";

/** A facilitator that checks servers on this machine, and shows only what they confirm. */
export async function openHere(options: LibraryOptions = {}): Promise<Library> {
  const opened = await openLibrary({ allowLocal: true, owners: { unverified: "hide" }, ...options });
  onTestFinished(() => opened.close());
  return opened;
}

export async function serve(listener: RequestListener, port = 0): Promise<{ url: string; close: () => void }> {
  // A busy machine pauses a test for longer than the five seconds that a connection may be idle.
  const server = createServer({ keepAliveTimeout: 0 }, listener).listen(port, "127.0.0.1");
  await once(server, "listening");
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

/** A seller on Farebox. `hasDocument`: whether it serves `/.well-known/x402`. */
export async function openSeller({ facilitator }: Library, payTo: string, { hasDocument = false, port = 0 } = {}) {
  const payments = createPayments({
    ...PATIENT_SELLER,
    ...{ facilitator, strict: false, networks: [NETWORK], payTo: { "eip155:*": payTo } },
  });
  onTestFinished(() => payments.close());
  const route = (price: string) => ({
    price,
    description: `Costs ${price}`,
    extensions: { bazaar: { discoverable: true } },
  });
  const app = express();
  if (hasDocument) app.get("/.well-known/x402", payments.wellKnown());
  app.use(
    payments.routes({
      "GET /weather/:city": route("$0.001"),
      "GET /files/*path": route("$0.001"),
      "GET /notes": route("$0.001"),
      "POST /notes": route("$0.002"),
      "DELETE /notes": route("$0.003"),
      "GET /private": { price: "$0.001", extensions: { bazaar: { discoverable: false } } },
      "GET /undeclared": { price: "$0.001" },
    }),
  );
  const sell: express.RequestHandler = (_req, res) => void res.json({ sold: true });
  app.get(["/weather/:city", "/files/*path", "/private", "/undeclared"], sell);
  app.route("/notes").get(sell).post(sell).delete(sell);
  return serve(app, port);
}

export type Challenge = Parameters<typeof settle>[2];

/** The challenge of a seller. */
export async function challengeAt(url: string, method = "GET"): Promise<Challenge> {
  const response = await fetch(url, { method, headers: { connection: "close" } });
  return JSON.parse(Buffer.from(response.headers.get("payment-required") ?? "", "base64").toString());
}

/** Settles a payment for the offer of a 402, as a client sends it, or with other terms. */
export async function pay(shop: Library, url: string, { method = "GET", ...terms }: Record<string, string> = {}) {
  return settle(shop, terms, await challengeAt(url, method));
}

export async function settle(
  shop: Library,
  terms: Readonly<Record<string, unknown>>,
  {
    resource,
    extensions,
    accepts,
  }: { resource: { url: string; description?: string }; extensions: { bazaar: object }; accepts: object[] },
) {
  const { bazaar } = extensions;
  const payment = { ...resource, bazaar, terms: { ...accepts[0], ...terms } };
  const { outcome } = await shop.post("/settle", paymentFor(payment));
  return (outcome as { bazaar: { status: string; rejectedReason?: string } }).bazaar;
}

/** The 402 of a server that is not Farebox. */
export function challengeOf(url: string, bazaar: object = declare()): Challenge {
  const offer = {
    scheme: "exact",
    network: NETWORK,
    amount: "1000",
    asset: ASSET,
    payTo: PAYEE,
    maxTimeoutSeconds: 60,
  };
  return { resource: { url }, extensions: { bazaar }, accepts: [offer] };
}

export const LATER = "; it is checked again later";

export async function entriesOf({ get }: Library): Promise<readonly CatalogEntry[]> {
  return (await get("/discovery/resources?limit=100")).json["items"] as CatalogEntry[];
}

export const payeesOf = (entries: readonly CatalogEntry[]) =>
  entries.map(({ resource, accepts }) => [new URL(resource).pathname, ...accepts.map(({ payTo }) => payTo)]);
