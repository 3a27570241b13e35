/**
 * The bridge: one tool that calls a paid HTTP endpoint, and pays for it with `@x402/fetch`.
 *
 * @module
 */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { x402Client } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm";
import { decodePaymentResponseHeader, wrapFetchWithPayment } from "@x402/fetch";
import { ExactSvmScheme } from "@x402/svm/exact/client";
import { z } from "zod";
import type { Settings } from "./settings.js";

const INPUT = {
  query: z.record(z.string(), z.string()).optional().describe("Parameters of the query"),
  body: z.json().optional().describe("Sent as JSON with POST; without it the method is GET"),
};

/** Creates the server of the bridge. */
export function createBridge(settings: Settings): McpServer {
  const payingFetch = wrapFetchWithPayment(repeatWhilePending, createWallet(settings));
  const server = new McpServer({ name: "farebox-mcp-bridge", version: "0.1.0" });
  const description =
    `Calls ${settings.endpoint.href} and pays for it, if the price is at most one dollar in a known stablecoin. ` +
    "Every call may cost money: do not repeat a failed call without asking the user.";
  const annotations = { openWorldHint: true, idempotentHint: false };
  server.registerTool(
    "call_paid_endpoint",
    { description, inputSchema: INPUT, annotations },
    async (input, { signal }) => {
      const url = new URL(settings.endpoint);
      for (const [name, value] of Object.entries(input.query ?? {})) url.searchParams.append(name, value);
      const post = {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(input.body),
      };
      // The payment is for this server, so it does not follow redirects. A paid one is a link to the goods.
      const response = await payingFetch(url, {
        ...(input.body === undefined ? {} : post),
        redirect: "manual",
        signal,
      });
      return toResult(response);
    },
  );
  return server;
}

/** Pays with the configured keys, within the limits of the library: known stablecoins, and one dollar per payment. */
function createWallet({ evm, svm, svmRpcUrl }: Settings): x402Client {
  const wallet = new x402Client();
  if (evm !== undefined) wallet.register("eip155:*", new ExactEvmScheme(evm));
  if (svm !== undefined) {
    wallet.register("solana:*", new ExactSvmScheme(svm, svmRpcUrl === undefined ? {} : { rpcUrl: svmRpcUrl }));
  }
  return wallet;
}

const MAX_REPEATS = 3;
const MAX_WAIT_SECONDS = 10;

/**
 * After a 503 the payment may have been charged. So the request is repeated with the same payment, which cannot be charged
 * twice; a new payment could.
 */
async function repeatWhilePending(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const request = new Request(input, init);
  for (let repeats = 0; ; repeats++) {
    const response = await fetch(request.clone());
    const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
    const isPending = request.headers.has("PAYMENT-SIGNATURE") && response.status === 503 && seconds >= 0;
    if (!isPending || repeats === MAX_REPEATS) return response;
    await response.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, Math.min(seconds, MAX_WAIT_SECONDS) * 1000));
  }
}

async function toResult(response: Response): Promise<CallToolResult> {
  const receipt = response.headers.get("PAYMENT-RESPONSE");
  const settled = receipt === null ? undefined : decodePaymentResponseHeader(receipt);
  const link = response.headers.get("Location");
  const body = await response.text();
  const text = link ?? body;
  const isGood = response.ok || (link !== null && settled?.success === true);
  return {
    content: [{ type: "text", text: isGood ? text : `${response.status} ${response.statusText}\n${text}` }],
    ...(isGood ? {} : { isError: true }),
    ...(settled === undefined ? {} : { _meta: { "x402/payment-response": settled } }),
  };
}
