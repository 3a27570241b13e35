/**
 * Everybody who takes part in a payment, ours and the reference's, behind one shape each.
 *
 * @module
 */
import { createExactEvmScheme, createRpcChain } from "@farebox/evm/facilitator";
import { paymentMiddleware } from "@farebox/express";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import type { LocalChain } from "@farebox/testing";
import { wrapAxiosWithPaymentFromConfig } from "@x402/axios";
import { x402Facilitator } from "@x402/core/facilitator";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme as ClientScheme, toFacilitatorEvmSigner } from "@x402/evm";
import { ExactEvmScheme as FacilitatorScheme } from "@x402/evm/exact/facilitator";
import { ExactEvmScheme as ServerScheme } from "@x402/evm/exact/server";
import { paymentMiddleware as referenceMiddleware, x402ResourceServer } from "@x402/express";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import axios from "axios";
import express, { type Express, type RequestHandler } from "express";
import { createPublicClient, createWalletClient, http, publicActions } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { baseSepolia } from "viem/chains";
import { PATIENT, receiptOf } from "../facilitator/stage.js";
import { decode, endpointsOf, PATIENT_SELLER } from "./servers.js";

type Hex = `0x${string}`;

/** Our facilitator, over the chain's JSON-RPC. */
export function ourFacilitator(chain: LocalChain, privateKey: Hex): Express {
  const rpc = createRpcChain({ network: chain.network, rpcUrl: chain.rpcUrl, privateKey, ...PATIENT });
  return express().use(
    facilitatorRouter(createFacilitator({ schemes: [createExactEvmScheme({ chain: rpc })] }), { open: true }),
  );
}

/** The reference's facilitator classes behind the three endpoints of the specification. */
export function referenceFacilitator(chain: LocalChain, privateKey: Hex): Express {
  const account = privateKeyToAccount(privateKey);
  const transport = http(chain.rpcUrl);
  const client = createWalletClient({ account, chain: baseSepolia, transport }).extend(publicActions);
  const reader = createPublicClient({ transport });
  const waitForTransactionReceipt = ({ hash }: { readonly hash: Hex }) => receiptOf(reader, hash);
  // Its signer type is wider than what viem's overloads show; it is built from a viem client all the same.
  const signer = toFacilitatorEvmSigner({ ...client, waitForTransactionReceipt, address: account.address } as never);
  return endpointsOf(new x402Facilitator().register(chain.network, new FacilitatorScheme(signer)));
}

/** What both sellers sell: `GET /weather` for $0.001, and `POST /echo/:name` for $0.25. */
function routesFor(payTo: Hex) {
  const accepts = (price: `$${number}`) => ({ scheme: "exact", price, network: "eip155:84532", payTo }) as const;
  return {
    "GET /weather": { accepts: accepts("$0.001"), description: "The weather, now", mimeType: "application/json" },
    "POST /echo/:name": { accepts: accepts("$0.25") },
  } as const;
}

function seller(middleware: RequestHandler): Express {
  const app = express();
  app.use(middleware);
  app.get("/weather", (_req, res) => void res.json({ weather: "sunny" }));
  app.post("/echo/:name", express.json(), (req, res) => void res.json({ name: req.params["name"], body: req.body }));
  return app;
}

/** A seller with Farebox. */
export function ourSeller(payTo: Hex, facilitatorUrl: string): Express {
  return seller(paymentMiddleware(routesFor(payTo), { facilitator: facilitatorUrl, ...PATIENT_SELLER }));
}

/** A seller with the reference. */
export function referenceSeller(payTo: Hex, facilitatorUrl: string): Express {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }));
  server.register("eip155:84532", new ServerScheme());
  return seller(referenceMiddleware(routesFor(payTo), server));
}

/** What a client got. */
export interface Got {
  readonly status: number;
  readonly json: unknown;
  readonly receipt: Record<string, unknown> | undefined;
}

/** A client that pays by itself. */
export type Client = (privateKey: Hex, url: string, post?: unknown) => Promise<Got>;

/** `fetch` that pays, for any method. */
export function payingFetch(privateKey: Hex): typeof fetch {
  return wrapFetchWithPaymentFromConfig(fetch, { schemes: [registration(privateKey)] });
}

/** `@x402/fetch`. */
export const fetchClient: Client = async (privateKey, url, post) => {
  const pay = payingFetch(privateKey);
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(post) };
  const response = await pay(url, post === undefined ? {} : init);
  return {
    status: response.status,
    json: await response.json(),
    receipt: receiptIn(response.headers.get("PAYMENT-RESPONSE")),
  };
};

/** `@x402/axios`. */
export const axiosClient: Client = async (privateKey, url, post) => {
  const instance = axios.create({ validateStatus: (status) => status !== 402 });
  const api = wrapAxiosWithPaymentFromConfig(instance, { schemes: [registration(privateKey) as never] });
  const response = post === undefined ? await api.get(url) : await api.post(url, post);
  return { status: response.status, json: response.data, receipt: receiptIn(response.headers["payment-response"]) };
};

function registration(privateKey: Hex) {
  return { network: "eip155:*", client: new ClientScheme(privateKeyToAccount(privateKey)) } as const;
}

function receiptIn(header: unknown): Record<string, unknown> | undefined {
  return typeof header === "string" ? decode(header) : undefined;
}
