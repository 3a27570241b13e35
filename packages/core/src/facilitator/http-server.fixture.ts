/**
 * HTTP servers for tests, and calls to them by a facilitator's client.
 *
 * @module
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { expect } from "vitest";
import { FacilitatorError } from "../errors.js";
import type { FacilitatorRequest } from "./facilitator.js";
import { createHttpFacilitator, type HttpFacilitatorOptions } from "./http-facilitator.js";

const REQUIREMENTS = {
  scheme: "exact",
  network: "eip155:84532",
  amount: "10000",
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
  maxTimeoutSeconds: 60,
  extra: { name: "USDC", version: "2" },
};
export const REQUEST: FacilitatorRequest = {
  x402Version: 2,
  paymentPayload: { x402Version: 2, accepted: REQUIREMENTS, payload: { signature: "0x01" } },
  paymentRequirements: REQUIREMENTS,
};

export const OPERATIONS = ["verify", "settle", "supported"] as const;
export type Operation = (typeof OPERATIONS)[number];

const servers: Server[] = [];

/** Closes every server that a test has started. */
export function closeServers(): void {
  for (const server of servers.splice(0)) server.close();
}

export async function listen(server: Server): Promise<string> {
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a server. Calls `listener` after the whole request has arrived. */
export async function serve(listener: (request: IncomingMessage & { body: string }, response: ServerResponse) => void) {
  const handle: RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    listener(Object.assign(request, { body: Buffer.concat(chunks).toString() }), response);
  };
  const server = createServer({ keepAlive: false }, (request, response) => {
    response.setHeader("connection", "close");
    handle(request, response);
  });
  return await listen(server);
}

export function call(url: string, operation: Operation, more: Partial<HttpFacilitatorOptions> = {}): Promise<unknown> {
  const facilitator = createHttpFacilitator({ url, ...more });
  return operation === "supported" ? facilitator.supported() : facilitator[operation](REQUEST);
}

export async function failureOf(call: Promise<unknown>): Promise<FacilitatorError> {
  const error = await call.catch((thrown: unknown) => thrown);
  if (!(error instanceof FacilitatorError)) throw new TypeError(`not a FacilitatorError: ${JSON.stringify(error)}`);
  return error;
}

/** Makes each of the three calls, which must fail with `code`. Only `settle` can have an unknown outcome. */
export async function expectFailures(url: string, code: string, settleOutcome: "none" | "unknown"): Promise<void> {
  for (const operation of OPERATIONS) {
    const outcome = operation === "settle" ? settleOutcome : "none";
    expect(await failureOf(call(url, operation))).toMatchObject({ code, operation, outcome });
  }
}
