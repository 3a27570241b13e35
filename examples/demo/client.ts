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
  return payingBy(watched, privateKey)(url, init);
}

/** Requests the first URL, and sends its payment to all of them at once. Returns the response of each. */
export async function payAtOnce(
  urls: readonly [string, ...string[]],
  { privateKey }: { readonly privateKey: `0x${string}` },
): Promise<readonly Response[]> {
  let responses: readonly Response[] = [];
  const multiplied: typeof fetch = async (input, options) => {
    const { headers } = new Request(input, options);
    if (!headers.has("PAYMENT-SIGNATURE")) return fetch(input, options);
    responses = await Promise.all(urls.map((url) => fetch(url, { headers })));
    const [first] = responses;
    return first?.clone() ?? Response.error();
  };
  await payingBy(multiplied, privateKey)(urls[0]);
  return responses;
}

/** A `fetch` that pays, over another one. */
function payingBy(inner: typeof fetch, privateKey: `0x${string}`): typeof fetch {
  const account = privateKeyToAccount(privateKey);
  return wrapFetchWithPaymentFromConfig(inner, {
    schemes: [
      { network: "eip155:*", client: new ExactEvmScheme(account) },
      { network: "eip155:*", client: new UptoEvmScheme(account) },
    ],
  });
}

/** Decodes a payment header; `undefined` without one. */
export function decodeHeader(value: string | null): Record<string, unknown> | undefined {
  return value === null ? undefined : JSON.parse(Buffer.from(value, "base64").toString("utf8"));
}
