/**
 * The client: `@x402/fetch`, which knows nothing of Farebox, with every exchange it makes laid open.
 *
 * @module
 */
import { ExactEvmScheme } from "@x402/evm";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";

/** One request and what came back. */
export interface Exchange {
  readonly request: Request;
  readonly response: Response;
}

/** Pays whatever a URL asks for, and tells `watch` of each exchange as it happens. */
export async function payFor(
  url: string,
  privateKey: `0x${string}`,
  watch: (exchange: Exchange) => void,
): Promise<Response> {
  const watched: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const response = await fetch(request.clone());
    watch({ request, response: response.clone() });
    return response;
  };
  const account = privateKeyToAccount(privateKey);
  const fetchWithPayment = wrapFetchWithPaymentFromConfig(watched, {
    schemes: [{ network: "eip155:*", client: new ExactEvmScheme(account) }],
  });
  return fetchWithPayment(url);
}

/** Decodes a payment header; `undefined` when there is none. */
export function decodeHeader(value: string | null): Record<string, unknown> | undefined {
  return value === null ? undefined : JSON.parse(Buffer.from(value, "base64").toString("utf8"));
}
