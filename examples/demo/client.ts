/**
 * The client: `@x402/fetch`, which is independent of Farebox. Each request and response is passed to a callback.
 *
 * @module
 */
import { ExactEvmScheme } from "@x402/evm";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";

/** One request and its response. */
export interface Exchange {
  readonly request: Request;
  readonly response: Response;
}

/** Requests a URL and pays its price, by `exact` or `upto`. Calls `watch` after each exchange. */
export async function payFor(
  url: string,
  { privateKey, init }: { readonly privateKey: `0x${string}`; readonly init?: RequestInit },
  watch: (exchange: Exchange) => void,
): Promise<Response> {
  const watched: typeof fetch = async (input, options) => {
    const request = new Request(input, options);
    const response = await fetch(request.clone());
    watch({ request, response: response.clone() });
    return response;
  };
  const account = privateKeyToAccount(privateKey);
  const fetchWithPayment = wrapFetchWithPaymentFromConfig(watched, {
    schemes: [
      { network: "eip155:*", client: new ExactEvmScheme(account) },
      { network: "eip155:*", client: new UptoEvmScheme(account) },
    ],
  });
  return fetchWithPayment(url, init);
}

/** Decodes a payment header; `undefined` without one. */
export function decodeHeader(value: string | null): Record<string, unknown> | undefined {
  return value === null ? undefined : JSON.parse(Buffer.from(value, "base64").toString("utf8"));
}
