/**
 * A facilitator with a catalog, sellers with Farebox, and buyers with the reference's packages: what each test of a sentence needs.
 *
 * The facilitator's schemes take every payment that is signed. Tests about money use a chain.
 *
 * @module
 */
import type { CatalogEntry } from "@farebox/bazaar/facilitator";
import type { RouteConfig, RoutesConfig } from "@farebox/express";
import { createPayments, type Payments, type PaymentsOptions, setSettlementOverrides } from "@farebox/express";
import { createPaidTools, type PaidTools, type PaidToolsOptions } from "@farebox/mcp";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type CallToolResult, CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { x402Client } from "@x402/core/client";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm";
import { withBazaar } from "@x402/extensions/bazaar";
import express, { type Express } from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll } from "vitest";
import { type Library, type LibraryOptions, NETWORK, openLibrary, PAYEE, yesScheme } from "../catalog/library.js";
import { payingFetch } from "../interop/peers.js";
import { decode, listen, PATIENT_SELLER } from "../interop/servers.js";
import { mcpEndpoint } from "../mcp/shop.js";

export { ASSET, NETWORK, PAYEE } from "../catalog/library.js";

export type Json = Record<string, unknown>;

const closers: (() => unknown)[] = [];

/** Call it once in each file. */
export function closeAllAtEnd(): void {
  afterAll(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
}

const SCHEMES = [
  yesScheme(),
  { ...yesScheme("upto"), extra: { facilitatorAddress: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8" } },
  yesScheme("exact", "eip155:8453"),
];

/** Opens a facilitator with a catalog that lists servers of this machine. */
export async function openFacilitator(options: LibraryOptions = {}): Promise<Library> {
  const library = await openLibrary({ allowLocal: true, schemes: SCHEMES, ...options });
  closers.push(() => library.close());
  return library;
}

/** An offer as the brief writes it. */
export const OFFER = { scheme: "exact", price: "$0.001", network: NETWORK, payTo: PAYEE } as const;

/** A route that can be listed. */
export function declared(bazaar: object = { discoverable: true }, changes: Json = {}): RouteConfig {
  return { accepts: OFFER, description: "Tells the weather", extensions: { bazaar }, ...changes } as RouteConfig;
}

export interface Seller {
  readonly url: string;
  readonly payments: Payments;
}

/** Starts an app with a table of routes, of which each responds with what it got. */
export async function openSeller(
  facilitator: PaymentsOptions["facilitator"],
  routes: RoutesConfig,
  build: (app: Express, payments: Payments) => void = () => {},
): Promise<Seller> {
  const payments = createPayments({ ...PATIENT_SELLER, facilitator, strict: false });
  closers.push(() => payments.close());
  const app = express().set("env", "test").use(payments.routes(routes));
  build(app, payments);
  app.all(/.*/, express.json(), (req, res) => void res.json({ path: req.path, query: req.query, body: req.body }));
  return { url: await start(app), payments };
}

/** Starts an app until the end of the file. */
export async function start(app: Express): Promise<string> {
  const { url, close } = await listen(app);
  closers.push(close);
  return url;
}

/** What becomes of an override for a maximum of ten cents: the status, what is charged, and the code of the error that was thrown. */
export async function override(amount: string): Promise<{ status: number; charged: bigint; code: string | undefined }> {
  const facilitator = createTestFacilitator();
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 1_000_000n);
  let code: string | undefined;
  const routes = { "GET /words": { accepts: { ...OFFER, scheme: "upto", price: "$0.10" } } } as const;
  const { url } = await openSeller(facilitator, routes, (app) => {
    app.get("/words", (_req, res) => {
      try {
        setSettlementOverrides(res, { amount });
      } catch (error) {
        code = (error as { code?: string }).code;
      }
      res.status(code === undefined ? 200 : 500).json({});
    });
  });
  const { status } = await pay(url, { path: "/words", payer });
  return { status, charged: facilitator.ledger.balanceOf(PAYEE), code };
}

/** `fetch` of the reference's client, with a wallet of its own. */
export const buy: typeof fetch = payingFetch(generatePrivateKey());

/** The challenge of a response without a payment: that of the header, and that of the body. */
export async function challengeOf(
  url: string,
  init: RequestInit = {},
): Promise<{ status: number; header: Json; body: Json }> {
  const response = await fetch(url, init);
  const body = response.headers.get("content-length") === "0" ? {} : ((await response.json()) as Json);
  const header = response.headers.get("PAYMENT-REQUIRED");
  return { status: response.status, header: header === null ? {} : decode(header), body };
}

/** The first offer of a challenge. */
export function offerIn({ accepts }: Json): Json {
  return (accepts as Json[])[0]!;
}

/** The outcome in `EXTENSION-RESPONSES`. */
export function outcomeOf(response: Response): Json {
  return decode(response.headers.get("EXTENSION-RESPONSES"))["bazaar"] as Json;
}

/** The catalog as the reference's discovery client reads it. */
export function readerOf({ url }: Pick<Library, "url">) {
  return withBazaar(new HTTPFacilitatorClient({ url })).extensions.bazaar;
}

/** The entries of a catalog as they are sent. */
export async function entriesOf({ get }: Library, query = ""): Promise<readonly (CatalogEntry & Json)[]> {
  return (await get(`/discovery/resources${query}`)).json["items"] as (CatalogEntry & Json)[];
}

/** Sells a route once, and returns its entry. */
export async function listRoute(
  library: Library,
  key: string,
  config: RouteConfig,
  path: string,
  init: RequestInit = {},
) {
  const { url } = await openSeller(library.url, { [key]: config });
  const response = await buy(url + path, init);
  const entries = await entriesOf(library, "?limit=100");
  const entry = entries.findLast(({ resource }) => resource.startsWith(url))!;
  return { url, response, entry, entries };
}

export interface ToolSeller extends Seller {
  readonly client: Client;
  /** Calls a tool, pays its challenge as the reference's MCP client does, and calls it again. */
  call(name: string, args?: Json): Promise<CallToolResult>;
  /** Calls a tool once. */
  ask(name: string, args?: Json, payment?: unknown): Promise<CallToolResult>;
}

/** Starts an MCP server with paid tools, over Streamable HTTP. */
export async function openTools(
  facilitator: PaymentsOptions["facilitator"],
  sell: (tools: PaidTools) => void,
  optionsFor: (url: string) => PaidToolsOptions = (url) => ({ serverUrl: `${url}/mcp` }),
): Promise<ToolSeller> {
  const app = express();
  const url = await start(app);
  const payments = createPayments({ ...PATIENT_SELLER, facilitator, strict: false });
  const tools = createPaidTools(payments, optionsFor(url));
  sell(tools);
  app.use("/mcp", mcpEndpoint(tools));
  app.get("/.well-known/x402", payments.wellKnown());
  const client = new Client({ name: "buyer", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)) as never);
  closers.push(
    () => payments.close(),
    () => client.close(),
  );
  const wallet = new x402Client().register("eip155:*", new ExactEvmScheme(privateKeyToAccount(generatePrivateKey())));
  const ask: ToolSeller["ask"] = async (name, args = {}, payment) => {
    const _meta = payment === undefined ? {} : { "x402/payment": payment };
    return (await client.callTool({ name, arguments: args, _meta }, CallToolResultSchema)) as CallToolResult;
  };
  const call: ToolSeller["call"] = async (name, args) => {
    const challenge = toolChallengeOf(await ask(name, args));
    return ask(name, args, await wallet.createPaymentPayload(challenge as never));
  };
  return { url, payments, client, ask, call };
}

/** The challenge in a tool's result. */
export function toolChallengeOf({ content: [first] }: CallToolResult): Json {
  return JSON.parse(first?.type === "text" ? first.text : "");
}

/** The text of a tool's result. */
export function textOf({ content: [first] }: CallToolResult): string | undefined {
  return first?.type === "text" ? first.text : undefined;
}
